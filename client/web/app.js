// The page: buttons, keys, dialogs, and what is shown of a session.
import { AnswerView, Voice } from "./answer.js";
import { devices, SoundTap } from "./capture.js";
import { median } from "./clock.js";
import { t, tongueNow, translate, turnTongue } from "./i18n.js";
import { Live } from "./live.js";
import { Overlay } from "./overlay.js";
import { Timeline } from "./timeline.js";
import { offered } from "./whip.js";

const byId = (id) => document.getElementById(id);
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const KEYS = [
  ["Space", "key_start"], ["u", "key_mute"], ["m", "key_mirror"], ["s", "key_speak"], ["r", "key_record"],
  ["l", "key_tongue"], ["Esc", "key_escape"], ["Arrows", "key_arrows"], ["?", "key_help"],
];
const shown = { phase: "idle", values: {}, problem: null, started: null, recording: false, mirrored: null };

const live = new Live(byId("video"), {
  phase: showPhase,
  problem: showProblem,
  token: () => byId("token").showModal(),
  line: takeLine,
  leaving: keepStill,
});
const overlay = new Overlay(byId("overlay"), { video: byId("video"), still: byId("still") });
const timeline = new Timeline(byId("timeline"), { t, onMove: () => draw(true) });
const answer = new AnswerView(
  { text: byId("answer-text"), model: byId("answer-model"), picture: byId("answer-picture"), list: byId("referents") },
  t,
);
const voice = new Voice((speaking) => (live.hushing = speaking && !byId("headphones").checked));

// What this tab remembers until it is closed: the token, and that it was running.
const tab = {
  get: (name) => {
    try {
      return sessionStorage.getItem(`deixis-${name}`) || "";
    } catch {
      return "";
    }
  },
  set: (name, value) => {
    try {
      if (value) sessionStorage.setItem(`deixis-${name}`, value);
      else sessionStorage.removeItem(`deixis-${name}`);
    } catch {
      // without storage it is asked for again
    }
  },
};

// --- what is shown ---------------------------------------------------------------------------

function showPhase(phase, values) {
  const before = shown.phase;
  Object.assign(shown, { phase, values, until: performance.now() + (values.wait || 0) });
  document.body.dataset.state = phase;
  if (phase === "live") {
    if (before !== "live") shown.started = performance.now();
    hideProblem();
    stayAwake();
    setMirror(shown.mirrored ?? live.source?.mirrored ?? false);
    listDevices();
  }
  if (phase === "asking") voice.stop();
  if (phase === "live" || phase === "watching") byId("still").hidden = true;
  if (phase === "ended" || phase === "problem") tab.set("running", "");
  if (phase !== "live" && phase !== "ending") showRecording(false);
  byId("invite").hidden = live.running || phase === "ended";
  showButtons();
  showStatus();
}

function showButtons() {
  const start = byId("start");
  start.textContent = t(live.running ? "stop" : "start");
  start.classList.toggle("stop", live.running);
  const mute = byId("mute");
  mute.disabled = !live.running || !live.source?.hasSound;
  mute.setAttribute("aria-pressed", `${live.muted}`);
  const name = t(live.muted ? "unmute" : "mute");
  mute.title = name;
  mute.setAttribute("aria-label", name);
  byId("record").disabled = shown.phase !== "live";
  byId("tongue").textContent = t("tongue");
  byId("tongue").setAttribute("aria-label", t("tongue_label"));
}

function showStatus() {
  const { phase, until } = shown;
  const parts = [t(`state_${phase}`, { s: Math.max(0, Math.ceil((until - performance.now()) / 1000)) })];
  if (phase === "live") {
    const age = Math.floor((performance.now() - shown.started) / 1000);
    parts.push(`${Math.floor(age / 60)}:${String(age % 60).padStart(2, "0")}`);
    if (live.source && !live.source.hasSound) parts.push(t("no_sound"));
    if (live.source && !live.source.hasPicture) parts.push(t("no_picture"));
    if (live.muted) parts.push(t("muted"));
    if (SoundTap.asleep) parts.push(t("wake"));
  }
  const words = parts.join(" · ");
  const node = byId("status-text");
  if (node.textContent !== words) node.textContent = words;
}

