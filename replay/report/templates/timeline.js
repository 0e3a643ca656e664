// The timeline: lanes over one time axis, drawn at the width that there is.

const DECISION_ROWS = ["words", "strokes", "bindings", "answers"];
const SHAPES = {
  words: (x, y) => `M${x} ${y - 6}L${x + 5.5} ${y + 5}H${x - 5.5}Z`,
  strokes: (x, y) => `M${x - 5.5} ${y}a5.5 5.5 0 1 0 11 0a5.5 5.5 0 1 0-11 0Z`,
  bindings: (x, y) => `M${x} ${y - 6.5}L${x + 6} ${y}L${x} ${y + 6.5}L${x - 6} ${y}Z`,
  answers: (x, y) => `M${x - 5} ${y - 5}h10v10h-10Z`,
};
let gradients = 0;

class Timeline extends TimeAxis {
  constructor(clip, decisions, view, width) {
    super(clip, view, width);
    const speech = this.drawSpeech();
    const hands = this.drawHands();
    this.drawLinks(speech, hands);
    this.drawTruth();
    this.drawDecisions(decisions);
    this.drawNotes();
    this.finish();
  }

  drawSpeech() {
    const { clip } = this;
    const words = clip.words.filter((one) => this.sees(one.on, one.off));
    const height = words.length || clip.spans.length ? (this.narrow ? 94 : 76) : 24;
    const top = this.lane("speech", height);
    const bars = top + height - 14;
    for (const span of clip.spans) {
      if (!this.sees(span.on, span.off)) continue;
      const x = this.inX(span.on);
      this.add(
        this.knownAt(
          svg("rect", {
            class: "vad",
            x,
            y: bars - 4,
            width: Math.max(2, this.inX(span.off) - x),
            height: 17,
            rx: 6,
            "data-tip": `voice ${seconds(span.on)} – ${seconds(span.off)}${span.text ? ` · final text: ${span.text}` : ""}`,
          }),
          span.k,
        ),
      );
    }
    if (!clip.words.length) {
      this.add(
        svg(
          "text",
          {
            class: "lane-name",
            x: this.narrow ? this.left + 70 : this.left,
            y: this.narrow ? top - 5 : top + 14,
          },
          "no words",
        ),
      );
    }
    for (const word of clip.true_words) {
      if (!this.sees(word.on, word.off)) continue;
      this.add(
        svg("line", {
          class: "true-word",
          x1: this.inX(word.on),
          x2: this.inX(word.off),
          y1: bars + 15,
          y2: bars + 15,
          "data-tip": `annotated “${word.t}” ${seconds(word.on)} – ${seconds(word.off)}`,
        }),
      );
    }
    this.drawWords(words, top, bars);
    return { bottom: bars + 12 };
  }

  drawWords(words, top, bars) {
    const rows = Array.from({ length: Math.max(1, Math.floor((bars - top - 4) / 19)) }, () => []);
    const order = [
      ...words.filter((one) => one.d !== null),
      ...words.filter((one) => one.d === null),
    ];
    for (const word of order) {
      const deictic = word.d !== null;
      const group = this.knownAt(
        svg("g", { class: deictic ? "word deictic" : "word", "data-tip": this.wordTip(word) }),
        word.k,
      );
      const from = this.inX(word.on),
        to = this.inX(word.off),
        middle = (from + to) / 2;
      group.append(
        svg("rect", {
          class: "word-bar",
          x: from,
          y: bars,
          width: Math.max(2, to - from - 1),
          height: 9,
          rx: 2.5,
        }),
      );
      const wide = textWidth(word.t, deictic ? 14.5 : 13, deictic ? 700 : 400);
      const left = clamp(middle - wide / 2, this.left, this.right - wide);
      const row = placeInRows(rows, left - 4, left + wide + 4);
      if (row >= 0) {
        rows[row].push([left - 4, left + wide + 4]);
        const y = bars - 6 - 19 * row;
        if (row > 0 && !this.dense)
          group.prepend(
            svg("line", { class: "leader", x1: middle, x2: middle, y1: y + 4, y2: bars }),
          );
        group.append(svg("text", { x: left, y }, word.t));
      }
      this.add(group);
    }
  }

