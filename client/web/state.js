// What the lines of a session say so far. Nothing here touches the page or a clock.

const KEPT = 400;
const MOTIONS = 900;
const TIMES = 200;

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
    this.answer = null;
    this.failure = null;
    this.broken = false; // the session itself failed
    this.counts = {};
    this.note = null;
    this.ended = false;
    this.decisions = []; // {kind, about, arrived}
    this.latency = { word: [], stroke: [], binding: [], answer: [] };
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
    const hadAnswer = this.answer;
    Object.assign(this, new SessionState(), { facts });
    for (const one of lines || []) this.take(one, null);
    // After a cut the same answer comes again: the same object, so that it is not spoken twice.
    if (hadAnswer && JSON.stringify(hadAnswer) === JSON.stringify(this.answer)) this.answer = hadAnswer;
  }

  takeSpeechStart(line) {
    keep(this.speech, { onset: line.onset, offset: null });
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

  takeHandsSeen(line) {
    this.hands = line;
  }

  takeCameraMotion(line) {
    keep(this.motions, line, MOTIONS);
  }

  takeAnswer(line, arrived) {
    const said = this.speech.at(-1)?.offset ?? this.words.at(-1)?.offset ?? line.frame_time;
    if (line.final) this.decided("answer", said, said, arrived);
    this.answer = line;
    this.failure = null;
  }

  takeModelFailed(line) {
    this.failure = line;
  }

  takeSourceNote(line) {
    if (line.kind === "closed") return; // how every session ends
    this.counts[line.kind] = (this.counts[line.kind] || 0) + 1;
    this.note = line;
  }

  takeSkipped(line) {
    const name = `skipped_${line.what}`;
    this.counts[name] = (this.counts[name] || 0) + (line.count || 1);
  }

  takeStatus(line) {
    this.note = line;
  }

  takeFailed(line) {
    this.failure = { ...line, model: "" };
    this.broken = true;
    this.takeEnd();
  }

  takeEnd() {
    this.ended = true;
    this.partial = [];
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

  // Where a point of the picture at `time` lies on the newest picture, carried by the camera's
  // motion; null when the background was lost in between.
  carried(point, time) {
    const then = nearest(this.motions, time);
    const now = this.motions.at(-1);
    if (!then || then === now) return point;
    if (Math.abs(then.time - time) > 0.5 || then.anchor !== now.anchor) return null;
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
