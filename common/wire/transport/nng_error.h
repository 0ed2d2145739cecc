/* NNG's error numbers in ours: they travel no further than this layer.
 *
 * Ownership: nothing.
 * Threading: pure functions.
 * Errors:    LIMIT, CLOSED, TIMEOUT, NO_MEMORY, INVALID, AGAIN; IO for everything else.
 */
#ifndef BATON_COMMON_WIRE_TRANSPORT_NNG_ERROR_H
#define BATON_COMMON_WIRE_TRANSPORT_NNG_ERROR_H

#include "common/base/error.h"

/* Converts the result of a failed NNG call; why names the action ("listen on") and the url. */
enum baton_err baton_nng_fail(struct baton_why *why, int nng_result, const char *action,
                              const char *url);

#endif
