// What stands around the timeline of one clip: its head, its notes, the legend, the controls.

function clipHead(clip) {
  const facts = [
    clip.level,
    clip.instruction ? `instruction ${clip.instruction}` : "",
    clip.scene,
    { en: "English", zh: "Chinese", auto: "language found by itself" }[clip.language] ||
      clip.language,
    precise(clip.duration),
    isNumber(clip.hand_share) ? `hand in ${Math.round(100 * clip.hand_share)} % of frames` : "",
    clip.status && clip.status !== "answered" ? `score: ${clip.status}` : "",
    clip.complete ? "" : "trace is incomplete",
  ].filter(Boolean);
  return [
    html(
      "div",
      { class: "clip-head" },
      html("h2", {}, clip.name),
      html("p", {}, facts.join(" · ")),
    ),
    clipSaid(clip),
  ];
}

function clipSaid(clip) {
  if (!clip.words.length) return html("p", { class: "clip-said quiet" }, "Nothing was said.");
  const glue = clip.language === "zh" ? "" : " ";
  const shown = clip.words.length > 80 ? clip.words.slice(0, 80) : clip.words;
  const parts = shown.map((word) => (word.d === null ? word.t : html("mark", {}, word.t)));
  return html(
    "p",
    { class: "clip-said", lang: clip.language || null },
    parts.flatMap((part, n) => (n ? [glue, part] : [part])),
    shown.length < clip.words.length ? " …" : "",
  );
}

function clipNotes(clip) {
  const lines = [
    ...clip.notes.map((one) => `${seconds(one.on)} ${one.kind}: ${one.text}`),
    ...clip.faults,
    clip.reason,
  ].filter(Boolean);
  if (!lines.length) return null;
  const more = clip.fault_count - clip.faults.length;
  if (more > 0) lines.push(`and ${more} more lines that could not be used`);
  return html(
    "details",
    { class: "clip-notes", open: lines.length <= 4 },
    html(
      "summary",
      {},
      lines.length === 1 ? "A note about this clip" : `${lines.length} notes about this clip`,
    ),
    html(
      "ul",
      {},
      lines.map((line) => html("li", {}, line)),
    ),
  );
}

function legend(clip) {
  const sign = (content, name) =>
    html(
      "span",
      {},
      svg(
        "svg",
        {
          width: 22,
          height: 14,
          viewBox: "0 0 22 14",
          "aria-hidden": "true",
          class: "timeline",
          style: "display:inline;width:22px",
        },
        content,
      ),
      name,
    );
  return html(
    "div",
    { class: "legend" },
    sign(
      svg(
        "g",
        { class: "word deictic" },
        svg("rect", { class: "word-bar", x: 2, y: 3, width: 18, height: 8, rx: 2 }),
      ),
      "word that points",
    ),
    sign(
      [
        svg("rect", { class: "stroke-part", x: 0, y: 0, width: 11, height: 14 }),
        svg("rect", { class: "hold-part", x: 11, y: 0, width: 11, height: 14 }),
        svg("line", { class: "apex", x1: 11, x2: 11, y1: 0, y2: 14 }),
      ],
      "stroke, apex, hold",
    ),
    sign(svg("rect", { class: "window", x: 1, y: 1, width: 20, height: 12, rx: 3 }), "annotated"),
    sign(
      [
        svg("line", { class: "wait", x1: 0, x2: 12, y1: 7, y2: 7 }),
        svg("g", { class: "mark bindings" }, svg("path", { d: SHAPES.bindings(13, 7) })),
        svg("line", { class: "lag", x1: 14, x2: 22, y1: 7, y2: 7 }),
      ],
      "about ── known ┄ emitted",
    ),
    clip.notes.length
      ? sign(
          svg("rect", { class: "note", x: 1, y: 5, width: 20, height: 4, rx: 1.5 }),
          "skipped or noted",
        )
      : null,
  );
}

function sidePanels(clip) {
  const told = clip.referents.some((one) => one.truth);
  const known = answeredAt(clip);
  return html(
    "div",
    { class: "side" },
    html(
      "div",
      { class: "panel frame-panel" },
      drawFrame(clip, known),
      html(
        "p",
        { class: "caption" },
        told
          ? "Last frame. Numbered: our points. Green: annotated. Orange: the pointing ray, carried here."
          : clip.referents.length
            ? "Last frame, with the answer's points."
            : "Last frame.",
      ),
    ),
    drawReferents(clip, known),
  );
}

// When the answer that the referents come from became known.
function answeredAt(clip) {
  const whole = clip.answers.filter((one) => one.final && isNumber(one.k));
  return whole.length ? whole[whole.length - 1].k : null;
}

function transport() {
  const button = (label, text, act) =>
    html("button", { type: "button", "aria-label": label, on: { click: act } }, text);
  return html(
    "div",
    { class: "transport" },
    html(
      "button",
      {
        type: "button",
        id: "play",
        "aria-label": "Play from the cursor",
        on: { click: togglePlay },
      },
      "▶ play",
    ),
    button("Decision before", "‹ step", () => step(-1)),
    button("Next decision", "step ›", () => step(1)),
    html("input", {
      type: "range",
      id: "scrub",
      min: 0,
      max: wholeOf(clips[state.clip]),
      step: 0.01,
      value: 0,
      "aria-label": "Cursor on the timeline, seconds",
      on: {
        input: (event) => {
          stop();
          setCursor(Number(event.target.value));
        },
      },
    }),
    html("span", { class: "time", id: "time" }, ""),
    button("Zoom out", "−", () => zoom(1.6)),
    button("Whole clip", "fit", () => zoom(0)),
    button("Zoom in", "+", () => zoom(1 / 1.6)),
  );
}
