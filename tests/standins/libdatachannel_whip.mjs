// Pushes encoded media by WHIP as OBS does, with the library that OBS does it with.
//
// node libdatachannel_whip.mjs FOLDER URL TOKEN MEDIA: FOLDER has node_modules/node-datachannel, and
// MEDIA is lines of JSON, [seconds, "audio" or "video", packet in base64], Opus and H.264 (Annex B).
// One POST with all candidates, no trickle; the peer is closed, and then the session is deleted.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const [folder, url, token, media] = process.argv.slice(2);
const rtc = createRequire(`${folder}/node_modules/`)("node-datachannel");
const wait = (ms) => new Promise((done) => setTimeout(done, ms));
const headers = { "Content-Type": "application/sdp", Authorization: `Bearer ${token}` };
const peer = new rtc.PeerConnection("sender", { iceServers: [] });

const STREAM = "stream0123456789";
const NAME = "name0123456789ab";
const LEAD = 0.02; // before the first packet, whose time may be below 0

function track(kind, mid, ssrc, payload, rate) {
  const sound = kind === "audio";
  const described = sound ? new rtc.Audio(mid, "SendOnly") : new rtc.Video(mid, "SendOnly");
  if (sound) described.addOpusCodec(payload);
  else described.addH264Codec(payload);
  described.addSSRC(ssrc, NAME, STREAM, `${STREAM}-${kind}`);
  const config = new rtc.RtpPacketizationConfig(ssrc, NAME, payload, rate);
  const packetizer = sound
    ? new rtc.RtpPacketizer(config)
    : new rtc.H264RtpPacketizer("StartSequence", config, 1200);
  packetizer.addToChain(new rtc.RtcpSrReporter(config));
  packetizer.addToChain(new rtc.RtcpNackResponder());
  const opened = peer.addTrack(described);
  opened.setMediaHandler(packetizer);
  return { opened, config, zero: config.timestamp };
}

const tracks = {
  audio: track("audio", "0", 12345, 111, 48000),
  video: track("video", "1", 12346, 96, 90000),
};
peer.setLocalDescription();
while (peer.gatheringState() !== "complete") await wait(5);
const body = peer.localDescription().sdp;
const answer = await fetch(url, { method: "POST", headers, body });
if (answer.status !== 201) throw new Error(`refused with ${answer.status}`);
const session = new URL(answer.headers.get("location"), url);
peer.setRemoteDescription(await answer.text(), "answer");
const late = performance.now() + 20_000;
while (peer.state() !== "connected") {
  if (performance.now() > late) throw new Error(`not connected, but ${peer.state()}`);
  await wait(5);
}

const began = performance.now();
for (const line of readFileSync(media, "utf8").trimEnd().split("\n")) {
  const [seconds, kind, packet] = JSON.parse(line);
  const { opened, config, zero } = tracks[kind];
  await wait(Math.max(0, 1000 * (seconds + LEAD) - (performance.now() - began)));
  config.timestamp = (zero + Math.round((seconds + LEAD) * config.clockRate)) >>> 0;
  opened.sendMessageBinary(Buffer.from(packet, "base64"));
}
peer.close();
const ended = await fetch(session, { method: "DELETE", headers });
console.log(ended.status);
rtc.cleanup();
