/* How the headers of heaptape reach the recorder. Not for use: include the one that you need. */
#ifndef HEAPTAPE_FIND_H
#define HEAPTAPE_FIND_H

#if !defined(HEAPTAPE_DISABLE) && !defined(__x86_64__)
#define HEAPTAPE_DISABLE /* the recorder knows no other processor yet */
#endif

/* The address of a function of libheaptape.so when that is loaded; null otherwise, and null in a recorder that is too old to know it. Read
 * out of the global offset table by hand: in code that is not position independent a linker takes an undefined weak symbol for null once
 * and for all. */
#define HEAPTAPE_FIND(function, finder, symbol)                                                                        \
  static inline function finder(void) {                                                                                \
    function const* slot;                                                                                              \
    __asm__(".weak " symbol "\n\tleaq " symbol "@GOTPCREL(%%rip), %0" : "=r"(slot));                                   \
    return *slot;                                                                                                      \
  }

#endif
