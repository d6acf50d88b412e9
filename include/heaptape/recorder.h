/* The functions of the recorder that <heaptape/heaptape.h> calls. Internal: use that header instead. */
#ifndef HEAPTAPE_RECORDER_H
#define HEAPTAPE_RECORDER_H

#ifndef HEAPTAPE_HEAPTAPE_H
#error "include <heaptape/heaptape.h>"
#endif

#include <heaptape/find.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef void (*heaptape_mark_function)(const char* name, unsigned kind);
HEAPTAPE_FIND(heaptape_mark_function, heaptape_find_mark, "heaptape_recorder_mark")

/* Any bytes, without a NUL at the end. With an answer (five figures) it is also a query; true if it
 * was answered. */
typedef int (*heaptape_note_function)(const char* bytes, unsigned long length, unsigned kind, unsigned long* answer);
HEAPTAPE_FIND(heaptape_note_function, heaptape_find_note, "heaptape_recorder_note")

typedef void (*heaptape_thread_name_function)(const char* name);
HEAPTAPE_FIND(heaptape_thread_name_function, heaptape_find_thread_name, "heaptape_recorder_thread_name")

typedef void (*heaptape_pause_function)(int pause);
HEAPTAPE_FIND(heaptape_pause_function, heaptape_find_pause, "heaptape_recorder_pause")

static inline void heaptape_send_mark(const char* name, unsigned kind) {
  heaptape_mark_function const mark = heaptape_find_mark();
  if (__builtin_expect(mark != 0, 0)) mark(name, kind);
}

enum { HEAPTAPE_VALUE_NONE = 0, HEAPTAPE_VALUE_INTEGER = 1, HEAPTAPE_VALUE_REAL = 2 };

/* Copies up to `room` bytes of a text without its NUL; returns their number. */
static inline unsigned long heaptape_copy_text(char* to, const char* text, unsigned long room) {
  unsigned long length = 0;
  if (text != 0)
    for (; length < room && text[length] != '\0'; ++length) to[length] = text[length];
  return length;
}

/* A mark with a value and a detail: name, NUL, sort of value, its eight bytes, detail. Needs a
 * recorder. */
__attribute__((noinline, unused)) static int heaptape_send_note(const char* name, unsigned kind, int sort,
                                                                unsigned long bits, const char* detail,
                                                                unsigned long* answer) {
  char bytes[HEAPTAPE_LONGEST_TEXT];
  unsigned long length = heaptape_copy_text(bytes, name, HEAPTAPE_LONGEST_NAME);
  bytes[length++] = '\0';
  bytes[length++] = (char)sort;
  __builtin_memcpy(bytes + length, &bits, sizeof bits);
  length += sizeof bits;
  length += heaptape_copy_text(bytes + length, detail, sizeof bytes - length);
  return heaptape_find_note()(bytes, length, kind, answer);
}

/* "NAME begin" or "NAME end". Needs a recorder. */
__attribute__((noinline, unused)) static int heaptape_send_scope(const char* name, unsigned kind,
                                                                 unsigned long* answer) {
  char text[HEAPTAPE_LONGEST_NAME + 8];
  unsigned long length = heaptape_copy_text(text, name, HEAPTAPE_LONGEST_NAME);
  length += heaptape_copy_text(text + length, kind == HEAPTAPE_KIND_SCOPE_BEGIN ? " begin" : " end", 6);
  return heaptape_find_note()(text, length, kind, answer);
}

#ifdef __cplusplus
}
#endif
#endif
