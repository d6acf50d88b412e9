#include "report/select/frame_filter.h"

namespace heaptape {

FrameFilter::Verdict FrameFilter::ask(const StackNames& names, FrameId frame) const {
  const NamedFrame& named = names[frame];
  for (const FilterRule& rule : rules_) {
    const bool matches = rule.of_module ? rule.pattern.matches(named.module != nullptr ? named.module->path : "?")
                                        : rule.pattern.matches(names.text(named.function)) ||
                                              rule.pattern.matches(names.full_name(frame));
    if (matches) return rule.include ? Verdict::Include : Verdict::Exclude;
  }
  return Verdict::Silent;
}

bool FrameFilter::accepts(StackNames& names, StackId stack) {
  if (rules_.empty()) return true;
  if (names_ != &names) {
    names_ = &names;
    verdicts_.clear();
  }
  Verdict decided = Verdict::Silent;
  names.each_frame(stack, [&](FrameId frame) {
    if (decided != Verdict::Silent) return;
    if (verdicts_.size() <= frame.value) verdicts_.resize(frame.value + 1);
    if (verdicts_[frame.value] == Verdict::NotAsked) verdicts_[frame.value] = ask(names, frame);
    decided = verdicts_[frame.value];
  });
  return decided == Verdict::Silent ? !any_include_ : decided == Verdict::Include;
}

void FrameFilter::apply(StackNames& names, std::vector<StackCost>& costs) {
  if (empty()) return;
  std::erase_if(costs, [&](const StackCost& cost) { return !accepts(names, cost.stack); });
}

} // namespace heaptape
