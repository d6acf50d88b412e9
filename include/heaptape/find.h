/* How the headers of heaptape reach the recorder. Internal: include the header that you need. */
#ifndef HEAPTAPE_FIND_H
#define HEAPTAPE_FIND_H

#if !defined(HEAPTAPE_DISABLE) && !defined(__x86_64__)
#define HEAPTAPE_DISABLE /* the recorder supports no other processor yet */
#endif

/* The address of a function of libheaptape.so; null if that is not loaded, or is too old to have it.
 * Read out of the global offset table by hand: in code that is not position-independent, a linker
 * resolves an undefined weak symbol to null for good. */
#define HEAPTAPE_FIND(function, finder, symbol)                                                                        \
  static inline function finder(void) {                                                                                \
    function const* slot;                                                                                              \
    __asm__(".weak " symbol "\n\tleaq " symbol "@GOTPCREL(%%rip), %0" : "=r"(slot));                                   \
    return *slot;                                                                                                      \
  }

#endif
