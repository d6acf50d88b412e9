// Any bytes as code: nothing is read beyond them, and a rule that comes out leads outward.
#include <cstdlib>

#include "recorder/core/generated_code.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace heaptape::recorder;
  Rule rule;
  if (read_epilogue(data, size, rule)) {
    const bool sensible = rule.kind == RuleKind::Rsp && rule.cfa_offset >= 8 && rule.cfa_offset % 8 == 0 &&
                          rule.rbp_words * -8 <= rule.cfa_offset;
    if (!sensible) std::abort();
  }
  (void)ends_with_call(data, size);
  return 0;
}
