// The costs as a tree: from the entry inwards, or from the functions that allocate outwards.
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
