"use strict";
(() => {
  let kept = null;
  try {
    kept = localStorage.getItem("deixis-theme");
  } catch {
    kept = null;
  }
  if (kept === "dark" || kept === "light") document.documentElement.dataset.theme = kept;
})();
