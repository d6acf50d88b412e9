// Any bytes as a jitdump: no crash, and code that is given out is what the header promises.
#include "base/check.h"
#include "symbols/jit_dump.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace heaptape;
  static constexpr std::uint8_t kHead[40] = {'D', 'T', 'i', 'J', 1, 0, 0, 0, 40};
  std::vector<std::byte> bytes;
  for (const std::uint8_t byte : kHead) bytes.push_back(std::byte{byte});
  for (std::size_t i = 0; i < size; ++i) bytes.push_back(std::byte{data[i]});
  for (const auto& input : {std::span<const std::byte>(bytes), std::as_bytes(std::span(data, size))}) {
    for (const JitCode& code : parse_jit_dump(input).codes) {
      HT_CHECK(code.size != 0 && code.start + code.size >= code.start);
    }
  }
  return 0;
}
