// The last frame with what was meant and what was answered, the apexes, and the referents' cards.

const WIDE = 1000; // units across a picture, whatever its pixels

function tallOf(clip) {
  const size = clip.last ? [clip.last.w, clip.last.h] : clip.size;
  return size && size[0] > 0 && size[1] > 0 ? (WIDE * size[1]) / size[0] : (WIDE * 3) / 4;
}

function drawFrame(clip, known) {
  const tall = tallOf(clip);
  const at = ([x, y]) => [x * WIDE, y * tall];
  const node = svg("svg", {
    class: "frame",
    viewBox: `0 0 ${WIDE} ${tall}`,
    role: "img",
    "aria-label": frameLabel(clip),
  });
  if (clip.last)
    node.append(
      svg("image", { href: clip.last.uri, width: WIDE, height: tall, preserveAspectRatio: "none" }),
    );
  else
    node.append(
      svg("text", { class: "absent", x: WIDE / 2, y: 48 }, "no picture of the last frame"),
    );
  for (const { truth } of clip.referents) if (truth) drawTruthOn(node, truth, at);
  const answered = svg("g", { "data-known": known, class: "appears" });
  node.append(answered);
  const said = clip.referents
    .map((one, n) => ({ one, n }))
    .filter(({ one }) => one.said && one.said.point);
  for (const { one } of said) {
    const ray = one.said.ray;
    if (ray && ray[0] && ray[1]) drawRay(answered, at(ray[0]), at(ray[1]), at(one.said.point));
  }
  for (const { one, n } of said) drawRing(answered, one, n, at(one.said.point), tall);
  return node;
}

function frameLabel(clip) {
  const points = clip.referents.filter((one) => one.said && one.said.point).length;
  return `Last frame with ${points} predicted point${points === 1 ? "" : "s"}`;
}

function drawTruthOn(node, truth, at) {
  for (const rim of truth.outline) {
    const d = `M${rim
      .map((point) =>
        at(point)
          .map((v) => v.toFixed(1))
          .join(" "),
      )
      .join("L")}Z`;
    node.append(
      svg("path", { class: "under", d, "stroke-width": 7 }),
      svg("path", { class: "outline", d }),
    );
  }
  for (const point of truth.points) {
    if (!point) continue;
    const [x, y] = at(point),
      d = `M${x - 11} ${y}h22M${x} ${y - 11}v22`;
    node.append(
      svg("path", { class: "under", d, "stroke-width": 9 }),
      svg("path", { class: "true-point", d }),
    );
  }
}

function drawRay(node, knuckle, tip, goal) {
  const near = `M${knuckle.join(" ")}L${tip.join(" ")}`;
  node.append(
    svg("path", { class: "under", d: near, "stroke-width": 8 }),
    svg("path", { class: "ray", d: near }),
  );
  if (goal) {
    const far = `M${tip.join(" ")}L${goal.join(" ")}`;
    node.append(
      svg("path", { class: "under", d: far, "stroke-width": 6, opacity: 0.5 }),
      svg("path", { class: "ray far", d: far }),
    );
  }
  node.append(svg("circle", { class: "joint", cx: tip[0], cy: tip[1], r: 8 }));
}

function drawRing(node, referent, n, [x, y], tall) {
  const kind = referent.hits ? (referent.hits.s ? "hit" : "miss") : "";
  const inside = [clamp(x, 22, WIDE - 22), clamp(y, 22, tall - 22)];
  node.append(
    svg("circle", { class: `ring ${kind}`, cx: inside[0], cy: inside[1], r: 20 }),
    svg("text", { class: "ring-text", x: inside[0], y: inside[1] + 1 }, String(n + 1)),
  );
}

function drawApex(stroke, clip) {
  const tall = stroke.picture ? (WIDE * stroke.picture.h) / stroke.picture.w : tallOf(clip);
  const at = ([x, y]) => [x * WIDE, y * tall];
  const node = svg("svg", {
    class: "frame",
    viewBox: `0 0 ${WIDE} ${tall}`,
    "aria-hidden": "true",
  });
  if (stroke.picture)
    node.append(
      svg("image", {
        href: stroke.picture.uri,
        width: WIDE,
        height: tall,
        preserveAspectRatio: "none",
      }),
    );
  if (stroke.tip && stroke.knuckle) {
    const knuckle = at(stroke.knuckle),
      tip = at(stroke.tip);
    drawRay(node, knuckle, tip, beyond(knuckle, tip, tall));
  }
  return node;
}

