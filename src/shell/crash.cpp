// The command "crash": what the program died of, in words and as JSON.
#include <signal.h>

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/number_text.h"
#include "base/signal_name.h"
#include "report/crash/crash_line.h"
#include "report/crash/fault.h"
#include "shell/all_commands.h"
#include "shell/crash_text.h"
#include "shell/describe.h"
#include "shell/explain.h"
#include "shell/explanation_text.h"

namespace heaptape {
namespace {

using wire::AskerRegister;

constexpr std::array kShown{AskerRegister::Rax, AskerRegister::Rbx, AskerRegister::Rcx, AskerRegister::Rdx,
                            AskerRegister::Rsi, AskerRegister::Rdi, AskerRegister::Rbp, AskerRegister::Rsp,
                            AskerRegister::R8,  AskerRegister::R9,  AskerRegister::R10, AskerRegister::R11,
                            AskerRegister::R12, AskerRegister::R13, AskerRegister::R14, AskerRegister::R15,
                            AskerRegister::Rip};

// A thread raised more than one, or several threads crashed at once.
std::string others_text(const TapeReader& tape) {
  const std::size_t others = tape.crashes().size() - 1;
  return others == 0 ? ""
                     : fmt::format("  {} at the same time; the first one is shown\n",
                                   count_of(others, "other crash", "other crashes"));
}

class CrashPage {
public:
  CrashPage(Session& session, const Crash& crash)
      : session_(session), crash_(crash), fault_(fault_of(crash, session.tape().threads())) {
    session.move_to({.event = std::min(crash.event, session.last_event()), .time_us = crash.time_us});
    if (fault_.address) at_fault_ = explain(*fault_.address);
  }

  std::string text() {
    std::string text = session_.style.bold(crash_headline(session_, crash_, fault_, at_fault_)) + "\n";
    text += fmt::format("  in {}, {}\n", thread_text(session_, crash_.thread), after_text());
    if (crash_.was_handled) text += "  " + handled_text() + "\n";
    if (fault_.operand) text += "  the instruction wants " + wants_text() + "\n";
    text += others_text(session_.tape());
    text += "\n" + session_.style.bold("Call stack") + "\n" + stack_text();
    if (at_fault_ && (at_fault_->block || at_fault_->kind == AddressKind::Unmapped))
      text += "\n" + session_.style.bold("At " + hex(*fault_.address)) + "\n" + details_text(session_, *at_fault_);
    text += "\n" + session_.style.bold("Registers") + "\n";
    for (const AskerRegister which : kShown) {
      const std::string meaning = meaning_of(crash_[which]);
      text += fmt::format("  {:<4}{:#018x}{}\n", register_name(which), crash_[which],
                          meaning.empty() ? "" : "  " + meaning);
    }
    return text;
  }

  void write(JsonWriter& json) {
    json.begin_object().field("crashed", true);
    json.field("headline", std::string_view(crash_headline(session_, crash_, fault_, at_fault_)));
    json.field("signal", std::string_view(signal_name(static_cast<int>(crash_.signal)))).field("code", crash_.code);
    json.field("ended_by", std::string_view(signal_name(static_cast<int>(crash_.last_signal()))));
    json.field("was_handled", crash_.was_handled).field("kind", fault_kind_name(fault_.kind));
    json.field("access", access_word(fault_.access));
    if (fault_.address)
      json.field("address", std::string_view(hex(*fault_.address))).field("address_from_operand", fault_.from_operand);
    if (fault_.bytes != 0) json.field("bytes", fault_.bytes);
    if (fault_.operand) json.field("operand", std::string_view(operand_text(*fault_.operand)));
    if (at_fault_) {
      json.field("at", address_kind_name(at_fault_->kind));
      json.field("verdict", std::string_view(verdict_text(session_, *at_fault_)));
      if (at_fault_->block) write_life_json(json.key("block"), session_.stacks(), *at_fault_->block);
    }
    if (fault_.sender != 0) json.field("sender", fault_.sender);
    if (fault_.stack_bytes != 0) json.field("stack_bytes", fault_.stack_bytes);
    json.field("event", crash_.event).field("time_us", crash_.time_us).field("thread", crash_.thread.value);
    session_.stacks().write_json(json.key("stack"), crash_.stack);
    json.field("frames", crash_.frames).key("registers").begin_array();
    for (const AskerRegister which : kShown) {
      json.begin_object().field("name", register_name(which)).field("value", std::string_view(hex(crash_[which])));
      json.field("meaning", std::string_view(meaning_of(crash_[which]))).end_object();
    }
    json.end_array().field("crashes", session_.tape().crashes().size()).end_object();
  }

private:
  const Explanation& explain(std::uint64_t address) {
    const auto found = explained_.find(address);
    return found != explained_.end() ? found->second
                                     : explained_.emplace(address, explain_address(session_, address)).first->second;
  }

