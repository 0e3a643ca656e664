// The page: buttons, keys, dialogs, and what is shown of a session.
import { AnswerView, Voice } from "./answer.js";
import { devices, SoundTap } from "./capture.js";
import { NotesView, showLatency } from "./figures.js";
import { t, tongueNow, translate, turnTongue } from "./i18n.js";
import { Live } from "./live.js";
import { endOf } from "./notes.js";
import { Overlay } from "./overlay.js";
import { choices, choose, tab } from "./remembered.js";
import { SaidView } from "./said.js";
import { Timeline } from "./timeline.js";
import { offered } from "./whip.js";

const byId = (id) => document.getElementById(id);
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const KEYS = [
  ["Space", "key_start"], ["u", "key_mute"], ["m", "key_mirror"], ["s", "key_speak"], ["r", "key_record"],
  ["n", "key_notes"], ["l", "key_tongue"], ["Esc", "key_escape"], ["Arrows", "key_arrows"], ["?", "key_help"],
];
const shown = { phase: "idle", values: {}, problem: null, started: null, source: null, mirrored: null, file: null };

const live = new Live(byId("video"), {
  phase: showPhase,
  problem: showProblem,
  token: askToken,
  line: takeLine,
  leaving: keepStill,
});
const overlay = new Overlay(byId("overlay"), { video: byId("video"), still: byId("still") });
const timeline = new Timeline(byId("timeline"), { t, onMove: () => draw(true) });
const said = new SaidView(byId("words"), t);
const answer = new AnswerView(
  {
    text: byId("answer-text"), model: byId("answer-model"), tag: byId("answer-tag"), picture: byId("answer-picture"),
    list: byId("referents"), caption: byId("answer-caption"), before: byId("answers-before"),
  },
  t,
);
const notes = new NotesView({
  line: byId("notes"), open: byId("notes-open"), now: byId("noticed-now"), then: byId("noticed-then"), tongue: tongueNow,
});
const voice = new Voice((speaking) => {
  live.hushing = speaking && !byId("headphones").checked;
  byId("hushed").hidden = !live.hushed;
});

// --- what is shown ---------------------------------------------------------------------------

function showPhase(phase, values) {
  const before = shown.phase;
  Object.assign(shown, { phase, values, until: performance.now() + (values.wait || 0) });
  document.body.dataset.state = phase;
  if (phase === "live") {
    if (before !== "live") shown.started = performance.now();
    hideProblem();
    stayAwake();
    if (shown.source !== live.source) setMirror(shown.file ? false : shown.mirrored ?? live.source?.mirrored ?? false);
    shown.source = live.source;
    listDevices();
  }
  if (phase === "watching") setMirror(false);
  if (phase === "asking") voice.stop();
  if (["live", "watching", "asking"].includes(phase)) byId("still").hidden = true;
  if (phase === "ended" || phase === "problem") tab.set("running", "");
  byId("invite").hidden = live.running || phase === "ended";
  byId("watching").hidden = live.source !== null || !["watching", "retrying"].includes(phase);
  changed.figures = true;
  showRecording();
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
  const { phase, until, values } = shown;
  const offline = phase === "retrying" && !navigator.onLine;
  const s = Math.max(0, Math.ceil((until - performance.now()) / 1000));
  const parts = [t(offline ? "state_offline" : `state_${phase}`, { s })];
  if (phase === "live") {
    const age = Math.floor((performance.now() - shown.started) / 1000);
    parts.push(`${Math.floor(age / 60)}:${String(age % 60).padStart(2, "0")}`);
    if (live.source && !live.source.hasSound) parts.push(t("no_sound"));
    if (live.source && !live.source.hasPicture) parts.push(t("no_picture"));
    if (live.muted) parts.push(t("muted"));
    if (SoundTap.asleep) parts.push(t("wake"));
  }
  const why = phase === "ended" && endOf(values.reason || "");
  if (why) parts.push(t(why));
  const words = parts.join(" · ");
  const node = byId("status-text");
  if (node.textContent !== words) node.textContent = words;
}

function showProblem(name, values = {}) {
  shown.problem = { name, values };
  byId("problem-title").textContent = t(`${name}_title`, values);
  byId("problem-text").textContent = t(name, values);
  const act = byId("problem-act");
  act.hidden = live.running || ["insecure", "unsupported", "file", "session"].includes(name);
  act.textContent = t("again");
  byId("problem").hidden = false;
}

function hideProblem() {
  shown.problem = null;
  byId("problem").hidden = true;
}

function askToken(tried) {
  byId("token-wrong").hidden = !tried;
  byId("token").showModal();
}

// What the server says, and nothing else: the mark is a promise to whoever stands in the picture.
function showRecording() {
  const { on, name } = live.running && shown.phase !== "retrying" ? live.state.recording : { on: false };
  byId("record").setAttribute("aria-checked", `${on}`);
  byId("recording-mark").hidden = !on;
  byId("recording-name").textContent = name || "";
  document.body.classList.toggle("recording-on", on);
}

const changed = { words: true, answer: true, figures: true };

