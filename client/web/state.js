// What the lines of a session say so far. Nothing here touches the page or a clock.

const KEPT = 400;
const MOTIONS = 900;
const TIMES = 200;
const TURNS = 12;
// Notes of what goes on until something says otherwise.
const STANDING = [
  "muted", "track_missing", "track_stopped", "track_ended", "audio_stopped", "video_stopped", "sound_left_out",
  "source_lost", "recording_failed",
];

function keep(list, one, most = KEPT) {
  list.push(one);
  if (list.length > most) list.shift();
}

export class SessionState {
  constructor() {
    this.facts = {};
    this.now = 0; // the latest time that any line is known at
    this.words = [];
    this.partial = [];
    this.speech = []; // {onset, offset | null}
    this.deictics = new Map();
    this.strokes = new Map();
    this.holds = new Map();
    this.bindings = [];
    this.hands = null;
    this.motions = [];
    this.turns = new Map(); // number of a question → {turn, asked, answer, failure, stopped}
    this.failed = null; // why the session itself failed
    this.recording = { on: false, name: null };
    this.level = null; // how much the server does, once it has said so
    this.notes = []; // what was noticed, the newest last
    this.counts = {};
    this.standing = new Map(); // what is still so: kind → note
    this.closed = ""; // why the session ended
    this.ended = false;
    this.decisions = []; // {kind, about, arrived}
    this.latency = { hand: [], word: [], stroke: [], binding: [], answer: [] };
  }

  // The newest question that something was said to, or else the newest.
  get turn() {
    const turns = [...this.turns.values()];
    return turns.findLast((one) => one.answer || one.failure || !one.stopped) || turns.at(-1) || null;
  }

  // What counts now: an answer that was stopped does not.
  get answer() {
    return [...this.turns.values()].findLast((one) => one.answer && !one.stopped)?.answer || null;
  }

  // `arrived`: when the line came, on the session's timeline; null when that is not known (a late
  // joiner's past).
  take(line, arrived) {
    if (Number.isFinite(line.known_at)) this.now = Math.max(this.now, line.known_at);
    const take = this[`take${line.type}`];
    if (take) take.call(this, line, arrived);
  }

  takeState(line) {
    const { lines, type: _, ...facts } = line;
    const before = this.turns;
    Object.assign(this, new SessionState(), { facts });
    for (const one of lines || []) this.take(one, null);
    if (typeof facts.recording === "boolean") this.recording.on = facts.recording;
    if (facts.pictures_a_second && !this.level) this.takeStatus(facts);
    // After a cut the same answer comes again: the same object, so that it is not spoken twice.
    for (const [number, { answer }] of before) {
      const again = this.turns.get(number);
      if (answer && JSON.stringify(answer) === JSON.stringify(again?.answer)) again.answer = answer;
    }
  }

  takeSpeechStart(line) {
    keep(this.speech, { onset: line.onset, offset: null });
    this.heard();
  }

  takeSpeechEnd(line) {
    const open = this.speech.at(-1);
    if (open) open.offset = line.offset;
  }

  takePartial(line) {
    this.partial = line.words;
  }

  takeWord(line, arrived) {
    keep(this.words, line);
    this.partial = this.partial.filter((word) => word.onset >= line.offset - 0.01);
    this.decided("word", line.onset, line.offset, arrived);
  }

  takeUtterance() {
    this.partial = [];
  }

  takeDeictic(line) {
    this.deictics.set(line.index, line);
  }

  takeStroke(line, arrived) {
    this.strokes.set(line.index, line);
    this.decided("stroke", line.onset, line.apex, arrived);
  }

  takeStrokeEnd(line) {
    this.holds.set(line.index, line.offset);
  }

  takeBinding(line, arrived) {
    keep(this.bindings, line);
    const deictic = this.deictics.get(line.deictic);
    const stroke = this.strokes.get(line.stroke);
    if (stroke) {
      const about = Math.max(deictic ? deictic.offset : 0, stroke.apex);
      this.decided("binding", about, about, arrived);
    }
  }

  takeHandsSeen(line, arrived) {
    this.hands = line;
    if (arrived !== null && arrived >= line.time) keep(this.latency.hand, arrived - line.time, TIMES);
  }

  takeCameraMotion(line) {
    keep(this.motions, line, MOTIONS);
    if (line.confidence > 0) this.standing.delete("video_stopped"); // there are pictures again
  }

  heard() {
    for (const kind of ["audio_stopped", "muted", "sound_left_out"]) this.standing.delete(kind);
  }

