/* Random identifiers from the kernel: epochs, link ids, default seeds, secret names.
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

/* The name of something that whoever knows the name may use: 128 random bits in lower-case
 * hexadecimal digits. A log shows at most its first BATON_SECRET_SHOWN_BYTES. */
enum { BATON_SECRET_BYTES = 33, BATON_SECRET_SHOWN_BYTES = 8 };
void baton_random_secret(char text[BATON_SECRET_BYTES]);

#endif
