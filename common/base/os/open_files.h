/* The limit of open files: as high as it may be, and hints when that is too low.
 *
 * Ownership: hint is kept, not copied.
 * Threading: allow: once, before threads start. The others: any thread.
 * Errors:    none; what cannot be known is not told.
 */
#ifndef BATON_COMMON_BASE_OS_OPEN_FILES_H
#define BATON_COMMON_BASE_OS_OPEN_FILES_H

#include <stdint.h>

/* Raises the soft limit to the hard one. Says so in the log when that is less than needed; hint is
 * what an operator may do about it. */
void baton_open_files_allow(int64_t needed, const char *hint);

/* No descriptor was to be had: the same hint, rate-limited. */
void baton_open_files_exhausted(void);

/* A descriptor was just made. It takes the lowest free number, so one near the limit says that few
 * are left: the same hint. */
void baton_open_files_opened(int fd);

#endif
