# Run by every build: writes OUTPUT, a source file with the commit that is built, if it is another one than before.
execute_process(
  COMMAND git describe --always --dirty --abbrev=10 --match=
  WORKING_DIRECTORY ${SOURCE}
  OUTPUT_VARIABLE commit
  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT commit)
  set(commit "unknown") # not a checkout, or no git
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT [[// The commit of this build.
#include "cli/version.h"

namespace heaptape::cli {
const char* const kBuildCommit = "@commit@";
} // namespace heaptape::cli
]] @ONLY)
