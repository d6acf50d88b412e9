// Buttons, search, and the first drawing of everything.
function choice(id, names, key, changed) {
  const group = byId(id);
  const show = () => [...group.children].forEach((button, i) => {
    button.setAttribute("aria-checked", String(i === view[key]));
    button.tabIndex = i === view[key] ? 0 : -1;
  });
  const choose = (i) => { view[key] = i; show(); changed(); };
  names.forEach((name, i) => group.append(element("button", { type: "button", role: "radio", onclick: () => choose(i) }, name)));
  group.addEventListener("keydown", (event) => {
    const move = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!move) return;
    event.preventDefault();
    choose((view[key] + move + names.length) % names.length);
    group.children[view[key]].focus();
  });
  show();
}
function search(text, jump = false) {
  view.search = text.trim().toLowerCase();
  if (byId("search").value.trim().toLowerCase() !== view.search) byId("search").value = text;
  drawFlame();
  if (view.table === 0 && !jump) showTable();
  if (jump) byId("flame-title").scrollIntoView({ block: "start" });
}

const costsChanged = () => { drawFlame(); readFlame(flame.selected); showTable(); };
showOverview();
listenToTimeline();
listenToFlame();
choice("quantity", QUANTITIES.map((quantity) => quantity.name), "quantity", costsChanged);
choice("unit", ["Bytes", "Blocks"], "unit", costsChanged);
choice("direction", ["Top-down", "Bottom-up"], "direction", () => zoomFlame(root()));
choice("table-choice", TABLES.map((table) => table.name), "table", showTable);
byId("search").addEventListener("input", () => search(byId("search").value));
byId("theme").addEventListener("click", () => {
  theme = themes[(themes.indexOf(theme) + 1) % themes.length];
  try { localStorage.setItem("heaptape-theme", theme); } catch { /* then it is forgotten */ }
  applyTheme();
});
darkSystem.addEventListener("change", applyTheme);
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement !== byId("search")) {
    event.preventDefault();
    byId("search").focus();
  } else if (event.key === "Escape" && document.activeElement === byId("search")) {
    byId("search").value = "";
    search("");
  }
});
let resizing = 0;
addEventListener("resize", () => { cancelAnimationFrame(resizing); resizing = requestAnimationFrame(() => { drawTimeline(); drawFlame(); }); });
applyTheme();
showTable();
