// Listening: the lines of a session, over a WebSocket that comes back when it is cut.
import { backOff, ServerClock } from "./clock.js";
import { address } from "./ingest.js";

const SETTLED = 3000; // a connection that held so long begins counting anew
const REFUSED = [1008, 4401, 4404]; // closing codes after which trying again is no use
const ASK_EVERY = 500;

// `on` is told `line(object)`, `open()`, `waiting(milliseconds)` and `over(reason)`.
export class Feed {
  constructor(path, token, on) {
    Object.assign(this, { path, token, on, tries: 0, closed: false });
    this.clock = new ServerClock();
    this.asking = setInterval(() => this.ask(), ASK_EVERY);
    this.open();
  }

  open() {
    const opened = performance.now();
    clearTimeout(this.timer);
    this.timer = null;
    this.asked = 0;
    this.socket = new WebSocket(address(this.path));
    this.socket.onopen = () => {
      const hello = { type: "hello", version: 1 };
      if (this.token) hello.token = this.token;
      this.socket.send(JSON.stringify(hello));
      this.ask();
      this.on.open();
    };
    this.socket.onmessage = ({ data }) => {
      for (const text of data.split("\n")) if (text) this.read(text);
    };
    this.socket.onclose = ({ code, reason }) => {
      if (this.closed) return;
      if (performance.now() - opened > SETTLED) this.tries = 0;
      if (REFUSED.includes(code) || this.ended) this.finish(reason);
      else this.again();
    };
  }

  // Asks for the session's time: often at first, then every two seconds.
  ask() {
    if (this.socket.readyState !== WebSocket.OPEN || (this.asked++ > 8 && this.asked % 4)) return;
    this.socket.send(JSON.stringify({ type: "clock", sent: performance.now() }));
  }

  read(text) {
    let line;
    try {
      line = JSON.parse(text);
    } catch {
      return; // not ours
    }
    if (this.closed || line === null || typeof line !== "object") return;
    if (line.type === "clock") {
      if (line.server > 0) this.clock.take(line.sent, line.server, performance.now());
      return;
    }
    const last = line.type === "State" ? line.lines?.at(-1)?.type : line.type;
    if (last === "End" || last === "Failed") this.ended = true;
    this.on.line(line);
  }

  again() {
    const wait = backOff(this.tries++);
    this.on.waiting(wait);
    this.timer = setTimeout(() => this.open(), wait);
  }

  // There is a network again: no need to wait.
  hurry() {
    if (this.closed || !this.timer) return;
    this.tries = 0;
    this.open();
  }

  finish(reason) {
    this.close();
    this.on.over(reason);
  }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
    clearInterval(this.asking);
    this.socket.close();
  }
}
