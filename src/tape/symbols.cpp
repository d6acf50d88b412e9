#include "tape/symbols.h"

#include <algorithm>

#include "base/check.h"

namespace heaptape {

std::optional<Symbols::File> Symbols::file_of(std::string_view path, std::span<const std::uint8_t> build_id) const {
  const auto found = file_index_.find({std::string(path), {build_id.begin(), build_id.end()}});
  if (found == file_index_.end()) return std::nullopt;
  return static_cast<File>(found->second);
}

Symbols::File Symbols::add_file(std::string_view path, std::span<const std::uint8_t> build_id) {
  const auto [place, added] = file_index_.try_emplace({std::string(path), {build_id.begin(), build_id.end()}},
                                                      static_cast<std::uint32_t>(files_.size()));
  if (added) files_.push_back({place->first.first, place->first.second, {}});
  return static_cast<File>(place->second);
}

const Symbols::Entry* Symbols::entry(File file, std::uint64_t address) const {
  const auto index = static_cast<std::size_t>(file);
  HT_CHECK(index < files_.size());
  const auto found = files_[index].entries.find(address);
  return found != files_[index].entries.end() ? &found->second : nullptr;
}

std::span<const SymbolPlace> Symbols::find(File file, std::uint64_t address) const {
  const Entry* known = entry(file, address);
  if (known == nullptr) return {};
  return std::span(places_).subspan(known->first, known->count);
}

bool Symbols::is_signal_trampoline(File file, std::uint64_t address) const {
  const Entry* known = entry(file, address);
  return known != nullptr && known->signal_trampoline;
}

std::string_view Symbols::keep(std::string_view text) {
  if (text.empty()) return {};
  return *texts_.emplace(text).first;
}

template <class Place>
void Symbols::set_places(File file, std::uint64_t address, std::span<const Place> places, bool signal_trampoline) {
  const auto index = static_cast<std::size_t>(file);
  HT_CHECK(index < files_.size());
  if (places.empty()) return;
  const auto [found, added] = files_[index].entries.try_emplace(address);
  if (added) ++size_;
  Entry& known = found->second;
  known.signal_trampoline = signal_trampoline;
  // What is replaced is used again when the new fits; else it stays behind, which only a second symbolizing does.
  if (places.size() > known.count) {
    known.first = static_cast<std::uint32_t>(places_.size());
    places_.resize(places_.size() + places.size());
  }
  known.count = static_cast<std::uint32_t>(places.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Place& place = places[i];
    places_[known.first + i] = {keep(place.function), keep(place.file), place.line, place.column};
  }
}

void Symbols::set(File file, std::uint64_t address, std::span<const SourcePlace> places, bool signal_trampoline) {
  set_places(file, address, places, signal_trampoline);
}

void Symbols::set(File file, std::uint64_t address, std::span<const SymbolPlace> places, bool signal_trampoline) {
  set_places(file, address, places, signal_trampoline);
}

std::vector<std::uint64_t> Symbols::sorted_addresses(const SourceFile& file) {
  std::vector<std::uint64_t> addresses;
  addresses.reserve(file.entries.size());
  for (const auto& [address, known] : file.entries) addresses.push_back(address);
  std::sort(addresses.begin(), addresses.end());
  return addresses;
}

void Symbols::add_run_time(RunTimeCode code) {
  const std::string_view function = keep(code.function), file = keep(code.file);
  for (const RunTimeCode::Frame& frame : code.frames) {
    const auto [found, added] = run_time_frames_.try_emplace(frame.node.value);
    found->second = {function, file, frame.line != 0 ? frame.line : code.line};
    if (added) ++size_;
  }
  run_time_.push_back(std::move(code));
}

std::span<const SymbolPlace> Symbols::run_time_places(StackId node) const {
  const auto found = run_time_frames_.find(node.value);
  return found == run_time_frames_.end() ? std::span<const SymbolPlace>() : std::span(&found->second, 1);
}

} // namespace heaptape