  wordTip(word) {
    const one = this.clip.deictics.find((deictic) => deictic.i === word.d);
    return (
      `“${word.t}” ${seconds(word.on)} – ${seconds(word.off)}, p ${chance(word.p)}` +
      (one
        ? ` · refers to ${one.kind === "place" ? "a place" : one.kind === "object" ? "an object" : "something said before"}`
        : "") +
      (isNumber(word.shown) ? ` · first shown ${seconds(word.shown)}` : "") +
      ` · committed ${seconds(word.k)}`
    );
  }

  drawHands() {
    this.y += 58;
    const { clip } = this;
    const height = 118,
      seen = [];
    let most = 0.5;
    for (const curve of clip.curves)
      curve.t.forEach((t, i) => {
        if (t >= this.view[0] && t <= this.view[1]) seen.push(curve.v[i]);
      });
    if (seen.length) {
      seen.sort((a, b) => a - b);
      most = Math.max(0.5, seen[Math.floor(0.995 * (seen.length - 1))] * 1.08);
    }
    const top = this.lane(
      "fingertip",
      height,
      seen.length
        ? `0–${most.toFixed(1)} heights/s`
        : clip.hand_share
          ? "too few frames"
          : "no hand seen",
    );
    const floor = top + height,
      roof = top + 24;
    for (const stroke of clip.strokes) this.drawStrokeParts(stroke, top, floor);
    for (const curve of clip.curves) this.drawCurve(curve, most, roof, floor);
    const xs = clip.strokes.map((one) => this.x(one.apex));
    clip.strokes.forEach((stroke, n) =>
      this.drawPin(
        stroke,
        top,
        floor,
        Math.min(xs[n] - (xs[n - 1] ?? -99), (xs[n + 1] ?? 1e9) - xs[n]) < 20,
      ),
    );
    this.add(
      svg("line", { class: "lane-line", x1: this.left, x2: this.right, y1: floor, y2: floor }),
    );
    return { top: top + 2 };
  }

  isBound(stroke) {
    return this.clip.bindings.some((one) => one.s === stroke.i);
  }

  drawStrokeParts(stroke, top, floor) {
    const end = isNumber(stroke.off) ? stroke.off : stroke.apex;
    if (!this.sees(stroke.on, end)) return;
    const on = this.inX(stroke.on),
      apex = this.inX(stroke.apex),
      off = this.inX(end);
    const tip = `stroke ${stroke.i + 1}: onset ${seconds(stroke.on)}, apex ${seconds(stroke.apex)}, hold to ${seconds(stroke.off)} · ${stroke.side} hand, quality ${chance(stroke.q)}`;
    const group = this.knownAt(svg("g", { class: "stroke", "data-tip": tip }), stroke.k);
    group.append(
      svg("rect", {
        class: "stroke-part",
        x: on,
        y: top,
        width: Math.max(0.5, apex - on),
        height: floor - top,
      }),
    );
    group.append(
      this.knownAt(
        svg("rect", {
          class: "hold-part",
          x: apex,
          y: top,
          width: Math.max(0, off - apex),
          height: floor - top,
        }),
        stroke.off_k,
      ),
    );
    this.add(group);
  }

  drawPin(stroke, top, floor, crowded) {
    if (!this.sees(stroke.apex, stroke.apex)) return;
    const x = this.x(stroke.apex),
      radius = this.dense ? 3 : crowded ? 5 : 10;
    const group = this.knownAt(
      svg("g", {
        class: this.isBound(stroke) ? "stroke" : "stroke free",
        "data-tip": `stroke ${stroke.i + 1}, apex ${seconds(stroke.apex)}${this.isBound(stroke) ? "" : " · no word refers through it"}`,
      }),
      stroke.k,
    );
    group.append(svg("line", { class: "apex", x1: x, x2: x, y1: top + 10, y2: floor }));
    group.append(svg("circle", { class: "pin", cx: x, cy: top + 11, r: radius }));
    if (!crowded && !this.dense)
      group.append(svg("text", { class: "pin-text", x, y: top + 15.5 }, String(stroke.i + 1)));
    this.add(group);
  }

