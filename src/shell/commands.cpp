#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/near_word.h"
#include "base/number_text.h"
#include "shell/all_commands.h"

namespace heaptape {

std::span<const Command* const> commands() {
  static constexpr std::array kAll{
      &kGotoCommand,    &kNextCommand,        &kPreviousCommand, &kLastCommand,  &kFindCommand,     &kMarksCommand,
      &kPeakCommand,    &kWhereCommand,       &kEventsCommand,   &kEventCommand, &kStackCommand,    &kTextCommand,
      &kThreadsCommand, &kCheckpointsCommand, &kScopesCommand,   &kStatsCommand, &kSymbolCommand,   &kSymbolAtCommand,
      &kOwnerCommand,   &kHistoryCommand,     &kExplainCommand,  &kCrashCommand, &kBlocksCommand,   &kTopCommand,
      &kLiveCommand,    &kLeaksCommand,       &kDiffCommand,     &kMapCommand,   &kArenasCommand,   &kMappingsCommand,
      &kPoolsCommand,   &kSnapshotsCommand,   &kBytesCommand,    &kRefsCommand,  &kAllRefsCommand,  &kTraceCommand,
      &kRootsCommand,   &kStackInfoCommand,   &kTypeCommand,     &kTypesCommand, &kRetainedCommand, &kCheckHeapCommand,
      &kErrorsCommand,  &kSqlCommand,         &kVerifyCommand,   &kHelpCommand,
  };
  return kAll;
}

Result<const Command*> find_command(std::string_view name) {
  std::string near;
  const Command* begins = nullptr;
  std::size_t beginnings = 0;
  for (const Command* command : commands()) {
    if (command->name == name || (!command->alias.empty() && command->alias == name)) return command;
    if (!command->name.starts_with(name)) continue;
    begins = command;
    ++beginnings;
    near += (near.empty() ? "" : ", ") + std::string(command->name);
  }
  if (beginnings == 1) return begins;
  const std::string shown = "'" + printable(name) + "'";
  if (beginnings != 0) return Error{ErrorCode::Usage, shown + " is ambiguous: " + near};
  std::vector<std::string_view> known{"quit"};
  for (const Command* command : commands()) known.push_back(command->name);
  const std::string meant = did_you_mean(name, std::span<const std::string_view>(known));
  return Error{ErrorCode::Usage, "not a command: " + shown + (meant.empty() ? "; 'help' lists them" : meant)};
}

Result<> run_command(const Command& command, Session& session, std::vector<Word> words, Printer& out) {
  Call call(command.name, command.options);
  const Result<OptionList::Outcome> outcome = call.parse(std::move(words));
  if (!outcome) return outcome.error();
  if (outcome.value() == OptionList::Outcome::GoOn) return command.run(session, call, out);
  out.print(help_of(command));
  return Unit{};
}

} // namespace heaptape
