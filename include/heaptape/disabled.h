/* <heaptape/heaptape.h> with -DHEAPTAPE_DISABLE: everything compiles, and does nothing. The printf
 * forms do not even evaluate their arguments. */
#ifndef HEAPTAPE_DISABLED_H
#define HEAPTAPE_DISABLED_H

#ifndef HEAPTAPE_HEAPTAPE_H
#error "include <heaptape/heaptape.h>"
#endif

#define HEAPTAPE_NOTHING __attribute__((always_inline)) static inline

#ifdef __cplusplus
extern "C" {
#endif

HEAPTAPE_NOTHING int heaptape_is_loaded(void) { return 0; }
HEAPTAPE_NOTHING void heaptape_mark(const char* name) { (void)name; }
HEAPTAPE_NOTHING void heaptape_snapshot(const char* name) { (void)name; }
HEAPTAPE_NOTHING void heaptape_text(const char* text) { (void)text; }
HEAPTAPE_NOTHING void heaptape_number(const char* name, double value) { (void)name, (void)value; }
HEAPTAPE_NOTHING void heaptape_integer(const char* name, long long value) { (void)name, (void)value; }
HEAPTAPE_NOTHING void heaptape_thread_name(const char* name) { (void)name; }
HEAPTAPE_NOTHING void heaptape_pause(void) {}
HEAPTAPE_NOTHING void heaptape_resume(void) {}
HEAPTAPE_NOTHING void heaptape_scope_begin(const char* name) { (void)name; }
HEAPTAPE_NOTHING void heaptape_scope_end(const char* name) { (void)name; }
HEAPTAPE_NOTHING int heaptape_heap(struct heaptape_figures* figures) { return (void)figures, 0; }
HEAPTAPE_NOTHING double heaptape_now(void) { return 0; }
HEAPTAPE_NOTHING void heaptape_checkpoint_options(const char* words) { (void)words; }

/* Never defined, never called: they only let the compiler check the arguments. */
__attribute__((format(printf, 1, 2))) int heaptape_check_textf(const char* format, ...);
__attribute__((format(printf, 2, 3))) int heaptape_check_checkpoint(double t1, const char* format, ...);
#define heaptape_textf(...) ((void)sizeof(heaptape_check_textf(__VA_ARGS__)))
#define heaptape_checkpoint(...) ((void)sizeof(heaptape_check_checkpoint(__VA_ARGS__)))

#ifdef __cplusplus
}

namespace heaptape {

template <class Time, class... Values>
HEAPTAPE_NOTHING void checkpoint(const Time&, const char*, const Values&...) {}
template <class Number>
HEAPTAPE_NOTHING void number(const char*, Number) {}
enum class print { no, yes };

class scope {
public:
  __attribute__((always_inline)) explicit scope(const char*, print = print::no) {}
  __attribute__((always_inline)) ~scope() {}
  scope(const scope&) = delete;
  scope& operator=(const scope&) = delete;
};
class paused {
public:
  __attribute__((always_inline)) paused() {}
  __attribute__((always_inline)) ~paused() {}
  paused(const paused&) = delete;
  paused& operator=(const paused&) = delete;
};

} // namespace heaptape
#endif
#endif
