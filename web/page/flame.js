// The flame graph: drawn, read, zoomed.
function layOut() {
  const key = column(), boxes = [], zoom = flame.zoom;
  const ancestors = [];
  for (let node = zoom.parent; node; node = node.parent) ancestors.unshift(node);
  ancestors.forEach((node, depth) => boxes.push({ node, x: 0, w: flame.width, depth, faded: true }));
  const whole = zoom.sum[key];
  const open = [{ node: zoom, x: 0, w: whole ? flame.width : 0, depth: ancestors.length }];
  let deepest = ancestors.length;
  while (open.length) {
    const box = open.pop();
    if (box.w < LEAST) continue;
    boxes.push(box);
    deepest = Math.max(deepest, box.depth);
    let x = box.x;
    const children = box.node.children.filter((child) => child.sum[key] > 0)
      .sort((a, b) => (a.joined ? 1 : 0) - (b.joined ? 1 : 0) || b.sum[key] - a.sum[key]);
    for (const child of children) {
      const w = child.sum[key] / whole * flame.width;
      open.push({ node: child, x, w, depth: box.depth + 1 });
      x += w;
    }
  }
  flame.boxes = boxes;
  return deepest + 1;
}

function drawFlame() {
  const canvas = byId("flame");
  flame.width = byId("flame-scroll").clientWidth;
  const rows = layOut(), height = Math.max(rows * ROW, ROW * 3);
  canvas.style.height = `${height}px`;
  const c = prepare(canvas, flame.width, height);
  const text = isDark() ? "#f1f4f8" : "#15202e", dim = style("--dim"), hit = style("--hit"), accent = style("--accent");
  c.font = `12px ${style("--mono")}`;
  c.textBaseline = "middle";
  const letter = c.measureText("M").width;
  for (const box of flame.boxes) {
    const y = box.depth * ROW, w = Math.max(box.w - (box.w > 2 ? 1 : 0), .5);
    const found = matches(box.node);
    c.globalAlpha = box.faded ? .45 : view.search && !found ? .5 : 1;
    c.fillStyle = found ? hit : colorOf(box.node);
    c.fillRect(box.x, y, w, ROW - 1);
    const room = Math.floor((w - 8) / letter);
    if (room >= 3) {
      const name = box.node.parent ? nameOf(box.node) : `all: ${amount(box.node.sum[column()])} ${view.unit ? "blocks " : ""}${QUANTITIES[view.quantity].long}`;
      c.fillStyle = found ? "#fff" : text;
      c.fillText(name.length > room ? `${name.slice(0, room - 1)}…` : name, box.x + 4, y + ROW / 2);
    }
    if (box.node === flame.selected || box.node === flame.hover) {
      c.globalAlpha = 1;
      c.strokeStyle = box.node === flame.selected ? accent : text;
      c.lineWidth = box.node === flame.selected ? 2 : 1;
      c.strokeRect(box.x + 1, y + 1, Math.max(w - 2, 1), ROW - 3);
    }
  }
  c.globalAlpha = 1;
  if (!flame.zoom.sum[column()]) {
    c.fillStyle = dim;
    c.fillText(`Nothing is ${QUANTITIES[view.quantity].long}.`, 8, ROW * 1.5);
  }
  showPath();
}

function showPath() {
  const path = byId("flame-path"), parts = [];
  for (let node = flame.zoom; node.parent; node = node.parent) parts.unshift(node);
  path.replaceChildren();
  if (parts.length) {
    path.append(element("button", { type: "button", onclick: () => zoomFlame(root()) }, "all"), "  ›  ",
      nameOf(flame.zoom), `  ·  ${percent(flame.zoom.sum[column()], root().sum[column()])} of all`);
  } else {
    path.append(view.direction ? "The functions that allocate, and below them who called them." : "The program's entry, and below it what it called.",
      "  Click to zoom, Escape to go back.");
  }
  if (view.search) path.append(`  ·  “${view.search}” is in ${percent(foundCost(), root().sum[column()])}`);
}
function describe(node) {
  const [, file, module] = labelOf(node), all = root().sum, key = column();
  const own = node.own[key];
  const parts = [`${amount(node.sum[key])}${view.unit ? " blocks" : ""} ${QUANTITIES[view.quantity].long}, ${percent(node.sum[key], all[key])}`];
  parts.push(view.unit ? bytes(node.sum[key - 1]) : count(node.sum[key + 1], "block"));
  if (own && node.children.length) parts.push(`${amount(own)} ${view.direction ? "with no known caller" : "by itself"}`);
  return [parts.join("  ·  "), [file, module].filter(Boolean).join("  in  ")];
}
function readFlame(node) {
  const readout = byId("flame-readout");
  readout.replaceChildren();
  if (!node) return;
  const [costs, place] = describe(node);
  readout.append(element("b", {}, nameOf(node)), `  ${costs}`, element("span", { class: "dim" }, place ? `  ·  ${place}` : ""));
}
function zoomFlame(node) {
  flame.zoom = node;
  flame.selected = node;
  flame.hover = null;
  hideTip();
  drawFlame();
  readFlame(node);
}
function boxAt(event) {
  const depth = Math.floor(event.offsetY / ROW);
  return flame.boxes.find((box) => box.depth === depth && event.offsetX >= box.x && event.offsetX < box.x + Math.max(box.w, 1));
}
function keepInView(node) {
  const box = flame.boxes.find((candidate) => candidate.node === node), area = byId("flame-scroll");
  if (!box) return;
  const top = box.depth * ROW;
  if (top < area.scrollTop) area.scrollTop = top;
  else if (top + ROW > area.scrollTop + area.clientHeight) area.scrollTop = top + ROW - area.clientHeight;
}
function listenToFlame() {
  const canvas = byId("flame");
  canvas.addEventListener("pointermove", (event) => {
    const box = boxAt(event), node = box ? box.node : null;
    if (node !== flame.hover) { flame.hover = node; drawFlame(); }
    if (!node || event.pointerType === "touch") { hideTip(); return; }
    const [costs, place] = describe(node);
    showTip(event, element("b", {}, nameOf(node)), costs, element("div", { class: "dim" }, place));
  });
  canvas.addEventListener("pointerleave", () => { flame.hover = null; hideTip(); drawFlame(); });
  canvas.addEventListener("click", (event) => { const box = boxAt(event); if (box) zoomFlame(box.node); });
  canvas.addEventListener("keydown", (event) => {
    const at = flame.selected || flame.zoom, key = column();
    const order = (nodes) => nodes.filter((node) => node.sum[key] > 0).sort((a, b) => (a.joined ? 1 : 0) - (b.joined ? 1 : 0) || b.sum[key] - a.sum[key]);
    const siblings = at.parent ? order(at.parent.children) : [at], place = siblings.indexOf(at);
    const target = { ArrowDown: order(at.children)[0], ArrowUp: at.parent, ArrowLeft: siblings[place - 1], ArrowRight: siblings[place + 1] };
    if (event.key in target) {
      if (target[event.key]) flame.selected = target[event.key];
    } else if (event.key === "Enter") zoomFlame(at);
    else if (event.key === "Escape") zoomFlame(flame.zoom.parent || root());
    else if (event.key === "Home") zoomFlame(root());
    else return;
    event.preventDefault();
    drawFlame();
    readFlame(flame.selected);
    keepInView(flame.selected);
  });
}