function showProblem(name, detail = "") {
  shown.problem = { name, detail };
  byId("problem-title").textContent = t(`${name}_title`, { detail });
  byId("problem-text").textContent = t(name, { detail });
  const act = byId("problem-act");
  act.hidden = live.running || ["insecure", "unsupported", "file"].includes(name);
  act.textContent = t("again");
  byId("problem").hidden = false;
}

function hideProblem() {
  shown.problem = null;
  byId("problem").hidden = true;
}

function showWords() {
  const { state } = live;
  const from = state.words.slice(-60);
  const nodes = [];
  for (const word of [...from, ...state.partial.map((one) => ({ ...one, open: true }))]) {
    const previous = nodes.length ? nodes.at(-1).word : null;
    const joined = /^[\u3000-\u9fff\uff00-\uffef]/.test(word.text);
    if (previous && word.utterance !== previous.utterance) nodes.push({ word, node: document.createElement("br") });
    else if (previous && !joined) nodes.push({ word, node: " " });
    nodes.push({ word, node: wordNode(word) });
  }
  const box = byId("words");
  box.lang = from.at(-1)?.language || "en";
  box.classList.toggle("quiet", nodes.length === 0);
  box.replaceChildren(...(nodes.length ? nodes.map(({ node }) => node) : [t("said_nothing")]));
  box.scrollTop = box.scrollHeight;
}

function wordNode(word) {
  const deictic = word.open ? null : live.state.pointing(word);
  const node = document.createElement(deictic ? "mark" : "span");
  node.textContent = word.text;
  if (word.open) node.className = "open";
  const binding = deictic && live.state.bindingOf(deictic);
  const stroke = binding && live.state.strokes.get(binding.stroke);
  if (stroke && word.offset >= deictic.offset - 1e-4) {
    const number = document.createElement("sup");
    number.textContent = stroke.index + 1;
    node.append(number);
  }
  return node;
}

function showLatency() {
  const { latency } = live.state;
  const figures = Object.entries(latency).map(([kind, all]) => [kind, median(all), (value) => `${value.toFixed(2)} s`]);
  const way = live.sender?.clock?.way ?? null;
  figures.push(["network", way, (value) => `${Math.round(value)} ms`]);
  const nodes = figures.map(([kind, value, written]) => {
    const one = document.createElement("div");
    const name = document.createElement("dt");
    name.textContent = t(`late_${kind}`);
    const figure = document.createElement("dd");
    figure.textContent = value === null ? "–" : `${live.exact || kind === "network" ? "" : "≥ "}${written(value)}`;
    one.title = t("late_why");
    one.append(name, figure);
    return one;
  });
  byId("latency").replaceChildren(...nodes);
}

function showNotes() {
  const { note, counts } = live.state;
  const left = live.sender?.dropped || 0;
  const parts = Object.entries(counts).map(([kind, n]) => t("notes_seen", { n, kind: kind.replaceAll("_", " ") }));
  if (left) parts.push(t("left_out", { n: left }));
  if (note?.text) parts.unshift(note.text);
  byId("notes").textContent = parts.slice(0, 5).join(" · ");
}

function showAnswer() {
  answer.show(live.state, (time) => live.pictureAt(time));
  if (!live.state.answer && !live.state.failure) {
    byId("answer-text").textContent = t("answer_nothing");
    byId("answer-text").classList.add("quiet");
  } else byId("answer-text").classList.remove("quiet");
}

const changed = { words: true, answer: true, figures: true };

function takeLine(line) {
  if (["State", "Word", "Partial", "Deictic", "Binding", "Utterance"].includes(line.type)) changed.words = true;
  if (["State", "Answer", "ModelFailed", "Failed"].includes(line.type)) changed.answer = true;
  if (!["HandsSeen", "CameraMotion"].includes(line.type)) changed.figures = true;
  // The user speaks again: what is being said is out of date.
  if (line.type === "Word" || (line.type === "Partial" && line.words.length)) {
    if (!live.hushed && byId("headphones").checked) voice.stop();
  }
  if (line.type === "Answer") voice.take(live.state.answer);
  if (line.type === "Recording") showRecording(line.on === true);
}

