// The time axis that all lanes share, and the cursor that says what was known when.

class TimeAxis {
  // `view` is [from, to] in seconds; `width` is in pixels.
  constructor(clip, view, width) {
    this.clip = clip;
    this.view = view;
    this.width = width;
    this.narrow = width < 640;
    this.left = this.narrow ? 6 : 92;
    this.right = width - 10;
    this.dense = (view[1] - view[0]) / (this.right - this.left) > 0.12; // seconds a pixel
    this.timed = [];
    this.marks = [];
    this.y = 0;
    this.node = svg("svg", {
      class: this.dense ? "timeline dense" : "timeline",
      role: "group",
      "aria-label": "Timeline of the clip",
    });
    this.defs = this.add(svg("defs"));
    this.grid = this.add(svg("g"));
    this.drawAxis();
  }

  add(node, into) {
    (into || this.node).append(node);
    return node;
  }
  x(time) {
    const [from, to] = this.view;
    return this.left + ((time - from) / (to - from)) * (this.right - this.left);
  }
  timeAt(x) {
    const [from, to] = this.view;
    return clamp(
      from + ((x - this.left) / (this.right - this.left)) * (to - from),
      0,
      this.clip.duration || to,
    );
  }
  sees(from, to) {
    return isNumber(from) && isNumber(to) && to >= this.view[0] && from <= this.view[1];
  }
  inX(time) {
    return clamp(this.x(time), this.left, this.right);
  }
  knownAt(node, time) {
    if (isNumber(time)) this.timed.push([node, time]);
    return node;
  }

  // A lane of this height; its name stands left of it, or above it when there is no room.
  lane(name, height, sub) {
    if (this.narrow) this.y += 17;
    const top = this.y;
    const y = this.narrow ? top - 5 : top + 14;
    this.add(
      svg(
        "text",
        { class: "lane-name", x: this.narrow ? this.left : 0, y },
        this.narrow && sub ? `${name}, ${sub}` : name,
      ),
    );
    if (sub && !this.narrow)
      this.add(
        svg("text", { class: "lane-name", x: 0, y: y + 15, style: "font-size:11.5px" }, sub),
      );
    this.y += height;
    return top;
  }
  rule() {
    this.y += 5;
    this.add(svg("line", { class: "lane-line", x1: 0, x2: this.width, y1: this.y, y2: this.y }));
    this.y += 5;
  }

  drawAxis() {
    const [from, to] = this.view;
    const step = niceStep(to - from, Math.max(3, (this.right - this.left) / 64));
    const axis = this.add(svg("g", { class: "axis" }));
    this.gridTimes = [];
    for (let n = Math.ceil(from / step - 1e-6); n * step <= to + 1e-6; n += 1) {
      const time = n * step,
        x = this.x(time);
      this.gridTimes.push(x);
      const end = x > this.right - 14 ? "end" : x < this.left + 8 ? "start" : "middle";
      axis.append(
        svg(
          "text",
          { x, y: 15, "text-anchor": end },
          clock(time, step) + (n * step + step > to ? " s" : ""),
        ),
      );
    }
    this.y = 24;
    this.top = 20;
  }

  finish() {
    const height = this.y + 4;
    for (const x of this.gridTimes)
      this.grid.append(svg("line", { class: "grid-line", x1: x, x2: x, y1: this.top, y2: height }));
    this.veil = this.add(
      svg("rect", { class: "veil", y: this.top, height: height - this.top, visibility: "hidden" }),
    );
    this.cursor = this.add(svg("g", { visibility: "hidden" }));
    this.cursorLine = svg("line", { class: "cursor", y1: 18, y2: height });
    this.flag = svg("rect", { class: "cursor-flag", y: 0, height: 20, rx: 5 });
    this.flagText = svg("text", { class: "cursor-text", y: 14.5 });
    this.cursor.append(this.cursorLine, this.flag, this.flagText);
    this.node.setAttribute("viewBox", `0 0 ${this.width} ${height}`);
    this.node.setAttribute("width", this.width);
    this.node.setAttribute("height", height);
  }

  // Show what was known at `time`; null shows everything.
  setCursor(time) {
    const set = time !== null && time >= this.view[0] - 1e-6 && time <= this.view[1] + 1e-6;
    this.cursor.setAttribute("visibility", set ? "visible" : "hidden");
    const veiled = time !== null && time < this.view[1];
    this.veil.setAttribute("visibility", veiled ? "visible" : "hidden");
    if (veiled) {
      const x = clamp(this.x(time), this.left, this.right);
      this.veil.setAttribute("x", x);
      this.veil.setAttribute("width", Math.max(0, this.width - x));
    }
    if (set) {
      const x = this.x(time),
        text = precise(time),
        half = textWidth(text, 13, 650) / 2 + 7;
      const at = clamp(x, half, this.width - half);
      this.cursorLine.setAttribute("x1", x);
      this.cursorLine.setAttribute("x2", x);
      this.flag.setAttribute("x", at - half);
      this.flag.setAttribute("width", 2 * half);
      this.flagText.setAttribute("x", at);
      this.flagText.textContent = text;
    }
    for (const [node, known] of this.timed)
      node.classList.toggle("unknown", time !== null && known > time + 1e-4);
  }

  setMark(index) {
    this.marks.forEach((mark, n) => {
      if (mark) mark.classList.toggle("now", n === index);
    });
  }
}
