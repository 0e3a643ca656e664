// The page: which clip, which stretch of it, where the cursor is; keys, pointer, theme, printing.

const LONGEST_WHOLE = 30; // seconds; a longer clip opens on a stretch of it
const FIRST_STRETCH = 20;
const MOST_PRINTED = 40;
const STAGE_SCALE = 1.25; // how much larger the timeline's texts are in the stage view

const clips = JSON.parse(byId("run-data").textContent).clips;
const state = {
  clip: 0,
  view: [0, 1],
  cursor: null,
  decision: -1,
  decisions: [],
  timeline: null,
  playing: 0,
};

function wholeOf(clip) {
  const ends = [
    clip.duration,
    ...clip.words.map((one) => one.off),
    ...clip.answers.map((one) => one.e),
  ].filter(isNumber);
  return Math.max(0.5, ...ends.slice(0, 1), ...ends.slice(1));
}

function firstView(clip) {
  const whole = wholeOf(clip);
  if (whole <= LONGEST_WHOLE) return [0, whole];
  const starts = [...clip.words.map((one) => one.on), ...clip.strokes.map((one) => one.on)].filter(
    isNumber,
  );
  const from = clamp((starts.length ? Math.min(...starts) : 0) - 1, 0, whole - FIRST_STRETCH);
  return [from, from + FIRST_STRETCH];
}

// --- one clip -------------------------------------------------------------------------------

function show(index) {
  stop();
  state.clip = clamp(index, 0, clips.length - 1);
  const clip = clips[state.clip];
  Object.assign(state, {
    cursor: null,
    decision: -1,
    decisions: decisionsOf(clip),
    view: firstView(clip),
  });
  byId("stage").replaceChildren(
    ...clipHead(clip),
    html(
      "div",
      { class: "grid" },
      html(
        "div",
        {},
        html(
          "div",
          { class: "panel timeline-panel" },
          html("div", { id: "timeline" }),
          transport(),
          html("p", { class: "readout", id: "readout", role: "status", "aria-live": "polite" }),
          legend(clip),
        ),
        drawApexes(clip, (time) => {
          stop();
          setCursor(time);
        }),
      ),
      sidePanels(clip),
    ),
    clipNotes(clip) || "",
  );
  draw();
  setCursor(null);
  markChip();
}

function draw() {
  const place = byId("timeline");
  const scale =
    document.body.classList.contains("solo") && place.clientWidth > 700 ? STAGE_SCALE : 1;
  const width = Math.max(300, Math.floor(place.clientWidth / scale));
  state.timeline = new Timeline(clips[state.clip], state.decisions, state.view, width);
  place.replaceChildren(state.timeline.node);
  listen(state.timeline);
}

// --- the cursor ------------------------------------------------------------------------------

function setCursor(time, decision) {
  state.cursor = time;
  state.decision = decision === undefined ? lastDecisionAt(time) : decision;
  if (time !== null) keepInView(time);
  state.timeline.setCursor(time);
  state.timeline.setMark(decision === undefined ? -1 : decision);
  veilUnknown(time);
  byId("time").textContent =
    time === null ? `whole clip, ${precise(clips[state.clip].duration)}` : precise(time);
  byId("scrub").value = time === null ? 0 : time;
  byId("scrub").setAttribute(
    "aria-valuetext",
    time === null ? "no cursor: everything is shown" : seconds(time),
  );
  readOut(time);
}

// What lies beside the timeline appears, too, only when it was known.
function veilUnknown(time) {
  for (const node of byId("stage").querySelectorAll("[data-known]")) {
    node.classList.toggle("unknown", time !== null && Number(node.dataset.known) > time + 1e-4);
  }
}

function lastDecisionAt(time) {
  if (time === null) return -1;
  let last = -1;
  state.decisions.forEach((one, n) => {
    if (one.k <= time + 1e-6) last = n;
  });
  return last;
}

function readOut(time) {
  const place = byId("readout"),
    one = state.decisions[state.decision];
  if (time === null || state.decision < 0 || !one) {
    const count = state.decisions.length;
    place.replaceChildren(
      html(
        "span",
        { class: "quiet" },
        time === null
          ? `${count} decision${count === 1 ? "" : "s"}. Space steps through them, p plays; the future stays veiled.`
          : "Nothing is decided yet.",
      ),
    );
    return;
  }
  place.replaceChildren(
    html("b", {}, one.text),
    html("br", {}),
    html("span", { class: "quiet" }, timing(one)),
  );
}

