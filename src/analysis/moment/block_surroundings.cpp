#include "analysis/moment/block_surroundings.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <unordered_map>

#include "tape/read_ahead.h"

namespace heaptape {
namespace {

// Memory is watched in pieces of this size.
constexpr unsigned kPieceBits = 12;
constexpr std::uint64_t kReach = kNearbyBytes >> kPieceBits; // pieces

std::uint64_t last_byte(std::uint64_t address, std::uint64_t size) {
  const std::uint64_t last = address + std::max<std::uint64_t>(size, 1) - 1;
  return last < address ? ~std::uint64_t{0} : last;
}

// What a live block needs to be remembered for: with half of a Tenant's bytes.
struct LiveBlock {
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  std::uint64_t event = 0;
  std::uint64_t time_us = 0;
  std::uint64_t from = 0;
  Owner owner{};
  EventKind kind = EventKind::None;
  bool inherited = false;

  Tenant tenant() const {
    return {.address = address,
            .size = size,
            .kind = kind,
            .event = event,
            .time_us = time_us,
            .owner = owner,
            .inherited = inherited,
            .from = from};
  }
};

// The live blocks near watched addresses, and those too large to be near anything; and who covered each watched address.
//
// A block that is smaller than kNearbyBytes and covers a watched address begins in a piece that is watched for it. So a look at the piece
// in which a block begins says whether it matters, and most events are done with that.
class NearHeap {
public:
  void watch(const BlockQuestion& question) {
    places_.try_emplace(question.address);
    for (const std::uint64_t at : {question.address, last_byte(question.address, question.size)}) {
      const std::uint64_t piece = at >> kPieceBits;
      for (std::uint64_t i = piece - std::min(piece, kReach); i <= piece + kReach; ++i) pieces_.try_emplace(i);
    }
  }

  void inherit(std::span<const InheritedBlock> blocks) {
    for (const InheritedBlock& block : blocks) {
      make({.address = block.address,
            .size = block.size,
            .owner = {block.stack, ThreadId()},
            .kind = block.kind,
            .inherited = true},
           Event{});
    }
  }

  void apply(const Event& event) {
    if (is_release(event.kind)) {
      end(event.address, LifeEnd::Released, event);
    } else if (is_reallocation(event.kind)) {
      if (event.old_address != 0 && !event.old_released)
        end(event.old_address, event.address != 0 ? LifeEnd::Reallocated : LifeEnd::Released, event);
      if (event.address != 0) make(block_of(event), event);
    } else if (is_allocation(event.kind) && event.address != 0) {
      make(block_of(event), event);
    }
  }

  BlockSurroundings answer(const BlockQuestion& question) const {
    BlockSurroundings found;
    const std::vector<Tenant>& owners = places_.at(question.address);
    found.owners.assign(owners.rbegin(), owners.rend());
    std::uint64_t begin = question.address, behind = last_byte(question.address, question.size);
    if (!owners.empty()) {
      begin = owners.back().address;
      // Memory that was released may have others in it by now.
      behind = owners.back().ended == LifeEnd::Live ? last_byte(begin, owners.back().size) : begin;
    }
    if (const LiveBlock* block = before(begin)) found.before = block->tenant();
    if (const LiveBlock* block = after(behind)) found.behind = block->tenant();
    return found;
  }

private:
  using Piece = std::vector<LiveBlock>; // by address

  static LiveBlock block_of(const Event& event) {
    return {.address = event.address,
            .size = event.size,
            .event = event.number,
            .time_us = event.time_us,
            .from = is_reallocation(event.kind) ? event.old_address : 0,
            .owner = {event.stack, event.thread},
            .kind = event.kind};
  }
  static Piece::const_iterator first_from(const Piece& piece, std::uint64_t address) {
    return std::partition_point(piece.begin(), piece.end(),
                                [&](const LiveBlock& block) { return block.address < address; });
  }

  void make(const LiveBlock& block, const Event& event) {
    const auto piece = pieces_.find(block.address >> kPieceBits);
    if (piece == pieces_.end() && block.size < kNearbyBytes) {
      // One that was large may have begun here.
      if (large_.contains(block.address)) end(block.address, LifeEnd::Unseen, event);
      return;
    }
    end(block.address, LifeEnd::Unseen, event);
    if (block.size >= kNearbyBytes)
      large_.emplace(block.address, block);
    else
      piece->second.insert(first_from(piece->second, block.address), block);
    const std::uint64_t last = last_byte(block.address, block.size);
    for (auto place = places_.lower_bound(block.address); place != places_.end() && place->first <= last; ++place) {
      std::vector<Tenant>& owners = place->second;
      if (!owners.empty() && owners.back().ended == LifeEnd::Live) end_life(owners.back(), LifeEnd::Unseen, event);
      if (owners.size() == kMostOwners) owners.erase(owners.begin());
      owners.push_back(block.tenant());
    }
  }

