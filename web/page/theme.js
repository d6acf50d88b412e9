// Light or dark.
const themes = ["system", "light", "dark"];
const darkSystem = matchMedia("(prefers-color-scheme: dark)");
let theme = "system";
try { theme = localStorage.getItem("heaptape-theme") || theme; } catch { /* not kept for files, in some browsers */ }
const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const isDark = () => theme === "dark" || (theme === "system" && darkSystem.matches);
function applyTheme() {
  document.documentElement.dataset.theme = isDark() ? "dark" : "light";
  byId("theme").textContent = `Theme: ${theme}`;
  drawTimeline();
  drawFlame();
}
