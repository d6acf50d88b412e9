#include "report/errors/error_text.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "base/number_text.h"
#include "report/errors/error_words.h"

namespace heaptape {
namespace {

// The first lines of a text, and how many there are more.
std::string first_lines(const std::string& text, std::size_t most, std::string_view indent) {
  const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  if (most == 0 || lines <= most) return text;
  std::size_t end = 0;
  for (std::size_t i = 0; i < most; ++i) end = text.find('\n', end) + 1;
  return text.substr(0, end) + fmt::format("{}… {} more\n", indent, count_of(lines - most, "frame"));
}

class Errors {
public:
  Errors(const TapeView& view, StackText& stacks, const ErrorTextOptions& options)
      : view_(view), stacks_(stacks), options_(options) {}

  std::string text(const ErrorContext& error) {
    text_ = fmt::format("#{}  {}\n", error.number, options_.style.alarm(error_headline(error, threads())));
    line(found_words(error, threads()));
    line(interval_words(error));
    line(place_words(error));
    if (error.count > 1)
      line(fmt::format("{} like this, the last at event {}", count_of(error.count, "error"),
                       with_separators(error.last_event)));
    add_bytes(error.found);
    add_finder(error);
    if (error.block)
      add_life(*error.block, error.found);
    else if (error.found.block != 0)
      line("who made the block is not on the tape");
    add_neighbours(error);
    add_former(error);
    return std::move(text_);
  }

private:
  const std::vector<Thread>& threads() const { return view_.tape().threads(); }
  void line(const std::string& sentence) {
    if (!sentence.empty()) text_ += "    " + sentence + "\n";
  }
  void frames(StackId stack) {
    constexpr std::string_view kIndent = "      ";
    text_ += first_lines(stacks_.frames(stack, kIndent, options_.style), options_.depth, kIndent);
  }

  void add_bytes(const MemoryError& error) {
    if (error.bytes.empty()) return;
    std::string hex, letters;
    for (const char byte : error.bytes) {
      hex += fmt::format("{:02x} ", static_cast<unsigned char>(byte));
      letters += byte >= ' ' && byte <= '~' ? byte : '.';
    }
    const std::string more = error.length > error.bytes.size() ? " …" : "";
    line(fmt::format("there now: {} \"{}\"{}; {} be {:02x}", hex, letters, more,
                     error.bytes.size() == 1 ? "it should" : "each should", error.expected));
  }

  void add_finder(const ErrorContext& error) {
    // What the program did last says nothing about it.
    if (is_damage(error.kind) && (error.found.stack.value == 0 || error.found.found == FoundAt::Exit)) return;
    if (is_damage(error.kind)) {
      line(said_who_is_not_to_blame_ ? "found here:" : "found here (this call only noticed it, and is not to blame):");
      said_who_is_not_to_blame_ = true;
    } else {
      const bool grows = error.release && is_reallocation(error.release->call.call);
      line(is_access(error.kind)                 ? "here:"
           : grows                               ? "reallocated here:"
           : error.kind == ErrorKind::DoubleFree ? "released again here:"
                                                 : "released here:");
    }
    frames(error.found.stack);
  }

  void add_life(const Tenant& block, const MemoryError& found) {
    line(fmt::format("allocated here ({}):", maker_words(block, threads())));
    frames(block.owner.stack);
    if (block.ended == LifeEnd::Live) return;
    if (found.found == FoundAt::Release && block.ender.stack == found.stack) return; // it is the call that found it
    if (block.ended == LifeEnd::Unseen) return line("its release is not on the tape");
    line(fmt::format("{} ({}):", block.ended == LifeEnd::Reallocated ? "given up here" : "released here",
                     ender_words(block, threads())));
    frames(block.ender.stack);
  }

  void add_neighbours(const ErrorContext& error) {
    const std::uint64_t begin = error.found.block, end = begin + error.found.block_size;
    if (begin == 0) return;
    if (const auto& block = error.before) {
      const std::uint64_t behind = block->address + block->size;
      line(fmt::format("block before: {} at {:#x}, {} away, of {}", count_of(block->size, "byte"), block->address,
                       count_of(begin > behind ? begin - behind : 0, "byte"), stacks_.site(block->owner.stack)));
    }
    if (const auto& block = error.behind)
      line(fmt::format("block behind: {} at {:#x}, {} away, of {}", count_of(block->size, "byte"), block->address,
                       count_of(block->address > end ? block->address - end : 0, "byte"),
                       stacks_.site(block->owner.stack)));
  }

  void add_former(const ErrorContext& error) {
    if (error.former.empty() || (error.block && error.block->ended == LifeEnd::Live)) return;
    line("before that the address was in:");
    for (const Tenant& owner : error.former)
      line(fmt::format("  a block of {} of {}, events {} to {}", count_of(owner.size, "byte"),
                       stacks_.site(owner.owner.stack), with_separators(owner.event),
                       owner.ended == LifeEnd::Live ? "?" : with_separators(owner.end_event)));
  }

  const TapeView& view_;
  StackText& stacks_;
  const ErrorTextOptions& options_;
  std::string text_;
  bool said_who_is_not_to_blame_ = false; // once is enough
};

} // namespace

std::string error_text(const TapeView& view, StackText& stacks, const ErrorContext& error,
                       const ErrorTextOptions& options) {
  return Errors(view, stacks, options).text(error);
}

std::string error_summary(const ErrorList& list) {
  return fmt::format("ERROR SUMMARY: {} from {} (suppressed: {} from {})", count_of(list.errors, "error"),
                     count_of(list.contexts.size(), "context"), with_separators(list.suppressed_errors),
                     with_separators(list.suppressed_contexts));
}

std::string error_coverage(const ErrorList& list) {
  if (list.mode == "sample")
    return "The program ran with samples: of the blocks that were guarded, reads and writes outside of them and after "
           "their "
           "release, and wrong releases.";
  if (list.mode == "guard")
    return "The program ran with guarded blocks: reads and writes outside of blocks and after their release, and wrong "
           "releases.";
  if (list.checked)
    return fmt::format("The program ran with checks (mode {}): wrong releases, and writes outside of blocks and into "
                       "released ones.",
                       printable(list.mode));
  return "The program ran without checks: only wrong releases are known. Writes outside of blocks were not looked for; "
         "'heaptape check -- PROGRAM' does.";
}

std::string error_list_text(const TapeView& view, const ErrorList& list, const ErrorTextOptions& options) {
  StackText stacks(view.names());
  std::string text;
  Errors errors(view, stacks, options);
  const std::size_t shown = options.rows == 0 ? list.contexts.size() : std::min(options.rows, list.contexts.size());
  for (std::size_t i = 0; i < shown; ++i) text += errors.text(list.contexts[i]) + "\n";
  if (shown < list.contexts.size())
    text += fmt::format("… {} more; -n shows them\n\n", with_separators(list.contexts.size() - shown));
  if (list.contexts.empty()) text += options.style.good("No memory errors found.") + "\n";
  text += error_coverage(list) + "\n";
  if (list.left_out != 0)
    text +=
        fmt::format("{} more {} only counted.\n", with_separators(list.left_out), list.left_out == 1 ? "was" : "were");
  if (list.stopped) text += "Stopped: there may be more.\n";
  if (!list.contexts.empty()) {
    const std::string tape = options.tape_words.empty() ? view.path() : options.tape_words;
    text += fmt::format("'heaptape errors --gen-suppressions {}' shows how to leave errors out.\n", printable(tape));
  }
  return text + options.style.bold(error_summary(list)) + "\n";
}

} // namespace heaptape
