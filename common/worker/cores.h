/* Which processors this process may run on.
 *
 * Ownership: nothing.
 * Threading: call before any thread is started: threads inherit the choice.
 * Errors:    INVALID with the part of the list that is wrong.
 */
#ifndef BATON_WORKER_CORES_H
#define BATON_WORKER_CORES_H

#include "common/base/error.h"

/* list is "0", "0,2-3" or "" (no change). *n_cores is how many there are then. */
enum baton_err baton_cores_choose(const char *list, int *n_cores,
                                  struct baton_why *why) BATON_MUST_CHECK;

#endif
