#include "cli/version.h"

namespace heaptape::cli {
namespace {

#ifdef __clang__
constexpr const char* kCompiler = "Clang " __clang_version__;
#else
constexpr const char* kCompiler = "GCC " __VERSION__;
#endif
#ifdef HEAPTAPE_STATIC
constexpr const char* kForm = ", static, does not ask debuginfod";
#else
constexpr const char* kForm = "";
#endif

} // namespace

std::string version_text() {
  return std::string("heaptape " HEAPTAPE_VERSION " (commit ") + kBuildCommit + ", " + kCompiler + kForm + ")";
}

} // namespace heaptape::cli