  std::string after_text() const {
    const std::string when = seconds_text(crash_.time_us) + " s";
    return crash_.event == 0 ? "before the first event, at " + when
                             : fmt::format("after event {} of {}, at {}", with_separators(crash_.event),
                                           with_separators(session_.tape().event_count()), when);
  }

  std::string handled_text() const {
    const std::string first = signal_name(static_cast<int>(crash_.signal));
    if (crash_.ended_by == 0) return "the program's own handler of " + first + " ran first, then it died of the signal";
    return fmt::format("the program's own handler of {} ran first, and it died of {}", first,
                       signal_name(static_cast<int>(crash_.ended_by)));
  }

  std::string wants_text() {
    std::string text = operand_text(*fault_.operand), values;
    for (const auto& part : {fault_.operand->base, fault_.operand->index}) {
      if (!part) continue;
      values += fmt::format("{}{} = {}", values.empty() ? "" : ", ", register_name(*part), hex(crash_[*part]));
    }
    return values.empty() ? text : text + ", with " + values;
  }

  // The rest of a deep stack says nothing that its first lines do not.
  std::string stack_text() {
    const std::size_t most_lines = fault_.kind == FaultKind::StackOverflow ? 16 : 60;
    const std::string all = session_.stacks().frames(crash_.stack, "  ", session_.style);
    std::size_t lines = 0, end = 0;
    while (lines < most_lines && end < all.size()) {
      end = std::min(all.find('\n', end), all.size() - 1) + 1;
      ++lines;
    }
    if (end >= all.size()) return all;
    return all.substr(0, end) + "  … and so on" +
           (crash_.frames != 0 ? ": " + count_of(crash_.frames, "frame") + " in all" : std::string()) + "\n";
  }

  std::string meaning_of(std::uint64_t value) {
    if (value < 0x10000) return value == 0 ? "" : with_separators(value);
    if (~value < 0x10000) return "-" + with_separators(~value + 1);
    return address_meaning(session_, explain(value));
  }

  Session& session_;
  const Crash& crash_;
  const Fault fault_;
  std::map<std::uint64_t, Explanation> explained_;
  std::optional<Explanation> at_fault_;
};

// Why there is nothing to tell.
std::string no_crash_text(const TapeReader& tape) {
  constexpr std::uint16_t kCrashesSince = 6;
  const std::optional<Summary>& summary = tape.summary();
  if (!summary)
    return "no crash is on this tape, which has no end: the program still runs, or the recording was cut off";
  switch (summary->ending) {
  case Ending::Exited:
    return fmt::format("the program did not crash: it exited with status {}", summary->ending_detail);
  case Ending::Replaced: return "the program did not crash: it became another one (exec)";
  case Ending::Killed: break;
  default: return "no crash is on this tape, and how the program ended is not known";
  }
  const std::string died = "the program was killed by " + signal_name(summary->ending_detail);
  if (tape.header().version_minor < kCrashesSince)
    return died + ", but the tape is from before crashes were recorded: record it again";
  switch (summary->ending_detail) {
  case SIGSEGV:
  case SIGBUS:
    return died + ", but where is not on the tape: a thread without a signal stack overflowed its stack, a handler of "
                  "its own ended it, or it was recorded with --no-crash-handler";
  case SIGILL:
  case SIGFPE:
  case SIGABRT:
  case SIGTRAP:
  case SIGSYS:
    return died + ", but where is not on the tape: the signal was blocked, a handler of its own ended it, or it was "
                  "recorded with --no-crash-handler";
  default: return died + ", which is not a crash: somebody sent it";
  }
}

Result<> crash(Session& session, Call& call, Printer& out) {
  const bool as_json = call.flag("--json");
  if (const Result<> done = call.finish(); !done) return done.error();
  const Crash* const found = session.tape().crash();
  JsonWriter json;
  if (found == nullptr) {
    call.note_problems();
    const std::string why = no_crash_text(session.tape());
    if (as_json)
      out.print(json.begin_object().field("crashed", false).field("why", std::string_view(why)).end_object().text() +
                "\n");
    else
      out.print(folded_lines(why + "\n", session.style.width));
    return Unit{};
  }
  CrashPage page(session, *found);
  if (as_json) {
    page.write(json);
    out.print(json.text() + "\n");
  } else {
    out.print(folded_lines(page.text(), session.style.width));
  }
  return Unit{};
}

} // namespace

const Command kCrashCommand{.name = "crash",
                            .arguments = "",
                            .summary = "what the program died of: signal, address, stack, registers",
                            .help = "For a program that a signal such as SIGSEGV or SIGABRT ended: which access to\n"
                                    "memory failed, what lay there (null, a freed block and who freed it, the end\n"
                                    "of a block, a stack that overflowed), the call stack, and what each register\n"
                                    "pointed to. The cursor moves to the crash. The exit status is 1 when there\n"
                                    "was none.\n",
                            .example = "crash",
                            .group = CommandGroup::Whole,
                            .run = crash,
                            .options = kJsonOption};

} // namespace heaptape
