// Sending by WebRTC: WHIP (RFC 9725), where the server offers it.
const GATHERING = 1500;
const COUNT_EVERY = 2000;

export async function offered() {
  try {
    const answer = await fetch("/whip", { method: "OPTIONS" });
    return answer.ok && Boolean(answer.headers.get("accept-post"));
  } catch {
    return false;
  }
}

// The servers of `Link: <stun:…>; rel="ice-server"` headers.
function iceServers(link) {
  return (link || "").split(/,\s*(?=<)/).flatMap((one) => {
    const [, urls] = one.match(/^\s*<([^>]+)>.*rel="?ice-server"?/) || [];
    const of = (name) => (one.match(new RegExp(`${name}="([^"]*)"`)) || [])[1];
    return urls ? [{ urls, username: of("username"), credential: of("credential") }] : [];
  });
}

async function localOffer(peer) {
  await peer.setLocalDescription(await peer.createOffer());
  await new Promise((done) => {
    if (peer.iceGatheringState === "complete") done();
    setTimeout(done, GATHERING);
    peer.addEventListener("icegatheringstatechange", () => peer.iceGatheringState === "complete" && done());
  });
  return peer.localDescription.sdp;
}

// `on` is told `welcome`, `refused` and `lost`, as in ingest.js.
export class WhipSender {
  constructor({ stream, language, token }, on) {
    Object.assign(this, { stream, language, token, on });
    this.lost = 0; // packets, as the server reports them
    this.headers = token ? { Authorization: `Bearer ${token}` } : {};
    this.open().catch((error) => this.finish("lost", error.message));
  }

  async open() {
    const options = await fetch("/whip", { method: "OPTIONS", headers: this.headers });
    const peer = new RTCPeerConnection({ iceServers: iceServers(options.headers.get("link")) });
    this.peer = peer;
    for (const track of this.stream.getTracks())
      peer.addTransceiver(track, { direction: "sendonly", streams: [this.stream] });
    peer.onconnectionstatechange = () => {
      if (["failed", "closed"].includes(peer.connectionState)) this.finish("lost", peer.connectionState);
    };
    const answer = await fetch(`/whip?language=${encodeURIComponent(this.language)}`, {
      method: "POST",
      headers: { ...this.headers, "Content-Type": "application/sdp" },
      body: await localOffer(peer),
    });
    const text = await answer.text();
    if (this.over) return;
    if (answer.status !== 201) {
      this.finish(answer.status < 500 || answer.status === 503 ? "refused" : "lost", text.slice(0, 300));
      return;
    }
    this.resource = new URL(answer.headers.get("location"), location.href);
    await peer.setRemoteDescription({ type: "answer", sdp: text });
    this.counting = setInterval(() => this.count(peer), COUNT_EVERY);
    const session = this.resource.pathname.split("/").at(-1);
    this.on.welcome({ session, feed: `/feed/${session}` });
  }

  async count(peer) {
    const reports = [...(await peer.getStats()).values()].filter((one) => one.type === "remote-inbound-rtp");
    this.lost = reports.reduce((sum, one) => sum + Math.max(0, one.packetsLost || 0), 0);
  }

  end() {
    this.finish(null);
  }

  finish(outcome, reason) {
    if (this.over) return;
    this.over = true;
    clearInterval(this.counting);
    this.peer?.close();
    if (this.resource)
      fetch(this.resource, { method: "DELETE", headers: this.headers, keepalive: true }).catch(() => {});
    if (outcome !== null) this.on[outcome](reason);
  }
}
