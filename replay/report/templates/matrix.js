// The page of a matrix: the theme, by button or key.

document.getElementById("theme").addEventListener("click", toggleTheme);
document.addEventListener("keydown", (event) => {
  if (event.key !== "t" || event.ctrlKey || event.metaKey || event.altKey) return;
  toggleTheme();
});
