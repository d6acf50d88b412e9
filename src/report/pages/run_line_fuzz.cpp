// Any text as a line of processes.jsonl: what is understood names processes, and what is behind it does not matter.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "report/pages/run.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto line = heaptape::parse_run_line(text);
  if (!line) return 0;
  HT_CHECK(line->pid > 0 && line->collector > 0);
  HT_CHECK(heaptape::parse_run_line(text + ",x").has_value());
  return 0;
}
