"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);

  // ------------------------------------------------------------------------------------------------------------ texts

  // Names come from the program under test: they only ever become text, never markup.
  function element(tag, attributes = {}, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name === "onclick") node.addEventListener("click", value);
      else if (value !== undefined && value !== false) node.setAttribute(name, value === true ? "" : value);
    }
    node.append(...children);
    return node;
  }
  const plain = (n) => Math.round(n).toLocaleString("en-US");
  function rounded(n) { return n >= 99.95 ? n.toFixed(0) : n >= 9.995 ? n.toFixed(1) : n.toFixed(2); }
  function bytes(n) {
    if (n < 1000) return `${plain(n)} B`;
    const units = ["kB", "MB", "GB", "TB", "PB", "EB"];
    let unit = -1;
    do { n /= 1000; ++unit; } while (n >= 999.5 && unit < units.length - 1);
    return `${rounded(n)} ${units[unit]}`;
  }
  function time(us) {
    if (us < 1000) return `${us} µs`;
    if (us < 1e6) return `${rounded(us / 1e3)} ms`;
    if (us < 120e6) return `${rounded(us / 1e6)} s`;
    const minutes = Math.floor(us / 60e6);
    return minutes < 120 ? `${minutes} min ${Math.round(us / 1e6 - minutes * 60)} s`
      : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  }
  function percent(part, whole) {
    if (!whole) return "0 %";
    const share = 100 * part / whole;
    return share > 0 && share < 0.01 ? "< 0.01 %" : `${share.toFixed(share < 1 ? 2 : 1)} %`;
  }
  const short = (text) => text.replace(/\.0+(?= )|(\.\d*[1-9])0+(?= )/, "$1"); // 5.00 MB: 5 MB
  const count = (n, one) => `${plain(n)} ${one}${n === 1 ? "" : "s"}`;
  const lastPart = (path) => path.slice(path.lastIndexOf("/") + 1);

  const QUANTITIES = [
    { name: "Peak", long: "live at the peak" }, { name: "Live at end", long: "live at the end" },
    { name: "Allocated", long: "allocated" }, { name: "Temporary", long: "temporary" },
  ];
  const view = { quantity: 0, unit: 0, direction: 0, search: "", table: 0 };
  const column = () => 2 * view.quantity + view.unit;
  const amount = (n) => view.unit === 0 ? bytes(n) : plain(n);

  // ------------------------------------------------------------------------------------------------------------ theme

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

  // --------------------------------------------------------------------------------------------------------- overview

  function showOverview() {
    const run = data.run, t = data.totals;
    document.title = `${run.command} – heaptape`;
    byId("command").textContent = run.command;
    byId("command").title = run.command;
    const facts = [run.start_ms ? new Date(run.start_ms).toLocaleString() : "", run.pid ? `pid ${run.pid}` : "", run.host,
      time(run.duration_us), count(data.events, "event"), count(run.threads, "thread")];
    byId("facts").textContent = facts.filter(Boolean).join("  ·  ");
    const warnings = [run.note, ...run.losses.map(([name, n]) => `${plain(n)} × ${name}`),
      data.unread ? `${count(data.unread, "event")} could not be read` : ""].filter(Boolean);
    byId("warnings").hidden = warnings.length === 0;
    byId("warnings").textContent = warnings.join("; ");
    const card = (what, value, more, extra = "") => element("div", { class: `card ${extra}` },
      element("div", { class: "what" }, what), element("div", { class: "value" }, value),
      element("div", { class: "more" }, more));
    byId("cards").append(
      card("Peak", bytes(t[0]), `${count(t[1], "block")} at ${time(data.peak_us)}`, "main"),
      card("Live at end", bytes(t[2]), `${count(t[3], "block")}`),
      card("Allocated", bytes(t[4]), `${count(t[5], "block")}`),
      card("Short-lived", percent(data.short_lived[0], t[4]), `${bytes(data.short_lived[0])} freed within 1 ms`),
      card("Temporary", percent(t[7], t[5]), `${count(t[7], "block")} freed right away`));
    const left = data.places - data.shown;
    byId("footer").textContent = `Made by heaptape ${run.heaptape}. ` + (left > 0
      ? `The flame graph shows the ${plain(data.shown)} places that weigh most, of ${plain(data.places)}; the others are joined as “smaller places”, so sums are exact.`
      : `The flame graph shows all ${plain(data.places)} places.`);
  }

  // --------------------------------------------------------------------------------------------------------- canvases

  function prepare(canvas, width, height) {
    const ratio = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    return context;
  }
  function showTip(event, ...content) {
    const tip = byId("tip");
    tip.replaceChildren(...content);
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    const x = Math.min(event.clientX + 14, innerWidth - box.width - 8);
    const below = event.clientY + 18;
    const y = below + box.height < innerHeight - 4 ? below : event.clientY - box.height - 12;
    tip.style.left = `${Math.max(8, x)}px`;
    tip.style.top = `${Math.max(4, y)}px`;
  }
  const hideTip = () => { byId("tip").hidden = true; };

  // --------------------------------------------------------------------------------------------------------- timeline

  const MIN = 0, MAX = 1, RSS = 3; // fields of a bucket
  const line = { left: 62, right: 10, top: 12, bottom: 24, from: 0, to: data.timeline.length, at: -1, drag: null };
  const buckets = data.timeline;
  const hasRss = buckets.some((bucket) => bucket[RSS] > 0);
  // Beside a resident size many times as large, the heap would be a flat line.
  const mostOf = (field) => buckets.reduce((most, bucket) => Math.max(most, bucket[field]), 0);
  let showRss = hasRss && mostOf(RSS) < 8 * mostOf(MAX);

  function niceStep(span, parts) {
    const rough = span / parts, power = 10 ** Math.floor(Math.log10(rough || 1));
    return [1, 2, 2.5, 5, 10].map((n) => n * power).find((n) => n >= rough) || power;
  }
  const timelineWidth = () => byId("timeline").clientWidth - line.left - line.right;
  const xOfBucket = (i) => line.left + (i - line.from) / (line.to - line.from) * timelineWidth();
  const bucketAt = (x) => line.from + (x - line.left) / timelineWidth() * (line.to - line.from);
  const xOfTime = (us) => xOfBucket(us / data.bucket_us);

  function drawTimeline() {
    const canvas = byId("timeline"), width = canvas.clientWidth, height = canvas.clientHeight;
    const c = prepare(canvas, width, height);
    const first = Math.max(0, Math.floor(line.from)), last = Math.min(buckets.length, Math.ceil(line.to));
    let most = 1;
    for (let i = first; i < last; ++i) most = Math.max(most, buckets[i][MAX], showRss ? buckets[i][RSS] : 0);
    const bottom = height - line.bottom;
    const y = (value) => bottom - value / (most * 1.04) * (bottom - line.top);

    c.font = `12px ${style("--sans")}`;
    c.lineWidth = 1;
    c.strokeStyle = style("--line");
    c.fillStyle = style("--dim");
    c.textAlign = "right";
    c.textBaseline = "middle";
    const step = niceStep(most, 4);
    for (let value = 0; value <= most * 1.04; value += step) {
      c.beginPath();
      c.moveTo(line.left, Math.round(y(value)) + .5);
      c.lineTo(width - line.right, Math.round(y(value)) + .5);
      c.stroke();
      c.fillText(short(bytes(value)), line.left - 8, y(value));
    }
    c.textBaseline = "alphabetic";
    const span = (line.to - line.from) * data.bucket_us;
    const tick = niceStep(span, Math.max(2, width / 140));
    for (let us = Math.ceil(line.from * data.bucket_us / tick) * tick; us <= line.to * data.bucket_us; us += tick) {
      const x = xOfTime(us);
      c.textAlign = x > width - 40 ? "right" : x < line.left + 20 ? "left" : "center";
      c.fillText(us === 0 ? "0" : short(time(us)), x, height - 6);
    }

    c.save();
    c.beginPath();
    c.rect(line.left, 0, width - line.left - line.right, bottom + 1);
    c.clip();
    const trace = (field) => {
      for (let i = first; i < last; ++i) {
        c.lineTo(xOfBucket(i), y(buckets[i][field]));
        c.lineTo(xOfBucket(i + 1), y(buckets[i][field]));
      }
    };
    c.fillStyle = style("--accent-soft");
    c.beginPath();
    c.moveTo(xOfBucket(first), bottom);
    trace(MAX);
    c.lineTo(xOfBucket(last), bottom);
    c.fill();
    c.strokeStyle = style("--accent");
    c.lineWidth = 1.5;
    c.lineJoin = "round";
    c.beginPath();
    trace(MAX);
    c.stroke();
    if (showRss) {
      c.strokeStyle = style("--rss");
      c.beginPath();
      for (let i = first; i < last; ++i) if (buckets[i][RSS]) c.lineTo((xOfBucket(i) + xOfBucket(i + 1)) / 2, y(buckets[i][RSS]));
      c.stroke();
    }
    c.font = `11px ${style("--sans")}`;
    for (const [name, us] of data.marks) {
      const x = Math.round(xOfTime(us)) + .5;
      c.strokeStyle = c.fillStyle = style("--dim");
      c.lineWidth = 1;
      c.setLineDash([3, 3]);
      c.beginPath();
      c.moveTo(x, line.top);
      c.lineTo(x, bottom);
      c.stroke();
      c.setLineDash([]);
      c.textAlign = "left";
      c.fillText(name.length > 24 ? `${name.slice(0, 23)}…` : name, x + 4, line.top + 8);
    }
    const px = xOfTime(data.peak_us), py = y(data.totals[0]);
    c.fillStyle = style("--peak");
    c.beginPath();
    c.arc(px, py, 4, 0, 7);
    c.fill();
    if (line.drag) {
      c.fillStyle = style("--accent-soft");
      c.fillRect(Math.min(line.drag.from, line.drag.to), line.top, Math.abs(line.drag.to - line.drag.from), bottom - line.top);
    } else if (line.at >= first && line.at < last) {
      const x = (xOfBucket(line.at) + xOfBucket(line.at + 1)) / 2;
      c.strokeStyle = style("--dim");
      c.lineWidth = 1;
      c.beginPath();
      c.moveTo(x, line.top);
      c.lineTo(x, bottom);
      c.stroke();
    }
    c.restore();
    byId("timeline-reset").hidden = line.from === 0 && line.to === buckets.length;
  }

  function readTimeline() {
    const bucket = buckets[line.at];
    if (!bucket) {
      byId("timeline-readout").textContent = "Drag to zoom in, double-click for the whole run; with the keyboard: arrows, + and −.";
      return;
    }
    const live = bucket[MIN] === bucket[MAX] ? bytes(bucket[MAX]) : `${bytes(bucket[MIN])} to ${bytes(bucket[MAX])}`;
    const parts = [`at ${time(line.at * data.bucket_us)}`, `live ${live} in up to ${count(bucket[5], "block")}`,
      bucket[RSS] ? `resident ${bytes(bucket[RSS])}` : "", `${bytes(bucket[4])} allocated in this ${time(data.bucket_us)}`];
    byId("timeline-readout").textContent = parts.filter(Boolean).join("  ·  ");
  }
  function zoomTimeline(from, to) {
    const least = Math.min(4, buckets.length);
    if (to - from < least) {
      const middle = (from + to) / 2;
      from = middle - least / 2;
      to = middle + least / 2;
    }
    const span = Math.min(to - from, buckets.length);
    line.from = Math.max(0, Math.min(from, buckets.length - span));
    line.to = line.from + span;
    drawTimeline();
  }
  function listenToTimeline() {
    const canvas = byId("timeline");
    const whole = () => zoomTimeline(0, buckets.length);
    const point = (x) => {
      line.at = Math.max(0, Math.min(buckets.length - 1, Math.floor(bucketAt(x))));
      readTimeline();
      drawTimeline();
    };
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      if (event.pointerType === "mouse") canvas.setPointerCapture(event.pointerId);
      line.drag = { from: event.offsetX, to: event.offsetX };
    });
    canvas.addEventListener("pointermove", (event) => {
      if (line.drag) line.drag.to = event.offsetX;
      point(event.offsetX);
    });
    canvas.addEventListener("pointerup", () => {
      const drag = line.drag;
      line.drag = null;
      if (drag && Math.abs(drag.to - drag.from) > 6) {
        const ends = [bucketAt(drag.from), bucketAt(drag.to)].sort((a, b) => a - b);
        zoomTimeline(ends[0], ends[1]);
      } else drawTimeline();
    });
    canvas.addEventListener("pointercancel", () => { line.drag = null; drawTimeline(); });
    canvas.addEventListener("dblclick", whole);
    byId("timeline-reset").addEventListener("click", whole);
    canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      const middle = bucketAt(event.offsetX), factor = event.deltaY > 0 ? 1.25 : 0.8;
      zoomTimeline(middle - (middle - line.from) * factor, middle + (line.to - middle) * factor);
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => {
      const span = line.to - line.from, middle = line.at >= 0 ? line.at + .5 : (line.from + line.to) / 2;
      const move = { ArrowLeft: -1, ArrowRight: 1, PageUp: -span / 10, PageDown: span / 10 }[event.key];
      if (move) {
        line.at = Math.max(0, Math.min(buckets.length - 1, Math.floor(middle + move)));
        if (line.at < line.from || line.at >= line.to) zoomTimeline(line.from + move, line.to + move);
        readTimeline();
        drawTimeline();
      } else if (event.key === "+") zoomTimeline(middle - (middle - line.from) / 2, middle + (line.to - middle) / 2);
      else if (event.key === "-") zoomTimeline(middle - (middle - line.from) * 2, middle + (line.to - middle) * 2);
      else if (event.key === "Escape") whole();
      else return;
      event.preventDefault();
    });
    const key = (color, text) => element("span", {}, element("i", { style: `background:var(${color})` }), text);
    byId("timeline-legend").append(key("--accent", "live"), key("--peak", "peak"));
    if (hasRss) {
      const box = element("input", { type: "checkbox", checked: showRss });
      box.addEventListener("change", () => { showRss = box.checked; drawTimeline(); });
      byId("timeline-legend").append(element("label", {}, box, key("--rss", "resident (RSS)")));
    }
    readTimeline();
  }

  // ------------------------------------------------------------------------------------------------------ flame graph

  const ROW = 19, LEAST = 0.6;
  const NO_COST = [0, 0, 0, 0, 0, 0, 0, 0];
  const makeNode = (label, parent, joined = 0) =>
    ({ label, parent, joined, own: NO_COST, sum: NO_COST.slice(), children: [], depth: parent ? parent.depth + 1 : 0 });

  function outermostFirst() {
    const nodes = [];
    for (const [label, parent, joined, ...own] of data.tree) {
      const node = makeNode(label, nodes[parent], joined);
      if (own.length) node.own = own;
      if (node.parent) node.parent.children.push(node);
      nodes.push(node);
    }
    return nodes;
  }
  function addUp(nodes) {
    for (let i = nodes.length - 1; i >= 0; --i) {
      const node = nodes[i];
      for (let k = 0; k < 8; ++k) node.sum[k] += node.own[k];
      if (node.parent) for (let k = 0; k < 8; ++k) node.parent.sum[k] += node.sum[k];
    }
    return nodes;
  }
  // The same costs with the function that allocates at the root, and its callers below.
  function innermostFirst(nodes) {
    const root = makeNode(nodes[0].label), turned = [root], known = new Map();
    for (const node of nodes) {
      if (node.own === NO_COST) continue;
      let at = root;
      for (let from = node; from.parent; from = from.parent) {
        if (!known.has(at)) known.set(at, new Map());
        const children = known.get(at);
        let child = children.get(from.label);
        if (!child) {
          child = makeNode(from.label, at);
          children.set(from.label, child);
          at.children.push(child);
          turned.push(child);
        }
        child.joined += from.joined;
        at = child;
      }
      at.own = at.own.map((n, k) => n + node.own[k]);
    }
    return turned;
  }

  const trees = [addUp(outermostFirst()), null];
  const flame = { zoom: trees[0][0], selected: null, hover: null, boxes: [], width: 0 };
  function root() {
    if (!trees[view.direction]) trees[view.direction] = addUp(innermostFirst(trees[0]));
    return trees[view.direction][0];
  }
  const labelOf = (node) => data.labels[node.label];
  function nameOf(node) {
    if (node.joined) return `(${count(node.joined, "smaller place")})`;
    return labelOf(node)[0];
  }

  // A module has a hue, in the order they come; its functions are shades of it.
  const HUES = [212, 34, 150, 268, 350, 186, 54, 310, 96, 14], moduleHues = new Map(), shades = new Map();
  function colorOf(node) {
    if (node.joined || !node.parent) return isDark() ? "hsl(220 8% 30%)" : "hsl(220 14% 86%)";
    if (!shades.has(node.label)) {
      const [name, , module] = labelOf(node);
      if (!moduleHues.has(module)) moduleHues.set(module, HUES[moduleHues.size % HUES.length]);
      let hash = 2166136261;
      for (let i = 0; i < name.length; ++i) hash = Math.imul(hash ^ name.charCodeAt(i), 16777619) >>> 0;
      shades.set(node.label, [moduleHues.get(module) + hash % 21 - 10, (hash >>> 8) % 11]);
    }
    const [hue, shade] = shades.get(node.label);
    return isDark() ? `hsl(${hue} 36% ${31 + shade}%)` : `hsl(${hue} 68% ${76 + shade}%)`;
  }

  function matches(node) {
    if (!view.search || node.joined || !node.parent) return false;
    return labelOf(node).some((text) => text.toLowerCase().includes(view.search));
  }
  // What is found, not counting twice what lies inside something found already.
  function foundCost() {
    let sum = 0;
    const open = [root()];
    while (open.length) {
      const node = open.pop();
      if (matches(node)) sum += node.sum[column()];
      else open.push(...node.children);
    }
    return sum;
  }

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

  // ----------------------------------------------------------------------------------------------------------- tables

  const range = (index, text) => index === 0 ? text(0)
    : index === 1 ? text(1) : `${text(2 ** (index - 1))} to ${text(2 ** index - 1)}`;
  const exactBytes = (n) => n < 10000 ? `${plain(n)} B` : bytes(n);
  const used = (rows, from) => rows.map((row, index) => [index, ...row]).filter((row) => row.slice(from).some((n) => n > 0));

  // A column: title, the value that sorts, and how it is shown. `share`: draws a bar of its part of the largest.
  const amountColumn = (title, at) => ({ title, value: (row) => row[at], text: (row) => bytes(row[at]), share: true });
  const blocksColumn = (title, at) => ({ title, value: (row) => row[at], text: (row) => plain(row[at]) });
  const TABLES = [
    { name: "Functions", rows: () => data.functions.filter((row) => (row[1 + column()] || row[9 + column()]) && (!view.search || data.labels[row[0]].some((text) => text.toLowerCase().includes(view.search)))),
      columns: () => [
        { title: "Function", value: (row) => data.labels[row[0]][0].toLowerCase(), text: (row) => data.labels[row[0]][0], class: "text name", search: true },
        { title: "File", value: (row) => data.labels[row[0]][1], text: (row) => lastPart(data.labels[row[0]][1]), class: "text where dim" },
        { title: "Module", value: (row) => data.labels[row[0]][2], text: (row) => data.labels[row[0]][2], class: "text where dim" },
        { title: "Itself", value: (row) => row[1 + column()], text: (row) => amount(row[1 + column()]), share: true, first: true },
        { title: "With callees", value: (row) => row[9 + column()], text: (row) => amount(row[9 + column()]), share: true },
        { title: "Share", value: (row) => row[9 + column()], text: (row) => percent(row[9 + column()], data.totals[column()]), class: "where" }],
      none: () => view.search ? "Nothing is found." : `Nothing is ${QUANTITIES[view.quantity].long}.` },
    { name: "Threads", rows: () => data.threads,
      columns: () => [
        { title: "Thread", value: (row) => row[0].toLowerCase(), text: (row) => row[0] || "(no name)", class: "text name" },
        { title: "Id", value: (row) => row[1], text: (row) => String(row[1]), class: "where" },
        { title: "Events", value: (row) => row[2], text: (row) => plain(row[2]), class: "where" },
        { ...amountColumn("Allocated", 7), first: true }, blocksColumn("Blocks", 8), amountColumn("At the peak", 3), amountColumn("Live at end", 5)] },
    { name: "Sizes", rows: () => used(data.sizes, 1),
      columns: () => [
        { title: "Block size", value: (row) => row[0], text: (row) => range(row[0], exactBytes), class: "text", first: true, ascending: true },
        amountColumn("Allocated", 5), blocksColumn("Blocks", 6), amountColumn("At the peak", 1), blocksColumn("Blocks", 2), amountColumn("Live at end", 3)] },
    { name: "Lifetimes", rows: () => used(data.lifetimes, 1),
      columns: () => [
        { title: "Lived", value: (row) => row[0], text: (row) => range(row[0], time), class: "text", first: true, ascending: true },
        amountColumn("Freed", 1), blocksColumn("Blocks", 2), amountColumn("Live at end, so old", 3), blocksColumn("Blocks", 4)] },
  ];
  const sorting = TABLES.map(() => null);

  function showTable() {
    const which = view.table, table = TABLES[which], columns = table.columns(), rows = table.rows().slice();
    const start = columns.findIndex((col) => col.first);
    const sort = sorting[which] || (sorting[which] = { at: start, up: !!columns[start].ascending });
    const value = columns[sort.at].value, sign = sort.up ? 1 : -1;
    rows.sort((a, b) => { const x = value(a), y = value(b); return sign * (x < y ? -1 : x > y ? 1 : 0); });
    const most = columns.map((col) => col.share ? Math.max(1, ...rows.map(col.value)) : 0);
    const head = element("tr", {}, ...columns.map((col, at) => element("th",
      { class: col.class || "", scope: "col", "aria-sort": at === sort.at ? (sort.up ? "ascending" : "descending") : undefined },
      element("button", { type: "button", onclick: () => {
        sorting[which] = { at, up: at === sort.at ? !sort.up : typeof (rows[0] ? col.value(rows[0]) : 0) === "string" };
        showTable();
      } }, col.title))));
    const body = rows.map((row) => element("tr", {}, ...columns.map((col, at) => {
      const text = col.text(row);
      const cell = element("td", { class: [col.class, col.share ? "share" : ""].filter(Boolean).join(" ") },
        col.search ? element("button", { type: "button", title: "Find it in the flame graph", onclick: () => search(text, true) }, text) : text);
      if (col.share) cell.style.backgroundSize = `${100 * col.value(row) / most[at]}% 78%`;
      return cell;
    })));
    byId("table").replaceChildren(rows.length ? element("table", {}, element("thead", {}, head), element("tbody", {}, ...body))
      : element("p", { class: "none" }, table.none ? table.none() : "Nothing."));
  }

  // ---------------------------------------------------------------------------------------------------------- choices

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
})();
