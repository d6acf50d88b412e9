// Memory errors as SARIF 2.1.0, which CI systems show beside the code.
#pragma once

#include <string>

#include "report/errors/error_list.h"

namespace heaptape {

// A JSON document. `version` is heaptape's. A file below the directory that the program was started in is named relative to it.
std::string error_sarif(const TapeView& view, const ErrorList& list, const std::string& version);

} // namespace heaptape
