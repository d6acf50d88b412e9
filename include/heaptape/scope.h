// The C++ side of <heaptape/heaptape.h>: check points with values, scopes, pauses that end on their own.
#ifndef HEAPTAPE_SCOPE_H
#define HEAPTAPE_SCOPE_H

#ifndef HEAPTAPE_HEAPTAPE_H
#error "include <heaptape/heaptape.h>"
#endif

#include <heaptape/values.h>

namespace heaptape {

namespace detail {

// Seconds since t1: a number from heaptape_now(), or a time_point of any clock.
template <class Time>
double seconds_since(const Time& t1) {
  if constexpr (std::is_arithmetic_v<Time>) {
    return heaptape_now() - static_cast<double>(t1);
  } else {
    const auto elapsed = Time::clock::now() - t1;
    using period = typename decltype(elapsed)::period;
    return static_cast<double>(elapsed.count()) * static_cast<double>(period::num) / static_cast<double>(period::den);
  }
}

} // namespace detail

// Prints one line about time and memory, and makes a mark named `label` (see <heaptape/checkpoint.h>).
// Values may be numbers, texts, pointers, enumerators, and anything that can be written to a
// std::ostream.
template <class Time, class... Values>
[[gnu::noinline]] void checkpoint(const Time& t1, const char* label, const Values&... values) {
  const double elapsed = detail::seconds_since(t1);
  detail::value_text text;
  [[maybe_unused]] bool first = true;
  ((first ? void(first = false) : text.put(' '), detail::put_value(text, values)), ...);
  heaptape_make_checkpoint(elapsed, label, text.c_str(), __builtin_frame_address(0));
}

// A number from the program; integers are kept exactly.
template <class Number>
void number(const char* name, Number value) {
  if constexpr (std::is_integral_v<Number> || std::is_enum_v<Number>)
    heaptape_integer(name, static_cast<long long>(value));
  else
    heaptape_number(name, static_cast<double>(value));
}

enum class print { no, yes };

// What a part of the program costs: marks at its beginning and end, named "NAME begin" and "NAME end",
// which every report accepts as moments ('heaptape scopes TAPE' adds up all scopes of a name). With
// print::yes it also prints a line when it ends, to wherever check points go. The name must live as
// long as the scope. Nested and repeated scopes are fine.
class scope {
public:
  explicit scope(const char* name, print wanted = print::no) : name_(name), print_(wanted == print::yes) {
    if (__builtin_expect(heaptape_find_note() == nullptr && !print_, 1)) return;
    begin();
  }
  ~scope() {
    if (__builtin_expect(heaptape_find_note() != nullptr || print_, 0)) end();
  }
  scope(const scope&) = delete;
  scope& operator=(const scope&) = delete;

private:
  // False: `figures` has only the C library's figure of what is live.
  bool measure(unsigned kind, heaptape_figures& figures) const {
    if (heaptape_find_note() != nullptr &&
        heaptape_send_scope(name_, kind, print_ ? &figures.live_bytes : nullptr) != 0)
      return true;
    if (!print_) return false;
    long long live = 0, from_os = 0;
    heaptape_ask_libc(&live, &from_os);
    figures.live_bytes = static_cast<unsigned long>(live);
    return false;
  }

  [[gnu::noinline]] void begin() {
    exact_ = measure(HEAPTAPE_KIND_SCOPE_BEGIN, before_);
    started_ = heaptape_now();
  }

  [[gnu::noinline]] void end() {
    const double elapsed = heaptape_now() - started_;
    heaptape_figures after{};
    const bool exact = measure(HEAPTAPE_KIND_SCOPE_END, after);
    const unsigned options = heaptape_known_options();
    if (!print_ || (options & HEAPTAPE_OPTION_QUIET) != 0) return;
    heaptape_line line;
    line.length = 0;
    heaptape_put_seconds(&line, elapsed, 9);
    heaptape_put(&line, "  scope ");
    heaptape_put_printable(&line, name_ != nullptr ? name_ : "");
    if (exact && exact_) {
      put_cost(line, ": allocated ", after.allocated_bytes - before_.allocated_bytes,
               after.allocated_blocks - before_.allocated_blocks, false, options);
      put_cost(line, ", freed ", freed(after).first - freed(before_).first, freed(after).second - freed(before_).second,
               false, options);
      put_cost(line, ", live ", after.live_bytes - before_.live_bytes, after.live_blocks - before_.live_blocks, true,
               options);
    } else {
      heaptape_put(&line, ": live ~");
      put_amount(line, after.live_bytes - before_.live_bytes, true, options);
    }
    heaptape_put(&line, "\n");
    heaptape_write_all(heaptape_checkpoint_file(), line.text, line.length);
  }

  static std::pair<unsigned long, unsigned long> freed(const heaptape_figures& figures) {
    return {figures.allocated_bytes - figures.live_bytes, figures.allocated_blocks - figures.live_blocks};
  }
  // Differences are modulo 2^64: half of them are negative.
  static void put_amount(heaptape_line& line, unsigned long difference, bool sign, unsigned options) {
    const bool exact = (options & HEAPTAPE_OPTION_BYTES) != 0;
    heaptape_put_amount(&line, static_cast<long long>(difference), sign && difference != 0, exact, 0);
    if (exact) heaptape_put(&line, " bytes");
  }
  static void put_cost(heaptape_line& line, const char* words, unsigned long bytes, unsigned long blocks, bool sign,
                       unsigned options) {
    heaptape_put(&line, words);
    put_amount(line, bytes, sign, options);
    heaptape_put(&line, " in ");
    heaptape_put_amount(&line, static_cast<long long>(blocks), sign && blocks != 0, 1, 0);
    heaptape_put(&line, blocks == 1 ? " block" : " blocks");
  }

  const char* name_;
  heaptape_figures before_{};
  double started_ = 0;
  bool print_;
  bool exact_ = false;
};

// While one exists, new blocks are not recorded: heaptape_pause() and heaptape_resume().
class paused {
public:
  paused() { heaptape_pause(); }
  ~paused() { heaptape_resume(); }
  paused(const paused&) = delete;
  paused& operator=(const paused&) = delete;
};

} // namespace heaptape
#endif
