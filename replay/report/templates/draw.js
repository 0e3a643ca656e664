"use strict";
// Making elements. Texts only ever enter the page as text nodes and attribute values.

const SVG = "http://www.w3.org/2000/svg";

function make(space, name, attributes, children) {
  const node = space ? document.createElementNS(space, name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "on")
      for (const [kind, act] of Object.entries(value)) node.addEventListener(kind, act);
    else node.setAttribute(key, value === true ? "" : String(value));
  }
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child);
  }
  return node;
}
const svg = (name, attributes, ...children) => make(SVG, name, attributes, children);
const html = (name, attributes, ...children) => make(null, name, attributes, children);

const byId = (id) => document.getElementById(id);
const isNumber = (value) => typeof value === "number" && Number.isFinite(value);
const seconds = (value) => (isNumber(value) ? `${value.toFixed(2)} s` : "unknown");
const chance = (value) => (isNumber(value) ? value.toFixed(2) : "–");
const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

const ruler = document.createElement("canvas").getContext("2d");
function textWidth(text, size, weight) {
  const family = getComputedStyle(document.body).fontFamily;
  ruler.font = `${weight || 400} ${size}px ${family}`;
  return ruler.measureText(text).width;
}

// Where a label of this width fits: the first of `rows` whose taken stretches it does not touch.
function placeInRows(rows, left, right) {
  return rows.findIndex((taken) => taken.every(([from, to]) => right <= from || left >= to));
}

function niceStep(span, most) {
  const steps = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 3600, 7200];
  return steps.find((step) => span / step <= most) || 10 ** Math.ceil(Math.log10(span / most));
}

function clock(time, step) {
  if (step < 1) return time.toFixed(1);
  if (time < 60) return `${Math.round(time)}`;
  const minutes = Math.floor(time / 60);
  return `${minutes}:${String(Math.round(time - 60 * minutes)).padStart(2, "0")}`;
}

// A moment on a clip of any length.
function precise(time) {
  if (!isNumber(time)) return "unknown";
  if (time < 60) return seconds(time);
  const minutes = Math.floor(time / 60);
  return `${minutes}:${(time - 60 * minutes).toFixed(2).padStart(5, "0")}`;
}

// Every moment at which the system decided something, in order.
function decisionsOf(clip) {
  const strokes = new Map(clip.strokes.map((one) => [one.i, one]));
  const deictics = new Map(clip.deictics.map((one) => [one.i, one]));
  const found = [];
  const add = (row, item, about, text, after) =>
    found.push({ row, k: item.k, e: item.e, about, text, after, finish: item.finish === true });
  for (const word of clip.words) add("words", word, word.off, `“${word.t}” committed`, "it ended");
  for (const one of clip.strokes)
    add("strokes", one, one.apex, `stroke ${one.i + 1} announced`, "its apex");
  for (const one of clip.bindings) {
    const word = deictics.get(one.d),
      stroke = strokes.get(one.s);
    const about = [word && word.off, stroke && stroke.apex].filter(isNumber);
    const left = word ? `“${word.t}”` : "silent";
    const right = one.s === null ? "no stroke" : `stroke ${one.s + 1}`;
    add(
      "bindings",
      one,
      about.length ? Math.max(...about) : null,
      `${left} → ${right}, p ${chance(one.p)} (${one.reason})`,
      word && stroke ? "word and apex" : word ? "the word" : "the apex",
    );
  }
  for (const one of clip.answers) {
    const past = [
      ...clip.words.filter((w) => w.k <= one.k).map((w) => w.off),
      ...clip.strokes.filter((s) => s.k <= one.k).map((s) => s.apex),
    ].filter(isNumber);
    add(
      "answers",
      one,
      past.length ? Math.max(...past) : null,
      `${one.final ? "answer" : "answer begins"}${one.text ? `: ${one.text}` : ""}`,
      "the last word or apex",
    );
  }
  return found.filter((one) => isNumber(one.k)).sort((a, b) => a.k - b.k || a.e - b.e);
}

// How it stands in time, after its text.
function timing(decision) {
  const parts = [`known at ${precise(decision.k)}`];
  if (isNumber(decision.about)) {
    parts.push(`${(decision.k - decision.about).toFixed(2)} s after ${decision.after}`);
  }
  if (isNumber(decision.e) && decision.e - decision.k > 0.0005) {
    parts.push(`emitted at ${precise(decision.e)} by the clock`);
  }
  if (decision.finish) parts.push("only at the end of the stream");
  return parts.join(" · ");
}
const describe = (decision) => `${decision.text} · ${timing(decision)}`;
