#include "report/pages/loss_text.h"

#include <array>
#include <string_view>

#include "base/number_text.h"

namespace heaptape {
namespace {

struct LossText {
  std::string_view name;  // wire/loss_name.h
  std::string_view what;  // counted
  std::string_view story; // follows the count
};

constexpr std::array kTexts{
    LossText{"ring full", "event", "dropped because the program outran the recording (--on-full=drop)"},
    LossText{"no thread slot", "event", "of threads for which no slot was left"},
    LossText{"stack table full", "event", "with no stack, or with its outer part only: the table of stacks was full"},
    LossText{"module log full", "module", "that did not fit into the list; their frames have no name"},
    LossText{"stack too deep", "stack", "cut at the deepest frame allowed (--max-depth)"},
    LossText{"stack cut", "stack", "that could not be followed to the outermost frame"},
    LossText{"before start", "call", "made before the recorder was ready"},
    LossText{"after collector", "event", "made after the collector was gone"},
    LossText{"abandoned hook", "event", "left unfinished by a longjmp out of a signal handler"},
    LossText{"CPU samples", "sample", "of CPU time dropped because the program outran the recording"},
    LossText{"CPU threads", "thread", "that the kernel gave no timer: their CPU time is not sampled"},
    LossText{"not followed", "program", "started that the recorder cannot be loaded into: another loader or processor"},
    LossText{"unfinished record", "event", "that the program was writing when it was killed"},
    LossText{"damaged record", "event", "that made no sense and was left out"},
    LossText{"stuck thread", "time", "a thread stopped inside the recorder; its events may be out of order"},
    LossText{"memory written over", "time",
             "the program wrote over the memory that it shares with heaptape: what else was lost is unknown"},
    LossText{"paused", "block", "made while the program had paused the recording"},
    LossText{"not written", "event", "that the tape had no room for"},
};

} // namespace

std::string loss_sentence(const std::string& name, std::uint64_t count) {
  for (const LossText& text : kTexts) {
    if (text.name == name) return count_of(count, text.what) + " " + std::string(text.story);
  }
  return with_separators(count) + " (a loss that this version of heaptape does not know)";
}

} // namespace heaptape