// Where the ray through `tip` leaves the picture.
function beyond(from, tip, tall) {
  const [dx, dy] = [tip[0] - from[0], tip[1] - from[1]];
  const reach = [
    dx > 0 ? (WIDE - tip[0]) / dx : dx < 0 ? -tip[0] / dx : Infinity,
    dy > 0 ? (tall - tip[1]) / dy : dy < 0 ? -tip[1] / dy : Infinity,
  ];
  const far = Math.min(...reach);
  return Number.isFinite(far) && far > 0 ? [tip[0] + far * dx, tip[1] + far * dy] : null;
}

function drawApexes(clip, choose) {
  if (!clip.strokes.length) return null;
  const words = new Map(clip.deictics.map((one) => [one.i, one.t]));
  return html(
    "div",
    { class: "apexes", role: "list", "aria-label": "The strokes' apexes" },
    clip.strokes.map((stroke) => {
      const binding = clip.bindings.find((one) => one.s === stroke.i);
      const said = binding
        ? binding.d === null
          ? "no speech"
          : `“${words.get(binding.d) || "?"}”`
        : "no word";
      return html(
        "figure",
        { role: "listitem", "data-known": stroke.k, class: "appears" },
        html(
          "button",
          {
            type: "button",
            "aria-label": `Go to the apex of stroke ${stroke.i + 1}`,
            on: { click: () => choose(stroke.apex) },
          },
          drawApex(stroke, clip),
        ),
        html(
          "figcaption",
          {},
          html("b", {}, `stroke ${stroke.i + 1}`),
          ` · ${seconds(stroke.apex)} · ${said}`,
          binding ? html("span", { class: "quiet" }, ` p ${chance(binding.p)}`) : null,
        ),
      );
    }),
  );
}

function chip(name, right) {
  return html("span", { class: `chip ${right ? "hit" : "miss"}` }, `${right ? "✓" : "✗"} ${name}`);
}

function drawReferents(clip, known) {
  if (!clip.referents.length) return html("p", { class: "caption" }, "No answer was given.");
  return html(
    "ol",
    { class: "referents", style: "list-style:none;margin:0;padding:0" },
    clip.referents.map((one, n) => {
      const said = one.said,
        truth = one.truth;
      const answered = said
        ? `${said.label ? `${said.label}. ` : ""}${said.text || (said.label ? "" : "abstained")}`
        : "no answer";
      const right = truth && said && said.label === truth.label;
      return html(
        "li",
        { class: "panel referent appears", "data-known": known },
        html("span", { class: "number", "aria-hidden": "true" }, String(n + 1)),
        html(
          "div",
          {},
          html(
            "p",
            { class: "said-text" },
            html("span", { class: "hidden" }, `Referent ${n + 1}: `),
            answered,
          ),
          truth && !right
            ? html("p", { class: "true-text" }, `right: ${truth.label}. ${truth.text}`)
            : null,
          html("p", { class: "caption", style: "margin-top:2px" }, referentTimes(said, truth)),
          html(
            "div",
            { class: "chips" },
            one.hits
              ? [chip("what", one.hits.cls), chip("where", one.hits.s), chip("when", one.hits.t)]
              : html("span", { class: "chip none" }, truth ? "not scored" : "no annotation"),
          ),
        ),
      );
    }),
  );
}

function referentTimes(said, truth) {
  const parts = [];
  if (said && isNumber(said.time)) parts.push(`when ${seconds(said.time)}`);
  if (truth && truth.window)
    parts.push(`window ${truth.window[0].toFixed(2)}–${seconds(truth.window[1])}`);
  if (said) parts.push(`confidence ${chance(said.confidence)}`);
  return parts.join(" · ");
}
