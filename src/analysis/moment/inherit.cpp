#include "analysis/moment/inherit.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tape/contents_codec.h"
#include "tape/inherited_codec.h"

namespace heaptape {

namespace {

// Forks inside forks that are followed back; deeper ones lack what the first had.
constexpr unsigned kMostParents = 64;

std::uint64_t number_in(const Meta& meta, const char* name) {
  const auto found = meta.find(name);
  std::uint64_t number = 0;
  if (found != meta.end()) std::from_chars(found->second.data(), found->second.data() + found->second.size(), number);
  return number;
}

// The stacks of a tape, and more that come from others: the same frames are the same stack.
class StackTable {
public:
  explicit StackTable(const std::vector<StackNode>& nodes) : nodes_(nodes), known_(nodes.size()) {
    for (std::uint32_t id = 1; id < nodes_.size(); ++id) ids_.try_emplace({nodes_[id].parent.value, nodes_[id].pc}, id);
  }

  // The stack of another tape in this table.
  class Translation {
  public:
    Translation(StackTable& table, const std::vector<StackNode>& from) : table_(table), from_(from), to_(from.size()) {}
    StackId operator()(StackId id) {
      std::vector<std::uint32_t> path; // innermost first; a parent's id is smaller than its child's, so this ends
      while (id.value != 0 && id.value < to_.size() && to_[id.value] == 0) {
        path.push_back(id.value);
        id = from_[id.value].parent;
      }
      std::uint32_t at = id.value < to_.size() ? to_[id.value] : 0;
      for (auto node = path.rbegin(); node != path.rend(); ++node) at = to_[*node] = table_.add(at, from_[*node].pc);
      return StackId(at);
    }

  private:
    StackTable& table_;
    const std::vector<StackNode>& from_;
    std::vector<std::uint32_t> to_;
  };

  std::span<const StackNode> added() const { return std::span(nodes_).subspan(known_); }
  StackId first_added() const { return StackId(static_cast<std::uint32_t>(known_)); }

private:
  std::uint32_t add(std::uint32_t parent, std::uint64_t pc) {
    const auto [found, is_new] = ids_.try_emplace({parent, pc}, static_cast<std::uint32_t>(nodes_.size()));
    if (!is_new) return found->second;
    if (nodes_.size() >= format::kMaxStackNodes) {
      ids_.erase(found);
      return parent; // without its innermost frames
    }
    nodes_.push_back({StackId(parent), pc});
    return found->second;
  }

  std::vector<StackNode> nodes_;
  std::size_t known_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint32_t> ids_;
};

// What is live at one moment of a tape. Of all blocks but those that came with it, `stack` is one of the tape's.
class LiveBlocks {
public:
  // Blocks whose stacks are right already; their ages are those at time 0.
  void inherit(const std::vector<InheritedBlock>& blocks) {
    for (const InheritedBlock& block : blocks) blocks_[block.address] = {block, 0, true};
  }

  void play(const TapeReader& tape, std::uint64_t last) {
    EventCursor events = tape.events();
    for (auto run = events.next_run_until(last); !run.empty(); run = events.next_run_until(last))
      for (const Event& event : run) apply(event);
  }

  std::vector<InheritedBlock> at(std::uint64_t time_us, StackTable::Translation translate) && {
    std::vector<InheritedBlock> result;
    result.reserve(blocks_.size());
    for (auto& [address, entry] : blocks_) {
      InheritedBlock block = entry.block;
      block.age_us += time_us - std::min(time_us, entry.made_us);
      if (!entry.is_translated) block.stack = translate(block.stack);
      result.push_back(block);
    }
    std::sort(result.begin(), result.end(),
              [](const InheritedBlock& a, const InheritedBlock& b) { return a.address < b.address; });
    return result;
  }

private:
  struct Entry {
    InheritedBlock block;
    std::uint64_t made_us = 0;
    bool is_translated = false;
  };

  void apply(const Event& event) {
    if (is_release(event.kind)) {
      blocks_.erase(event.address);
      return;
    }
    const bool is_realloc = is_reallocation(event.kind);
    if (!is_realloc && !is_allocation(event.kind)) return;
    if (is_realloc && !event.old_released) blocks_.erase(event.old_address);
    if (event.address == 0) return;
    blocks_[event.address] = {
        {.address = event.address, .size = event.size, .stack = event.stack, .kind = event.kind}, event.time_us, false};
  }