  drawCurve(curve, most, roof, floor) {
    const [from, to] = this.view,
      margin = (to - from) * 0.02;
    const y = (speed) => floor - clamp(speed / most, 0, 1) * (floor - roof);
    let path = "",
      first = null,
      last = null;
    curve.t.forEach((time, i) => {
      if (time < from - margin || time > to + margin) return;
      const x = clamp(this.x(time), this.left - 2, this.right + 2);
      path += `${path ? "L" : "M"}${x.toFixed(1)} ${y(curve.v[i]).toFixed(1)}`;
      if (first === null) first = x;
      last = x;
    });
    if (!path || first === last) return;
    this.add(
      svg("path", {
        class: "speed-fill",
        d: `${path}L${last.toFixed(1)} ${floor}L${first.toFixed(1)} ${floor}Z`,
      }),
    );
    this.add(svg("path", { class: `speed ${curve.side === "left" ? "left" : "right"}`, d: path }));
  }

  drawLinks(speech, hands) {
    const { clip } = this;
    const strokes = new Map(clip.strokes.map((one) => [one.i, one]));
    const deictics = new Map(clip.deictics.map((one) => [one.i, one]));
    const shown = clip.bindings.filter((one) => deictics.has(one.d));
    const taken = [[]];
    for (const one of shown) {
      const word = deictics.get(one.d),
        stroke = strokes.get(one.s);
      const from = this.x((word.on + word.off) / 2);
      const tip = `“${word.t}” refers ${stroke ? `through stroke ${stroke.i + 1}` : "without a stroke"}, p ${chance(one.p)} · settled by ${one.reason} at ${seconds(one.k)}`;
      const group = this.knownAt(svg("g", { class: "link-group", "data-tip": tip }), one.k);
      if (!stroke) {
        if (from < this.left || from > this.right) continue;
        const y = speech.bottom + 12;
        group.append(
          svg("circle", { class: "unbound", cx: from, cy: y, r: 6 }),
          svg("line", { class: "unbound", x1: from - 4, y1: y + 4, x2: from + 4, y2: y - 4 }),
        );
        this.add(group);
        continue;
      }
      const to = this.x(stroke.apex);
      if (Math.max(from, to) < this.left || Math.min(from, to) > this.right) continue;
      this.drawLink(group, one, from, to, speech.bottom, hands.top, taken);
    }
  }

  drawLink(group, binding, from, to, top, bottom, taken) {
    const id = `link-${(gradients += 1)}`;
    this.defs.append(
      svg(
        "linearGradient",
        { id, gradientUnits: "userSpaceOnUse", x1: 0, y1: top, x2: 0, y2: bottom },
        svg("stop", { offset: "0", "stop-color": "var(--speech)" }),
        svg("stop", { offset: "1", "stop-color": "var(--hand)" }),
      ),
    );
    const bend = (bottom - top) * 0.55;
    const d = `M${from.toFixed(1)} ${top}C${from.toFixed(1)} ${top + bend} ${to.toFixed(1)} ${bottom - bend} ${to.toFixed(1)} ${bottom}`;
    group.append(svg("path", { d, fill: "none", stroke: "transparent", "stroke-width": 14 }));
    group.append(
      svg("path", {
        class: "link",
        d,
        stroke: `url(#${id})`,
        opacity: 0.35 + 0.65 * (isNumber(binding.p) ? binding.p : 1),
      }),
    );
    const beside = Math.max(from, to) + 7;
    if (
      !this.dense &&
      beside + 30 < this.width &&
      placeInRows(taken, Math.min(from, to) - 4, beside + 30) >= 0
    ) {
      taken[0].push([Math.min(from, to) - 4, beside + 30]);
      group.append(
        svg(
          "text",
          { class: "link-text", x: beside, y: (top + bottom) / 2 + 4 },
          chance(binding.p),
        ),
      );
    }
    this.add(group);
  }

