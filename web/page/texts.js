// The facts, the elements of the page, and how amounts are written. The files of this folder become one script: see page.html.
const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);

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
