#include "cli/options/check_arguments.h"

#include <cstdint>
#include <utility>

#include "base/number_text.h"
#include "cli/options/report_options.h"
#include "cli/options/take_value.h"
#include "collector/options/check_text.h"

namespace heaptape::cli {

const CommandHelp kCheckHelp{
    .usage = "heaptape check [options] [--] PROGRAM [ARGS...]",
    .purpose =
        "Runs PROGRAM, records it, and finds memory errors without recompiling: double frees, wrong frees, writes "
        "behind and before blocks, writes into released blocks. Takes all options of 'heaptape record'.",
    .more = R"(Each block gets a redzone of at least 16 bytes on either side; released memory is filled
and kept for a while before it is used again. What was written there is found when the
block is released or resized, when its memory is used again, and, for all blocks, when the
program ends. The program goes on after an error: a block that is released twice stays
released.

Found, with where the block was made and released, and who its neighbours were:
'heaptape errors TAPE' shows it again, also as JSON, SARIF or JUnit. Not found: reads,
except where they make the program crash, variables that were never set, and overruns of
arrays on the stack and of global variables.

With --mode guard each block lies between pages that nobody may touch, and a released one stays
closed: an access outside of a block or into a released one, a read too, ends the program with
SIGSEGV at that very instruction. It takes a page or more for each block and a few microseconds
for each call.

With --mode sample one in a thousand allocations is guarded and recorded, and nothing else: cheap
enough for production. The program goes on after an access that missed, which is reported.

Examples:
  heaptape check ./server --port 8080
  heaptape check --error-exitcode 99 --leak-check -- ./tests
  heaptape check --mode full --on-error abort ./server
  heaptape check --mode guard --guard-size 16-64 ./server
  heaptape check --mode fail --fail-nth 12 ./server
  heaptape check --mode fail --sweep ./server

Exits with the program's own status; with --error-exitcode N with N when there are errors.
)"};

void CheckArguments::add(OptionList& list) {
  list.text(
          "--mode MODE", mode_,
          "check (default); full: fill and look at every byte, and keep 256 MiB of released memory; guard: each block "
          "on pages of its own between pages that nobody may touch; sample: guard one in a thousand, record nothing "
          "else, and go on after an error; fail: as check, and allocations fail on purpose")
      .one_of({"check", "full", "guard", "sample", "fail"});
  list.text("--sample-every N", sample_every_, "with --mode sample: guard one in N allocations (default: 1000)");
  list.text("--guard-side SIDE", side_,
            "with --mode guard: put blocks at the right end of their pages (default), at the left, or either (random)")
      .one_of({"right", "left", "random"});
  list.text(
          "--guard-align N", align_,
          "with --mode guard: let blocks begin at multiples of N (1, 2, 4, 8) where the program asks for no more: less "
          "than the ABI says, but a block then ends where its page does (default: 16)")
      .one_of({"1", "2", "4", "8", "16"});
  list.text("--guard-size MIN-MAX", sizes_,
            "with --mode guard: guard only blocks of these sizes (16-64, 1K-); others are checked");
  list.flag("--leak-check", leak_check, "at the end, also list what is lost: nothing leads to it any more");
  list.number("--error-exitcode N", error_status, "exit with N when there are errors, or lost blocks with --leak-check")
      .between(1, 255);
  list.repeated("--suppressions FILE", suppression_files,
                "leave out what this file names, in valgrind's or LeakSanitizer's syntax; repeatable");
  list.text("--on-error WHAT", on_error_,
            "report (default) and go on, stop (SIGSTOP, for a debugger), or abort (SIGABRT)")
      .one_of({"report", "stop", "abort"});
  list.text("--stomp BYTE", stomp_, "fill released memory with this byte (default: 0xBD)");
  list.text("--fill BYTE", fill_, "fill memory that malloc gives with this byte, or 'none' (default: 0xBE)");
  list.text(
      "--check-every SIZE", every_,
      "look at all blocks whenever a thread has released this much: damage is found sooner (default: at the end)");
  list.text(
      "--quarantine SIZE", quarantine_,
      "keep this much released memory (default: an eighth of the heap, from 1M to 8M; a twentieth of a large one)");
  failing.add(list);
}

namespace {

// "0xBD", "bd", "189" in hexadecimal digits alone: without 0x they are hexadecimal, too.
std::string byte_digits(const std::string& text) {
  return text.starts_with("0x") || text.starts_with("0X") ? text.substr(2) : text;
}

} // namespace

Result<> CheckArguments::take(CollectorOptions& options) {
  if (failing.given() && !fails()) return Error{ErrorCode::Usage, "options that let allocations fail need --mode fail"};
  if (auto taken = failing.take_sweep(); !taken) return taken;
  std::uint64_t quarantine = 0;
  if (auto taken = take_value("--quarantine", quarantine_, parse_bytes, quarantine); !taken) return taken;
  const auto refused = [](const char* option, const std::string& text) {
    return Error{ErrorCode::Usage,
                 std::string(option) + ": '" + text + "' is not a byte; give two hexadecimal digits: 0xBD"};
  };
  std::string text = mode_;
  const auto add = [&](const std::string& part) {
    const bool known = parse_check("check" + part).ok();
    if (known) text += part;
    return known;
  };
  if (!stomp_.empty() && !add(",stomp=" + byte_digits(stomp_))) return refused("--stomp", stomp_);
  if (!fill_.empty() && !add(",fill=" + byte_digits(fill_))) return refused("--fill", fill_);
  if (quarantine != 0 && !add(",quarantine=" + std::to_string(quarantine)))
    return Error{ErrorCode::Usage, "--quarantine: more than there can be"};
  std::uint64_t every = 0;
  if (auto taken = take_value("--check-every", every_, parse_bytes, every); !taken) return taken;
  if (every != 0 && !add(",sweep=" + std::to_string(every)))
    return Error{ErrorCode::Usage, "--check-every: more than there can be"};
  for (const auto& [option, value] :
       {std::pair{"--guard-side", &side_}, std::pair{"--guard-size", &sizes_}, std::pair{"--guard-align", &align_}}) {
    if (!value->empty() && mode_ != "guard")
      return Error{ErrorCode::Usage, std::string(option) + " needs --mode guard"};
  }
  if (!align_.empty()) text += ",align=" + align_;
  if (!sample_every_.empty() && mode_ != "sample") return Error{ErrorCode::Usage, "--sample-every needs --mode sample"};
  if (!sample_every_.empty() && (sample_every_ == "0" || !add(",every=" + sample_every_)))
    return Error{ErrorCode::Usage, "--sample-every: '" + sample_every_ + "' is not a number of allocations"};
  for (const auto& [option, given] :
       {std::pair{"--stomp", !stomp_.empty()}, std::pair{"--quarantine", !quarantine_.empty()},
        std::pair{"--check-every", !every_.empty()}, std::pair{"--leak-check", leak_check}}) {
    if (given && mode_ == "sample")
      return Error{ErrorCode::Usage, std::string(option) + " needs a mode in which all blocks are checked, not sample"};
  }
  if (!side_.empty()) text += ",side=" + side_;
  if (!sizes_.empty()) {
    const std::size_t dash = sizes_.find('-');
    const std::string from = sizes_.substr(0, dash), to = dash == std::string::npos ? from : sizes_.substr(dash + 1);
    for (const auto& [name, size] : {std::pair{",from=", from}, std::pair{",to=", to}}) {
      if (size.empty()) continue;
      const Result<std::uint64_t> bytes = parse_bytes(size);
      if (!bytes) return Error{ErrorCode::Usage, "--guard-size: " + bytes.error().sentence};
      text += name + std::to_string(bytes.value());
    }
  }
  if (on_error_ != "report") (void)add(",on-error=" + on_error_);
  if (fails()) {
    const Result<std::string> more = failing.text(failing.sweep.has_value());
    if (!more) return more.error();
    text += more.value();
  }
  options.check = text;
  if (leak_check) options.snapshots.add_exit();
  const ReportOptions suppressing = [&] {
    ReportOptions made;
    made.set_suppression_files(suppression_files);
    return made;
  }();
  if (const auto read = suppressing.given_suppressions(); !read) return read.error();
  if (!options.heap) return Error{ErrorCode::Usage, "--no-heap: without its events an error cannot be explained"};
  if (!options.write_tape) return Error{ErrorCode::Usage, "--no-tape: what is found is on the tape"};
  if (mode_ == "sample") options.heap = false; // but for what is sampled
  return Unit{};
}

} // namespace heaptape::cli
