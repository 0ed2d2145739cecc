/* The rule for files that Baton makes, changes and removes: it touches only its own.
 *
 * A file is Baton's if it is a plain file with one name, belongs to this user, and begins with the
 * bytes with which Baton begins files of its kind. A shorter file that agrees as far as it goes
 * counts too: its maker died at the begin. Everything else under such a name is somebody else's,
 * and stays as it is.
 *
 * Ownership: an opened descriptor belongs to the caller.
 * Threading: any thread.
 * Errors:    each names the path. INVALID: not Baton's; NOT_FOUND; LIMIT: no space; IO.
 */
#ifndef BATON_COMMON_BASE_OS_OWN_FILE_H
#define BATON_COMMON_BASE_OS_OWN_FILE_H

#include <limits.h>
#include <sys/types.h>

#include "common/base/error.h"

enum { BATON_OWN_MAGIC_MAX = 64 };

struct baton_own_kind {
    const char *magic; /* at most BATON_OWN_MAGIC_MAX bytes; "": files of any contents */
    mode_t forbidden;  /* bits that the mode must not have */
};

/* Opens DIR, which may end in "/" and "/.": a link is refused in each of these forms. The directory
 * must belong to this user and have none of the forbidden bits. */
enum baton_err baton_own_dir_open(const char *dir, mode_t forbidden, int *fd,
                                  struct baton_why *why) BATON_MUST_CHECK;

/* Opens name in the open directory `dir` (or AT_FDCWD) with flags, if it is Baton's. With O_CREAT
 * a new one gets mode. path is its name in errors. Follows no link, waits for no pipe. */
enum baton_err baton_own_file_open(int dir, const char *name, const char *path, int flags,
                                   mode_t mode, const struct baton_own_kind *kind, int *fd,
                                   struct baton_why *why) BATON_MUST_CHECK;

/* Checks an open file, which must be readable if the kind has a magic. */
enum baton_err baton_own_file_check(int fd, const char *path, const struct baton_own_kind *kind,
                                    struct baton_why *why) BATON_MUST_CHECK;

/* OK if path is free or is Baton's, so that rename may replace it. */
enum baton_err baton_own_file_may_replace(const char *path, const struct baton_own_kind *kind,
                                          struct baton_why *why) BATON_MUST_CHECK;

/* Removes the file if it is Baton's. */
enum baton_err baton_own_file_remove(int dir, const char *name, const char *path,
                                     const struct baton_own_kind *kind,
                                     struct baton_why *why) BATON_MUST_CHECK;

#endif
