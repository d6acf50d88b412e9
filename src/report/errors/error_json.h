// A list of memory errors for programs (docs/guide/errors.md).
#pragma once

#include <string>

#include "report/errors/error_list.h"
#include "report/text/json_writer.h"

namespace heaptape {

void write_error_list(JsonWriter& json, const TapeView& view, const ErrorList& list);

} // namespace heaptape