// The last picture stays when the camera is let go.
function keepStill() {
  const [video, still] = [byId("video"), byId("still")];
  if (!video.videoWidth) return;
  Object.assign(still, { width: video.videoWidth, height: video.videoHeight });
  still.getContext("2d").drawImage(video, 0, 0);
  still.hidden = false;
}

// --- drawing ---------------------------------------------------------------------------------

const OFTEN = 1000 / 30;
const drawnAt = { overlay: 0, timeline: 0 };

// The hand follows at 30 pictures a second, the timeline at half of that, or calmly.
function draw(now = false) {
  const time = performance.now() + 4;
  const due = (what, step) => now || time - drawnAt[what] >= step;
  const still = !live.running && !Object.values(changed).some(Boolean);
  if (!now && still) return;
  if (due("overlay", OFTEN)) {
    drawnAt.overlay = time;
    overlay.draw(live.state, live.now());
  }
  if (!due("timeline", calm.matches ? 250 : 2 * OFTEN)) return;
  drawnAt.timeline = time;
  timeline.draw(live.state, live.now());
  if (changed.words) showWords();
  if (changed.answer) showAnswer();
  if (changed.figures) {
    showLatency();
    showNotes();
  }
  changed.words = changed.answer = changed.figures = false;
  byId("level").style.transform = `scaleY(${Math.min(1, (live.source?.level || 0) * 1.6)})`;
}

function loop() {
  draw();
  requestAnimationFrame(loop);
}

// --- what can be done ------------------------------------------------------------------------

function start() {
  if (live.running) {
    tab.set("running", "");
    live.stop();
    return;
  }
  begin(null);
}

function begin(file) {
  hideProblem();
  shown.file = file;
  if (!file) tab.set("running", "1");
  live.token = tab.get("token");
  live.settings = {
    camera: byId("camera").value,
    microphone: byId("microphone").value,
    language: byId("language").value,
    transport: byId("transport").value,
  };
  changed.words = changed.answer = changed.figures = true;
  return live.start(file);
}

function setMirror(on) {
  overlay.mirrored = on;
  for (const id of ["video", "still"]) byId(id).classList.toggle("mirrored", on);
  byId("mirror").setAttribute("aria-pressed", `${on}`);
  draw(true);
}

function turnMirror() {
  shown.mirrored = !overlay.mirrored;
  setMirror(shown.mirrored);
}

function turnMute() {
  if (byId("mute").disabled) return;
  live.mute = !live.muted;
  showButtons();
}

function turnSpeak() {
  voice.on = !voice.on;
  if (!voice.on) voice.stop();
  byId("speak").setAttribute("aria-pressed", `${voice.on}`);
}

function showRecording(on) {
  shown.recording = on;
  byId("record").setAttribute("aria-checked", `${on}`);
  byId("recording-mark").hidden = !on;
  document.body.classList.toggle("recording-on", on);
}

async function turnRecord() {
  if (byId("record").disabled) return;
  try {
    showRecording(await live.record(!shown.recording));
  } catch (error) {
    showProblem("record_failed", error.message);
  }
}

function turnWords() {
  turnTongue();
  relabel();
}

function relabel() {
  translate();
  showButtons();
  showStatus();
  if (shown.problem) showProblem(shown.problem.name, shown.problem.detail);
  byId("timeline").setAttribute("aria-label", t("timeline_label"));
  byId("keys").replaceChildren(
    ...KEYS.flatMap(([key, what]) => {
      const [name, about] = [document.createElement("dt"), document.createElement("dd")];
      const cap = document.createElement("kbd");
      cap.textContent = ["Space", "Arrows"].includes(key) ? t(key) : key;
      name.append(cap);
      about.textContent = t(what);
      return [name, about];
    }),
  );
  answer.shown = undefined;
  changed.words = changed.answer = changed.figures = true;
  listDevices();
  draw(true);
}

