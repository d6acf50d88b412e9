#include "analysis/index/findings.h"

#include <algorithm>

namespace heaptape {

namespace {

template <class Row, class Id>
const Row* find_row(const std::vector<Row>& rows, Id Row::*key, Id wanted) {
  const auto found = std::partition_point(rows.begin(), rows.end(), [&](const Row& row) { return row.*key < wanted; });
  return found != rows.end() && (*found).*key == wanted ? &*found : nullptr;
}

} // namespace

Figures& Figures::operator+=(const Figures& other) {
  allocated += other.allocated;
  freed += other.freed;
  at_peak += other.at_peak;
  temporary += other.temporary;
  short_lived += other.short_lived;
  regrown += other.regrown;
  lifetime_us += other.lifetime_us;
  largest = std::max(largest, other.largest);
  return *this;
}

const StackFigures* Findings::find(StackId stack) const { return find_row(by_stack, &StackFigures::stack, stack); }
const ThreadFigures* Findings::find(ThreadId thread) const {
  return find_row(by_thread, &ThreadFigures::thread, thread);
}

bool sum_owners(Findings& findings) {
  std::size_t stacks = 0;
  for (std::size_t i = 0; i < findings.by_owner.size(); ++i)
    stacks += i == 0 || findings.by_owner[i].owner.stack != findings.by_owner[i - 1].owner.stack ? 1 : 0;
  findings.by_stack.clear();
  findings.by_stack.reserve(stacks);
  for (ThreadFigures& thread : findings.by_thread) static_cast<Figures&>(thread) = {};
  for (const OwnerFigures& row : findings.by_owner) {
    if (findings.by_stack.empty() || findings.by_stack.back().stack != row.owner.stack) {
      findings.by_stack.emplace_back();
      findings.by_stack.back().stack = row.owner.stack;
    }
    findings.by_stack.back() += row;
    const ThreadFigures* thread = findings.find(row.owner.thread);
    if (thread == nullptr) return false;
    const_cast<ThreadFigures&>(*thread) += row;
  }
  return true;
}

} // namespace heaptape