  drawTruth() {
    const referents = this.clip.referents;
    const windows = referents
      .map((one, n) => ({ n, truth: one.truth }))
      .filter((one) => one.truth && one.truth.window);
    const said = referents
      .map((one, n) => ({ n, said: one.said, hits: one.hits }))
      .filter((one) => one.said && isNumber(one.said.time));
    if (!windows.length && !said.length) return;
    this.rule();
    const top = this.lane(
      windows.length ? "annotated" : "when",
      windows.length ? 40 : 20,
      windows.length ? "▲ our when" : "",
    );
    const taken = [[]];
    for (const { n, truth } of windows) {
      const [from, to] = truth.window;
      if (!this.sees(from, to)) continue;
      const x = this.inX(from),
        end = this.inX(to),
        label = `${n + 1} ${truth.label}`;
      const wide = textWidth(label, 13, 650);
      const group = svg("g", {
        "data-tip": `referent ${n + 1}: annotated stroke ${seconds(from)} – ${seconds(to)} · ${truth.label}. ${truth.text}`,
      });
      group.append(
        svg("rect", {
          class: "window",
          x,
          y: top + 1,
          width: Math.max(2, end - x),
          height: 19,
          rx: 4,
        }),
      );
      if (end - x > wide + 6 && placeInRows(taken, x, end) >= 0) {
        taken[0].push([x, end]);
        group.append(
          svg("text", { class: "window-text", x: (x + end) / 2 - wide / 2, y: top + 15 }, label),
        );
      }
      this.add(group);
    }
    for (const { n, said: one, hits } of said) {
      if (!this.sees(one.time, one.time)) continue;
      const x = this.x(one.time),
        y = top + (windows.length ? 24 : 3);
      const hit = hits ? (hits.t ? " · inside the window" : " · outside the window") : "";
      this.add(
        svg("path", {
          class: hits && !hits.t ? "when miss" : "when",
          d: `M${x} ${y}l6.5 12h-13Z`,
          "data-tip": `referent ${n + 1}: our when ${seconds(one.time)}${hit}`,
        }),
      );
    }
  }

  drawDecisions(decisions) {
    this.rule();
    const used = DECISION_ROWS.filter((row) => decisions.some((one) => one.row === row));
    used.forEach((row) => {
      const top = this.lane(row, 20, "");
      const y = top + 9;
      if (row === "words" && !this.dense) this.drawShown(y);
      let before = -99;
      decisions.forEach((decision, index) => {
        if (decision.row !== row) return;
        const x = this.x(decision.k);
        if (this.dense && x - before < 4) return; // no room for this one: zoom in to see it
        before = x;
        this.drawMark(decision, index, y);
      });
    });
    if (!used.length) this.lane("no decisions", 22, "");
  }

  drawShown(y) {
    for (const word of this.clip.words) {
      if (!isNumber(word.shown) || !this.sees(word.shown, word.shown) || word.shown >= word.k)
        continue;
      const group = this.knownAt(
        svg("g", {
          class: "mark words partial",
          "data-tip": `“${word.t}” first shown at ${seconds(word.shown)}, ${(word.shown - word.on).toFixed(2)} s after it began`,
        }),
        word.shown,
      );
      group.append(
        svg("path", {
          d: `M${this.x(word.shown)} ${y - 3}L${this.x(word.shown) + 3.2} ${y + 3}h-6.4Z`,
        }),
      );
      this.add(group);
    }
  }

  drawMark(decision, index, y) {
    const last = Math.max(decision.k, isNumber(decision.e) ? decision.e : 0);
    const first = isNumber(decision.about) ? Math.min(decision.about, decision.k) : decision.k;
    if (!this.sees(first, last)) return;
    const group = this.knownAt(
      svg("g", {
        class: `mark ${decision.row}`,
        tabindex: -1,
        role: "img",
        "aria-label": describe(decision),
        "data-tip": describe(decision),
        "data-decision": index,
      }),
      decision.k,
    );
    group.append(
      svg("rect", {
        class: "hit-area",
        x: this.inX(first) - 6,
        y: y - 10,
        width: this.inX(last) - this.inX(first) + 12,
        height: 20,
      }),
    );
    group.append(
      svg("line", { class: "wait", x1: this.inX(first), x2: this.inX(decision.k), y1: y, y2: y }),
    );
    if (last > decision.k)
      group.append(
        svg("line", { class: "lag", x1: this.inX(decision.k), x2: this.inX(last), y1: y, y2: y }),
      );
    const x = this.x(decision.k);
    if (x >= this.left - 6 && x <= this.right + 6)
      group.append(svg("path", { d: SHAPES[decision.row](x, y) }));
    this.marks[index] = group;
    this.add(group);
  }

  drawNotes() {
    if (!this.clip.notes.length) return;
    const seen = this.clip.notes.filter((one) => this.sees(one.on, one.off));
    for (const one of seen.slice(0, 400)) {
      const x = this.inX(one.on);
      this.add(
        svg("rect", {
          class: "note",
          x,
          y: this.top - 1,
          width: Math.max(3, this.inX(one.off) - x),
          height: 4,
          rx: 1.5,
          "data-tip": `${one.kind}: ${one.text}`,
        }),
      );
    }
  }
}
