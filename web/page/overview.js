// The head of the page and its cards.
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
  showLists();
  const left = data.places - data.shown;
  const folded = data.folded ? "Plumbing (std::vector, xmalloc, libc, …) is charged to its callers; “heaptape export --all-frames” shows it. " : "";
  byId("footer").textContent = `Made by heaptape ${run.heaptape}. ${folded}` + (left > 0
    ? `The flame graph shows the ${plain(data.shown)} places that weigh most, of ${plain(data.places)}; the others are joined as “smaller places”, so sums are exact.`
    : `The flame graph shows all ${plain(data.places)} places.`);
}

// The lists of the first page that have no table below: each function can be looked for in the flame graph.
function showLists() {
  const row = (share, name, more) => element("li", {}, element("span", {}, share), element("span", {}, name, element("div", { class: "dim" }, more)));
  const find = (text) => element("button", { type: "button", title: "Find it in the flame graph", onclick: () => search(text, true) }, text);
  for (const list of data.lists) {
    const rows = list.rows.map((each) => row(percent(each[list.of], list.total), find(data.labels[each[0]][0]), `${each[3]}, ${bytes(each[1])}`));
    const [functions, otherBytes] = list.others;
    if (functions) rows.push(row(percent(list.others[list.of], list.total), `${count(functions, "other function")}`, bytes(otherBytes)));
    byId("lists").append(element("div", { class: "card list" }, element("h2", {}, `${list.title}, by function`),
      element("p", { class: "dim" }, list.note), element("ol", {}, ...rows)));
  }
  byId("lists").hidden = data.lists.length === 0;
}