function takeLine(line) {
  const { type } = line;
  if (["State", "Word", "Partial", "Deictic", "Binding", "Utterance"].includes(type)) changed.words = true;
  if (["State", "Asked", "Answer", "AnswerStopped", "ModelFailed"].includes(type)) changed.answer = true;
  if (type !== "CameraMotion") changed.figures = true;
  // The speaker goes on: what is being said is out of date.
  if (type === "SpeechStart" || (type === "AnswerStopped" && line.turn === voice.turn)) voice.stop();
  if (type === "Answer") voice.take(live.state.answer);
  if (["State", "Recording", "End", "Failed"].includes(type)) showRecording();
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
const drawnAt = { overlay: 0, timeline: 0, figures: 0 };

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
  if (changed.words) said.show(live.state);
  if (changed.answer) answer.show(live.state, (moment) => live.pictureAt(moment));
  changed.words = changed.answer = false;
  if (changed.figures && due("figures", 250)) {
    drawnAt.figures = time;
    changed.figures = false;
    showLatency(byId("latency"), live);
    notes.show(live);
  }
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

function begin(file, key = null) {
  hideProblem();
  shown.file = file;
  if (!file) tab.set("running", "1");
  live.token = tab.get("token");
  live.settings = choices();
  changed.words = changed.answer = changed.figures = true;
  return live.start(file, key);
}

function setMirror(on) {
  overlay.mirrored = on;
  for (const id of ["video", "still"]) byId(id).classList.toggle("mirrored", on);
  byId("mirror").setAttribute("aria-pressed", `${on}`);
  document.body.classList.toggle("mirrored-on", on);
  draw(true);
}

function turnMirror() {
  setMirror(!overlay.mirrored);
  if (!shown.file) shown.mirrored = overlay.mirrored;
}

function turnMute() {
  if (byId("mute").disabled) return;
  live.mute = !live.muted;
  changed.figures = true;
  showButtons();
  showStatus();
}

function setSpeak(on) {
  voice.on = on;
  if (!on) voice.stop();
  byId("speak").setAttribute("aria-pressed", `${on}`);
}

function turnSpeak() {
  setSpeak(!voice.on);
  choose({ speak: voice.on });
}

async function turnRecord() {
  if (byId("record").disabled) return;
  try {
    await live.record(!live.state.recording.on);
    showRecording();
  } catch (error) {
    showProblem("record_failed", { detail: error.message });
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
  if (shown.problem) showProblem(shown.problem.name, shown.problem.values);
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
  drawnAt.figures = 0;
  listDevices();
  draw(true);
}

async function listDevices() {
  const found = await devices().catch(() => ({ camera: [], microphone: [] }));
  const chosen = choices();
  for (const kind of ["camera", "microphone"]) {
    const select = byId(kind);
    const any = new Option(t(`any_${kind}`), "");
    const all = found[kind].map(({ id, label }, n) => new Option(label || t(`nth_${kind}`, { n: n + 1 }), id));
    select.replaceChildren(any, ...all);
    select.value = all.some((one) => one.value === chosen[kind]) ? chosen[kind] : "";
  }
  byId("names-later").hidden = [...found.camera, ...found.microphone].some((one) => one.label);
}

// --- wiring ----------------------------------------------------------------------------------

const open = (id) => byId(id).showModal();

function onKey(event) {
  if (event.key === "Escape") voice.stop();
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const { tagName } = event.target;
  if (["INPUT", "SELECT", "TEXTAREA"].includes(tagName)) return;
  const acts = {
    " ": start, u: turnMute, m: turnMirror, s: turnSpeak, r: turnRecord, l: turnWords,
    n: () => open("noticed"), "?": () => open("help"),
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

function wireSettings() {
  const chosen = choices();
  for (const id of ["language", "transport"]) byId(id).value = chosen[id];
  byId("headphones").checked = chosen.headphones;
  if (voice.on) setSpeak(chosen.speak);
  for (const id of ["camera", "microphone", "language", "transport"])
    byId(id).addEventListener("change", ({ target }) => {
      choose({ [id]: target.value });
      // Another device is taken at once; the rest holds from the next start.
      if (["camera", "microphone"].includes(id) && live.running && live.source && !shown.file) begin(null);
    });
  byId("headphones").addEventListener("change", ({ target }) => choose({ headphones: target.checked }));
}

function wire() {
  const click = {
    start, mute: turnMute, mirror: turnMirror, speak: turnSpeak, record: turnRecord, tongue: turnWords,
    "help-open": () => open("help"),
    "settings-open": () => open("settings"),
    "notes-open": () => open("noticed"),
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
  document.addEventListener("keydown", onKey);
  for (const kind of ["pointerdown", "keydown"])
    addEventListener(kind, () => SoundTap.asleep && SoundTap.context.resume(), true);
  for (const kind of ["online", "offline"]) addEventListener(kind, showStatus);
  addEventListener("resize", () => draw(true));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => requestAnimationFrame(() => draw(true)));
  navigator.mediaDevices?.addEventListener("devicechange", listDevices);
  document.addEventListener("visibilitychange", stayAwake);
  wireSettings();
  wireDrop();
  setInterval(() => {
    showStatus();
    if (live.running) changed.figures = true;
  }, 500);
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

async function begun() {
  wire();
  relabel();
  showPhase("idle", {});
  loop();
  if ("speechSynthesis" in window) speechSynthesis.getVoices(); // some browsers load them on the first call
  else byId("speak").hidden = true;
  if (!watchNamed() && tab.get("running")) begin(null, JSON.parse(tab.get("key") || "null"));
  byId("transport").querySelector('[value="whip"]').disabled = !(await offered());
}

begun();