function keepInView(time) {
  const [from, to] = state.view,
    span = to - from;
  if (time >= from && time <= to) return;
  const start = clamp(time - span * 0.3, 0, Math.max(0, wholeOf(clips[state.clip]) - span));
  state.view = [start, start + span];
  draw();
}

function step(by) {
  stop();
  if (!state.decisions.length) return;
  const next =
    state.cursor === null ? (by > 0 ? 0 : state.decisions.length - 1) : state.decision + by;
  if (next < 0 || next >= state.decisions.length) {
    setCursor(null);
    return;
  }
  setCursor(state.decisions[next].k, next);
  const mark = state.timeline.marks[next];
  if (mark) mark.focus({ preventScroll: true });
}

function zoom(factor) {
  const whole = wholeOf(clips[state.clip]),
    [from, to] = state.view;
  const span = factor === 0 ? whole : clamp((to - from) * factor, Math.min(0.5, whole), whole);
  const middle = state.cursor === null ? (from + to) / 2 : state.cursor;
  const start = clamp(middle - span / 2, 0, Math.max(0, whole - span));
  state.view = [start, start + span];
  draw();
  state.timeline.setCursor(state.cursor);
}

function togglePlay() {
  if (state.playing) {
    stop();
    return;
  }
  const end = wholeOf(clips[state.clip]);
  let media = state.cursor === null || state.cursor >= end ? 0 : state.cursor,
    before = null;
  const tick = (now) => {
    media += before === null ? 0 : (now - before) / 1000;
    before = now;
    if (media >= end) {
      stop();
      setCursor(null);
      return;
    }
    setCursor(media);
    state.playing = requestAnimationFrame(tick);
  };
  state.playing = requestAnimationFrame(tick);
  byId("play").textContent = "■ stop";
}

function stop() {
  if (state.playing) cancelAnimationFrame(state.playing);
  state.playing = 0;
  const button = byId("play");
  if (button) button.textContent = "▶ play";
}

// --- pointer ---------------------------------------------------------------------------------

function listen(timeline) {
  const { node } = timeline,
    tip = byId("tip");
  const media = (event) => {
    const box = node.getBoundingClientRect();
    return timeline.timeAt(((event.clientX - box.left) * timeline.width) / box.width);
  };
  node.addEventListener("pointerdown", (event) => {
    const mark = event.target.closest("[data-decision]");
    stop();
    if (mark) {
      const n = Number(mark.dataset.decision);
      setCursor(state.decisions[n].k, n);
      return;
    }
    setCursor(media(event));
    node.setPointerCapture(event.pointerId);
  });
  node.addEventListener("pointermove", (event) => {
    if (event.buttons && node.hasPointerCapture(event.pointerId)) setCursor(media(event));
    showTip(tip, event.target.closest("[data-tip]"), event.clientX, event.clientY);
  });
  node.addEventListener("pointerleave", () => {
    tip.hidden = true;
  });
}

function showTip(tip, node, x, y) {
  tip.hidden = node === null;
  if (node === null) return;
  tip.textContent = node.getAttribute("data-tip");
  const box = tip.getBoundingClientRect();
  tip.style.left = `${clamp(x + 14, 6, Math.max(6, innerWidth - box.width - 6))}px`;
  tip.style.top = `${y + 18 + box.height > innerHeight ? y - box.height - 12 : y + 18}px`;
}

// --- the list of clips -------------------------------------------------------------------------

function listClips() {
  byId("clip-list").replaceChildren(
    ...clips.map((clip, n) => {
      const hits = clip.referents.map((one) => one.hits).filter(Boolean);
      const signs = hits.map((one) => {
        const right = one.cls && one.s && one.t;
        return html("span", { class: right ? "hit" : "miss" }, right ? "✓" : "✗");
      });
      const right = hits.filter((one) => one.cls && one.s && one.t).length;
      return html(
        "div",
        {
          class: "clip-chip",
          role: "option",
          id: `clip-${n}`,
          "aria-selected": "false",
          "aria-label": hits.length ? `${clip.name}, ${right} of ${hits.length} right` : clip.name,
          on: { click: () => show(n) },
        },
        html("span", {}, clip.name),
        signs.length ? html("span", { class: "marks", "aria-hidden": "true" }, signs) : null,
      );
    }),
  );
}

