/* Files of the gateway in the directory of --files-dir: each has a header of its own, and contents.
 *
 *     "baton-file 1 " 8 digits LF   the length of the header's JSON
 *     JSON LF                       what the gateway knows about the file
 *     contents
 *
 * A new file is written under another name, forced to the disk and renamed, so it is whole or not
 * there. Contents may grow by appending. Only files with this begin, of this user and with one name
 * are read, changed or removed (own_file.h); the directory must be private (0700). One gateway at a
 * time uses it: it holds a lock on the directory.
 *
 * Ownership: descriptors and values are the caller's.
 * Threading: any thread for one file at a time.
 * Errors:    INVALID (not Baton's), NOT_FOUND, LIMIT (no space), AGAIN (another gateway has the
 *            directory), IO, NO_MEMORY; each with the path.
 */
#ifndef BATON_GATEWAY_API_FILES_DISK_H
#define BATON_GATEWAY_API_FILES_DISK_H

#include "common/base/json.h"

enum { GW_DISK_NAME_BYTES = 64, GW_DISK_HEADER_MAX_BYTES = 256 << 10 };

struct gw_disk {
    int fd; /* of the directory */
    const char *path;
};

/* Makes the directory if it is missing, and removes what a crash left of new files. */
enum baton_err gw_disk_open(struct gw_disk *disk, const char *path,
                            struct baton_why *why) BATON_MUST_CHECK;
void gw_disk_close(struct gw_disk *disk);

/* Writes a new file of the header and n bytes of contents. *begin is the offset of its contents. */
enum baton_err gw_disk_create(const struct gw_disk *disk, const char *name,
                              const struct baton_buf *header, const char *contents, size_t n,
                              uint64_t *begin, struct baton_why *why) BATON_MUST_CHECK;

/* An open file. */
struct gw_disk_file {
    int fd;
    uint64_t begin, end; /* of its contents; end: when it was opened */
    struct baton_json *header;
};

/* Opens a file for reading and, with appends, for appending. */
enum baton_err gw_disk_open_file(const struct gw_disk *disk, const char *name, bool appends,
                                 struct gw_disk_file *file, struct baton_why *why) BATON_MUST_CHECK;
/* A zeroed file with the descriptor -1 is fine. */
void gw_disk_close_file(struct gw_disk_file *file);

/* Removes a file. */
enum baton_err gw_disk_remove(const struct gw_disk *disk, const char *name,
                              struct baton_why *why) BATON_MUST_CHECK;

/* Calls fn for every file whose name begins with the prefix, with 32 hexadecimal digits behind. */
void gw_disk_each(const struct gw_disk *disk, const char *prefix,
                  void (*fn)(void *arg, const char *name), void *arg);

#endif
