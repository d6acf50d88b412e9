// The parts of the HTML page, web/page.html, page.css and page/*.js, and of the flame graph, made into text by tools/embed_texts.py at build
// time.
#pragma once

#include <string_view>

namespace heaptape {

extern const std::string_view kPage; // with holes for the other two and for the facts
extern const std::string_view kPageStyle;
extern const std::string_view kPageScript;
extern const std::string_view kFlameScript; // of the flame graph as SVG: web/flame.js

} // namespace heaptape
