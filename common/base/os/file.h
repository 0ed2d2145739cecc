/* Reads and maps whole files.
 *
 * Ownership: the caller's buffer receives the bytes; a mapping belongs to the caller until it is
 *            unmapped.
 * Threading: any thread.
 * Errors:    NOT_FOUND, IO, LIMIT (larger than the buffer's maximum), each with the path in *why;
 *            of owned files also INVALID (somebody else may have written it).
 */
#ifndef BATON_COMMON_BASE_OS_FILE_H
#define BATON_COMMON_BASE_OS_FILE_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/buf.h"
#include "common/base/error.h"

/* Appends the file's bytes to out. */
enum baton_err baton_file_read(const char *path, struct baton_buf *out,
                               struct baton_why *why) BATON_MUST_CHECK;

/* Writes dir/name to path. INVALID when that is longer than a path may be. */
enum baton_err baton_file_path(char path[PATH_MAX], const char *dir, const char *name,
                               struct baton_why *why) BATON_MUST_CHECK;

/* A read-only private mapping of a whole file; an empty file maps to n_bytes 0 and data NULL. */
struct baton_mapping {
    const uint8_t *data;
    size_t n_bytes;
};

/* Maps the file; pages are read when they are touched. */
enum baton_err baton_file_map(const char *path, struct baton_mapping *mapping,
                              struct baton_why *why) BATON_MUST_CHECK;
/* Ends the mapping; a zeroed one is allowed. */
void baton_file_unmap(struct baton_mapping *mapping);

/* ---- files in directories that others may write to ---- */

/* Checks that fd is a regular file of this user, of root or of `owner`, whose mode has none of the
 * forbidden bits. INVALID describes the difference. */
enum baton_err baton_file_check_owner(int fd, const char *path, uid_t owner, mode_t forbidden,
                                      struct baton_why *why) BATON_MUST_CHECK;

/* Opens a file for reading, if only these three may have written it. Follows no link at the end of
 * the path, and does not wait for a pipe. */
enum baton_err baton_file_open_owned(const char *path, uid_t owner, int *fd,
                                     struct baton_why *why) BATON_MUST_CHECK;

/* Like baton_file_read and baton_file_map, for such a file. */
enum baton_err baton_file_read_owned(const char *path, uid_t owner, struct baton_buf *out,
                                     struct baton_why *why) BATON_MUST_CHECK;
enum baton_err baton_file_map_owned(const char *path, uid_t owner, struct baton_mapping *mapping,
                                    struct baton_why *why) BATON_MUST_CHECK;

#endif
