/* Starts NNG, or says why it cannot be started.
 *
 * NNG makes its threads at its first call. One that cannot be made, because threads or address
 * space are limited, leaves NNG 1.5.2 waiting for a lock that it holds itself: the process would
 * stand still for ever and ignore SIGTERM.
 *
 * Ownership: nothing.
 * Threading: the main thread, before any other call into NNG.
 * Errors:    IO: threads are short, and which limits there are. If NNG cannot be started after all,
 *            because another process took what was there, the process ends (exit status 1) with the
 *            same reason in the log.
 */
#ifndef BATON_COMMON_WIRE_TRANSPORT_NNG_START_H
#define BATON_COMMON_WIRE_TRANSPORT_NNG_START_H

#include "common/base/error.h"

/* n_own: threads that the process itself is going to make, beside NNG's. */
enum baton_err baton_nng_start(int n_own, struct baton_why *why) BATON_MUST_CHECK;

#endif
