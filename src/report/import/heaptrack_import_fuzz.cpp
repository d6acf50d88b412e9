// Any bytes as a data file of heaptrack: no crash, no endless loop, and what is accepted makes a whole tape.
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "report/import/heaptrack_import.h"
#include "tape/reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace heaptape;
  static const std::string path = "/tmp/heaptape-import-fuzz." + std::to_string(::getpid());
  auto tape = TapeWriter::create({.path = path, .overwrite = true});
  if (!tape.ok()) __builtin_trap();
  std::size_t at = 0;
  UnpackedLines lines(
      [&](char* room, std::size_t wanted) -> Result<std::size_t> {
        const std::size_t count = std::min(wanted, size - at);
        std::copy_n(data + at, count, reinterpret_cast<std::uint8_t*>(room));
        at += count;
        return count;
      },
      "fuzz");
  const Result<ImportedTape> imported = import_heaptrack(lines, "fuzz", tape.value());
  if (imported.ok()) {
    const Result<TapeReader> reader = TapeReader::open(path);
    if (!reader.ok() || !reader.value().damage().empty()) __builtin_trap();
    EventCursor events = reader.value().events();
    std::uint64_t count = 0;
    while (const Event* event = events.next()) {
      ++count;
      if (event->stack.value >= reader.value().stacks().size()) __builtin_trap();
    }
    if (count != imported.value().summary.events || events.unknown_stacks() != 0) __builtin_trap();
  }
  ::unlink(path.c_str());
  return 0;
}
