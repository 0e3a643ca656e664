"""A web page that publishes clicks and flashes by WHIP to the server that it came from.

``/?seconds=S``: it streams so long, says ``done`` to ``POST /said`` (or what went wrong), and ends
the session. Sound is made by one clock, that of the audio device, and each picture is drawn by the
same one, so that what is out of step was made so on the way.
"""

from __future__ import annotations

from replay.measure.sync import EVERY, LONG

PUBLISH = """async ({ every, long, seconds }) => {
  const sound = new AudioContext({ sampleRate: 48000 });
  await sound.resume();
  const out = sound.createMediaStreamDestination();
  const canvas = Object.assign(document.createElement("canvas"), { width: 320, height: 240 });
  const paint = canvas.getContext("2d");
  const start = sound.currentTime + 0.5;
  for (let at = start; at < start + seconds; at += every) {
    const tone = sound.createOscillator();
    tone.frequency.value = 1000;
    tone.connect(out);
    tone.start(at);
    tone.stop(at + long);
  }
  const draw = () => {
    const at = sound.currentTime - start;
    const lit = at >= 0 && at < seconds && at % every < long;
    const faded = lit ? 255 * (1 - (at % every) / long) : 0;
    paint.fillStyle = lit ? "#fff" : "#000";
    paint.fillRect(0, 0, 160, 240);
    paint.fillStyle = `rgb(${faded} ${faded} ${faded})`;
    paint.fillRect(160, 0, 160, 240);
    requestAnimationFrame(draw);
  };
  draw();
  const video = canvas.captureStream(30);
  const stream = new MediaStream([...out.stream.getTracks(), ...video.getTracks()]);
  const peer = new RTCPeerConnection();
  for (const track of stream.getTracks())
    peer.addTransceiver(track, { direction: "sendonly", streams: [stream] });
  await peer.setLocalDescription(await peer.createOffer());
  const headers = { "Content-Type": "application/sdp" };
  const body = peer.localDescription.sdp;  // without candidates: it finds the server's
  const answer = await fetch("/whip", { method: "POST", headers, body });
  const sdp = await answer.text();
  if (answer.status !== 201) return sdp;
  await peer.setRemoteDescription({ type: "answer", sdp });
  await new Promise((done) => setTimeout(done, 1000 * seconds));
  const state = peer.connectionState;
  await fetch(answer.headers.get("location"), { method: "DELETE" });
  return state;
}"""
"""A function: publishes for ``seconds`` and returns the connection's state, or what went wrong."""

PAGE = f"""<!doctype html><title>Clicks and flashes</title><script type="module">
const publish = {PUBLISH};
const seconds = Number(new URL(location).searchParams.get("seconds"));
let said;
try {{
  said = await publish({{ every: {EVERY}, long: {LONG}, seconds }});
}} catch (error) {{
  said = String(error);
}}
await fetch("/said", {{ method: "POST", body: said === "connected" ? "done" : said }});
</script>"""
