#include "report/export/html.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <tuple>

#include "report/export/flame_tree.h"
#include "report/export/page_texts.h"
#include "report/names/charged_function.h"
#include "report/select/runtime_pools.h"
#include "report/text/inherited_text.h"

namespace heaptape {
namespace {

// Together they keep a page below about 2 MB.
constexpr std::size_t kMostPlaces = 12'000;
constexpr std::size_t kMostFunctions = 500;
constexpr std::size_t kMostThreads = 500;
constexpr std::size_t kMostMarks = 500;
constexpr std::size_t kMostNameBytes = 300;

// Names are the program's: any bytes, of any length.
std::string_view bounded(std::string_view text) { return text.substr(0, kMostNameBytes); }

// Functions with what they are and where, numbered as they are first named.
class Labels {
public:
  explicit Labels(const StackNames& names) : names_(names) {}

  std::size_t number_of(const FlameNode& node) {
    if (node.joined != 0) return number_of_text("(smaller places)");
    if (!node.text.empty()) return number_of_text(node.text);
    return number_of(node.frame);
  }
  std::size_t number_of(FrameId frame) {
    const NamedFrame& named = names_[frame];
    return number_of({std::string(bounded(names_.text(named.function))), std::string(bounded(names_.text(named.file))),
                      std::string(bounded(names_.text(named.module_name)))});
  }
  std::size_t number_of_text(std::string_view text) { return number_of({std::string(text), "", ""}); }

  void write(Sink& sink) const {
    const char* separator = "";
    for (const Label* label : order_) {
      sink.add(separator);
      separator = ",\n";
      sink.add("[");
      sink.json(std::get<0>(*label));
      sink.add(",");
      sink.json(std::get<1>(*label));
      sink.add(",");
      sink.json(std::get<2>(*label));
      sink.add("]");
    }
  }

private:
  using Label = std::tuple<std::string, std::string, std::string>; // function, file, module

  std::size_t number_of(Label label) {
    const auto [found, added] = numbers_.try_emplace(std::move(label), order_.size());
    if (added) order_.push_back(&found->first);
    return found->second;
  }

