/* The descriptors of this process, one by one.
 *
 * NNG does not tell the descriptors of its connections, so who needs one looks at all. The
 * directory that lists them is opened once and kept: that works when no descriptor is free any
 * more.
 *
 * Ownership: the directory is the process's, until it ends; descriptors stay whose they are.
 * Threading: any thread; one at a time looks, the others wait.
 * Errors:    open: IO without a free descriptor, or without /proc.
 */
#ifndef BATON_COMMON_WIRE_TRANSPORT_OWN_FDS_H
#define BATON_COMMON_WIRE_TRANSPORT_OWN_FDS_H

#include <stdbool.h>

#include "common/base/error.h"

/* Opens the directory if that has not been done. */
enum baton_err baton_own_fds_open(void) BATON_MUST_CHECK;

/* A descriptor that stays open: of the directory itself. -1 without one. */
int baton_own_fds_any(void);

/* Calls look with each descriptor until it returns false. look must not come here again. Returns
 * whether it saw all that were open meanwhile. */
bool baton_own_fds_each(bool (*look)(void *arg, int fd), void *arg);

#endif
