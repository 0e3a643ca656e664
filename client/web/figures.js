// Beside the timeline: how late things are, and what was noticed.
import { median } from "./clock.js";
import { has, t } from "./i18n.js";
import { counted, sentence, standingOf } from "./notes.js";

const TOLD = 60; // notes in the list
const words = { t, has };

export function showLatency(box, live) {
  const { latency } = live.state;
  const seconds = (value) => (value < 0.995 ? `${Math.round(value * 1000)} ms` : `${value.toFixed(2)} s`);
  const figures = Object.entries(latency).map(([kind, all]) => [kind, median(all), seconds]);
  figures.push(["network", live.clock.way, (value) => `${Math.round(value)} ms`]);
  const nodes = figures.map(([kind, value, written]) => {
    const one = document.createElement("div");
    const name = document.createElement("dt");
    name.textContent = t(`late_${kind}`);
    const figure = document.createElement("dd");
    // A clock that was only guessed makes everything look sooner than it is.
    figure.textContent = value === null ? "–" : `${live.exact || kind === "network" ? "" : "≥ "}${written(value)}`;
    one.title = t(`late_${kind}_why`);
    one.dataset.kind = kind;
    one.append(name, figure);
    return one;
  });
  box.replaceChildren(...nodes);
}

const item = (text, detail = "") => {
  const node = document.createElement("li");
  node.textContent = text;
  if (detail) node.title = detail;
  return node;
};

export class NotesView {
  constructor({ line, open, now, then, tongue }) {
    Object.assign(this, { line, open, now, then, tongue });
  }

  show(live) {
    const { state } = live;
    const counts = { ...state.counts, left_here: live.sender?.dropped || 0, packets_lost: live.sender?.lost || 0 };
    const standing = standingOf(state, live.here, words);
    const often = counted(counts, words);
    const line = [...standing, ...often].join(" ");
    if (this.line.textContent !== line) this.line.textContent = line;
    this.line.classList.toggle("pressing", standing.length > 0);
    this.open.hidden = !line && !state.notes.length;
    this.open.textContent = t("notes");
    this.now.replaceChildren(...[...standing, ...often].map((text) => item(text)));
    const then = state.notes.slice(-TOLD).reverse().map((note) => {
      const text = sentence(note, words);
      return item(`${note.onset?.toFixed(1) ?? "–"} s  ${text}`, this.tongue() === "en" ? note.text : "");
    });
    if (!line && !then.length) then.push(item(t("notes_none")));
    this.then.replaceChildren(...then);
  }
}
