// The heap over time.
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
  let free = line.left; // labels that would lie upon another are left out; the lines stay
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
    const label = name.length > 24 ? `${name.slice(0, 23)}…` : name, room = c.measureText(label).width;
    const start = x + 4 + room <= width - line.right ? x + 4 : x - 4 - room;
    if (x < line.left || start < free) continue;
    c.fillText(label, start, line.top + 8);
    free = start + room + 8;
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
