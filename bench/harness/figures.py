"""From repeated measurements to the figures of the table and their goals."""
import dataclasses
import statistics

# Goals against heaptrack in the same run, for every workload.
MAX_ADDED_WALL = 1 / 5
MAX_ADDED_CPU = 1 / 3
COLLECTOR_BYTES = 64 << 20
MIN_DELTA_S = 0.02  # smaller differences between two runs are noise, and so is a ratio of them


def middle(runs, field):
    return statistics.median(getattr(run, field) for run in runs)


def spread(runs, field):
    values = [getattr(run, field) for run in runs]
    return min(values), statistics.median(values), max(values)


@dataclasses.dataclass
class Row:
    """One workload: the good runs of each tool, by the tool's name, and why others failed."""
    workload: object
    runs: dict
    failures: dict
    events: int = 0
    heaptrack_events: int = 0
    info: dict = dataclasses.field(default_factory=dict)

    def has(self, tool):
        return bool(self.runs.get(tool))

    def added(self, tool, field):
        """Median over native, in seconds; None when one of the two did not run."""
        if not (self.has(tool) and self.has("native")):
            return None
        return middle(self.runs[tool], field) - middle(self.runs["native"], field)

    def per_event_ns(self, tool, field):
        added = self.added(tool, field)
        return None if added is None or not self.events else added * 1e9 / self.events

    def times_native(self, tool, field):
        if not (self.has(tool) and self.has("native")):
            return None
        native = middle(self.runs["native"], field)
        return middle(self.runs[tool], field) / native if native else None

    def against_heaptrack(self, field):
        """heaptape's added time as a part of heaptrack's."""
        ours, theirs = self.added("heaptape", field), self.added("heaptrack", field)
        if ours is None or theirs is None or theirs < MIN_DELTA_S:
            return None
        return max(0.0, ours) / theirs

    def bytes_per_event(self, tool):
        events = self.events if tool == "heaptape" else self.heaptrack_events
        return middle(self.runs[tool], "output_bytes") / events if self.has(tool) and events else None

    def goals(self):
        """(what, value, limit) for every goal that can be judged in this run."""
        found = []
        limits = [("added wall / heaptrack's", self.against_heaptrack("wall"), MAX_ADDED_WALL),
                  ("added total CPU / heaptrack's", self.against_heaptrack("total_cpu"), MAX_ADDED_CPU),
                  ("program CPU, ns/event", self.per_event_ns("heaptape", "program_cpu"), self.workload.max_ns),
                  ("tape bytes/event", self.bytes_per_event("heaptape"), self.workload.max_bytes)]
        for what, value, limit in limits:
            if value is not None and limit is not None:
                found.append((what, value, limit))
        return found

    def as_json(self):
        return {
            "workload": self.workload.name,
            "about": self.workload.about,
            "events": self.events,
            "heaptrack_events": self.heaptrack_events,
            "failures": self.failures,
            "losses": self.info.get("losses", {}),
            "runs": {tool: [dataclasses.asdict(run) for run in runs] for tool, runs in self.runs.items()},
            "goals": [{"goal": what, "value": value, "limit": limit, "met": value <= limit}
                      for what, value, limit in self.goals()],
        }
