// Drawing on canvases: sharp on every screen, in the page's own colours.

export const FONT =
  'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", "PingFang SC", ' +
  '"Noto Sans CJK SC", "Microsoft YaHei", sans-serif';

const NAMES = ["ink", "quiet", "line", "faint", "surface", "speech", "speech-soft", "hand", "hand-soft", "hand-softer", "truth"];
let colours = null;

export function palette() {
  if (colours === null) {
    const style = getComputedStyle(document.documentElement);
    colours = Object.fromEntries(NAMES.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
  }
  return colours;
}
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => (colours = null));

// The canvas's brush, in CSS pixels, cleared; null while the canvas is not shown.
export function brushOf(canvas) {
  const width = canvas.clientWidth;
  const height = canvas.clientHeight;
  if (!width || !height) return null;
  const ratio = Math.min(window.devicePixelRatio || 1, 3);
  const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== w || canvas.height !== h) Object.assign(canvas, { width: w, height: h });
  const brush = canvas.getContext("2d");
  brush.setTransform(ratio, 0, 0, ratio, 0, 0);
  brush.clearRect(0, 0, width, height);
  return { brush, width, height };
}

export function line(brush, points, colour, width, dash = []) {
  brush.beginPath();
  points.forEach(([x, y], n) => (n ? brush.lineTo(x, y) : brush.moveTo(x, y)));
  Object.assign(brush, { strokeStyle: colour, lineWidth: width, lineCap: "round", lineJoin: "round" });
  brush.setLineDash(dash);
  brush.stroke();
  brush.setLineDash([]);
}

export function disc(brush, [x, y], radius, fill, edge = null, width = 2) {
  brush.beginPath();
  brush.arc(x, y, radius, 0, 2 * Math.PI);
  if (fill) {
    brush.fillStyle = fill;
    brush.fill();
  }
  if (edge) {
    Object.assign(brush, { strokeStyle: edge, lineWidth: width });
    brush.stroke();
  }
}

export function text(brush, words, x, y, { colour, size = 13, weight = 400, align = "left" }) {
  brush.font = `${weight} ${size}px ${FONT}`;
  Object.assign(brush, { fillStyle: colour, textAlign: align, textBaseline: "middle" });
  brush.fillText(words, x, y);
}

export function widthOf(brush, words, size, weight = 400) {
  brush.font = `${weight} ${size}px ${FONT}`;
  return brush.measureText(words).width;
}

// A numbered target: a ring around the point, its number in a disc beside it.
export function target(brush, [x, y], number, { size = 1, colour = "#45d3b0", dark = "#06251e" } = {}) {
  disc(brush, [x, y], 15 * size, null, "#000a", 6 * size);
  disc(brush, [x, y], 15 * size, null, colour, 3 * size);
  disc(brush, [x, y], 2.5 * size, colour);
  const at = [x + 15 * size, y - 15 * size];
  disc(brush, at, 10 * size, colour, dark, 1.5 * size);
  text(brush, `${number}`, at[0], at[1] + 0.5, { colour: dark, size: 13 * size, weight: 750, align: "center" });
}

// Words on a dark plate, kept inside the picture.
export function plate(brush, words, x, y, room, size = 14) {
  const most = Math.max(80, room.width - 16);
  let shown = words;
  while (shown.length > 4 && widthOf(brush, shown, size, 600) > most - 18) shown = `${shown.slice(0, -2)}…`.replace("……", "…");
  const width = widthOf(brush, shown, size, 600) + 18;
  const left = Math.min(Math.max(x - width / 2, room.left + 6), room.left + room.width - width - 6);
  const top = Math.min(Math.max(y, room.top + 6), room.top + room.height - size * 2 - 4);
  brush.fillStyle = "#0b0e12d9";
  brush.beginPath();
  brush.roundRect(left, top, width, size * 1.8, 7);
  brush.fill();
  text(brush, shown, left + 9, top + size * 0.92, { colour: "#fff", size, weight: 600 });
}
