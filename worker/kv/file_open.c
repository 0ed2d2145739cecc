#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/os/file.h"
#include "common/base/os/own_file.h"
#include "worker/kv/file.h"
#include "worker/kv/file_layout.h"

enum { FOR_OTHERS = 077, LOCK_TRIES = 400, LOCK_PAUSE_MS = 5 };

#define MAGIC "BATNKVFL"

enum { NAME_DIGITS = 2 * BATON_BLOCK_HASH_BYTES };

static const char suffix[] = ".kv";
static const struct baton_own_kind own_kind = {.magic = MAGIC, .forbidden = FOR_OTHERS};

/* The state of an open: the locked directory, and the file's name in it. */
struct opening {
    const struct baton_kv_file_options *options;
    int dir;
    char name[NAME_DIGITS + sizeof suffix];
    char beside[NAME_DIGITS + sizeof suffix]; /* "": none */
    uint64_t left_bytes;                      /* for this file */
    struct baton_why *why;
};

static enum baton_err io_failure(const char *dir, const char *name, struct baton_why *why)
{
    enum baton_err err = errno == ENOSPC || errno == EDQUOT ? BATON_LIMIT : BATON_IO;
    return baton_fail(why, err, "%s%s%s: %s", dir, *name ? "/" : "", name, strerror(errno));
}

/* ---- the directory ---- */

/* The lock lets one process at a time make, open or remove files. */
static enum baton_err lock_dir(const struct opening *opening)
{
    const struct timespec pause = {.tv_nsec = LOCK_PAUSE_MS * BATON_MS};
    for (int i = 0; i < LOCK_TRIES; i++) {
        if (!flock(opening->dir, LOCK_EX | LOCK_NB))
            return BATON_OK;
        if (errno != EWOULDBLOCK && errno != EINTR)
            return io_failure(opening->options->dir, "", opening->why);
        (void)nanosleep(&pause, NULL);
    }
    return baton_fail(opening->why, BATON_TIMEOUT, "%s: another process keeps it locked",
                      opening->options->dir);
}

/* Puts the option's name before the reason. */
static enum baton_err refused(const struct opening *opening, enum baton_err err,
                              const struct baton_why *reason)
{
    return baton_fail(opening->why, err, "--kv-disk: %s", reason->text);
}

static enum baton_err open_dir(struct opening *opening)
{
    const char *dir = opening->options->dir;
    struct baton_why reason = {""};
    if (mkdir(dir, 0700) && errno != EEXIST)
        return io_failure(dir, "", opening->why);
    enum baton_err err = baton_own_dir_open(dir, FOR_OTHERS, &opening->dir, &reason);
    return err ? refused(opening, err, &reason) : lock_dir(opening);
}

/* Opens a file of ours. */
static enum baton_err open_in(const struct opening *opening, const char *name, int flags, int *fd)
{
    char path[PATH_MAX];
    struct baton_why reason = {""};
    enum baton_err err = baton_file_path(path, opening->options->dir, name, opening->why);
    if (err)
        return err;
    err =
        baton_own_file_open(opening->dir, name, path, O_RDWR | flags, 0600, &own_kind, fd, &reason);
    return err ? refused(opening, err, &reason) : BATON_OK;
}

/* Removes another model's file, or subtracts its bytes from this one's if a process has it open. */
static enum baton_err clear(struct opening *opening, const char *name)
{
    int fd = -1;
    struct stat info;
    enum baton_err err = open_in(opening, name, 0, &fd);
    if (err)
        return err;
    if (kv_file_lock(fd, F_WRLCK, 0, 1))
        err = unlinkat(opening->dir, name, 0)
                  ? io_failure(opening->options->dir, name, opening->why)
                  : BATON_OK;
    else if (fstat(fd, &info))
        err = io_failure(opening->options->dir, name, opening->why);
    else
        opening->left_bytes -= (uint64_t)info.st_size < opening->left_bytes ? (uint64_t)info.st_size
                                                                            : opening->left_bytes;
    (void)close(fd);
    return err;
}

