/* Random identifiers from the kernel: epochs, link ids, default seeds.
 *
 * Ownership: nothing.
 * Threading: any thread.
 * Errors:    none; the process aborts if the kernel has no randomness (it always has).
 */
#ifndef BATON_COMMON_BASE_RANDOM_H
#define BATON_COMMON_BASE_RANDOM_H

#include <stdint.h>

/* Returns an id that is never 0, so that 0 can mean "none" in a message. */
uint64_t baton_random_id(void);

#endif
