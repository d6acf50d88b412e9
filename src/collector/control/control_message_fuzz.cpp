// Packets from whoever found the socket: nothing may crash, and what was understood reads the same when it is said
// again.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "collector/control/control_message.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace heaptape;
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  if (const auto request = parse_control_request(bytes)) {
    HT_CHECK(parse_control_request(encode_control(*request)) == request);
  }
  if (auto reply = parse_control_reply(bytes)) {
    // Longer texts than anybody sends are cut.
    const auto cut = [](std::string& text, std::size_t most) { text.resize(std::min(text.size(), most)); };
    for (std::string* text : {&reply->refusal, &reply->recording.program, &reply->recording.tape}) cut(*text, 4096);
    cut(reply->recording.command, 3000);
    for (std::string* text : {&reply->outcome, &reply->missing}) cut(*text, 500);
    HT_CHECK(parse_control_reply(encode_control(*reply)) == reply);
  }
  return 0;
}
