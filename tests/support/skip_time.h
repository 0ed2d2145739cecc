/* Lets time pass at once: for this program the monotonic clocks are ahead by what was skipped.
 *
 * Linking skip_time.c replaces the C library's clock_gettime, also for libraries. A test of a
 * timeout skips it instead of waiting, and gives it a length that no stall of the machine reaches.
 *
 * Threading: any.
 * Errors:    none.
 */
#ifndef BATON_TESTS_SUPPORT_SKIP_TIME_H
#define BATON_TESTS_SUPPORT_SKIP_TIME_H

#include <stdint.h>

void skip_time_ms(int64_t ms);

#endif
