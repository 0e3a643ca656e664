// Sending: the WebSocket ingest protocol, version 1.
import { ServerClock } from "./clock.js";

export const SOUND = 1;
export const PICTURE = 2;
export const WEBM = 3;
const HEAD = 9;
const PATIENCE = 8000; // without a word from the server, in milliseconds
const DOUBT = 2000; // the same once the browser says that there is no network
const LOADING = 90_000; // the same before the welcome: models may have to be loaded first
const FULL = 1_000_000; // bytes waiting to leave: pictures are left out
const DEAD = 6_000_000; // the line is gone, whatever the browser thinks
const REPLACED = 4409; // closing code: another page goes on with the session
const COMPARED = 3; // clocks, until one is worth telling

export function address(path) {
  const url = new URL(path, location.href);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  url.hash = "";
  return url.href;
}

// One binary message: kind, capture time in microseconds since the session's start, payload.
export function pack(kind, milliseconds, payload) {
  const bytes = new Uint8Array(HEAD + payload.byteLength);
  const head = new DataView(bytes.buffer);
  head.setUint8(0, kind);
  head.setBigUint64(1, BigInt(Math.max(0, Math.round(milliseconds * 1000))));
  bytes.set(new Uint8Array(payload), HEAD);
  return bytes;
}

// `on` is told `welcome(message)`, `refused(text)`, `lost(reason)` and `replaced()`; after the last
// three it is over. `resume` names a session to go on with, and the secret that allows it.
export class IngestSocket {
  constructor({ format, language, token, resume }, on) {
    this.on = on;
    this.clock = new ServerClock();
    this.steady = new ServerClock(); // one that the server never sets
    this.told = Infinity; // how wrong what we last said of our clock may be
    this.dropped = 0;
    this.doubted = -Infinity;
    this.start = null; // our clock at the session's start
    this.heard = performance.now();
    this.socket = new WebSocket(address("/ingest"));
    this.socket.binaryType = "arraybuffer";
    const hello = { type: "hello", version: 1, format, language, resume: resume || true };
    if (token) hello.token = token;
    this.socket.onopen = () => this.socket.send(JSON.stringify(hello));
    this.socket.onmessage = ({ data }) => this.read(data);
    this.socket.onclose = ({ code, reason }) => this.finish(code === REPLACED ? "replaced" : "lost", reason || `${code}`);
    this.beat = setInterval(() => this.check(), 500);
    this.beats = 0;
  }

  read(data) {
    if (this.over || typeof data !== "string") return;
    this.heard = performance.now();
    const message = JSON.parse(data);
    if (message.type === "welcome") {
      this.start = performance.now();
      this.on.welcome(message);
    } else if (message.type === "refused") this.finish("refused", message.text || "");
    else if (message.type === "clock") this.compare(message);
  }

  compare({ sent, server, steady }) {
    const now = performance.now();
    if (server > 0) this.clock.take(sent, server, now); // it begins with the first media
    this.steady.take(sent, steady, now);
    const { samples, ahead, way } = this.steady;
    if (samples.length < COMPARED || way >= this.told || !this.ready) return;
    this.told = way; // how long things are on their way from here is then known there
    this.socket.send(JSON.stringify({ type: "captured", zero: this.start + ahead, within: way / 2 }));
  }

  // The browser says that there is no network, which need not be so for this server.
  doubt() {
    this.doubted = performance.now();
    if (this.ready) this.socket.send(JSON.stringify({ type: "clock", sent: this.doubted }));
  }

  get patience() {
    if (this.start === null) return LOADING;
    return this.doubted > this.heard ? DOUBT : PATIENCE;
  }

  // Asks for the server's time: often at first, then every two seconds, also to see that it lives.
  check() {
    const now = performance.now();
    if (this.socket.bufferedAmount > DEAD || now - this.heard > this.patience) {
      this.finish("lost", "silent");
      return;
    }
    if (this.start === null || (this.beats++ > 8 && this.beats % 4)) return;
    this.socket.send(JSON.stringify({ type: "clock", sent: now }));
  }

  get ready() {
    return !this.over && this.start !== null && this.socket.readyState === WebSocket.OPEN;
  }

  send(kind, time, payload) {
    if (!this.ready || time < this.start) return false;
    if (kind === PICTURE && this.socket.bufferedAmount > FULL) {
      this.dropped++;
      return false;
    }
    this.socket.send(pack(kind, time - this.start, payload));
    return true;
  }

  // Nothing comes any more; the server works off what it has.
  end() {
    if (this.ready) this.socket.send(JSON.stringify({ type: "end" }));
    this.finish(null);
  }

  finish(outcome, reason) {
    if (this.over) return;
    this.over = true;
    clearInterval(this.beat);
    if (outcome !== null) this.socket.close();
    else setTimeout(() => this.socket.close(), 2000); // the server closes first, if it can
    if (outcome !== null) this.on[outcome](reason);
  }
}
