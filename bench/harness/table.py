"""The tables of a run, as Markdown, for the terminal and for bench/results/."""
from .figures import spread

TOOLS = ("native", "heaptape", "heaptrack")


def cells(rows):
    """Markdown with the columns padded, so that it also reads as plain text."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]

    def line(row):
        return "| " + " | ".join(cell.ljust(width) if i < 2 else cell.rjust(width)
                                 for i, (cell, width) in enumerate(zip(row, widths))) + " |"

    rule = "|" + "|".join("-" * (width + 1) + ("-" if i < 2 else ":") for i, width in enumerate(widths)) + "|"
    return "\n".join([line(rows[0]), rule, *(line(row) for row in rows[1:])])


def seconds(values):
    low, median, high = values
    return f"{median:.3f} ({low:.3f}-{high:.3f})"


def number(value, form="{:.1f}"):
    return "" if value is None else form.format(value)


def megabytes(runs, field):
    value = spread(runs, field)[1]
    return f"{value / (1 << 20):.0f}" if value else ""


def measurements(rows):
    lines = [["workload", "tool", "wall s", "x native", "program CPU s", "total CPU s", "program MB", "collector MB",
              "ns/event wall", "ns/event program", "ns/event total", "bytes/event"]]
    for row in rows:
        for tool in TOOLS:
            if not row.has(tool):
                if tool in row.failures:
                    lines.append([row.workload.name, tool, row.failures[tool]] + [""] * 9)
                continue
            runs = row.runs[tool]
            recorded = tool != "native"
            lines.append([
                row.workload.name if tool == "native" else "", tool, seconds(spread(runs, "wall")),
                number(row.times_native(tool, "wall"), "{:.2f}") if recorded else "",
                seconds(spread(runs, "program_cpu")), seconds(spread(runs, "total_cpu")),
                megabytes(runs, "program_rss"), megabytes(runs, "collector_rss") if recorded else "",
                number(row.per_event_ns(tool, "wall")) if recorded else "",
                number(row.per_event_ns(tool, "program_cpu")) if recorded else "",
                number(row.per_event_ns(tool, "total_cpu")) if recorded else "",
                number(row.bytes_per_event(tool), "{:.2f}") if recorded else ""])
    return cells(lines)


def comparison(rows):
    lines = [["workload", "events", "added wall", "added wall of the program", "added program CPU", "added total CPU"]]
    for row in rows:
        if row.has("heaptrack") and row.has("heaptape"):
            lines.append([row.workload.name, f"{row.events:,}",
                          *(number(row.against_heaptrack(field), "{:.2f}")
                            for field in ("wall", "program_wall", "program_cpu", "total_cpu"))])
    return cells(lines) if len(lines) > 1 else ""


def goals(rows):
    lines = [["workload", "goal", "measured", "limit", "met"]]
    for row in rows:
        for what, value, limit in row.goals():
            lines.append([row.workload.name, what, f"{value:.2f}", f"{limit:.2f}", "yes" if value <= limit else "NO"])
    return cells(lines) if len(lines) > 1 else ""


def document(machine, rows, repetitions):
    parts = ["# Benchmark results", ""]
    parts += [f"- {key}: {value}" for key, value in machine.items()]
    parts += [f"- repetitions: {repetitions}, interleaved; median (minimum-maximum)", "",
              "Wall is the whole command, until the collector or interpreter is done. ns/event is the difference to native, over",
              "the events heaptape recorded: of the wall time, of the program's CPU time, and of all processes' CPU time.", "",
              measurements(rows), "", "## heaptape's cost as a part of heaptrack's", "", comparison(rows), "",
              "## Goals", "", goals(rows), "", "## Workloads", ""]
    parts += [f"- {row.workload.name}: {row.workload.about}" for row in rows]
    return "\n".join(parts) + "\n"
