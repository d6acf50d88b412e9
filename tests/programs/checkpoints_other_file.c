/* The C form, in a file of its own: all check points of a program count together. */
#include <heaptape/heaptape.h>

void checkpoint_in_another_file(double t1);
void checkpoint_in_another_file(double t1) { heaptape_checkpoint(t1, "large %d", 300); }
