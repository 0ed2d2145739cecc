/* A file that several processes need and one of them creates.
 *
 *     PATH        complete; never written again, only replaced as a whole
 *     PATH.tmp    written by the process that holds its lock, or left by one that died: the next
 *                 one takes it over, because the kernel releases a dead process's lock
 *
 * Look for PATH. If it is missing: begin, look again (another process may have created it
 * meanwhile), then write it and commit, or abort. Both names are only used if they are free or
 * Baton's (own_file.h): somebody else's file there stays.
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
    int fd; /* of the temporary file, readable and writable; at first it holds the magic alone */
    const char *magic; /* borrowed */
    char path[PATH_MAX], temporary[PATH_MAX];
};

/* Begins a file whose contents begin with magic; the caller writes from offset 0. Waits at most
 * wait_s while another process creates the file. */
enum baton_err baton_once_file_begin(const char *path, const char *magic, double wait_s,
                                     struct baton_once_file *once,
                                     struct baton_why *why) BATON_MUST_CHECK;

/* IO if the file's name belongs to somebody else's file, before work is spent on it. */
enum baton_err baton_once_file_may_commit(const struct baton_once_file *once,
                                          struct baton_why *why) BATON_MUST_CHECK;

/* Gives the file its name. Ends the struct, even on failure, when the file is removed. */
enum baton_err baton_once_file_commit(struct baton_once_file *once,
                                      struct baton_why *why) BATON_MUST_CHECK;
/* Removes the temporary file and releases its lock. */
void baton_once_file_abort(struct baton_once_file *once);

#endif
