// asprintf and its kin: to the program one allocation, inside libc several. The finished text is the event.
#include <cstdarg>
#include <cstddef>

#include "recorder/core/events.h"
#include "recorder/hooks/hook.h"
#include "recorder/hooks/real.h"

using namespace heaptape;
using namespace heaptape::recorder;

namespace {

template <class Print>
[[gnu::always_inline]] inline int print(char** text, const Frame& site, Print real_print) {
  if (!takes_blocks()) return real_print(); // paused: what is inside counts, one by one
  int length = 0;
  {
    const Suppressed suppressed;
    length = real_print();
  }
  if (length >= 0) (void)record(EventKind::Malloc, as_address(*text), static_cast<std::size_t>(length) + 1, site, true);
  return length;
}

} // namespace

HT_HOOK int vasprintf(char** text, const char* format, va_list arguments) {
  return print(text, HT_CALL_SITE(), [&] { return g_real.vasprintf(text, format, arguments); });
}

HT_HOOK int asprintf(char** text, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int length = print(text, HT_CALL_SITE(), [&] { return g_real.vasprintf(text, format, arguments); });
  va_end(arguments);
  return length;
}

// What a program built with _FORTIFY_SOURCE calls.
HT_HOOK int __vasprintf_chk(char** text, int flag, const char* format, va_list arguments) {
  return print(text, HT_CALL_SITE(), [&] { return g_real.vasprintf_chk(text, flag, format, arguments); });
}

HT_HOOK int __asprintf_chk(char** text, int flag, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int length = print(text, HT_CALL_SITE(), [&] { return g_real.vasprintf_chk(text, flag, format, arguments); });
  va_end(arguments);
  return length;
}
