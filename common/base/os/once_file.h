/* A file that several processes want and one of them makes.
 *
 *     PATH        complete; never written again, only replaced as a whole
 *     PATH.tmp    being made by the process that holds its lock, or left by one that died: the next
 *                 takes it over, for the kernel drops a dead process's lock
 *
 * Look for PATH. If it cannot be had: begin, look again (another process may have made it
 * meanwhile), then make it and commit, or abort.
 *
 * Ownership: the struct is the caller's, from begin until commit or abort.
 * Threading: one owner; processes and threads exclude each other.
 * Errors:    IO (the directory cannot be written, no locks here, ...), TIMEOUT.
 */
#ifndef BATON_COMMON_BASE_OS_ONCE_FILE_H
#define BATON_COMMON_BASE_OS_ONCE_FILE_H

#include <limits.h>

#include "common/base/error.h"

struct baton_once_file {
    int fd; /* of the temporary file: empty at first, readable and writable */
    char path[PATH_MAX], temporary[PATH_MAX];
};

/* Waits while another process makes it, at most wait_s. */
enum baton_err baton_once_file_begin(const char *path, double wait_s, struct baton_once_file *once,
                                     struct baton_why *why) BATON_MUST_CHECK;

/* Gives the file its name. Ends once, also on failure: then the file is gone. */
enum baton_err baton_once_file_commit(struct baton_once_file *once,
                                      struct baton_why *why) BATON_MUST_CHECK;
/* Removes the temporary file and drops its lock. */
void baton_once_file_abort(struct baton_once_file *once);

#endif
