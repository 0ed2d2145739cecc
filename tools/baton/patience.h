/* The time limit for the start of a fleet.
 *
 * Ownership: nothing.
 * Threading: any thread.
 * Errors:    none; files that cannot be read count as empty.
 */
#ifndef BATON_TOOLS_BATON_PATIENCE_H
#define BATON_TOOLS_BATON_PATIENCE_H

/* Returns seconds: two minutes, and one more for each GiB of weights, which are read, digested and
 * packed once. model is a directory or a GGUF file, the first file of a split one. */
double bt_patience_s(const char *model);

#endif
