#include "report/errors/error_list.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "analysis/moment/block_surroundings.h"
#include "report/errors/error_words.h"
#include "report/errors/fault_error.h"
#include "report/pages/odd_calls.h"

namespace heaptape {
namespace {

constexpr std::size_t kMostNotLive = 50'000;   // releases of what was not a block that the events are asked about
constexpr std::size_t kMostOfOneCall = 200;    // errors of one call that are told apart by the origin of their blocks
constexpr std::size_t kMostQuestions = 20'000; // to the events, in all

ErrorKind kind_of(ErrorSort sort) {
  switch (sort) {
  case ErrorSort::WriteBehind: return ErrorKind::WriteBehind;
  case ErrorSort::WriteBefore: return ErrorKind::WriteBefore;
  case ErrorSort::WriteFreed: return ErrorKind::WriteFreed;
  case ErrorSort::WrongAlignment: return ErrorKind::WrongAlignment;
  case ErrorSort::ReadOutside: return ErrorKind::ReadOutside;
  case ErrorSort::WriteOutside: return ErrorKind::WriteOutside;
  case ErrorSort::ReadFreed: return ErrorKind::ReadFreed;
  case ErrorSort::WriteIntoFreed: return ErrorKind::WriteIntoFreed;
  case ErrorSort::None: break;
  }
  return ErrorKind::Other;
}

ErrorKind kind_of(OddSort sort) {
  switch (sort) {
  case OddSort::ReleasedTwice: return ErrorKind::DoubleFree;
  case OddSort::InsideBlock: return ErrorKind::FreeInside;
  case OddSort::OnStack: return ErrorKind::FreeOfStack;
  case OddSort::InModule: return ErrorKind::FreeOfStatic;
  case OddSort::NotKnown: return ErrorKind::FreeOfForeign;
  case OddSort::Mismatch: return ErrorKind::Mismatch;
  case OddSort::WrongSize: return ErrorKind::WrongSize;
  case OddSort::Failed: break;
  }
  return ErrorKind::Other;
}

bool is_about_a_block(ErrorKind kind) {
  return kind != ErrorKind::FreeOfStack && kind != ErrorKind::FreeOfStatic && kind != ErrorKind::FreeOfForeign;
}

ErrorContext context_of(const MemoryError& error) {
  ErrorContext context;
  context.kind = kind_of(error.sort);
  context.count = 1;
  context.last_event = error.event;
  context.found = error;
  return context;
}

ErrorContext context_of(const OddFinding& finding) {
  const OddCall& call = finding.call;
  ErrorContext context;
  context.kind = kind_of(finding.sort);
  context.count = 1;
  context.last_event = call.event;
  context.found.event = call.event;
  context.found.time_us = call.time_us;
  context.found.thread = call.thread;
  context.found.stack = call.stack;
  context.found.address = call.address;
  context.found.block_size = call.block_size;
  context.release = finding;
  return context;
}

// What the error has been found by, without a look at the events.
using CallKey = std::tuple<ErrorKind, std::uint32_t, FoundAt, EventKind, std::string>;
CallKey call_key(const ErrorContext& error) {
  return {error.kind, error.found.stack.value, error.found.found,
          error.release ? error.release->call.call : EventKind::None, error.found.function};
}
// ... and where its block came from.
using CauseKey = std::tuple<CallKey, std::uint32_t, std::uint32_t>;
CauseKey cause_key(const ErrorContext& error) {
  const Tenant* block = error.block ? &*error.block : nullptr;
  const bool released = error.kind == ErrorKind::DoubleFree || error.kind == ErrorKind::WriteFreed ||
                        error.kind == ErrorKind::ReadFreed || error.kind == ErrorKind::WriteIntoFreed;
  return {call_key(error), block != nullptr ? block->owner.stack.value : 0,
          block != nullptr && released ? block->ender.stack.value : 0};
}

// The wrong releases of a tape. A release of what the tape does not know is one where everything was recorded.
std::vector<ErrorContext> wrong_releases(const TapeView& view, bool checked, ErrorList& list,
                                         const std::function<bool()>& should_stop) {
  std::vector<ErrorContext> errors;
  if (view.tape().odd_calls().calls.empty()) return errors;
  const std::vector<OddFinding> findings =
      without_other_runtimes(view.tape(), view.names(), odd_findings(view.tape(), kMostNotLive, should_stop));
  std::size_t not_live = 0;
  for (const OddFinding& finding : findings) {
    const bool looked_into = (finding.call.kind != OddKind::NotLive && finding.call.kind != OddKind::Unfinished) ||
                             ++not_live <= kMostNotLive;
    if (!looked_into)
      ++list.left_out;
    else if (is_fault(finding.sort) || (checked && finding.sort == OddSort::NotKnown))
      errors.push_back(context_of(finding));
  }
  return errors;
}

// Gives errors the lives of their blocks.
void look_around(const TapeView& view, std::vector<ErrorContext>& errors, const std::function<bool()>& should_stop) {
  std::vector<BlockQuestion> questions;
  std::vector<std::size_t> asked;
  std::map<CallKey, std::size_t> of_call;
  for (std::size_t i = 0; i < errors.size() && asked.size() < kMostQuestions; ++i) {
    const ErrorContext& error = errors[i];
    if (!is_about_a_block(error.kind) || ++of_call[call_key(error)] > kMostOfOneCall) continue;
    BlockQuestion question{.address = error.found.block != 0 ? error.found.block : error.found.address,
                           .size = error.found.block_size,
                           .event = error.found.event};
    // A release is looked at before it happens.
    if (error.is_event() && question.event != 0) --question.event;
    if (question.address == 0) continue;
    questions.push_back(question);
    asked.push_back(i);
  }
  std::vector<BlockSurroundings> answers = block_surroundings(view.tape(), questions, should_stop);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    ErrorContext& error = errors[asked[i]];
    BlockSurroundings& answer = answers[i];
    error.before = std::move(answer.before);
    error.behind = std::move(answer.behind);
    error.former = std::move(answer.owners);
    if (error.former.empty()) continue;
    const Tenant owner = error.former.front();
    // Not each block is on a tape: the last one that is may be an older one.
    if (!error.release && owner.address != error.found.block) continue;
    error.block = owner;
    error.former.erase(error.former.begin());
    if (!error.release) continue;
    error.found.block = owner.address;
    error.found.block_size = owner.size;
  }
}

// Those that have one cause become one, which keeps the place of the first.
std::vector<ErrorContext> grouped(std::vector<ErrorContext> errors) {
  std::map<CallKey, std::pair<std::size_t, std::size_t>> first_of_call; // its group, and how many were looked into
  std::map<CauseKey, std::size_t> first_of_cause;
  std::vector<ErrorContext> groups;
  for (ErrorContext& error : errors) {
    auto& [first, seen] = first_of_call.try_emplace(call_key(error), groups.size(), std::size_t{0}).first->second;
    const bool told_apart = ++seen <= kMostOfOneCall;
    const std::size_t group =
        told_apart ? first_of_cause.try_emplace(cause_key(error), groups.size()).first->second : first;
    if (group == groups.size()) {
      groups.push_back(std::move(error));
    } else {
      groups[group].count += error.count;
      groups[group].last_event = error.last_event;
    }
  }
  return groups;
}

bool is_suppressed(const TapeView& view, Suppressions& suppressions, const ErrorContext& error) {
  SuppressedError asked{.of = suppression_of(error.kind),
                        .stacks = {error.found.stack},
                        .called = called_function(error),
                        .count = error.count};
  // The call that found a write is not to blame for it.
  if (is_access(error.kind) && error.block) asked.stacks.push_back(error.block->owner.stack);
  return suppressions.suppress(view.names(), asked);
}

} // namespace

