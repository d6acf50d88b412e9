// Names in documents of XML.
#pragma once

#include <string>
#include <string_view>

namespace heaptape {

// The text as it may stand between tags and in attributes. Names on a tape may hold any bytes: what is neither printable
// ASCII nor part of well-formed UTF-8 becomes '?'.
std::string xml_escaped(std::string_view text);

} // namespace heaptape
