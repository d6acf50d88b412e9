// The tables below the pictures.
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
