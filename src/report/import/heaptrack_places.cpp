#include "report/import/heaptrack_places.h"

#include <algorithm>
#include <utility>

#include "wire/stack_roots.h"

namespace heaptape {

const std::string& HeaptrackPlaces::text(std::uint64_t number) const {
  static const std::string kNone;
  return number == 0 ? kNone : texts_[number - 1];
}

void HeaptrackPlaces::add_address(std::uint64_t call, std::uint64_t module, std::vector<Frame> frames) {
  std::uint64_t pc = call + 1;
  // Other code may have been loaded at an address used before. A tape tells these apart by its modules' times, which
  // are not known here, so that the later one gets an address of its own.
  if (pc < wire::kFirstAddress || pc >= std::uint64_t{0x7000} << 48 || !used_pcs_.insert(pc).second)
    pc = next_free_pc_ += 2;
  places_.push_back({pc, module, std::move(frames)});
}

std::uint64_t HeaptrackPlaces::pc_of(std::uint64_t address_number) const {
  return address_number == 0 ? wire::kRootCut : places_[address_number - 1].pc;
}

std::vector<Module> HeaptrackPlaces::modules() const {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> by_pc; // with the module
  for (const Place& place : places_) by_pc.emplace_back(place.pc, place.module);
  std::sort(by_pc.begin(), by_pc.end());
  std::vector<Module> modules;
  std::uint64_t latest = 0;
  for (const auto& [pc, module] : by_pc) {
    if (module == 0) {
      latest = 0;
      continue;
    }
    // From the call's last byte on, which is what names are looked up by, to before the return address: so no two
    // stretches touch.
    if (module != latest) modules.push_back({text(module), {}, 0, pc - 1, pc, 0, {}});
    modules.back().end = pc;
    latest = module;
  }
  return modules;
}

Symbols HeaptrackPlaces::symbols() const {
  Symbols symbols;
  for (const Place& place : places_) {
    if (place.module == 0 || place.frames.empty()) continue;
    SourcePlaces known;
    for (const Frame& frame : place.frames)
      known.push_back({.function = text(frame.function), .file = text(frame.file), .line = frame.line});
    const Symbols::File file = symbols.add_file(text(place.module), {});
    symbols.set(file, place.pc - 1, known);
  }
  return symbols;
}

} // namespace heaptape
