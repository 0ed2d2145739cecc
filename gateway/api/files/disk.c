#include "gateway/api/files/disk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/os/file.h"
#include "common/base/os/own_file.h"

#define MAGIC    "baton-file 1 "
#define NEW_NAME ".new"

enum { FOR_OTHERS = 077, DIGITS = 8, FIRST_BYTES = sizeof MAGIC - 1 + DIGITS + 1, ID_DIGITS = 32 };

static const struct baton_own_kind own_kind = {.magic = MAGIC, .forbidden = FOR_OTHERS};

static enum baton_err failure(const struct gw_disk *disk, const char *name, struct baton_why *why)
{
    enum baton_err err = errno == ENOSPC || errno == EDQUOT ? BATON_LIMIT
                         : errno == ENOENT                  ? BATON_NOT_FOUND
                                                            : BATON_IO;
    return baton_fail(why, err, "--files-dir: %s%s%s: %s", disk->path, *name ? "/" : "", name,
                      strerror(errno));
}

/* Opens a file of ours. */
static enum baton_err open_in(const struct gw_disk *disk, const char *name, int flags, int *fd,
                              struct baton_why *why)
{
    char path[PATH_MAX];
    enum baton_err err = baton_file_path(path, disk->path, name, why);
    return err ? err : baton_own_file_open(disk->fd, name, path, flags, 0600, &own_kind, fd, why);
}

enum baton_err gw_disk_remove(const struct gw_disk *disk, const char *name, struct baton_why *why)
{
    char path[PATH_MAX];
    enum baton_err err = baton_file_path(path, disk->path, name, why);
    return err ? err : baton_own_file_remove(disk->fd, name, path, &own_kind, why);
}

/* ---- the directory ---- */

static bool is_name(const char *name, const char *prefix, const char *suffix)
{
    size_t n = strlen(prefix);
    return !strncmp(name, prefix, n) && strspn(name + n, "0123456789abcdef") == ID_DIGITS &&
           !strcmp(name + n + ID_DIGITS, suffix);
}

static void visit(const struct gw_disk *disk, const char *prefix, const char *suffix,
                  void (*fn)(void *arg, const char *name), void *arg)
{
    int fd = dup(disk->fd); /* closedir closes its descriptor; the first one keeps the lock */
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir) {
        if (fd >= 0)
            (void)close(fd);
        return;
    }
    rewinddir(dir);
    for (struct dirent *entry; (entry = readdir(dir));)
        if (is_name(entry->d_name, prefix, suffix))
            fn(arg, entry->d_name);
    (void)closedir(dir);
}

void gw_disk_each(const struct gw_disk *disk, const char *prefix,
                  void (*fn)(void *arg, const char *name), void *arg)
{
    visit(disk, prefix, "", fn, arg);
}

static void remove_leftover(void *arg, const char *name)
{
    (void)!gw_disk_remove(arg, name, NULL); /* somebody else's stays */
}

enum baton_err gw_disk_open(struct gw_disk *disk, const char *path, struct baton_why *why)
{
    static const char *const prefixes[] = {"file-", "batch_", "msgbatch_"};
    struct baton_why reason = {""};
    *disk = (struct gw_disk){.fd = -1, .path = path};
    if (mkdir(path, 0700) && errno != EEXIST)
        return failure(disk, "", why);
    enum baton_err err = baton_own_dir_open(path, FOR_OTHERS, &disk->fd, &reason);
    if (err)
        return baton_fail(why, err, "--files-dir: %s", reason.text);
    if (flock(disk->fd, LOCK_EX | LOCK_NB))
        return baton_fail(why, BATON_AGAIN, "--files-dir: %s: another gateway uses it", path);
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        visit(disk, prefixes[i], NEW_NAME, remove_leftover, disk);
    return BATON_OK;
}

void gw_disk_close(struct gw_disk *disk)
{
    if (disk->fd >= 0)
        (void)close(disk->fd);
    disk->fd = -1;
}

/* ---- new files ---- */

