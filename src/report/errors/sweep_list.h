// What came of many runs of a program, in each of which another allocation failed on purpose (`heaptape check --mode fail --sweep`).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace heaptape {

enum class RunOutcome : unsigned char {
  SameStatus,  // as without the failure
  OtherStatus, // another exit status
  Crashed,     // died of a signal
  Hung,        // was ended after its limit
  Errors,      // memory errors that there are not without the failure
  NotReached,  // this time there were fewer allocations
};

// Runs that went wrong in the same way: of the same kind, after the failure of the same call.
struct SweepFinding {
  RunOutcome outcome = RunOutcome::Crashed;
  std::string what{};                   // "SIGSEGV"; of Errors: how many
  std::string call{};                   // "malloc of 100 bytes in load x.c:12 <- main"
  std::string tape{};                   // of the first of them; empty: none was kept
  std::vector<std::uint64_t> numbers{}; // of the allocations, rising
};

class SweepList {
public:
  // Of one run. `stack` tells calls apart. True: it is the first of its sort, and its tape is worth keeping.
  bool add(RunOutcome outcome, std::uint64_t number, const std::string& what, const std::string& call,
           const std::string& stack);
  // For the one that was added last.
  void keep(const std::string& tape) { findings_[last_].tape = tape; }

  const std::vector<SweepFinding>& findings() const { return findings_; } // by first occurrence
  std::uint64_t count(RunOutcome outcome) const { return counts_[static_cast<std::size_t>(outcome)]; }
  std::uint64_t runs() const;

private:
  std::vector<SweepFinding> findings_{};
  std::vector<std::pair<std::string, std::size_t>> known_{};
  std::uint64_t counts_[6]{};
  std::size_t last_ = 0;
};

// Numbers [1, count], or `most` of them evenly spread.
std::vector<std::uint64_t> numbers_to_try(std::uint64_t count, std::uint64_t most);
// "3, 7-9, 12"; no more than `most` parts, then "and 5 more".
std::string ranges_text(const std::vector<std::uint64_t>& numbers, std::size_t most);
// All of it. Lines, each ended.
std::string sweep_text(const SweepList& list, std::uint64_t counted);

} // namespace heaptape
