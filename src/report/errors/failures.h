// Allocations that failed on purpose (`heaptape check --mode fail`), as the program's recorder has noted them on the tape.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "report/names/stack_text.h"
#include "report/view/tape_view.h"
#include "tape/contents.h"

namespace heaptape {

struct Failure {
  std::uint64_t number = 0; // among those that could have failed, from 1
  StackId stack{};
  OddCall call{}; // what was asked for; OddKind::Failed, or size 0: not known
};

struct Failures {
  std::vector<Failure> failures{};        // in the order of the tape; at most those that have a note
  std::uint64_t failed = 0;               // all, also those without a note
  std::optional<std::uint64_t> counted{}; // those that could have failed; absent: the program ended without saying
};

Failures find_failures(const TapeReader& tape, const std::vector<Mark>& marks);
Failures find_failures(const TapeView& view);

// "malloc of 100 bytes in load x.c:12"
std::string failure_text(StackText& stacks, const Failure& failure);
// "1 allocation failed on purpose: malloc of 100 bytes in load x.c:12 (allocation 17 of 40)", or a list of at most `rows`. Lines without
// the end of the last one.
std::string failures_text(StackText& stacks, const Failures& failures, std::size_t rows);
// How the program took it: "the program went on and exited with status 0", "the program died of SIGSEGV".
std::string ending_text(const std::optional<Summary>& summary);

} // namespace heaptape
