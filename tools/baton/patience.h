/* How long the start of a fleet may take.
 *
 * Ownership: nothing.
 * Threading: any thread.
 * Errors:    none; files that cannot be seen count nothing.
 */
#ifndef BATON_TOOLS_BATON_PATIENCE_H
#define BATON_TOOLS_BATON_PATIENCE_H

/* Seconds: two minutes, and one more for each GiB of weights, which are read, digested and packed
 * once. model: a directory or a GGUF file, of a split one the first. */
double bt_patience_s(const char *model);

#endif
