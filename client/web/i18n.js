// The interface in English or Chinese. Texts enter the page as text only.
import { EN } from "./texts_en.js";
import { ZH } from "./texts_zh.js";

export const TEXTS = { en: EN, zh: ZH };
let tongue = stored() || (navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en");

function stored() {
  try {
    const kept = localStorage.getItem("deixis-tongue");
    return kept in TEXTS ? kept : null;
  } catch {
    return null;
  }
}

export const tongueNow = () => tongue;

export const has = (key) => key in TEXTS[tongue];

export function t(key, values = {}) {
  const text = TEXTS[tongue][key] ?? EN[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (_, name) => `${values[name] ?? ""}`);
}

// Writes every marked text of the page: `data-t` is its content, `data-t-label` its spoken name,
// `data-t-title` what hovering shows.
export function translate(root = document) {
  document.documentElement.lang = tongue === "zh" ? "zh-Hans" : "en";
  for (const node of root.querySelectorAll("[data-t]")) node.textContent = t(node.dataset.t);
  for (const node of root.querySelectorAll("[data-t-label]")) node.setAttribute("aria-label", t(node.dataset.tLabel));
  for (const node of root.querySelectorAll("[data-t-title]")) node.title = t(node.dataset.tTitle);
}

export function turnTongue() {
  tongue = tongue === "en" ? "zh" : "en";
  try {
    localStorage.setItem("deixis-tongue", tongue);
  } catch {
    // private windows may refuse; the choice then holds for this visit
  }
  translate();
}
