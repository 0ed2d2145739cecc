/* Raises the limit of open files as far as allowed, and warns when that is too low.
 *
 * Ownership: hint is kept, not copied.
 * Threading: allow: once, before threads start. The others: any thread.
 * Errors:    none; an unknown limit causes no warning.
 */
#ifndef BATON_COMMON_BASE_OS_OPEN_FILES_H
#define BATON_COMMON_BASE_OS_OPEN_FILES_H

#include <stdint.h>

/* Raises the soft limit to the hard one. Logs a warning when that is less than needed; hint is the
 * operator's remedy. */
void baton_open_files_allow(int64_t needed, const char *hint);

/* No descriptor was free: logs the same warning, rate-limited. */
void baton_open_files_exhausted(void);

/* A descriptor was just opened. It has the lowest free number, so one near the limit shows that few
 * are left: logs the same warning. */
void baton_open_files_opened(int fd);

#endif