/* Other names than those that this program gives are of no concern to it. */
static bool is_of_another(const struct opening *opening, const char *name)
{
    return strspn(name, "0123456789abcdef") == NAME_DIGITS && !strcmp(name + NAME_DIGITS, suffix) &&
           strcmp(name, opening->name) != 0 && strcmp(name, opening->beside) != 0;
}

static enum baton_err clear_others(struct opening *opening)
{
    int fd = dup(opening->dir); /* closedir closes its descriptor; the first one keeps the lock */
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir) {
        if (fd >= 0)
            (void)close(fd);
        return io_failure(opening->options->dir, "", opening->why);
    }
    enum baton_err err = BATON_OK;
    for (struct dirent *entry; !err && (entry = readdir(dir));)
        if (is_of_another(opening, entry->d_name))
            err = clear(opening, entry->d_name);
    (void)closedir(dir);
    return err;
}

/* ---- the file ---- */

/* Chooses sets with about as many slots as fit into n_bytes; false: not one slot fits. */
static bool choose_sizes(const struct baton_kv_file_options *options, uint64_t n_bytes,
                         struct kv_file_head *head)
{
    uint64_t slot_bytes = kv_file_slot_bytes(options->block_bytes);
    uint64_t around = kv_file_slots_at(1);
    if (n_bytes < around + slot_bytes)
        return false;
    uint64_t n = (n_bytes - around) / (slot_bytes + sizeof(struct kv_file_entry));
    n = n ? n : 1;
    *head = (struct kv_file_head){.version = BATON_KV_FILE_VERSION,
                                  .n_sets = n < BATON_KV_FILE_WAYS ? 1 : n / BATON_KV_FILE_WAYS,
                                  .block_bytes = options->block_bytes,
                                  .root = options->root};
    head->n_ways = (uint32_t)(n / head->n_sets);
    memcpy(head->magic, MAGIC, sizeof head->magic);
    return true;
}

static uint64_t total_bytes(const struct kv_file_head *head)
{
    uint64_t n_slots = head->n_sets * head->n_ways;
    return kv_file_slots_at(n_slots) + n_slots * kv_file_slot_bytes(head->block_bytes);
}

static bool read_head(int fd, struct kv_file_head *head, uint64_t *n_bytes)
{
    struct stat info;
    if (fstat(fd, &info) || pread(fd, head, sizeof *head, 0) != (ssize_t)sizeof *head)
        return false;
    *n_bytes = (uint64_t)info.st_size;
    return true;
}

/* Whether a file of another process can be shared: it is of the same model and version, and not
 * larger than wanted. */
static bool is_shareable(const struct kv_file_head *head, uint64_t n_bytes,
                         const struct kv_file_head *wanted)
{
    struct kv_file_head same = *wanted;
    same.n_sets = head->n_sets;
    same.n_ways = head->n_ways;
    return !memcmp(&same, head, sizeof same) && head->n_ways && head->n_sets &&
           head->n_sets <= wanted->n_sets && head->n_ways < 2 * BATON_KV_FILE_WAYS &&
           total_bytes(head) <= total_bytes(wanted) && n_bytes == total_bytes(head);
}

/* Writes the magic first, so that the file stays recognisable wherever its maker dies, even by a
 * loss of power: hence the one fdatasync. Writes the head last: if the process dies before that,
 * the next one makes the file again. Space for the index is reserved; records take theirs when they
 * are written. */
static enum baton_err make(const struct opening *opening, int fd, const struct kv_file_head *head)
{
    off_t slots_at = (off_t)kv_file_slots_at(head->n_sets * head->n_ways), n = sizeof head->magic;
    /* Through the magic alone, which empties the old index. */
    if (pwrite(fd, head->magic, (size_t)n, 0) != n || ftruncate(fd, n) || fdatasync(fd) ||
        ftruncate(fd, (off_t)total_bytes(head)))
        return io_failure(opening->options->dir, opening->name, opening->why);
    errno = posix_fallocate(fd, 0, slots_at);
    if (errno || pwrite(fd, head, sizeof *head, 0) != (ssize_t)sizeof *head)
        return io_failure(opening->options->dir, opening->name, opening->why);
    return BATON_OK;
}

