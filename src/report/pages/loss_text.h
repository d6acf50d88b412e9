// What a named loss means to the user.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace heaptape {

// "1,204 events were dropped because ...": one sentence for one of Summary::losses.
std::string loss_sentence(const std::string& name, std::uint64_t count);

} // namespace heaptape
