// Over the video: the hand, its ray, the strokes, and what was meant. Points are fractions of the
// picture and never mirrored; when the picture on the screen is, the drawing turns each x around.
import { brushOf, disc, line, plate, target, text } from "./paint.js";

const BONES = [
  [0, 1, 2, 3, 4], [0, 5], [5, 6, 7, 8], [5, 9, 10, 11, 12], [9, 13, 14, 15, 16], [13, 17, 18, 19, 20], [0, 17],
];
const HAND = "#ff9f4a";
const SHADE = "#0009";
const STALE = 0.9; // seconds without news of the hands
const STROKE_SHOWN = 6;
const ANSWER_SHOWN = 20;

// Where the picture lies within the canvas: whole, centred.
export function frameOf(width, height, { video, still }) {
  const size = still.hidden ? [video.videoWidth, video.videoHeight] : [still.width, still.height];
  const [w, h] = size[0] ? size : [4, 3];
  const scale = Math.min(width / w, height / h);
  return { left: (width - w * scale) / 2, top: (height - h * scale) / 2, width: w * scale, height: h * scale };
}

export class Overlay {
  // `shown`: the video, and the still that takes its place when it is over.
  constructor(canvas, shown) {
    Object.assign(this, { canvas, shown, mirrored: false });
  }

  draw(state, now) {
    const drawn = brushOf(this.canvas);
    if (!drawn) return;
    const { brush } = drawn;
    const room = frameOf(drawn.width, drawn.height, this.shown);
    const at = ([x, y]) => [
      room.left + (this.mirrored ? 1 - x : x) * room.width,
      room.top + y * room.height,
    ];
    brush.save();
    brush.beginPath();
    brush.rect(room.left, room.top, room.width, room.height);
    brush.clip();
    const seen = state.hands;
    const fresh = seen && now - seen.time < STALE && this.shown.still.hidden;
    if (fresh) for (const hand of seen.hands) this.hand(brush, hand, at, room);
    this.strokes(brush, state, now, at);
    this.answer(brush, state, now, at, room);
    brush.restore();
  }

  hand(brush, hand, at, room) {
    const points = hand.landmarks.map(at);
    const size = Math.max(1, room.width / 640);
    for (const [colour, width] of [[SHADE, 4.5], ["#ffffffd9", 1.8]])
      for (const bone of BONES)
        line(brush, bone.map((n) => points[n]), colour, width * size);
    line(brush, [5, 6, 7, 8].map((n) => points[n]), HAND, 4 * size);
    if (hand.pointing > 0.5) {
      const [kx, ky] = points[5];
      const [tx, ty] = points[8];
      const long = (2 * room.width) / Math.max(1, Math.hypot(tx - kx, ty - ky));
      const far = [tx + (tx - kx) * long, ty + (ty - ky) * long];
      line(brush, [[tx, ty], far], SHADE, 4 * size, [1, 9 * size]);
      line(brush, [[tx, ty], far], HAND, 2.4 * size, [1, 9 * size]);
    }
    disc(brush, points[8], 6 * size, HAND, "#fff", 2 * size);
  }

  strokes(brush, state, now, at) {
    for (const stroke of state.strokes.values()) {
      const age = now - stroke.apex;
      if (age > STROKE_SHOWN) continue;
      const [tip, knuckle] = [stroke.tip, stroke.knuckle].map((point) => state.carried(point, stroke.apex));
      if (!tip || !knuckle) continue;
      brush.globalAlpha = Math.min(1, (STROKE_SHOWN - age) / 2);
      const bound = state.strokeIsBound(stroke.index);
      line(brush, [at(knuckle), at(tip)], SHADE, 8);
      line(brush, [at(knuckle), at(tip)], HAND, 4.5, bound ? [] : [2, 7]);
      disc(brush, at(tip), 12, bound ? HAND : "#1a1208", HAND, 2.5);
      const [x, y] = at(tip);
      const colour = bound ? "#1a1208" : HAND;
      text(brush, `${stroke.index + 1}`, x, y + 0.5, { colour, size: 13, weight: 750, align: "center" });
      brush.globalAlpha = 1;
    }
  }

  answer(brush, state, now, at, room) {
    const { answer } = state;
    if (!answer || now - answer.frame_time > ANSWER_SHOWN) return;
    const targets = answer.referents.flatMap((referent, n) => {
      const point = referent.point && state.carried(referent.point, answer.frame_time);
      return point ? [{ at: at(point), number: n + 1, referent }] : [];
    });
    const size = Math.max(1, room.width / 800);
    const lowest = Math.max(...targets.map((one) => one.at[1]));
    // Names stand below the lowest target and above the others, so that they cover none of them.
    for (const { at: [x, y], referent } of targets) {
      const words = [referent.label, referent.description].filter(Boolean).join(". ");
      if (words) plate(brush, words, x, y === lowest ? y + 24 * size : y - 58 * size, room);
    }
    for (const { at: point, number } of targets) target(brush, point, number, { size });
  }
}
