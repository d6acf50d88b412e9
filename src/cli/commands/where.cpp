// heaptape where ADDR: which program's block a pointer points into, and where that comes from. Without an address: the
// shell's command.
#include <unistd.h>

#include "analysis/moment/inherit.h"
#include "base/number_text.h"
#include "cli/commands/commands.h"
#include "cli/options/choose_tape.h"
#include "cli/options/command_line.h"
#include "cli/options/report_options.h"
#include "cli/options/tape_session.h"
#include "cli/terminal/console.h"
#include "cli/terminal/exit_codes.h"
#include "cli/terminal/terminal.h"
#include "collector/control/control_client.h"
#include "report/names/symbolize_tape.h"
#include "report/view/tape_view.h"
#include "shell/all_commands.h"
#include "shell/describe.h"
#include "shell/explain.h"
#include "shell/explanation_text.h"
#include "shell/origin.h"
#include "shell/session.h"

namespace heaptape::cli {
namespace {

constexpr CommandHelp kHelp{
    .usage = "heaptape where [options] [-p PID | TAPE] ADDR",
    .purpose = "Shows where a pointer comes from: the block it points into, live or freed, with size, age, thread and "
               "the call stacks that allocated and freed it. Without -p and TAPE it asks all programs that are being "
               "recorded or, when there are none, the newest tape here.",
    .more =
        R"(ADDR is hexadecimal, a symbol, or symbol+offset, and may point anywhere into a block. The exit status is 0 when
it lies in a block (or once did), otherwise 1.

Examples:
  heaptape where -p 4711 0x55d0c4a2e2b0
  heaptape where server.tape 0x55d0c4a2e2b0

Without ADDR: the state at the end of the tape, as 'where' in 'heaptape shell'.
)"};

struct Wishes {
  bool json = false;
  NameForm names = NameForm::Short;
  TextStyle style{};
  TapeDamage damage{};
};

AddressFacts facts_at_end(const TapeReader& tape, std::uint64_t address) {
  return find_address_facts(tape, {.address = address, .event = end_of(tape).event});
}
Origin origin_at_end(const TapeReader& tape, const AddressFacts& facts) {
  return origin_of(facts, end_of(tape).time_us);
}

// An address outside any block needs the whole picture: mappings, stacks, symbols.
int explain_other(Session& session, const AddressFacts& facts, const Wishes& wishes) {
  const Explanation answer = explain_address(session, facts);
  const std::string verdict = verdict_text(session, answer);
  Output output;
  if (wishes.json) {
    JsonWriter json;
    json.begin_object().field("address", std::string_view(hex(facts.address))).field("in_block", false);
    json.field("kind", address_kind_name(answer.kind)).field("verdict", std::string_view(verdict));
    output.print("{}\n", with_damage(json.end_object().text(), wishes.damage));
  } else {
    output.fold_lines();
    output.print("{} is {}\n{}", hex(facts.address), verdict, details_text(session, answer));
  }
  return output.finish() ? kProblemsFound : kTrouble;
}

int tell(const TapeReader& tape, const Origin& origin, const Wishes& wishes) {
  Symbols found;
  if (tape.symbols().empty()) found = symbolize_stacks(tape, origin.stacks(), {});
  const Symbols& symbols = tape.symbols().empty() ? found : tape.symbols();
  StackNames names(tape.modules(), tape.stacks(), symbols, wishes.names);
  StackText stacks(names);
  Output output;
  if (wishes.json) {
    JsonWriter json;
    write_origin_json(json, tape, stacks, origin);
    output.print("{}\n", with_damage(json.text(), wishes.damage));
  } else {
    output.fold_lines();
    output.print("{}", origin_text(tape, stacks, origin, wishes.style));
  }
  return output.finish() ? kOk : kTrouble;
}

// A symbol: it may lie in no block.
int where_is_symbol(TapeReader tape, const std::string& path, const std::string& word, const Wishes& wishes) {
  Result<Session> session = Session::open(std::move(tape), path, {.view = {.names = wishes.names}});
  if (!session) return fail(session.error());
  const Result<std::uint64_t> address = session.value().address(word);
  if (!address) return fail(address.error());
  const AddressFacts facts = facts_at_end(session.value().tape(), address.value());
  if (facts.last() == nullptr) return explain_other(session.value(), facts, wishes);
  return tell(session.value().tape(), origin_at_end(session.value().tape(), facts), wishes);
}

// A block is told about without the index: a program that is stopped in a debugger has none.
int where_in_tape(const std::string& path, const std::string& word, Wishes wishes) {
  Result<TapeReader> tape = TapeReader::open(path);
  if (!tape) return fail(tape.error());
  if (!tape.value().summary()) (void)inherit_for_now(tape.value(), path);
  wishes.damage = damage_of(tape.value());
  say_damage(path, wishes.damage, wishes.damage.missing_events);
  const std::optional<std::uint64_t> address = plain_address(word);
  if (!address) return where_is_symbol(std::move(tape).value(), path, word, wishes);
  const AddressFacts facts = facts_at_end(tape.value(), *address);
  if (facts.last() != nullptr) return tell(tape.value(), origin_at_end(tape.value(), facts), wishes);
  Result<Session> session = Session::open(std::move(tape).value(), path, {.view = {.names = wishes.names}});
  if (!session) return fail(session.error());
  return explain_other(session.value(), facts, wishes);
}

// At another moment than the end.
int where_at(SessionWishes& wishes, const std::string& word, bool as_json) {
  Result<Session> session = open_session(wishes);
  if (!session) return fail(session.error());
  const Result<std::uint64_t> address = session.value().address(word);
  if (!address) return fail(address.error());
  const AddressFacts facts =
      find_address_facts(session.value().tape(), {.address = address.value(), .event = session.value().event()});
  const Wishes how{.json = as_json, .style = session.value().style, .damage = damage_of(session.value().tape())};
  if (facts.last() == nullptr) return explain_other(session.value(), facts, how);
  return tell(session.value().tape(), origin_of(facts, session.value().time_us()), how);
}

// Asks every program that is being recorded. Live blocks win over freed ones: many processes use the same addresses.
int where_in_all(const std::vector<LiveRecording>& all, std::uint64_t address, const Wishes& wishes) {
  struct Hit {
    TapeReader tape;
    Origin origin;
  };
  std::vector<Hit> live, freed;
  for (const LiveRecording& one : all) {
    const Result<LiveRecording> flushed = flush_tape(one.pid);
    if (!flushed) continue; // it has just ended
    Result<TapeReader> tape = TapeReader::open(flushed.value().tape);
    if (!tape) continue;
    (void)inherit_for_now(tape.value(), flushed.value().tape);
    Origin origin = origin_at_end(tape.value(), facts_at_end(tape.value(), address));
    if (!origin.block) continue;
    (origin.block->ended == LifeEnd::Live ? live : freed).push_back({std::move(tape).value(), std::move(origin)});
  }
  const std::vector<Hit>& hits = live.empty() ? freed : live;
  if (hits.empty()) {
    say(fmt::format("{:#x} is in no block of {} being recorded", address,
                    all.size() == 1 ? "the program" : fmt::format("the {} programs", all.size())));
    return kProblemsFound;
  }
  int status = kOk;
  for (const Hit& hit : hits) {
    if (&hit != &hits.front() && !wishes.json) (void)!::write(STDOUT_FILENO, "\n", 1);
    if (const int told = tell(hit.tape, hit.origin, wishes); told != kOk) status = told;
  }
  return status;
}

} // namespace

int where(Arguments arguments) {
  Call call(kWhereCommand.name, kWhereCommand.options);
  SessionWishes session;
  add_session_options(call.options(), session);
  const Result<OptionList::Outcome> parsed = call.parse(as_words({arguments.begin(), arguments.end()}));
  if (const auto status = ended_by(parsed, call.options(), kHelp)) return *status;
  Wishes wishes{.json = call.flag("--json")};
  TapeChoice& tape = session.tape;
  if (!tape.is_named()) tape.path = call.next_if(may_be_tape).value_or("");
  const std::optional<std::string> word = call.next();
  if (!word) return ask("where", arguments);
  if (const Result<> done = call.finish(); !done) return fail(done.error());
  if (!session.at.empty() || session.limit != 0 || split_snapshot(tape.path))
    return where_at(session, *word, wishes.json);

  const Result<TextStyle> style = style_of_output(session.color);
  if (!style) return fail(style.error());
  wishes.style = style.value();
  ReportOptions options;
  options.set_names(session.names);
  const Result<NameForm> names = options.names();
  if (!names) return fail(names.error());
  wishes.names = names.value();
  if (!tape.is_named()) {
    const Result<std::vector<LiveRecording>> all = live_recordings();
    const std::optional<std::uint64_t> address = plain_address(*word);
    if (all && !all.value().empty() && address) return where_in_all(all.value(), *address, wishes);
  }
  if (const Result<> chosen = choose_tape(tape); !chosen) return fail(chosen.error());
  return where_in_tape(tape.path, *word, wishes);
}

} // namespace heaptape::cli