  std::unordered_map<std::uint64_t, Entry> blocks_;
};

// What a process that was forked there has from all before it, with stacks of `table`.
Result<std::vector<InheritedBlock>> blocks_at_fork(const ForkOrigin& origin, const OpenParent& open_parent,
                                                   StackTable& table, unsigned parents, std::uint64_t& event) {
  Result<TapeReader> opened = open_parent(origin);
  if (!opened) return opened.error();
  const TapeReader& parent = opened.value();
  const std::optional<ForkMade> fork = find_fork(parent, origin);
  if (!fork)
    return Error{ErrorCode::NotFound, "the fork is not on the tape of process " + std::to_string(origin.parent_pid)};
  event = fork->event;
  LiveBlocks live;
  StackTable::Translation translate(table, parent.stacks());
  if (parent.inheritance()) {
    std::vector<InheritedBlock> before = parent.inherited_blocks();
    for (InheritedBlock& block : before) block.stack = translate(block.stack);
    live.inherit(before);
  } else if (const auto older = fork_origin(parent); older && parents < kMostParents) {
    std::uint64_t ignored = 0;
    // What cannot be found there is missing here, too.
    if (auto before = blocks_at_fork(*older, open_parent, table, parents + 1, ignored)) live.inherit(before.value());
  }
  live.play(parent, fork->event);
  return std::move(live).at(fork->time_us, std::move(translate));
}

// How many of the blocks the process ended itself, and by which events.
std::vector<std::uint64_t> find_releases(const TapeReader& tape, const std::vector<InheritedBlock>& blocks,
                                         Inheritance& figures) {
  std::vector<std::uint64_t> releases;
  if (tape.summary() && tape.summary()->unknown_releases == 0) return releases;
  std::unordered_map<std::uint64_t, std::uint64_t> left;
  for (const InheritedBlock& block : blocks) left.emplace(block.address, block.size);
  const auto release = [&](std::uint64_t address, std::uint64_t event) {
    const auto found = left.find(address);
    if (found == left.end()) return;
    releases.push_back(event);
    ++figures.released_blocks;
    figures.released_bytes += found->second;
    left.erase(found);
  };
  EventCursor events = tape.events();
  for (auto run = events.next_run(); !run.empty(); run = events.next_run()) {
    for (const Event& event : run) {
      if (is_release(event.kind)) release(event.address, event.number);
      if (is_reallocation(event.kind) && !event.old_released) release(event.old_address, event.number);
      if (is_allocation(event.kind) || is_reallocation(event.kind)) left.erase(event.address);
    }
  }
  return releases;
}

} // namespace

std::optional<ForkOrigin> fork_origin(const TapeReader& tape) {
  const auto text = [&](const char* name) {
    const auto found = tape.meta().find(name);
    return found != tape.meta().end() ? found->second : std::string();
  };
  ForkOrigin origin{.parent_pid = static_cast<std::uint32_t>(number_in(tape.meta(), "parent_pid")),
                    .parent_tape = text("parent_tape"),
                    .started_ns = number_in(tape.meta(), "started_monotonic_ns")};
  // The name goes behind that of a folder.
  const bool plain = !origin.parent_tape.empty() && origin.parent_tape.find('/') == std::string::npos;
  if (text("started_by") != "fork" || !plain || origin.started_ns == 0) return std::nullopt;
  return origin;
}

std::optional<ForkMade> find_fork(const TapeReader& parent, const ForkOrigin& origin) {
  if (parent.header().pid != origin.parent_pid) return std::nullopt; // another tape of that name
  for (const ForkMade& fork : parent.forks())
    if (fork.started_ns == origin.started_ns) return fork;
  const std::uint64_t start_ns = number_in(parent.meta(), "start_monotonic_ns");
  if (start_ns == 0 || start_ns > origin.started_ns) return std::nullopt;
  const std::uint64_t time_us = (origin.started_ns - start_ns) / 1000;
  const auto& chunks = parent.event_chunks();
  const bool goes_beyond = !chunks.empty() && chunks.back().last_us > time_us;
  const bool is_whole = parent.summary() && parent.summary()->ending != Ending::CollectorStopped;
  if (!goes_beyond && !is_whole) return std::nullopt;
  EventCursor after = parent.events_from_time(time_us + 1);
  const Event* next = after.next();
  const std::uint64_t last = chunks.empty() ? 0 : chunks.back().first_number + chunks.back().count - 1;
  return ForkMade{origin.started_ns, next != nullptr ? next->number - 1 : last, time_us};
}

Result<bool> append_inherited(const TapeToFinish& what, const OpenParent& open_parent) {
  Result<TapeAppender> opened = TapeAppender::open(what);
  if (!opened) return opened.error();
  TapeAppender& appender = opened.value();
  const TapeReader& tape = appender.tape();
  const std::optional<ForkOrigin> origin = fork_origin(tape);
  if (!origin || tape.inheritance()) return false;
  if (tape.summary()->ending == Ending::Replaced && tape.summary()->unknown_releases == 0) return false;

  StackTable table(tape.stacks());
  Inheritance figures{.parent_pid = origin->parent_pid, .parent_tape = origin->parent_tape};
  const auto blocks = blocks_at_fork(*origin, open_parent, table, 0, figures.parent_event);
  if (!blocks) return blocks.error();
  figures.blocks = blocks.value().size();
  for (const InheritedBlock& block : blocks.value()) figures.bytes += block.size;
  const std::vector<std::uint64_t> releases = find_releases(tape, blocks.value(), figures);

  const auto append = [&]() -> Result<> {
    constexpr std::size_t kNodesPerChunk = std::size_t{1} << 19;
    StackId first = table.first_added();
    for (auto nodes = table.added(); !nodes.empty();) {
      const auto part = nodes.first(std::min(nodes.size(), kNodesPerChunk));
      std::vector<std::byte> payload;
      put_stacks(first, part, payload);
      if (const auto added = appender.add(format::ChunkType::Stacks, payload); !added) return added.error();
      first = StackId(first.value + static_cast<std::uint32_t>(part.size()));
      nodes = nodes.subspan(part.size());
    }
    for (const auto& payload : encode_inheritance(figures, blocks.value(), releases)) {
      if (const auto added = appender.add(format::ChunkType::Inherited, payload); !added) return added.error();
    }
    return Unit{};
  };
  if (const auto appended = append(); !appended) {
    appender.undo();
    return appended.error();
  }
  return true;
}

} // namespace heaptape
