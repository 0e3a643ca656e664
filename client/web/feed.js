// Listening: the lines of a session, over a WebSocket that comes back when it is cut.
import { backOff } from "./clock.js";
import { address } from "./ingest.js";

const SETTLED = 3000; // a connection that held so long begins counting anew
const REFUSED = [1008, 4401, 4404]; // closing codes after which trying again is no use

// `on` is told `line(object)`, `open()`, `waiting(milliseconds)` and `over(reason)`.
export class Feed {
  constructor(path, token, on) {
    Object.assign(this, { path, token, on, tries: 0, closed: false });
    this.open();
  }

  open() {
    const opened = performance.now();
    this.socket = new WebSocket(address(this.path));
    this.socket.onopen = () => {
      const hello = { type: "hello", version: 1 };
      if (this.token) hello.token = this.token;
      this.socket.send(JSON.stringify(hello));
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

  read(text) {
    let line;
    try {
      line = JSON.parse(text);
    } catch {
      return; // not ours
    }
    if (this.closed || line === null || typeof line !== "object") return;
    const last = line.type === "State" ? line.lines?.at(-1)?.type : line.type;
    if (last === "End" || last === "Failed") this.ended = true;
    this.on.line(line);
  }

  again() {
    const wait = backOff(this.tries++);
    this.on.waiting(wait);
    this.timer = setTimeout(() => this.open(), wait);
  }

  finish(reason) {
    this.close();
    this.on.over(reason);
  }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
    this.socket.close();
  }
}
