#include "report/errors/hunt_plan.h"

#include <fmt/format.h>

#include "base/number_text.h"

namespace heaptape {
namespace {

std::uint64_t alignment_that_ends_at(std::uint64_t size) {
  std::uint64_t alignment = 16;
  while (alignment > 1 && size % alignment != 0) alignment /= 2;
  return alignment;
}

} // namespace

Result<HuntPlan> plan_hunt(const ErrorContext& error) {
  if (!is_damage(error.kind))
    return Error{ErrorCode::Usage,
                 fmt::format("error {} was found in the very call or instruction that made it: there is "
                             "nothing to hunt",
                             error.number)};
  HuntPlan plan{.size = error.found.block_size};
  const std::string blocks = "blocks of " + count_of(plan.size, "byte");
  switch (error.kind) {
  case ErrorKind::WriteBefore:
    plan.at_left = true;
    plan.sentence = fmt::format("the first write before {}: each begins where its pages do", blocks);
    break;
  case ErrorKind::WriteBehind:
    plan.alignment = alignment_that_ends_at(plan.size);
    plan.sentence = fmt::format("the first write behind {}: each ends where its pages do", blocks);
    break;
  default: plan.sentence = fmt::format("the first write into released {}: their pages are closed", blocks); break;
  }
  return plan;
}

} // namespace heaptape
