// The flame graph of `heaptape export --format svg`: a click zooms, a search marks functions. Without it the picture is the same.
"use strict";
(() => {
  const svg = document.documentElement, byId = (id) => document.getElementById(id);
  const margin = 10, full = svg.viewBox.baseVal.width - 2 * margin, letter = 6.65;
  const boxes = [...byId("boxes").children].map((g) => {
    const [title, rect, text] = g.children, [, name, figures] = /^([^]*?)(: [^:]*)$/.exec(title.textContent);
    const x = Number(rect.getAttribute("x")), width = Number(rect.getAttribute("width")) + 0.4;
    return { g, rect, text, x, width, y: Number(rect.getAttribute("y")), name, figures };
  });

  function label(box, width) {
    const room = Math.max(0, Math.floor((width - 6) / letter)), name = box.name.replace(/ \([^()]*\)$/, "");
    box.text.textContent = name.length <= room ? name : room < 4 ? "" : name.slice(0, room - 2) + "..";
  }

  // The box takes the whole width; its callers, too, and what lies beside it is hidden.
  function zoom(to) {
    const scale = full / to.width, end = to.x + to.width, slack = 0.02;
    for (const box of boxes) {
      const isCaller = box.y < to.y && box.x <= to.x + slack && box.x + box.width >= end - slack;
      const isInside = box.y >= to.y && box.x >= to.x - slack && box.x + box.width <= end + slack;
      box.g.style.display = isCaller || isInside ? "" : "none";
      box.g.classList.toggle("above", isCaller);
      const x = isCaller ? margin : margin + (box.x - to.x) * scale, width = isCaller ? full : box.width * scale;
      box.rect.setAttribute("x", x);
      box.rect.setAttribute("width", Math.max(width - 0.4, 0.1));
      box.text.setAttribute("x", x + 3);
      label(box, width);
    }
    byId("reset").setAttribute("visibility", to === boxes[0] ? "hidden" : "visible");
  }

  // Share of the functions that match; one below another that matches does not count again.
  function search(words) {
    let pattern = null;
    try { pattern = words ? new RegExp(words, "i") : null; } catch { pattern = { test: (text) => text.includes(words) }; }
    let sum = 0, count = 0, counted = [];
    for (const box of boxes) {
      const hit = pattern !== null && box !== boxes[0] && pattern.test(box.name);
      box.g.classList.toggle("hit", hit);
      if (!hit) continue;
      ++count;
      if (counted.some(([from, to]) => box.x >= from - 0.02 && box.x + box.width <= to + 0.02)) continue;
      counted.push([box.x, box.x + box.width]);
      sum += box.width;
    }
    byId("found").textContent = pattern === null ? "" : `${count} boxes match, ${(sum / full * 100).toFixed(1)} %`;
  }

  function ask() {
    const words = prompt("Search for functions (regular expression; empty: none)", "");
    if (words !== null) search(words);
  }

  for (const box of boxes) {
    box.g.addEventListener("click", () => zoom(box));
    box.g.addEventListener("mouseenter", () => { byId("about").textContent = box.name.slice(0, 110) + box.figures; });
    box.g.addEventListener("mouseleave", () => { byId("about").textContent = ""; });
  }
  byId("reset").addEventListener("click", () => zoom(boxes[0]));
  byId("search").addEventListener("click", ask);
  byId("search").setAttribute("visibility", "visible");
  addEventListener("keydown", (event) => {
    if (event.key === "Escape") { zoom(boxes[0]); search(""); }
    if (event.key !== "/" && !(event.ctrlKey && event.key === "f")) return;
    event.preventDefault();
    ask();
  });
})();
