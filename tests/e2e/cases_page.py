"""The page of export --format html, in a real browser. Without one its cases are skipped."""

import html
import json
import re
import subprocess

from exports import export, make_tape
from harness import Skip, case, check, equal, installed, main, program
from tape import HANG_SECONDS, demand


def rendered(test, page, *options):
    """The page's document after its script ran."""
    for name in ("chromium", "google-chrome"):
        try:
            browser = installed(name)
            break
        except Skip:
            continue
    else:
        raise Skip("no chromium is installed")
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={test.dir}/browser",
               "--virtual-time-budget=4000", *options, f"file://{page}"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=HANG_SECONDS, check=False, env=test.env)
    check(result.returncode == 0, f"the browser ended with {result.returncode}: {result.stderr[-1000:]}")
    return result.stdout


@case
def the_page_draws_itself_in_a_browser(test):
    tape = make_tape(test)
    page = export(test, tape, "html", suffix=".html")
    document = rendered(test, page, "--dump-dom")
    facts = tape.facts()
    # The overview is the first thing the script makes, the table of functions the last.
    check(f"{facts['events']:,} events" in document, "the page counts the events")
    # Those that are plumbing by their names (site_malloc, site_calloc, ...) are not among them.
    check(document.count('<td class="text name">') >= 5, "the page lists functions")
    check("http://" not in page.read_text().replace("http://www.w3.org/2000/svg", ""), "the page needs nothing from elsewhere")
    rendered(test, page, f"--screenshot={test.work}/page.png", "--window-size=1280,1500")
    check((test.work / "page.png").stat().st_size > 30_000, "the picture of it is not empty")


@case
def the_page_lists_short_lived_blocks_and_regrown_containers_as_the_first_page_does(test):
    tape = test.recording_of([program("leak_hunt")]).tape
    worst = json.loads(demand("report", "--json", tape.path))["worst"]
    document = rendered(test, export(test, tape, "html", suffix=".html"), "--dump-dom")
    cards = dict(re.findall(r'<div class="card list"><h2>([\w-]+), by function</h2>(.*?)</ol>', document, re.DOTALL))
    for title, key in (("Short-lived", "short_lived"), ("Regrown", "regrown")):
        shown = [html.unescape(name) for name in re.findall(r"<button[^>]*>(.*?)</button>", cards[title])]
        equal(shown, [row["function"] for row in worst[key]], f"functions of {title}")
    check("vectors grew" in cards["Regrown"], cards["Regrown"])


PRESS_EVERYTHING = """<script>
(async () => {
  const wrong = [];
  addEventListener("error", (event) => wrong.push(event.message));
  const press = (id, key) => document.getElementById(id).dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  const point = (id, type, x, y) => document.getElementById(id).dispatchEvent(new PointerEvent(type, { clientX: x, clientY: y, bubbles: true }));
  for (const button of document.querySelectorAll("button")) button.click();
  for (const key of ["ArrowDown", "ArrowDown", "ArrowRight", "ArrowLeft", "ArrowUp", "Enter", "Escape", "Home"]) press("flame", key);
  for (const key of ["ArrowRight", "ArrowLeft", "+", "+", "PageDown", "-", "Escape"]) press("timeline", key);
  for (const id of ["flame", "timeline"]) for (const type of ["pointermove", "pointerdown", "pointerup", "pointerleave"]) point(id, type, 90, 40);
  document.querySelector("#quantity button").click();
  document.querySelector("#table-choice button").click();
  const box = document.getElementById("search");
  box.value = "c_FUNCTIONS";
  box.dispatchEvent(new Event("input"));
  const rows = [...document.querySelectorAll("td.name")].map((cell) => cell.textContent);
  document.body.append(Object.assign(document.createElement("pre"), { id: "outcome", textContent: JSON.stringify({ wrong, rows, path: document.getElementById("flame-path").textContent }) }));
})();
</script>"""


@case
def everything_on_the_page_can_be_pressed(test):
    page = export(test, make_tape(test), "html", suffix=".html")
    pressed = test.work / "pressed.html"
    pressed.write_text(page.read_text().replace("</body>", PRESS_EVERYTHING + "</body>"))
    document = rendered(test, pressed, "--dump-dom")
    outcome = re.search(r'<pre id="outcome">(.*?)</pre>', document, re.DOTALL)
    check(outcome, f"the script came to its end:\n{document[-1500:]}")
    found = json.loads(html.unescape(outcome[1]))
    equal(found["wrong"], [], "errors")
    check(found["rows"] and all("c_functions" in row for row in found["rows"]), f"the search finds functions: {found}")
    check("is in" in found["path"], f"and says how much they are: {found}")


@case
def the_page_does_not_grow_with_the_events(test):
    tapes = [make_tape(test, 1, rounds) for rounds in (500, 20000)]
    check(tapes[1].event_count() > 20 * tapes[0].event_count(), "the second tape has far more events")
    small, large = (export(test, tape, "html").stat().st_size for tape in tapes)
    # A short run has a coarser picture of its time; the finest one takes no more than this.
    check(large < small + 80_000, f"page of 40 times the events: {large} bytes, {small} before")


if __name__ == "__main__":
    raise SystemExit(main())
