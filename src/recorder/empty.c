/* The library is made of the two static ones; CMake wants a source file. */
typedef int heaptape_no_source;
