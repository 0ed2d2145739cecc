/* The files that clients have uploaded, and those of their batches' answers: the index of the
 * directory of --files-dir.
 *
 *     add     a file that was written (disk.h)
 *     remove  by its client, or by tick once it has expired
 *
 * A file belongs to the API key that made it. All files together have at most max_bytes, those of
 * one key at most half of that, unless no keys are needed; a file counts with 4 KiB more.
 *
 * Ownership: gw_files owns its files; one that is found is borrowed until it is removed.
 * Threading: loop thread; the disk: any.
 * Errors:    open: those of disk.h. Files with a damaged header are skipped, with a warning.
 */
#ifndef BATON_GATEWAY_API_FILES_FILES_H
#define BATON_GATEWAY_API_FILES_FILES_H

#include "common/base/list.h"
#include "common/base/random.h"
#include "gateway/api/access/access.h"
#include "gateway/api/files/disk.h"

enum { GW_FILE_ID_BYTES = 16 + BATON_SECRET_BYTES, GW_FILE_NAME_BYTES = 256 };

struct gw_file {
    struct baton_node in_files;
    struct gw_owner owner;
    char id[GW_FILE_ID_BYTES]; /* and its name on the disk */
    char filename[GW_FILE_NAME_BYTES], purpose[24];
    int64_t created_s, expires_s; /* Unix time; 0: never */
    uint64_t begin, bytes;        /* of its contents */
    bool is_hidden;               /* a batch still writes it */
};

BATON_LIST(gw_file_list, struct gw_file, in_files)

struct gw_files {
    struct gw_disk disk;
    uint64_t max_bytes;
    struct gw_file_list list; /* the oldest first */
    uint64_t pending_bytes;   /* of uploads that are being written */
    int64_t ticked_s;
};

/* Without files; close is fine. */
void gw_files_init(struct gw_files *files);
/* dir: as long as the files are open. */
enum baton_err gw_files_open(struct gw_files *files, const char *dir, uint64_t max_bytes,
                             struct baton_why *why) BATON_MUST_CHECK;
void gw_files_close(struct gw_files *files);

/* "PREFIX" and a secret. */
void gw_file_name(char id[GW_FILE_ID_BYTES], const char *prefix);

/* The header of a file, as JSON. */
void gw_file_put_header(struct baton_buf *header, const struct gw_file *file);

/* Adds a copy of a file that was written; NULL without memory. */
struct gw_file *gw_files_add(struct gw_files *files, const struct gw_file *file);
/* The owner's file with that id; NULL: none. */
struct gw_file *gw_files_find(const struct gw_files *files, const struct gw_owner *owner,
                              const char *id);
/* Likewise, also a hidden one. */
struct gw_file *gw_files_find_any(const struct gw_files *files, const char *id);
/* Removes it from the disk as well. */
void gw_files_remove(struct gw_files *files, struct gw_file *file);

/* Whether the owner may have n bytes more. */
bool gw_files_may_grow(const struct gw_files *files, const struct gw_owner *owner, uint64_t n);

/* Removes files that have expired. */
void gw_files_tick(struct gw_files *files, int64_t now_s);

bool gw_owner_is_same(const struct gw_owner *a, const struct gw_owner *b);
void gw_owner_put(struct baton_json_out *out, const struct gw_owner *owner);
/* False: the value is none. */
bool gw_owner_read(const struct baton_json *value, struct gw_owner *owner);

#endif
