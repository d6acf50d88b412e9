// Memory errors as JUnit's XML: a test that failed for each, one that passed where there are none.
#pragma once

#include <string>

#include "report/errors/error_list.h"

namespace heaptape {

std::string error_junit(const TapeView& view, const ErrorList& list);

} // namespace heaptape
