// Commands about the heap as a whole at the cursor.
#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "analysis/index/log_buckets.h"
#include "analysis/moment/moments.h"
#include "base/number_text.h"
#include "report/figures/tree_text.h"
#include "shell/all_commands.h"
#include "shell/describe.h"
#include "shell/explain.h"
#include "shell/explanation_text.h"
#include "shell/origin.h"

namespace heaptape {
namespace {

// The last one up to a moment; nullptr: there is none.
const Sample* sample_at(const TapeReader& tape, std::uint64_t time_us) {
  const auto& samples = tape.samples();
  const auto after = std::partition_point(samples.begin(), samples.end(),
                                          [&](const Sample& sample) { return sample.time_us <= time_us; });
  return after == samples.begin() ? nullptr : &*std::prev(after);
}

std::size_t threads_at(const TapeReader& tape, std::uint64_t time_us) {
  return static_cast<std::size_t>(
      std::count_if(tape.threads().begin(), tape.threads().end(), [&](const Thread& thread) {
        return thread.first_seen_us <= time_us && (thread.ended_us == 0 || thread.ended_us >= time_us);
      }));
}

// "where ADDR": not where we are, but where a pointer comes from.
Result<> where_from(Session& session, const std::string& word, bool json, Printer& out) {
  const Result<std::uint64_t> address = session.address(word);
  if (!address) return address.error();
  const AddressFacts facts = find_address_facts(session.tape(), {.address = address.value(), .event = session.event()});
  session.note(facts.damage);
  const Origin origin = origin_of(facts, session.time_us());
  if (json) {
    JsonWriter writer;
    write_origin_json(writer, session.tape(), session.stacks(), origin);
    out.print(writer.text() + "\n");
  } else if (origin.block) {
    out.print(origin_text(session.tape(), session.stacks(), origin, session.style));
  } else {
    const Explanation answer = explain_address(session, facts);
    out.print(hex(address.value()) + " is " + verdict_text(session, answer) + "\n" + details_text(session, answer));
  }
  return Unit{};
}

Result<> where(Session& session, Call& call, Printer& out) {
  const bool json = call.flag("--json");
  if (const auto word = call.next()) {
    if (const Result<> done = call.finish(); !done) return done.error();
    return where_from(session, *word, json, out);
  }
  if (const Result<> done = call.finish(); !done) return done.error();
  const HeapTotals& now = session.heap().totals();
  const Moment& peak_at = session.peak();
  const Sample* sample = sample_at(session.tape(), session.time_us());
  const std::size_t threads = threads_at(session.tape(), session.time_us());
  if (json) {
    JsonWriter writer;
    writer.begin_object().field("event", session.event()).field("time_us", session.time_us());
    writer.field("last_event", session.last_event())
        .field("live_bytes", now.live_bytes)
        .field("live_blocks", now.live_blocks);
    writer.field("allocated_bytes", now.allocated_bytes).field("allocated_blocks", now.allocated_blocks);
    writer.field("peak_bytes", session.peak_bytes()).field("peak_event", peak_at.event).field("threads", threads);
    if (sample != nullptr)
      writer.field("rss_bytes", sample->rss_bytes).field("anonymous_bytes", sample->anonymous_bytes);
    out.print(writer.end_object().text() + "\n");
    return Unit{};
  }
  const std::string of = " of " + with_separators(session.last_event());
  std::string text = fmt::format("  at        event {}{}, {} s of {} s\n", with_separators(session.event()), of,
                                 seconds_text(session.time_us()), seconds_text(session.last_us()));
  text += fmt::format("  live      {} in {}\n", exact_bytes_text(now.live_bytes), count_of(now.live_blocks, "block"));
  text += fmt::format("  so far    {} allocated in {}\n", bytes_text(now.allocated_bytes),
                      count_of(now.allocated_blocks, "block"));
  if (peak_at.event != 0) {
    const std::uint64_t peak = peak_at.event;
    const std::string distance =
        session.event() == peak ? "here"
        : session.event() < peak
            ? count_of(peak - session.event(), "event") + " and " +
                  duration_text(peak_at.time_us - std::min(peak_at.time_us, session.time_us())) + " ahead"
            : count_of(session.event() - peak, "event") + " and " +
                  duration_text(session.time_us() - std::min(session.time_us(), peak_at.time_us)) + " back";
    text += fmt::format("  peak      {}, {}; {} of it is live now\n", bytes_text(session.peak_bytes()), distance,
                        percent_text(now.live_bytes, session.peak_bytes()));
  }
  if (sample != nullptr) {
    text += fmt::format("  RSS       {}, {} of it anonymous (sampled {})\n", bytes_text(sample->rss_bytes),
                        bytes_text(sample->anonymous_bytes), ago_text(sample->time_us, session.time_us()));
  }
  text += fmt::format("  threads   {}\n", threads);
  const Mark* last = nullptr;
  for (const Mark& mark : session.view().marks()) {
    if (mark.event <= session.event() && mark.time_us <= session.time_us()) last = &mark;
  }
  if (last != nullptr)
    text += fmt::format("  mark      {} ({})\n", printable(last->name), ago_text(last->time_us, session.time_us()));
  out.print(text);
  return Unit{};
}

// One line of a histogram: label, bytes, blocks, bar.
std::string bar_line(const Session& session, const std::string& label, const Cost& cost, std::uint64_t most) {
  constexpr std::uint64_t kWidest = 30, kBefore = 53; // columns
  const std::uint64_t room = session.style.width > kBefore ? session.style.width - kBefore : kWidest;
  const std::uint64_t widest = std::min(room, kWidest);
  const std::uint64_t length = most == 0 ? 0 : (cost.bytes * widest + most - 1) / most;
  std::string bar;
  for (std::uint64_t i = 0; i < length; ++i) bar += session.style.utf8 ? "▇" : "#";
  return fmt::format("  {:<22}{:>12}  {:>12}x  {}\n", label, bytes_text(cost.bytes), with_separators(cost.blocks), bar);
}

std::string size_label(unsigned bucket) {
  const std::uint64_t low = log_bucket_first(bucket);
  if (bucket == 0) return "0 bytes";
  const std::uint64_t high = log_bucket_last(bucket);
  return low == high ? count_of(low, "byte") : bytes_text(low) + " ..";
}

Result<> stats(Session& session, Call& call, Printer& out) {
  const bool json = call.flag("--json");
  if (const Result<> done = call.finish(); !done) return done.error();
  HeapCursor& heap = session.heap();
  std::array<Cost, kLogBuckets> sizes{}, ages{};
  heap.state().blocks().for_each([&](const Block& block) {
    sizes[log_bucket(block.size)] += Cost::of(block.size);
    ages[log_bucket(session.time_us() - std::min(session.time_us(), block.time_us))] += Cost::of(block.size);
  });
  const HeapTotals& totals = heap.totals();
  if (json) {
    JsonWriter writer;
    writer.begin_object().field("event", session.event()).key("kinds").begin_object();
    for (std::size_t kind = 1; kind < totals.per_kind.size(); ++kind) {
      if (totals.per_kind[kind] != 0) writer.field(kind_name(static_cast<EventKind>(kind)), totals.per_kind[kind]);
    }
    writer.end_object();
    for (const auto& [name, buckets] : {std::pair{"sizes", &sizes}, std::pair{"ages_us", &ages}}) {
      writer.key(name).begin_array();
      for (unsigned i = 0; i < kLogBuckets; ++i) {
        if ((*buckets)[i] == Cost{}) continue;
        writer.begin_object().field("from", log_bucket_first(i));
        writer.field("bytes", (*buckets)[i].bytes).field("blocks", (*buckets)[i].blocks).end_object();
      }
      writer.end_array();
    }
    out.print(writer.end_object().text() + "\n");
    return Unit{};
  }
  std::string text = "Events so far\n";
  for (std::size_t kind = 1; kind < totals.per_kind.size(); ++kind) {
    if (totals.per_kind[kind] == 0) continue;
    text += fmt::format("  {:<22}{:>14}\n", kind_name(static_cast<EventKind>(kind)),
                        with_separators(totals.per_kind[kind]));
  }
  text += "Live blocks by size\n";
  std::uint64_t most = 0;
  for (const Cost& cost : sizes) most = std::max(most, cost.bytes);
  for (unsigned i = 0; i < kLogBuckets; ++i) {
    if (sizes[i] != Cost{}) text += bar_line(session, size_label(i), sizes[i], most);
  }
  text += "Live blocks by age\n";
  most = 0;
  for (const Cost& cost : ages) most = std::max(most, cost.bytes);
  for (unsigned i = 0; i < kLogBuckets; ++i) {
    if (ages[i] != Cost{}) text += bar_line(session, duration_text(log_bucket_first(i)) + " ..", ages[i], most);
  }
  out.print(text);
  return Unit{};
}

Result<> threads(Session& session, Call& call, Printer& out) {
  const bool json = call.flag("--json");
  if (const Result<> done = call.finish(); !done) return done.error();
  std::map<ThreadId, Cost> live;
  for (const OwnerCost& row : live_by_owner(session.heap().state())) live[row.owner.thread] += row.cost;
  if (json) {
    JsonWriter writer;
    writer.begin_array();
    for (const Thread& thread : session.tape().threads()) {
      const Cost cost = live.contains(thread.id) ? live[thread.id] : Cost{};
      writer.begin_object()
          .field("thread", thread.id.value)
          .field("tid", thread.tid)
          .field("name", std::string_view(thread.name));
      writer.field("first_seen_us", thread.first_seen_us);
      if (thread.ended_us != 0) writer.field("ended_us", thread.ended_us);
      writer.field("live_bytes", cost.bytes).field("live_blocks", cost.blocks).end_object();
    }
    out.print(writer.end_array().text() + "\n");
    return Unit{};
  }
  constexpr unsigned kWholeLine = 90;
  const bool narrow = session.style.width != 0 && session.style.width < kWholeLine; // then a thread takes two lines
  out.print(narrow ? fmt::format("{:>5} {:<12} {:>9} {:>9}\n", "thr", "name", "live", "blocks")
                   : fmt::format("{:>5} {:>8}  {:<15}  {:<22} {:>9} {:>9}\n", "thr", "kernel", "name", "seen", "live",
                                 "blocks"));
  for (const Thread& thread : session.tape().threads()) {
    const Cost cost = live.contains(thread.id) ? live[thread.id] : Cost{};
    const bool started = thread.first_seen_us <= session.time_us();
    const bool ended = thread.ended_us != 0 && thread.ended_us < session.time_us();
    const std::string seen =
        seconds_text(thread.first_seen_us) + " .. " + (thread.ended_us != 0 ? seconds_text(thread.ended_us) : "end");
    const std::string_view state = !started ? "later" : ended ? "ended" : "";
    const std::string number = "T" + std::to_string(thread.id.value), name = printable(thread.name);
    std::string line =
        narrow
            ? fmt::format("{:>5} {} {:>9} {:>9}\n      {}{}{}", number, padded_left(shortened(name, 12), 12),
                          bytes_text(cost.bytes), with_separators(cost.blocks), seen, state.empty() ? "" : " ", state)
            : fmt::format("{:>5} {:>8}  {:<15}  {:<22} {:>9} {:>9}{}{}", number, thread.tid, name, seen,
                          bytes_text(cost.bytes), with_separators(cost.blocks), state.empty() ? "" : " ", state);
    if (!out.print((started && !ended ? line : session.style.dim(line)) + "\n")) break;
  }
  return Unit{};
}

} // namespace

const Command kWhereCommand{.name = "where",
                            .arguments = "[ADDR]",
                            .summary = "the state at the cursor; or where the block at an address comes from",
                            .help = "Without ADDR: what is live, the peak, RSS, threads. With ADDR, which may point\n"
                                    "anywhere into a block, live or freed: its size, age and thread, and the call\n"
                                    "stacks that allocated and freed it, with file, line and column.\n",
                            .example = "where 0x55d0c4a2e2b0",
                            .group = CommandGroup::Asking,
                            .takes = Takes::Address,
                            .run = where,
                            .alias = "w",
                            .options = kJsonOption};
const Command kStatsCommand{.name = "stats",
                            .arguments = "",
                            .summary = "events so far by kind; live blocks by size and by age",
                            .help = "",
                            .example = "stats",
                            .group = CommandGroup::Asking,
                            .run = stats,
                            .options = kJsonOption};
const Command kThreadsCommand{.name = "threads",
                              .arguments = "",
                              .summary = "the threads, and what each has live",
                              .help = "A block belongs to the thread that made it. 'seen' is the time from its first\n"
                                      "event to its end; 'later' and 'ended' are as of the cursor.\n",
                              .example = "threads",
                              .group = CommandGroup::Asking,
                              .run = threads,
                              .options = kJsonOption};

} // namespace heaptape
