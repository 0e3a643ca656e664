// Dark or light, remembered where a file may keep anything.

function toggleTheme() {
  const root = document.documentElement;
  const dark = root.dataset.theme
    ? root.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  try {
    localStorage.setItem("deixis-theme", root.dataset.theme);
  } catch {
    /* a file without storage keeps it for now */
  }
}

