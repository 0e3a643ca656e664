// Clocks: the server's against ours, and the sound card's against ours. All in milliseconds.

// How far the server's clock is ahead of ours, from questions and answers. The answer with the
// shortest way tells most: its error is at most half of that way.
export class ServerClock {
  constructor(kept = 24) {
    this.kept = kept;
    this.samples = [];
  }

  take(sent, server, received) {
    const way = received - sent;
    if (![sent, server, received].every(Number.isFinite) || way < 0) return;
    this.samples.push({ way, ahead: server - (sent + received) / 2 });
    if (this.samples.length > this.kept) this.samples.shift();
  }

  get best() {
    return this.samples.reduce((best, one) => (best === null || one.way < best.way ? one : best), null);
  }

  get ahead() {
    return this.best === null ? null : this.best.ahead;
  }

  get way() {
    return this.best === null ? null : this.best.way;
  }
}

// When sound was captured. Messages from the audio thread come late by varying amounts, never
// early, so the smallest lateness of the last seconds ties the two clocks; the tie moves gently,
// so that neither a busy page nor a sound card that runs slow makes holes in the sound.
const SPAN = 4000;
const STEEPEST = 0.01; // of the time that passed
const JUMP = 250;

export class SoundClock {
  constructor() {
    this.tie = null;
    this.spans = [];
    this.last = null;
  }

  // `end`: where the block ends on the audio clock; `received`: when we got it, on ours.
  take(end, received) {
    const late = received - end;
    const span = this.spans.at(-1);
    if (!span || received - span.from > SPAN / 2) {
      this.spans.push({ from: received, least: late });
      if (this.spans.length > 3) this.spans.shift();
    } else span.least = Math.min(span.least, late);
    const aim = Math.min(...this.spans.map((one) => one.least));
    const away = this.tie === null ? Infinity : aim - this.tie;
    if (Math.abs(away) > JUMP) this.tie = aim;
    else {
      const most = STEEPEST * Math.max(received - this.last, 0);
      this.tie += Math.min(Math.max(away, -most), most);
    }
    this.last = received;
  }

  // Our time of a moment on the audio clock.
  at(moment) {
    return moment + (this.tie || 0);
  }
}

// How long to wait before the next try: doubled each time, a little different for everyone.
export function backOff(tries, random = Math.random()) {
  return Math.min(500 * 2 ** Math.min(tries, 6), 10_000) * (0.8 + 0.4 * random);
}

export function median(values) {
  if (!values.length) return null;
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}