  question(number) {
    if (!this.turns.has(number))
      this.turns.set(number, { turn: number, asked: null, answer: null, failure: null, stopped: null });
    if (this.turns.size > TURNS) this.turns.delete(this.turns.keys().next().value);
    return this.turns.get(number);
  }

  takeAsked(line) {
    this.question(line.turn).asked = line;
  }

  takeAnswer(line, arrived) {
    const ended = this.speech.findLast((one) => one.offset !== null && one.offset <= line.known_at);
    const said = ended?.offset ?? this.words.at(-1)?.offset ?? line.frame_time;
    if (line.final) this.decided("answer", said, said, arrived);
    const turn = this.question(line.turn);
    turn.answer = line;
    turn.failure = null;
  }

  // `reason`: `superseded` by a newer question, or `interrupted` by the speaker.
  takeAnswerStopped(line) {
    this.question(line.turn).stopped = line.reason;
  }

  takeModelFailed(line) {
    this.question(line.turn).failure = line;
  }

  takeSourceNote(line) {
    if (line.kind === "closed") {
      this.closed = line.text || ""; // how every session ends
      return;
    }
    const { kind } = line;
    this.counts[kind] = (this.counts[kind] || 0) + 1;
    keep(this.notes, line);
    const over = { unmuted: ["muted"], track_back: ["track_stopped", "audio_stopped"], sound_late: ["audio_stopped"] }[kind];
    for (const one of over || []) this.standing.delete(one);
    if (STANDING.includes(kind)) this.standing.set(kind, line);
  }

  takeSkipped(line) {
    const name = `skipped_${line.what}`;
    this.counts[name] = (this.counts[name] || 0) + (line.count || 1);
  }

  takeStatus(line) {
    this.level = line;
  }

  takeRecording(line) {
    this.recording = { on: line.on === true, name: typeof line.name === "string" ? line.name : null };
  }

  takeFailed(line) {
    this.failed = line.text || "";
    this.takeEnd();
  }

  takeEnd() {
    this.ended = true;
    this.partial = [];
    this.recording = { on: false, name: null };
  }

  decided(kind, onset, about, arrived) {
    keep(this.decisions, { kind, onset, about, arrived });
    if (arrived !== null && arrived >= about) keep(this.latency[kind], arrived - about, TIMES);
  }

  // The deictic that covers a word, if one does.
  pointing(word) {
    for (const deictic of this.deictics.values())
      if (deictic.onset - 1e-4 <= word.onset && word.offset <= deictic.offset + 1e-4) return deictic;
    return null;
  }

  bindingOf(deictic) {
    return this.bindings.findLast((one) => one.deictic === deictic.index) || null;
  }

  strokeIsBound(index) {
    return this.bindings.some((one) => one.stroke === index);
  }

  // Where a point of the picture at `from` lies on the picture at `to` (null: the newest), carried by
  // the camera's motion; null when the background was lost in between.
  carried(point, from, to = null) {
    const then = nearest(this.motions, from);
    const now = to === null ? this.motions.at(-1) : nearest(this.motions, to);
    if (!then || then === now) return point;
    const near = Math.abs(then.time - from) <= 0.5 && (to === null || Math.abs(now.time - to) <= 0.5);
    if (!near || then.anchor !== now.anchor) return null;
    const back = inverse(now.to_stable);
    const stable = through(then.to_stable, point);
    return back && stable ? through(back, stable) : null;
  }
}

function nearest(motions, time) {
  let best = null;
  for (const one of motions)
    if (best === null || Math.abs(one.time - time) < Math.abs(best.time - time)) best = one;
  return best;
}

function through(m, [x, y]) {
  const w = m[2][0] * x + m[2][1] * y + m[2][2];
  if (Math.abs(w) < 1e-9) return null;
  return [(m[0][0] * x + m[0][1] * y + m[0][2]) / w, (m[1][0] * x + m[1][1] * y + m[1][2]) / w];
}

function inverse([[a, b, c], [d, e, f], [g, h, i]]) {
  const [A, B, C] = [e * i - f * h, f * g - d * i, d * h - e * g];
  const whole = a * A + b * B + c * C;
  if (Math.abs(whole) < 1e-12) return null;
  return [
    [A, c * h - b * i, b * f - c * e],
    [B, a * i - c * g, c * d - a * f],
    [C, b * g - a * h, a * e - b * d],
  ].map((row) => row.map((value) => value / whole));
}