  const StackNames& names_;
  std::map<Label, std::size_t> numbers_;
  std::vector<const Label*> order_;
};

void write_costs(Sink& sink, const Costs& costs) {
  const char* separator = "";
  for (const Cost& cost : costs) {
    sink.print("{}{},{}", separator, cost.bytes, cost.blocks);
    separator = ",";
  }
}

template <class List, class Write>
void write_list(Sink& sink, std::string_view key, const List& list, Write write) {
  sink.print(",\n\"{}\":[", key);
  const char* separator = "";
  for (const auto& entry : list) {
    sink.add(separator);
    separator = ",";
    write(entry);
  }
  sink.add("]");
}

void write_tree(Sink& sink, const FlameTree& tree, Labels& labels) {
  const auto shown =
      std::count_if(tree.nodes.begin(), tree.nodes.end(), [](const FlameNode& node) { return node.joined == 0; });
  sink.print(",\n\"places\":{},\"shown\":{}", tree.places, shown);
  write_list(sink, "tree", tree.nodes, [&](const FlameNode& node) {
    const bool root = &node == tree.nodes.data();
    sink.print("[{},{},{}", root ? labels.number_of_text("all") : labels.number_of(node), node.parent, node.joined);
    if (node.own != Costs{}) {
      sink.add(",");
      write_costs(sink, node.own);
    }
    sink.add("]\n");
  });
}

struct FunctionCosts {
  FrameId frame{};
  Costs own{};   // allocated by it directly
  Costs total{}; // by it and all it called
};

std::vector<FunctionCosts> functions_of(const ExportInput& input) {
  std::map<NameId, FunctionCosts> by_name;
  Costs all{};
  Plumbing plumbing(input.names);
  RuntimePools pools(input.names);
  for (const StackFigures& figures : input.findings().by_stack) {
    const Costs costs = costs_of(figures);
    all += costs;
    std::set<NameId> seen; // a recursive function counts once
    bool innermost = true;
    std::vector<FrameId> frames = input.names.frames_of(figures.stack);
    if (input.fold_plumbing && !pools.of(frames).empty()) continue; // no function's
    if (input.fold_plumbing) fold_plumbing(plumbing, frames);
    for (const FrameId frame : frames) {
      const NameId name = input.names[frame].function;
      FunctionCosts& function = by_name[name];
      function.frame = frame;
      if (innermost) function.own += costs;
      innermost = false;
      if (seen.insert(name).second) function.total += costs;
    }
  }
  std::vector<std::pair<double, FunctionCosts>> ranked;
  for (const auto& [name, function] : by_name) {
    double weight = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto share = [](std::uint64_t part, std::uint64_t whole) {
        return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
      };
      // What a function allocates itself says more about it than that it is on the way.
      weight =
          std::max({weight, share(function.own[i].bytes, all[i].bytes), share(function.own[i].blocks, all[i].blocks),
                    share(function.total[i].bytes, all[i].bytes) / 10});
    }
    ranked.emplace_back(weight, function);
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  if (ranked.size() > kMostFunctions) ranked.resize(kMostFunctions);
  std::vector<FunctionCosts> functions;
  for (const auto& [weight, function] : ranked) functions.push_back(function);
  return functions;
}

void write_run(Sink& sink, const ExportInput& input) {
  const auto& meta = input.tape.meta();
  const auto text = [&](const char* key, const char* name) {
    const auto found = meta.find(name);
    sink.print(",\"{}\":", key);
    sink.json(found == meta.end() ? "" : found->second);
  };
  sink.add("\"run\":{\"command\":");
  sink.json(command_of(input.tape));
  text("host", "host");
  text("kernel", "kernel");
  text("heaptape", "heaptape");
  sink.print(",\"pid\":{},\"start_ms\":{},\"duration_us\":{},\"threads\":{}", input.tape.header().pid,
             input.tape.header().start_realtime_ns / 1'000'000, duration_us(input), input.findings().by_thread.size());
  std::string note;
  if (input.tape.summary()) {
    note = input.tape.summary()->note;
    write_list(sink, "losses", input.tape.summary()->losses, [&](const auto& loss) {
      sink.add("[");
      sink.json(loss.first);
      sink.print(",{}]", loss.second);
    });
  } else {
    note = "The tape has no end: the recording was cut off, or was still running.";
    sink.add(",\"losses\":[]");
  }
  sink.add(",\"note\":");
  sink.json(note);
  sink.add("}");
}

void write_totals(Sink& sink, const ExportInput& input) {
  const Findings& findings = input.findings();
  Figures all;
  for (const StackFigures& figures : findings.by_stack) all += figures;
  sink.add(",\n\"totals\":[");
  write_costs(sink, costs_of(all));
  sink.print(
      "],\"peak_us\":{},\"peak_event\":{},\"events\":{},\"short_lived\":[{},{}],\"unknown_releases\":{},\"unread\":{}",
      findings.totals.peak_us, findings.totals.peak_event, findings.totals.events, all.short_lived.bytes,
      all.short_lived.blocks, truly_unknown(input.tape, findings.totals.unknown_releases), findings.unread_events);
}

void write_timeline(Sink& sink, const Findings& findings) {
  // The level with about a thousand buckets, or the finest there is.
  const auto& levels = findings.timeline.levels;
  const TimelineLevel& level = levels[std::min<std::size_t>(1, levels.size() - 1)];
  sink.print(",\n\"bucket_us\":{}", level.bucket_us);
  write_list(sink, "timeline", level.buckets, [&](const TimeBucket& bucket) {
    sink.print("[{},{},{},{},{},{}]", bucket.min_bytes, bucket.max_bytes, bucket.last_bytes, bucket.rss_bytes,
               bucket.allocated_bytes, bucket.max_blocks);
  });
}

void write_marks(Sink& sink, const std::vector<Mark>& marks) {
  const std::span<const Mark> shown(marks.data(), std::min(marks.size(), kMostMarks));
  write_list(sink, "marks", shown, [&](const Mark& mark) {
    sink.add("[");
    sink.json(bounded(mark.name));
    sink.print(",{}]", mark.time_us);
  });
}

void write_threads(Sink& sink, const ExportInput& input) {
  std::map<ThreadId, const Thread*> known;
  for (const Thread& thread : input.tape.threads()) known[thread.id] = &thread;
  std::vector<const ThreadFigures*> threads;
  for (const ThreadFigures& figures : input.findings().by_thread) threads.push_back(&figures);
  std::stable_sort(threads.begin(), threads.end(), [](const ThreadFigures* a, const ThreadFigures* b) {
    return a->allocated.bytes > b->allocated.bytes;
  });
  if (threads.size() > kMostThreads) threads.resize(kMostThreads);
  write_list(sink, "threads", threads, [&](const ThreadFigures* figures) {
    const auto found = known.find(figures->thread);
    sink.add("[");
    sink.json(found == known.end() ? "?" : bounded(found->second->name));
    sink.print(",{},{},", found == known.end() ? 0 : found->second->tid, figures->events);
    write_costs(sink, costs_of(*figures));
    sink.add("]");
  });
}

void write_histograms(Sink& sink, const Findings& findings) {
  write_list(sink, "sizes", findings.sizes, [&](const SizeBucket& bucket) {
    sink.print("[{},{},{},{},{},{}]", bucket.at_peak.bytes, bucket.at_peak.blocks, bucket.live.bytes,
               bucket.live.blocks, bucket.allocated.bytes, bucket.allocated.blocks);
  });
  write_list(sink, "lifetimes", findings.lifetimes, [&](const LifetimeBucket& bucket) {
    sink.print("[{},{},{},{}]", bucket.freed.bytes, bucket.freed.blocks, bucket.live.bytes, bucket.live.blocks);
  });
}

void write_lists(Sink& sink, const std::vector<ExportList>& lists, Labels& labels) {
  write_list(sink, "lists", lists, [&](const ExportList& list) {
    sink.add("{\"title\":");
    sink.json(list.title);
    sink.add(",\"note\":");
    sink.json(list.note);
    const Worst& worst = list.worst;
    sink.print(",\"of\":{},\"total\":{},\"others\":[{},{},{}]", list.measure == Measure::Blocks ? 2 : 1,
               measured(worst.total, list.measure), worst.others, worst.others_cost.bytes, worst.others_cost.blocks);
    write_list(sink, "rows", worst.rows, [&](const WorstRow& row) {
      sink.print("[{},{},{},", row.has_frame ? labels.number_of(row.frame) : labels.number_of_text("(no stack)"),
                 row.cost.bytes, row.cost.blocks);
      sink.json(row.counted);
      sink.add("]");
    });
    sink.add("}");
  });
}

// A script element ends at the first "</script", wherever that stands, so no text may hold a '<'. In JSON it can only
// stand in a string, where it may be written as a number.
std::string without_markup(std::string_view json) {
  std::string safe;
  safe.reserve(json.size() + 64);
  for (const char c : json) {
    if (c == '<')
      safe += "\\u003c";
    else
      safe += c;
  }
  return safe;
}

std::string facts_of(const ExportInput& input) {
  std::string facts;
  Sink sink([&](std::string_view bytes) -> Result<> {
    facts += bytes;
    return Unit{};
  });
  Labels labels(input.names);
  sink.add("{");
  write_run(sink, input);
  write_totals(sink, input);
  write_timeline(sink, input.findings());
  write_marks(sink, input.marks);
  write_tree(sink, make_flame_tree(input.findings(), input.names, kMostPlaces, input.fold_plumbing), labels);
  sink.print(",\n\"folded\":{}", input.fold_plumbing);
  write_list(sink, "functions", functions_of(input), [&](const FunctionCosts& function) {
    sink.print("[{},", labels.number_of(function.frame));
    write_costs(sink, function.own);
    sink.add(",");
    write_costs(sink, function.total);
    sink.add("]\n");
  });
  write_lists(sink, input.lists, labels);
  write_threads(sink, input);
  write_histograms(sink, input.findings());
  sink.add(",\n\"labels\":[");
  labels.write(sink);
  sink.add("]}");
  HT_CHECK(sink.finish().ok());
  return facts;
}

} // namespace

void export_html(const ExportInput& input, Sink& sink) {
  const auto put_page = [&](std::string_view page, std::string_view facts) {
    constexpr std::string_view kStyle = "/*style*/", kScript = "/*script*/", kFacts = "/*facts*/";
    const std::pair<std::string_view, std::string_view> holes[] = {
        {kStyle, kPageStyle}, {kFacts, facts}, {kScript, kPageScript}};
    for (const auto& [hole, text] : holes) {
      const std::size_t at = page.find(hole);
      HT_CHECK(at != page.npos);
      sink.add(page.substr(0, at));
      sink.add(text);
      page.remove_prefix(at + hole.size());
    }
    sink.add(page);
  };
  put_page(kPage, without_markup(facts_of(input)));
}

} // namespace heaptape
