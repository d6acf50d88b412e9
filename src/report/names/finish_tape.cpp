#include "report/names/finish_tape.h"

#include <algorithm>
#include <span>
#include <vector>

#include "tape/appender.h"
#include "tape/run_time_codec.h"
#include "tape/symbols_codec.h"

namespace heaptape {

namespace {

bool has_line(std::span<const SymbolPlace> places) {
  return std::any_of(places.begin(), places.end(), [](const SymbolPlace& place) { return place.line != 0; });
}

// The same is not worth repeating, and a name alone must not take the place of a name with its line.
bool is_news(std::span<const SymbolPlace> known, std::span<const SymbolPlace> found) {
  return !std::ranges::equal(known, found) && (has_line(found) || !has_line(known));
}

Symbols news(const Symbols& known, const Symbols& found) {
  Symbols result;
  found.each_file([&](const std::string& path, const std::vector<std::uint8_t>& build_id, const auto& addresses,
                      Symbols::File file) {
    const auto before = known.file_of(path, build_id);
    for (const std::uint64_t address : addresses) {
      const std::span<const SymbolPlace> places = found.find(file, address);
      if (before && !is_news(known.find(*before, address), places)) continue;
      result.set(result.add_file(path, build_id), address, places, found.is_signal_trampoline(file, address));
    }
  });
  return result;
}

// Frames whose name is new or another one.
std::vector<RunTimeCode> run_time_news(const Symbols& known, const Symbols& found) {
  std::vector<RunTimeCode> result = found.run_time_code();
  for (RunTimeCode& code : result) {
    std::erase_if(code.frames, [&](const RunTimeCode::Frame& frame) {
      return std::ranges::equal(known.run_time_places(frame.node), found.run_time_places(frame.node));
    });
  }
  std::erase_if(result, [](const RunTimeCode& code) { return code.frames.empty(); });
  return result;
}

} // namespace

Result<TapeSymbols> add_symbols(const std::string& path, const AddSymbols& how) {
  Result<TapeAppender> appender = TapeAppender::open(path);
  if (!appender) return appender.error();
  const TapeReader& tape = appender.value().tape();
  TapeSymbols found = symbolize_tape(tape, how.options, how.progress, how.fd_of, how.run_time);
  const std::vector<RunTimeCode> run_time = run_time_news(tape.symbols(), found.symbols);
  const auto add_all = [&](format::ChunkType type, const std::vector<std::vector<std::byte>>& payloads) -> Result<> {
    for (const std::vector<std::byte>& payload : payloads) {
      if (const auto added = appender.value().add(type, payload); !added) {
        appender.value().undo();
        return added.error();
      }
    }
    return Unit{};
  };
  if (const auto added = add_all(format::ChunkType::Symbols, encode_symbols(news(tape.symbols(), found.symbols)));
      !added)
    return added.error();
  if (const auto added = add_all(format::ChunkType::RunTimeCode, encode_run_time_code(run_time)); !added)
    return added.error();
  return found;
}

} // namespace heaptape
