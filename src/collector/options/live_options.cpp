#include "collector/options/live_options.h"

#include <signal.h>

#include <array>
#include <charconv>
#include <utility>

#include "base/decimal_text.h"
#include "base/number_text.h"
#include "collector/options/option_values.h"

namespace heaptape {
namespace {

Error usage(std::string sentence) { return Error{ErrorCode::Usage, std::move(sentence)}; }

struct NamedSignal {
  std::string_view name;
  int number;
};
// SIGINT, SIGQUIT and their like come from the terminal, SIGPIPE and SIGXFSZ from writing.
constexpr std::array kSignals{NamedSignal{"USR1", SIGUSR1}, NamedSignal{"USR2", SIGUSR2}, NamedSignal{"HUP", SIGHUP},
                              NamedSignal{"ALRM", SIGALRM}, NamedSignal{"WINCH", SIGWINCH}};

std::string in_directory(const std::string& directory, const std::string& name) {
  return name.starts_with('/') || directory.empty() ? name : directory + "/" + name;
}

} // namespace

Result<std::uint64_t> parse_interval_us(const std::string& text) {
  const std::optional<Decimal> decimal = read_decimal(text);
  double us = decimal ? decimal->number : 0;
  const std::string_view unit = decimal ? decimal->rest : "?";
  if (unit == "min")
    us *= 60e6;
  else if (unit == "s" || unit.empty())
    us *= 1e6;
  else if (unit == "ms")
    us *= 1e3;
  else if (unit != "us")
    us = 0;
  if (us < 1000 || us > 1e15) return usage("'" + text + "' is not a time; give for example 10s, 500ms or 2min");
  return static_cast<std::uint64_t>(us);
}

Result<int> parse_log_signal(const std::string& text) {
  std::string_view name = text;
  if (name.starts_with("SIG")) name.remove_prefix(3);
  for (const NamedSignal& signal : kSignals) {
    if (name == signal.name || name == std::to_string(signal.number)) return signal.number;
  }
  return usage("'" + text + "' cannot be used; choose USR1, USR2, HUP, ALRM or WINCH");
}

Result<TableSort> parse_table_sort(const std::string& text) {
  if (text == "live") return TableSort::Live;
  if (text == "allocated" || text == "total") return TableSort::Allocated;
  if (text == "blocks" || text == "count") return TableSort::Blocks;
  return usage("must be live, allocated or blocks, not '" + text + "'");
}

Result<std::uint32_t> parse_count(const std::string& text, std::uint32_t least) {
  std::uint32_t count = 0;
  const auto [rest, status] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (status != std::errc{} || rest != text.data() + text.size() || count < least || count > 1'000'000)
    return usage("'" + text + "' is not a number from " + std::to_string(least) + " to 1000000");
  return count;
}

Result<LiveOptions> live_options_from(const Lookup& lookup, const std::string& directory) {
  LiveOptions options;
  std::optional<Error> failure;
  const auto read = [&](const char* name, auto parse, auto& field) {
    const auto text = lookup(name);
    if (!text || text->empty() || failure) return;
    const auto value = parse(*text);
    if (value)
      field = value.value();
    else
      failure = usage(std::string(name) + ": " + value.error().sentence);
  };
  const auto at_least = [](std::uint32_t least) {
    return [least](const std::string& text) { return parse_count(text, least); };
  };
  if (const auto log = lookup("HEAPTAPE_LOG"); log && !log->empty() && *log != "0") {
    options.log = true;
    options.log_named = *log != "1";
    options.log_name = in_directory(directory, options.log_named ? *log : options.log_name);
  }
  read("HEAPTAPE_LOG_CHURN", parse_bytes, options.log_churn);
  read("HEAPTAPE_LOG_EVERY", parse_interval_us, options.log_every_us);
  read("HEAPTAPE_LOG_SIGNAL", parse_log_signal, options.log_signal);
  read("HEAPTAPE_LOG_ALL", parse_switch, options.log_all);
  read("HEAPTAPE_LOG_MAX", parse_bytes, options.log_max_bytes);
  read("HEAPTAPE_LOG_KEEP", at_least(0), options.log_keep);
  read("HEAPTAPE_MAX_LIVE", parse_bytes, options.max_live_bytes);
  read("HEAPTAPE_MAX_LIVE_REPORT", parse_switch, options.max_live_report);
  read("HEAPTAPE_TOP_EVERY", parse_interval_us, options.top_every_us);
  read("HEAPTAPE_TOP_ROWS", at_least(1), options.top_rows);
  read("HEAPTAPE_TOP_FIRST", parse_switch, options.top_first);
  read("HEAPTAPE_TOP_SORT", parse_table_sort, options.top_sort);
  if (const auto file = lookup("HEAPTAPE_TOP_FILE"); file && !file->empty())
    options.top_file = in_directory(directory, *file);
  if (failure) return *failure;
  return options;
}

std::vector<std::string> live_variables(const LiveOptions& options, const std::string& directory) {
  std::vector<std::string> variables;
  const LiveOptions usual;
  const auto add = [&](const char* name, const std::string& value) {
    variables.push_back(std::string(name) + "=" + value);
  };
  const auto number = [&](const char* name, auto value, auto standard) {
    if (value != standard) add(name, std::to_string(value));
  };
  if (options.log) add("HEAPTAPE_LOG", in_directory(directory, options.log_name));
  number("HEAPTAPE_LOG_CHURN", options.log_churn, usual.log_churn);
  if (options.log_every_us != 0) add("HEAPTAPE_LOG_EVERY", std::to_string(options.log_every_us) + "us");
  number("HEAPTAPE_LOG_SIGNAL", options.log_signal, 0);
  if (options.log_all) add("HEAPTAPE_LOG_ALL", "1");
  number("HEAPTAPE_LOG_MAX", options.log_max_bytes, std::uint64_t{0});
  number("HEAPTAPE_LOG_KEEP", options.log_keep, usual.log_keep);
  number("HEAPTAPE_MAX_LIVE", options.max_live_bytes, std::uint64_t{0});
  if (options.max_live_report) add("HEAPTAPE_MAX_LIVE_REPORT", "1");
  if (options.top_every_us != 0) add("HEAPTAPE_TOP_EVERY", std::to_string(options.top_every_us) + "us");
  number("HEAPTAPE_TOP_ROWS", options.top_rows, usual.top_rows);
  if (options.top_first) add("HEAPTAPE_TOP_FIRST", "1");
  if (options.top_sort != TableSort::Live)
    add("HEAPTAPE_TOP_SORT", options.top_sort == TableSort::Allocated ? "allocated" : "blocks");
  if (!options.top_file.empty()) add("HEAPTAPE_TOP_FILE", in_directory(directory, options.top_file));
  return variables;
}

} // namespace heaptape