function markChip() {
  const list = byId("clip-list");
  list
    .querySelectorAll('[aria-selected="true"]')
    .forEach((one) => one.setAttribute("aria-selected", "false"));
  const chosen = byId(`clip-${state.clip}`);
  chosen.setAttribute("aria-selected", "true");
  list.setAttribute("aria-activedescendant", chosen.id);
  list.scrollLeft =
    chosen.offsetLeft - list.offsetLeft - (list.clientWidth - chosen.offsetWidth) / 2;
  byId("clip-before").disabled = state.clip === 0;
  byId("clip-after").disabled = state.clip === clips.length - 1;
}

// --- theme, keys, printing ---------------------------------------------------------------------

// The next clip in which a referent is not right, from the first again after the last.
function nextMistake() {
  const wrong = (clip) =>
    clip.referents.some(({ hits }) => hits && !(hits.cls && hits.s && hits.t));
  for (let by = 1; by <= clips.length; by += 1) {
    const index = (state.clip + by) % clips.length;
    if (wrong(clips[index])) return show(index);
  }
}

// One clip, large, and nothing else: to be read from a distance.
function toggleStage() {
  document.body.classList.toggle("solo");
  draw();
  state.timeline.setCursor(state.cursor);
  scrollTo(0, document.body.classList.contains("solo") ? 0 : byId("clips").offsetTop - 12);
}

const KEYS = {
  ArrowRight: () => show(state.clip + 1),
  j: () => show(state.clip + 1),
  ArrowLeft: () => show(state.clip - 1),
  k: () => show(state.clip - 1),
  n: nextMistake,
  " ": () => step(1),
  ".": () => step(1),
  ",": () => step(-1),
  p: togglePlay,
  f: toggleStage,
  Escape: () => {
    stop();
    setCursor(null);
  },
  "+": () => zoom(1 / 1.6),
  "=": () => zoom(1 / 1.6),
  "-": () => zoom(1.6),
  0: () => zoom(0),
};

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || byId("help").open) return;
  const own = event.target.closest("button, summary, a, select, textarea, input");
  if (
    own &&
    (event.key === " " ||
      event.key === "Enter" ||
      (own.matches("input") && event.key.startsWith("Arrow")))
  )
    return;
  if (event.key === "?") byId("help").showModal();
  else if (event.key === "t") toggleTheme();
  else if (clips.length && Object.hasOwn(KEYS, event.key)) KEYS[event.key]();
  else return;
  event.preventDefault();
}

function printAll() {
  const place = byId("print-clips");
  if (!place) return;
  place.replaceChildren(
    ...clips
      .slice(0, MOST_PRINTED)
      .map((clip) =>
        html(
          "article",
          { class: "print-clip" },
          ...clipHead(clip),
          new Timeline(clip, decisionsOf(clip), [0, wholeOf(clip)], 980).node,
          drawApexes(clip, () => {}) || "",
          sidePanels(clip),
        ),
      ),
  );
  if (clips.length > MOST_PRINTED)
    place.append(html("p", {}, `The first ${MOST_PRINTED} of ${clips.length} clips are printed.`));
  place.hidden = false;
}

function start() {
  byId("theme").addEventListener("click", toggleTheme);
  byId("help-open").addEventListener("click", () => byId("help").showModal());
  document.addEventListener("keydown", onKey);
  if (!clips.length) return;
  byId("clip-before").addEventListener("click", () => show(state.clip - 1));
  byId("clip-after").addEventListener("click", () => show(state.clip + 1));
  addEventListener("beforeprint", printAll);
  addEventListener("afterprint", () => {
    byId("print-clips").hidden = true;
    byId("print-clips").replaceChildren();
  });
  listClips();
  const named = clips.findIndex((clip) => `#${encodeURIComponent(clip.name)}` === location.hash);
  show(Math.max(0, named));
  let wide = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth !== wide) {
      wide = innerWidth;
      draw();
      state.timeline.setCursor(state.cursor);
    }
  });
}

start();
