/* Small parsers for options: each reads one element from the front of a text and moves *p past it.
 *
 * Ownership: nothing.
 * Threading: pure functions.
 * Errors:    false; *p and the result are then unchanged.
 */
#ifndef BATON_TOOLS_LOAD_WORKLOAD_NUMBER_H
#define BATON_TOOLS_LOAD_WORKLOAD_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

bool ld_take_char(const char **p, char c);
/* Reads decimal digits without a sign, at most INT64_MAX. */
bool ld_take_int(const char **p, int64_t *value);
/* Reads digits with at most one point among them: "64", "0.5"; no sign, no exponent. */
bool ld_take_real(const char **p, double *value);
/* Reads a real and its unit: "200ms", "1.5s", "300us"; no unit means seconds. */
bool ld_take_seconds(const char **p, double *seconds);

#endif
