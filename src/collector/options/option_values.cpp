#include "collector/options/option_values.h"

#include <charconv>
#include <utility>

#include "wire/cpu_record.h"

namespace heaptape {
namespace {

Error usage(std::string sentence) { return Error{ErrorCode::Usage, std::move(sentence)}; }

} // namespace

Result<bool> parse_switch(const std::string& text) {
  if (text == "1" || text == "yes" || text == "on" || text == "true") return true;
  if (text.empty() || text == "0" || text == "no" || text == "off" || text == "false") return false;
  return usage("must be 1 or 0, not '" + text + "'");
}

Result<std::uint32_t> parse_depth(const std::string& text) {
  constexpr std::uint32_t kDeepest = wire::kDeepestStack; // what the recorder has room for
  std::uint32_t depth = 0;
  const auto [rest, status] = std::from_chars(text.data(), text.data() + text.size(), depth);
  if (status != std::errc{} || rest != text.data() + text.size() || depth < 1 || depth > kDeepest) {
    return usage("'" + text + "' is not a number of frames from 1 to " + std::to_string(kDeepest));
  }
  return depth;
}

Result<std::uint32_t> parse_cpu_hz(const std::string& text) {
  std::uint32_t hz = 0;
  const auto [rest, status] = std::from_chars(text.data(), text.data() + text.size(), hz);
  if (status != std::errc{} || rest != text.data() + text.size() || hz < 1 || hz > wire::kMostCpuHz) {
    return usage("'" + text + "' is not a number of samples per second from 1 to " + std::to_string(wire::kMostCpuHz));
  }
  return hz;
}

Result<wire::OnFull> parse_on_full(const std::string& text) {
  if (text == "wait") return wire::OnFull::Wait;
  if (text == "drop") return wire::OnFull::Drop;
  return usage("must be wait or drop, not '" + text + "'");
}

} // namespace heaptape