  void end(std::uint64_t address, LifeEnd how, const Event& event) {
    LiveBlock block;
    const auto piece = pieces_.find(address >> kPieceBits);
    if (const auto large = large_.find(address); large != large_.end()) {
      block = large->second;
      large_.erase(large);
    } else if (piece != pieces_.end()) {
      const auto found = first_from(piece->second, address);
      if (found == piece->second.end() || found->address != address) return;
      block = *found;
      piece->second.erase(found);
    } else {
      return;
    }
    const std::uint64_t last = last_byte(address, block.size);
    for (auto place = places_.lower_bound(address); place != places_.end() && place->first <= last; ++place) {
      if (place->second.empty()) continue;
      Tenant& owner = place->second.back();
      if (owner.address == address && owner.ended == LifeEnd::Live) end_life(owner, how, event);
    }
  }
  static void end_life(Tenant& life, LifeEnd how, const Event& event) {
    life.ended = how;
    life.end_kind = event.kind;
    life.end_event = event.number;
    life.end_us = event.time_us;
    life.ender = {event.stack, event.thread};
    if (how == LifeEnd::Reallocated) life.to = event.address;
  }

  // The live block that begins last in front of an address.
  const LiveBlock* before(std::uint64_t address) const {
    const LiveBlock* best = nullptr;
    if (const auto large = large_.lower_bound(address); large != large_.begin()) best = &std::prev(large)->second;
    for (std::uint64_t i = 0, piece = address >> kPieceBits; i <= kReach && i <= piece; ++i) {
      const auto found = pieces_.find(piece - i);
      if (found == pieces_.end()) continue;
      const auto next = first_from(found->second, address);
      if (next == found->second.begin()) continue;
      const LiveBlock& last = *std::prev(next);
      return best != nullptr && best->address > last.address ? best : &last;
    }
    return best != nullptr && address - last_byte(best->address, best->size) <= kNearbyBytes ? best : nullptr;
  }
  // The live block that begins first behind an address.
  const LiveBlock* after(std::uint64_t address) const {
    const LiveBlock* best = nullptr;
    if (const auto large = large_.upper_bound(address); large != large_.end()) best = &large->second;
    for (std::uint64_t i = 0, piece = address >> kPieceBits; i <= kReach; ++i) {
      const auto found = pieces_.find(piece + i);
      if (found == pieces_.end()) continue;
      const auto first = address == ~std::uint64_t{0} ? found->second.end() : first_from(found->second, address + 1);
      if (first == found->second.end()) continue;
      return best != nullptr && best->address < first->address ? best : &*first;
    }
    return best != nullptr && best->address - address <= kNearbyBytes ? best : nullptr;
  }

  std::unordered_map<std::uint64_t, Piece> pieces_;
  std::map<std::uint64_t, LiveBlock> large_;            // by address
  std::map<std::uint64_t, std::vector<Tenant>> places_; // by watched address; the latest owner last
};

} // namespace

std::vector<BlockSurroundings> block_surroundings(const TapeReader& tape, std::span<const BlockQuestion> questions,
                                                  const std::function<bool()>& should_stop) {
  std::vector<BlockSurroundings> answers(questions.size());
  if (questions.empty()) return answers;
  NearHeap heap;
  for (const BlockQuestion& question : questions) heap.watch(question);
  if (tape.inheritance()) heap.inherit(tape.inherited_blocks());

  std::vector<std::size_t> order(questions.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return questions[i].event; });
  auto next = order.begin();
  const auto answer_before = [&](std::uint64_t event) {
    for (; next != order.end() && questions[*next].event < event; ++next)
      answers[*next] = heap.answer(questions[*next]);
  };
  ReadAhead events(tape.events());
  std::uint64_t runs = 0;
  for (std::span<const Event> run; next != order.end() && !(run = events.next_run()).empty();) {
    if (++runs % 64 == 0 && should_stop && should_stop()) return answers;
    for (const Event& event : run) {
      answer_before(event.number);
      if (next == order.end()) break;
      heap.apply(event);
    }
  }
  for (; next != order.end(); ++next) answers[*next] = heap.answer(questions[*next]);
  return answers;
}

} // namespace heaptape