async function listDevices() {
  const found = await devices().catch(() => ({ camera: [], microphone: [] }));
  for (const kind of ["camera", "microphone"]) {
    const select = byId(kind);
    const chosen = select.value;
    const any = new Option(t(`any_${kind}`), "");
    const all = found[kind].map(({ id, label }, n) => new Option(label || t(`nth_${kind}`, { n: n + 1 }), id));
    select.replaceChildren(any, ...all);
    select.value = all.some((one) => one.value === chosen) ? chosen : "";
  }
}

// --- wiring ----------------------------------------------------------------------------------

function onKey(event) {
  if (event.key === "Escape") voice.stop();
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const { tagName } = event.target;
  if (["INPUT", "SELECT", "TEXTAREA"].includes(tagName)) return;
  const acts = {
    " ": start, u: turnMute, m: turnMirror, s: turnSpeak, r: turnRecord, l: turnWords,
    "?": () => byId("help").showModal(),
  };
  const act = acts[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (!act || event.repeat || (event.key === " " && tagName === "BUTTON")) return;
  event.preventDefault();
  act();
}

function wireDrop() {
  const mark = byId("drop");
  const carries = (event) => event.dataTransfer?.types.includes("Files");
  addEventListener("dragover", (event) => {
    if (!carries(event)) return;
    event.preventDefault();
    mark.hidden = false;
  });
  addEventListener("dragleave", (event) => event.relatedTarget === null && (mark.hidden = true));
  addEventListener("drop", (event) => {
    mark.hidden = true;
    if (!carries(event)) return;
    event.preventDefault();
    if (event.dataTransfer.files[0]) begin(event.dataTransfer.files[0]);
  });
}

function wire() {
  const click = {
    start, mute: turnMute, mirror: turnMirror, speak: turnSpeak, record: turnRecord, tongue: turnWords,
    "help-open": () => byId("help").showModal(),
    "settings-open": () => byId("settings").showModal(),
    "problem-close": hideProblem,
    "problem-act": () => begin(shown.file),
    "token-cancel": () => byId("token").close(),
  };
  for (const [id, act] of Object.entries(click)) byId(id).addEventListener("click", act);
  byId("file").addEventListener("change", ({ target }) => {
    if (target.files[0]) begin(target.files[0]);
    target.value = "";
  });
  byId("token-form").addEventListener("submit", () => {
    tab.set("token", byId("token-value").value.trim());
    byId("token-value").value = "";
    if (!watchNamed()) begin(shown.file);
  });
  for (const id of ["camera", "microphone"])
    byId(id).addEventListener("change", () => live.running && !shown.file && begin(null));
  document.addEventListener("keydown", onKey);
  for (const kind of ["pointerdown", "keydown"])
    addEventListener(kind, () => SoundTap.asleep && SoundTap.context.resume(), true);
  addEventListener("resize", () => draw(true));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => requestAnimationFrame(() => draw(true)));
  navigator.mediaDevices?.addEventListener("devicechange", listDevices);
  document.addEventListener("visibilitychange", stayAwake);
  wireDrop();
  setInterval(showStatus, 500);
}

// An address that ends in `#session=…` looks on at a session that runs.
function watchNamed() {
  const watched = new URLSearchParams(location.hash.slice(1)).get("session");
  if (!watched) return false;
  live.token = tab.get("token");
  live.watch(watched);
  return true;
}

// A phone in a head mount is never touched, so its screen must be kept on.
async function stayAwake() {
  if (!live.running || document.visibilityState !== "visible") return;
  await navigator.wakeLock?.request("screen").catch(() => {});
}

async function open() {
  wire();
  relabel();
  showPhase("idle", {});
  loop();
  if ("speechSynthesis" in window) speechSynthesis.getVoices(); // some browsers load them on the first call
  else byId("speak").hidden = true;
  if (!watchNamed() && tab.get("running")) begin(null);
  byId("transport").querySelector('[value="whip"]').disabled = !(await offered());
}

document.documentElement.dataset.tongue = tongueNow();
open();
