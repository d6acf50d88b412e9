#include "report/errors/junit.h"

#include <algorithm>

#include <fmt/format.h>

#include "report/errors/error_text.h"
#include "report/errors/error_words.h"
#include "report/text/xml_text.h"

namespace heaptape {

std::string error_junit(const TapeView& view, const ErrorList& list) {
  const std::size_t failures = list.contexts.size(), tests = std::max<std::size_t>(failures, 1);
  std::string text = fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                                 "<testsuites tests=\"{0}\" failures=\"{1}\" errors=\"0\">\n"
                                 "  <testsuite name=\"heaptape errors\" tests=\"{0}\" failures=\"{1}\" errors=\"0\">\n",
                                 tests, failures);
  StackText stacks(view.names());
  for (const ErrorContext& error : list.contexts) {
    // What the program did last says nothing about a write.
    const bool by_maker = error.block && (error.found.stack.value == 0 || error.found.found == FoundAt::Exit);
    const std::string site = stacks.site(by_maker ? error.block->owner.stack : error.found.stack);
    const std::string headline = xml_escaped(error_headline(error, view.tape().threads()));
    // Names of tests are to be different.
    text += fmt::format("    <testcase classname=\"heaptape.{0}\" name=\"#{1} {2} ({3})\">\n"
                        "      <failure type=\"{0}\" message=\"{2}\">{4}</failure>\n"
                        "    </testcase>\n",
                        error_kind_name(error.kind), error.number, headline, xml_escaped(site),
                        xml_escaped(error_text(view, stacks, error, {})));
  }
  if (failures == 0) text += "    <testcase classname=\"heaptape\" name=\"no memory errors\"/>\n";
  text += "    <system-out>" + xml_escaped(error_coverage(list) + "\n" + error_summary(list)) + "</system-out>\n";
  return text + "  </testsuite>\n</testsuites>\n";
}

} // namespace heaptape