/* Agrees with other processes on the file's sizes. A process alone may make the file again, since
 * nobody else holds byte 0. On success byte 0 has a shared lock. */
static enum baton_err agree(const struct opening *opening, int fd,
                            const struct kv_file_head *wanted, struct kv_file_head *head)
{
    uint64_t n_bytes = 0;
    bool is_alone = kv_file_lock(fd, F_WRLCK, 0, 1), is_read = read_head(fd, head, &n_bytes);
    if (is_alone &&
        (!is_read || memcmp(head, wanted, sizeof *head) != 0 || n_bytes != total_bytes(wanted))) {
        enum baton_err err = make(opening, fd, wanted);
        if (err)
            return err;
        *head = *wanted;
    } else if (!is_alone && (!is_read || !is_shareable(head, n_bytes, wanted))) {
        return baton_fail(opening->why, BATON_INVALID,
                          "--kv-disk-bytes: %s/%s is in use with %llu bytes, more than here; give "
                          "all workers of a directory the same",
                          opening->options->dir, opening->name, (unsigned long long)n_bytes);
    }
    if (!kv_file_lock(fd, F_RDLCK, 0, 1))
        return io_failure(opening->options->dir, opening->name, opening->why);
    return BATON_OK;
}

static enum baton_err finish(struct baton_kv_file *file, const struct kv_file_head *head,
                             struct baton_why *why)
{
    file->head = *head;
    file->n_slots = (int64_t)(head->n_sets * head->n_ways);
    file->slots_at = (off_t)kv_file_slots_at((uint64_t)file->n_slots);
    file->slot_bytes = (off_t)kv_file_slot_bytes(head->block_bytes);
    file->set = calloc(head->n_ways, sizeof *file->set);
    return file->set ? BATON_OK : baton_fail(why, BATON_NO_MEMORY, "--kv-disk: out of memory");
}

static enum baton_err open_file(struct opening *opening, struct baton_kv_file *file)
{
    struct kv_file_head wanted, head;
    unsigned n_files = opening->options->beside ? 2 : 1;
    uint64_t least = kv_file_slots_at(1) + kv_file_slot_bytes(opening->options->block_bytes);
    enum baton_err err = clear_others(opening);
    if (err)
        return err;
    if (!choose_sizes(opening->options, opening->left_bytes / n_files, &wanted))
        return baton_fail(opening->why, BATON_INVALID,
                          "--kv-disk-bytes: must be %llu or more for one %s of this model, "
                          "beside files of other models in use; there are %llu in %s",
                          (unsigned long long)(n_files * least), opening->options->holds,
                          (unsigned long long)opening->left_bytes, opening->options->dir);
    err = open_in(opening, opening->name, O_CREAT, &file->fd);
    if (err) {
        file->fd = -1;
        return err;
    }
    err = agree(opening, file->fd, &wanted, &head);
    return err ? err : finish(file, &head, opening->why);
}

static void name_of(const struct baton_block_hash *root, char name[NAME_DIGITS + sizeof suffix])
{
    for (int i = 0; i < BATON_BLOCK_HASH_BYTES; i++)
        (void)snprintf(name + 2 * i, 3, "%02x", root->bytes[i]);
    memcpy(name + NAME_DIGITS, suffix, sizeof suffix);
}

enum baton_err baton_kv_file_open(const struct baton_kv_file_options *options,
                                  struct baton_kv_file **out, struct baton_why *why)
{
    struct opening opening = {
        .options = options, .dir = -1, .left_bytes = (uint64_t)options->max_bytes, .why = why};
    name_of(&options->root, opening.name);
    if (options->beside)
        name_of(options->beside, opening.beside);
    struct baton_kv_file *file = calloc(1, sizeof *file);
    if (!file)
        return baton_fail(why, BATON_NO_MEMORY, "--kv-disk: out of memory");
    file->fd = -1;
    enum baton_err err = open_dir(&opening);
    if (!err)
        err = open_file(&opening, file);
    if (opening.dir >= 0)
        (void)close(opening.dir);
    if (err)
        baton_kv_file_close(file);
    else
        *out = file;
    return err;
}
