#include "collector/launch/program_search.h"
#include "collector/observe/elf_facts.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  (void)heaptape::parse_elf_facts(bytes).ok();
  if (const auto shebang = heaptape::parse_shebang(bytes)) (void)heaptape::command_behind_env(*shebang);
  return 0;
}
