#include "collector/launch/launch_environment.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "base/number_text.h"
#include "collector/options/check_text.h"
#include "collector/options/function_options.h"
#include "collector/options/option_values.h"
#include "collector/options/tape_name.h"

namespace heaptape {
namespace {

constexpr std::string_view kOurPrefix = "HEAPTAPE_";
constexpr std::string_view kForTheProgram = "HEAPTAPE_CHECKPOINT"; // its check points look there

Error usage(std::string sentence) { return Error{ErrorCode::Usage, std::move(sentence)}; }

std::string_view name_of(std::string_view variable) { return variable.substr(0, variable.find('=')); }

std::optional<std::string> lookup(const char* const* environment, std::string_view name) {
  for (; *environment != nullptr; ++environment) {
    const std::string_view variable = *environment;
    if (variable.size() > name.size() && variable.starts_with(name) && variable[name.size()] == '=') {
      return std::string(variable.substr(name.size() + 1));
    }
  }
  return std::nullopt;
}

std::string size_variable(std::uint64_t bytes) { return "HEAPTAPE_MAX_TAPE=" + std::to_string(bytes); }

// True when the list, as in LD_PRELOAD, names the library: we run inside a followed program.
bool preload_has(std::string_view preload, std::string_view library) {
  while (!preload.empty()) {
    const std::size_t end = std::min(preload.find_first_of(": \t\n"), preload.size());
    if (preload.substr(0, end) == library) return true;
    preload.remove_prefix(std::min(end + 1, preload.size()));
  }
  return false;
}

} // namespace

Result<RecordOptions> options_from_environment(const char* const* environment) {
  RecordOptions options;
  std::optional<Error> failure;
  // Reads one variable with its parser into its field.
  const auto read = [&](const char* name, auto parse, auto& field) {
    const auto text = lookup(environment, name);
    if (!text || failure) return;
    auto value = parse(*text);
    if (value)
      field = value.value();
    else
      failure = Error{ErrorCode::Usage, std::string(name) + ": " + value.error().sentence};
  };
  CollectorOptions& collector = options.collector;
  if (auto output = lookup(environment, "HEAPTAPE_OUTPUT"); output && !output->empty()) {
    collector.tape = std::move(*output);
    collector.tape_named = true;
  } else if (auto directory = lookup(environment, "HEAPTAPE_DIRECTORY"); directory && !directory->empty()) {
    collector.tape = as_pattern(*directory) + "/" + collector.tape;
  }
  read("HEAPTAPE_FORCE", parse_switch, collector.force);
  read("HEAPTAPE_QUIET", parse_switch, collector.quiet);
  read("HEAPTAPE_FOLLOW", parse_switch, options.follow);
  read("HEAPTAPE_FREE_STACKS", parse_switch, collector.free_stacks);
  read("HEAPTAPE_CPU", parse_cpu_hz, collector.cpu_hz);
  read("HEAPTAPE_HEAP", parse_switch, collector.heap);
  read("HEAPTAPE_CRASH", parse_switch, collector.crashes);
  read("HEAPTAPE_SYMBOLS", parse_switch, collector.symbols);
  read("HEAPTAPE_INDEX", parse_switch, collector.index);
  read("HEAPTAPE_MAX_DEPTH", parse_depth, collector.max_depth);
  read("HEAPTAPE_ON_FULL", parse_on_full, collector.on_full);
  read("HEAPTAPE_MAX_TAPE", parse_bytes, collector.max_tape_bytes);
  read("HEAPTAPE_ALLOC_FN", parse_alloc_functions, collector.alloc_functions);
  read("HEAPTAPE_FREE_FN", parse_free_functions, collector.free_functions);
  read("HEAPTAPE_SNAPSHOT", parse_snapshot_triggers, collector.snapshots);
  read("HEAPTAPE_SNAPSHOT_LIMIT", parse_bytes, collector.snapshot_bounds.most_bytes);
  read("HEAPTAPE_WITH_DONTDUMP", parse_switch, collector.snapshot_bounds.with_not_dumped);
  read("HEAPTAPE_TAPE", parse_switch, collector.write_tape);
  read("HEAPTAPE_CHECK", parse_check, collector.check);
  if (failure) return *failure;
  if (!collector.heap && collector.cpu_hz == 0 && collector.check.empty())
    return usage("HEAPTAPE_HEAP=0 leaves nothing to record; set HEAPTAPE_CPU too, for example to 100");
  const Lookup ask = [&](std::string_view name) { return lookup(environment, name); };
  Result<LiveOptions> live = live_options_from(ask, as_pattern(lookup(environment, "HEAPTAPE_DIRECTORY").value_or("")));
  if (!live) return live.error();
  collector.live = std::move(live).value();
  collector.follow = options.follow;
  if (auto run = lookup(environment, "HEAPTAPE_RUN"); run && !run->empty() && options.follow)
    collector.run = as_pattern(*run);
  else if (options.follow && collector.tape_named && names_run(collector.tape))
    collector.run = collector.tape;
  if (options.follow) collector.tape_named = collector.force = false;
  return options;
}

std::vector<std::string> recorder_variables(const RecordOptions& options, const RecorderLink& link,
                                            const char* user_preload) {
  const CollectorOptions& collector = options.collector;
  const std::string theirs = user_preload != nullptr ? user_preload : "";
  std::vector<std::string> variables;
  if (preload_has(theirs, link.library))
    variables.push_back("LD_PRELOAD=" + theirs);
  else
    variables.push_back("LD_PRELOAD=" + link.library + (theirs.empty() ? "" : ":" + theirs));
  variables.push_back("HEAPTAPE_COLLECTOR=" + link.heaptape);
  if (link.memory) {
    variables.push_back("HEAPTAPE_SHM_FD=" + std::to_string(link.memory->fd));
    variables.push_back("HEAPTAPE_SHM_KEY=" + std::to_string(link.memory->key));
  }
  if (!collector.tape_named)
    variables.push_back("HEAPTAPE_DIRECTORY=" + link.directory);
  else if (collector.tape.starts_with('/'))
    variables.push_back("HEAPTAPE_OUTPUT=" + collector.tape);
  else
    variables.push_back("HEAPTAPE_OUTPUT=" + as_pattern(link.directory) + "/" + collector.tape);
  if (collector.force && !options.follow) variables.push_back("HEAPTAPE_FORCE=1");
  // One summary, the program's: a shell script's children would bury it under theirs.
  if (collector.quiet || options.follow) variables.push_back("HEAPTAPE_QUIET=1");
  if (options.follow) variables.push_back("HEAPTAPE_FOLLOW=1");
  if (!collector.free_stacks) variables.push_back("HEAPTAPE_FREE_STACKS=0");
  if (collector.cpu_hz != 0) variables.push_back("HEAPTAPE_CPU=" + std::to_string(collector.cpu_hz));
  if (!collector.heap) variables.push_back("HEAPTAPE_HEAP=0");
  if (!collector.crashes) variables.push_back("HEAPTAPE_CRASH=0");
  if (!collector.symbols) variables.push_back("HEAPTAPE_SYMBOLS=0");
  if (!collector.index) variables.push_back("HEAPTAPE_INDEX=0");
  if (collector.max_depth != wire::kDefaultMaxDepth) {
    variables.push_back("HEAPTAPE_MAX_DEPTH=" + std::to_string(collector.max_depth));
  }
  if (const char* runtime = std::getenv("HEAPTAPE_RUNTIME_DIR"); runtime != nullptr && *runtime != 0) {
    variables.push_back(std::string("HEAPTAPE_RUNTIME_DIR=") + runtime);
  }
  if (collector.on_full == wire::OnFull::Drop) variables.push_back("HEAPTAPE_ON_FULL=drop");
  if (!collector.alloc_functions.empty())
    variables.push_back("HEAPTAPE_ALLOC_FN=" + functions_text(collector.alloc_functions));
  if (!collector.free_functions.empty())
    variables.push_back("HEAPTAPE_FREE_FN=" + functions_text(collector.free_functions));
  if (collector.max_tape_bytes != 0) variables.push_back(size_variable(collector.max_tape_bytes));
  if (collector.snapshots.any()) variables.push_back("HEAPTAPE_SNAPSHOT=" + collector.snapshots.text);
  if (const std::uint64_t most = collector.snapshot_bounds.most_bytes; most != SnapshotBounds::kUsualBytes)
    variables.push_back("HEAPTAPE_SNAPSHOT_LIMIT=" + std::to_string(most));
  if (collector.snapshot_bounds.with_not_dumped) variables.push_back("HEAPTAPE_WITH_DONTDUMP=1");
  if (!collector.write_tape) variables.push_back("HEAPTAPE_TAPE=0");
  if (!collector.check.empty()) variables.push_back("HEAPTAPE_CHECK=" + collector.check);
  LiveOptions live = collector.live;
  // A log per process, whatever it is called.
  if (options.follow && live.log_name.find("%p") == std::string::npos) live.log_name += ".%p";
  for (std::string& variable : live_variables(live, as_pattern(link.directory)))
    variables.push_back(std::move(variable));
  // The recorder takes them out again, and can do so without a trace if they are even in number (recorder/hooks/environment.cpp).
  // LD_PRELOAD stays where the user has one. A followed program keeps all but those that name its connection, which are two.
  const bool preload_stays = variables.front() != "LD_PRELOAD=" + link.library;
  const std::size_t taken_out = variables.size() - (preload_stays ? 1 : 0);
  if (!options.follow && taken_out % 2 != 0) variables.emplace_back("HEAPTAPE_PAD=");
  return variables;
}

std::vector<std::string> with_variables(const char* const* environment, const std::vector<std::string>& variables) {
  std::vector<std::string> merged;
  std::vector<bool> placed(variables.size(), false);
  for (; *environment != nullptr; ++environment) {
    const std::string_view name = name_of(*environment);
    const auto ours = std::find_if(variables.begin(), variables.end(),
                                   [&](const std::string& variable) { return name_of(variable) == name; });
    if (ours == variables.end()) {
      if (!name.starts_with(kOurPrefix) || name == kForTheProgram) merged.emplace_back(*environment);
      continue;
    }
    const auto index = static_cast<std::size_t>(ours - variables.begin());
    if (!placed[index]) merged.push_back(*ours);
    placed[index] = true;
  }
  for (std::size_t i = 0; i < variables.size(); ++i) {
    if (!placed[i]) merged.push_back(variables[i]);
  }
  return merged;
}

} // namespace heaptape