static bool write_all(int fd, const char *bytes, size_t n)
{
    while (n) {
        ssize_t done = write(fd, bytes, n);
        if (done < 0 && errno != EINTR)
            return false;
        bytes += done > 0 ? done : 0;
        n -= done > 0 ? (size_t)done : 0;
    }
    return true;
}

static bool write_file(int fd, const struct baton_buf *header, const char *contents, size_t n)
{
    char first[FIRST_BYTES + 1];
    (void)snprintf(first, sizeof first, MAGIC "%0*zu\n", DIGITS, header->len);
    return write_all(fd, first, FIRST_BYTES) && write_all(fd, header->data, header->len) &&
           write_all(fd, "\n", 1) && write_all(fd, contents, n) && !fsync(fd);
}

/* The name is random, so a file under it would be the first of its kind; file systems that cannot
 * look replace it. */
static bool name_file(const struct gw_disk *disk, const char *new_name, const char *name)
{
    if (!renameat2(disk->fd, new_name, disk->fd, name, RENAME_NOREPLACE))
        return true;
    return errno == EINVAL && !renameat(disk->fd, new_name, disk->fd, name);
}

enum baton_err gw_disk_create(const struct gw_disk *disk, const char *name,
                              const struct baton_buf *header, const char *contents, size_t n,
                              uint64_t *begin, struct baton_why *why)
{
    char new_name[GW_DISK_NAME_BYTES + sizeof NEW_NAME];
    enum baton_err err = BATON_OK;
    if (baton_buf_err(header))
        return baton_fail(why, baton_buf_err(header), "%s: its header does not fit", name);
    (void)snprintf(new_name, sizeof new_name, "%s" NEW_NAME, name);
    int fd = openat(disk->fd, new_name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return failure(disk, new_name, why);
    if (!write_file(fd, header, contents, n) || !name_file(disk, new_name, name) ||
        fsync(disk->fd)) {
        err = failure(disk, name, why);
        (void)unlinkat(disk->fd, new_name, 0);
    }
    (void)close(fd);
    *begin = FIRST_BYTES + header->len + 1;
    return err;
}

/* ---- files that are there ---- */

static enum baton_err read_header(const struct gw_disk *disk, const char *name,
                                  struct gw_disk_file *file, struct baton_why *why)
{
    char first[FIRST_BYTES + 1] = "";
    struct stat info;
    ssize_t n_read = pread(file->fd, first, FIRST_BYTES, 0);
    size_t n = n_read == FIRST_BYTES ? (size_t)strtoul(first + sizeof MAGIC - 1, NULL, 10) : 0;
    char *text = n && n <= GW_DISK_HEADER_MAX_BYTES ? malloc(n) : NULL;
    enum baton_err err = BATON_INVALID;
    if (text && pread(file->fd, text, n, FIRST_BYTES) == (ssize_t)n && !fstat(file->fd, &info))
        err = baton_json_parse(text, n, &file->header, NULL);
    free(text);
    if (err || (uint64_t)info.st_size < FIRST_BYTES + n + 1)
        return baton_fail(why, BATON_INVALID, "--files-dir: %s/%s: its header is damaged",
                          disk->path, name);
    file->begin = FIRST_BYTES + n + 1;
    file->end = (uint64_t)info.st_size;
    return BATON_OK;
}

enum baton_err gw_disk_open_file(const struct gw_disk *disk, const char *name, bool appends,
                                 struct gw_disk_file *file, struct baton_why *why)
{
    *file = (struct gw_disk_file){.fd = -1};
    enum baton_err err =
        open_in(disk, name, appends ? O_RDWR | O_APPEND : O_RDONLY, &file->fd, why);
    if (!err)
        err = read_header(disk, name, file, why);
    if (err)
        gw_disk_close_file(file);
    return err;
}

void gw_disk_close_file(struct gw_disk_file *file)
{
    if (file->fd >= 0)
        (void)close(file->fd);
    baton_json_free(file->header);
    *file = (struct gw_disk_file){.fd = -1};
}