ErrorList find_errors(const TapeView& view, const FindErrors& options) {
  return find_errors(view, view.tape().memory_errors(), options);
}

ErrorList find_errors(const TapeView& view, const MemoryErrors& memory, const FindErrors& options) {
  ErrorList list;
  list.mode = memory.mode;
  list.checked = !memory.mode.empty();
  list.left_out = memory.left_out + view.tape().odd_calls().left_out;
  std::vector<ErrorContext> errors = wrong_releases(view, list.checked, list, options.should_stop);
  for (const MemoryError& error : memory.errors) errors.push_back(context_of(error));
  if (const std::optional<MemoryError> fault = error_of_fault(view, options.should_stop))
    errors.push_back(context_of(*fault));
  std::ranges::stable_sort(errors, {}, [](const ErrorContext& error) { return error.found.event; });
  look_around(view, errors, options.should_stop);
  for (ErrorContext& error : grouped(std::move(errors))) {
    if (options.suppressions != nullptr && is_suppressed(view, *options.suppressions, error)) {
      list.suppressed_errors += error.count;
      ++list.suppressed_contexts;
      continue;
    }
    error.number = list.contexts.size() + 1;
    list.errors += error.count;
    list.contexts.push_back(std::move(error));
  }
  list.stopped = options.should_stop && options.should_stop();
  return list;
}

} // namespace heaptape
