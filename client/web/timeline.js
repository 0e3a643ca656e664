// The last seconds of a session: words, strokes, what binds them, and when each was decided.
import { brushOf, disc, line, palette, text, widthOf } from "./paint.js";

const DECIDED = ["word", "stroke", "binding", "answer"];

export class Timeline {
  constructor(canvas, { t, onMove }) {
    Object.assign(this, { canvas, t, onMove, back: 0, span: 12 });
    canvas.addEventListener("keydown", (event) => this.key(event));
    canvas.addEventListener("wheel", (event) => {
      if (!event.deltaX && !event.shiftKey) return;
      event.preventDefault();
      this.move((event.deltaX || event.deltaY) / this.canvas.clientWidth);
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => this.grab(event));
  }

  key(event) {
    const steps = { ArrowLeft: -0.1, ArrowRight: 0.1, PageUp: -0.8, PageDown: 0.8, End: Infinity, Home: -Infinity };
    if (!(event.key in steps)) return;
    event.preventDefault();
    this.move(steps[event.key]);
  }

  grab(event) {
    const from = { x: event.clientX, back: this.back };
    this.canvas.setPointerCapture(event.pointerId);
    this.canvas.onpointermove = ({ clientX }) => {
      this.back = Math.max(0, from.back + ((clientX - from.x) / this.canvas.clientWidth) * this.span);
      this.onMove();
    };
    this.canvas.onpointerup = this.canvas.onpointercancel = () => (this.canvas.onpointermove = null);
  }

  // By shares of what is shown; 0 back is now.
  move(share) {
    this.back = Math.max(0, this.back - share * this.span);
    this.onMove();
  }

  draw(state, now) {
    const drawn = brushOf(this.canvas);
    if (!drawn) return;
    const { brush, width, height } = drawn;
    const narrow = width < 560;
    this.span = narrow ? 6 : 12;
    this.back = Math.min(this.back, Math.max(0, now - this.span));
    const left = narrow ? 4 : 74;
    const to = Math.max(now - this.back, this.span * 0.98);
    const from = to - this.span;
    const room = { left, right: width - 12, from, to, height, narrow };
    room.x = (time) => left + ((time - from) / this.span) * (room.right - left);
    room.rows = height > 190 ? { words: 60, hand: 106, handEnd: 144, decided: 162 }
      : { words: 60, hand: 96, handEnd: height - 8, decided: null };
    this.axis(brush, room, now);
    brush.save();
    brush.beginPath();
    brush.rect(left - 2, 0, width - left, height);
    brush.clip();
    this.strokes(brush, state, room);
    this.words(brush, state, room, now);
    this.links(brush, state, room);
    if (room.rows.decided) this.decided(brush, state, room);
    brush.restore();
    if (!narrow) this.names(brush, room);
  }

  axis(brush, room, now) {
    const { line: grey, faint, quiet } = palette();
    const bottom = room.height - 2;
    for (let time = Math.max(0, Math.ceil(room.from)); time <= room.to; time++) {
      const x = room.x(time);
      line(brush, [[x, 18], [x, bottom]], faint, 1);
      if (x > room.left + 8) text(brush, stamp(time), x, 9, { colour: quiet, size: 12, align: "center" });
    }
    if (now <= room.to + 0.01) line(brush, [[room.x(now), 18], [room.x(now), bottom]], grey, 2);
    const { hand, handEnd, decided } = room.rows;
    line(brush, [[room.left, handEnd], [room.right, handEnd]], grey, 1);
    if (decided) line(brush, [[room.left, hand], [room.right, hand]], faint, 1);
  }

  names(brush, room) {
    const { quiet } = palette();
    const name = (words, y) => text(brush, words, 2, y, { colour: quiet, size: 12.5 });
    name(this.t("lane_speech"), room.rows.words);
    name(this.t("lane_hand"), (room.rows.hand + room.rows.handEnd) / 2);
    if (room.rows.decided)
      DECIDED.forEach((kind, n) => name(this.t(`lane_${kind}`), room.rows.decided + n * rowOf(room)));
  }

  words(brush, state, room, now) {
    const { speech, quiet, ink } = palette();
    const y = room.rows.words;
    brush.fillStyle = palette()["speech-soft"];
    for (const { onset, offset } of state.speech) {
      const end = offset ?? now;
      if (end > room.from) brush.fillRect(room.x(onset), y - 6, room.x(end) - room.x(onset), 12);
    }
    const taken = [-Infinity, -Infinity];
    const shown = [...state.words, ...state.partial.map((word) => ({ ...word, open: true }))];
    for (const word of shown.filter((one) => one.offset > room.from - 1)) {
      const deictic = word.open ? null : state.pointing(word);
      const [a, b] = [room.x(word.onset), room.x(word.offset)];
      brush.globalAlpha = word.open ? 0.5 : 1;
      brush.fillStyle = deictic ? speech : quiet;
      brush.beginPath();
      brush.roundRect(a, y - 5, Math.max(3, b - a - 1.5), 10, 3);
      brush.fill();
      const [size, weight] = deictic ? [15, 720] : [13, 400];
      const half = widthOf(brush, word.text, size, weight) / 2;
      const middle = (a + b) / 2;
      const row = taken.findIndex((end) => end <= middle - half - 4);
      if (row >= 0) {
        taken[row] = middle + half;
        const colour = deictic ? speech : word.open ? quiet : ink;
        text(brush, word.text, middle, row ? 28 : 44, { colour, size, weight, align: "center" });
      }
      brush.globalAlpha = 1;
    }
  }

  strokes(brush, state, room) {
    const colours = palette();
    const { hand: top, handEnd: bottom } = room.rows;
    for (const stroke of state.strokes.values()) {
      const end = state.holds.get(stroke.index) ?? null; // the hold is drawn when it is over
      const [a, apex, b] = [stroke.onset, stroke.apex, end ?? room.to].map(room.x);
      if (b < room.left - 40) continue;
      brush.fillStyle = colours["hand-soft"];
      brush.fillRect(a, top, apex - a, bottom - top);
      brush.fillStyle = colours["hand-softer"];
      if (end !== null) brush.fillRect(apex, top, b - apex, bottom - top);
      const bound = state.strokeIsBound(stroke.index);
      line(brush, [[apex, top], [apex, bottom]], colours.hand, 2, bound ? [] : [2, 4]);
      disc(brush, [apex, top + 11], 10, bound ? colours.hand : colours.surface, colours.hand, 1.8);
      const colour = bound ? colours.surface : colours.hand;
      text(brush, `${stroke.index + 1}`, apex, top + 11.5, { colour, size: 12.5, weight: 750, align: "center" });
    }
  }

  links(brush, state, room) {
    const { speech, hand, quiet, surface } = palette();
    const { words, hand: top } = room.rows;
    for (const binding of state.bindings) {
      const deictic = state.deictics.get(binding.deictic);
      const stroke = state.strokes.get(binding.stroke);
      if (!deictic) continue;
      const x = room.x((deictic.onset + deictic.offset) / 2);
      if (!stroke) {
        disc(brush, [x, words + 16], 4.5, null, speech, 1.6);
        continue;
      }
      const end = room.x(stroke.apex);
      const [a, b] = [words + 7, top + 1];
      const blend = brush.createLinearGradient(0, a, 0, b);
      blend.addColorStop(0, speech);
      blend.addColorStop(1, hand);
      Object.assign(brush, { strokeStyle: blend, lineWidth: 2.6, lineCap: "round" });
      brush.beginPath();
      brush.moveTo(x, a);
      brush.bezierCurveTo(x, (a + b) / 2, end, (a + b) / 2, end, b);
      brush.stroke();
      const words_ = binding.probability.toFixed(2);
      const place = [(x + end) / 2 + 9, (a + b) / 2];
      Object.assign(brush, { strokeStyle: surface, lineWidth: 4 });
      text(brush, words_, ...place, { colour: quiet, size: 12 });
    }
  }

  decided(brush, state, room) {
    const { speech, hand, ink } = palette();
    const colour = { word: speech, stroke: hand, binding: ink, answer: ink };
    for (const { kind, about, arrived } of state.decisions) {
      if (arrived === null || arrived < room.from) continue;
      const y = room.rows.decided + DECIDED.indexOf(kind) * rowOf(room);
      const [a, b] = [room.x(about), room.x(arrived)];
      brush.globalAlpha = 0.5;
      line(brush, [[a, y], [b, y]], colour[kind], 1.6);
      brush.globalAlpha = 1;
      mark(brush, kind, b, y, colour[kind]);
    }
  }
}

const rowOf = (room) => Math.min(18, (room.height - room.rows.decided - 6) / (DECIDED.length - 1));

function mark(brush, kind, x, y, colour) {
  brush.fillStyle = colour;
  const shapes = {
    word: [[0, -5], [5, 4], [-5, 4]],
    binding: [[0, -5.5], [5.5, 0], [0, 5.5], [-5.5, 0]],
    answer: [[-4.5, -4.5], [4.5, -4.5], [4.5, 4.5], [-4.5, 4.5]],
  };
  if (kind === "stroke") {
    disc(brush, [x, y], 4.8, colour);
    return;
  }
  brush.beginPath();
  shapes[kind].forEach(([dx, dy], n) => (n ? brush.lineTo(x + dx, y + dy) : brush.moveTo(x + dx, y + dy)));
  brush.closePath();
  brush.fill();
}

function stamp(time) {
  return time < 60 ? `${time} s` : `${Math.floor(time / 60)}:${String(time % 60).padStart(2, "0")}`;
}
