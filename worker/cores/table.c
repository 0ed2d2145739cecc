#include "worker/cores/table.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/os/own_file.h"

enum { FOR_OTHERS = 077, LOCK_TRIES = 200, LOCK_PAUSE_MS = 5 };

#define MAGIC "BATNCORE"

/* The directory may be open to every user, so another user may have created this name first. */
static const struct baton_own_kind own_kind = {.magic = MAGIC, .forbidden = FOR_OTHERS};

/* Locks of the open file description: unlike F_SETLK's they exclude two views of one process, and
 * closing another descriptor of the file does not drop them. */
static bool set_lock(int fd, short type, off_t start, off_t n)
{
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = n};
    return !fcntl(fd, F_OFD_SETLK, &lock);
}

static off_t slot_offset(int slot)
{
    return (off_t)(offsetof(struct baton_core_table, slots) +
                   (size_t)slot * sizeof(struct baton_core_slot));
}

static enum baton_err io_failure(const char *path, struct baton_why *why)
{
    return baton_fail(why, BATON_IO, "%s: %s", path, strerror(errno));
}

static enum baton_err lock_making(int fd, const char *path, struct baton_why *why)
{
    const struct timespec pause = {.tv_nsec = LOCK_PAUSE_MS * BATON_MS};
    for (int i = 0; i < LOCK_TRIES; i++) {
        if (set_lock(fd, F_WRLCK, 0, 1))
            return BATON_OK;
        if (errno != EAGAIN && errno != EACCES && errno != EINTR)
            return io_failure(path, why);
        (void)nanosleep(&pause, NULL);
    }
    return baton_fail(why, BATON_TIMEOUT, "%s: another process is still making it", path);
}

static bool is_current(int fd, off_t n_bytes)
{
    struct baton_core_table head;
    size_t n = offsetof(struct baton_core_table, generation);
    return n_bytes == (off_t)sizeof(struct baton_core_table) &&
           pread(fd, &head, n, 0) == (ssize_t)n && !memcmp(head.magic, MAGIC, sizeof head.magic) &&
           head.version == BATON_CORE_TABLE_VERSION && head.n_bytes == sizeof head;
}

/* Whether no other process holds a lock behind the first byte. The slots of every version lie
 * there, so this is right for any layout. */
static bool is_abandoned(int fd)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 1};
    return !fcntl(fd, F_OFD_GETLK, &lock) && lock.l_type == F_UNLCK;
}

/* Writes the magic, by which the next process knows the file as ours, then zeros, and the head
 * last: if this process dies before that, the next one makes the table again. Space is reserved,
 * because a store to a full file system raises SIGBUS later. */
static enum baton_err make(int fd, const char *path, struct baton_why *why)
{
    struct baton_core_table head = {.version = BATON_CORE_TABLE_VERSION, .n_bytes = sizeof head};
    size_t n = offsetof(struct baton_core_table, generation);
    memcpy(head.magic, MAGIC, sizeof head.magic);
    if (pwrite(fd, MAGIC, sizeof head.magic, 0) != sizeof head.magic ||
        ftruncate(fd, sizeof head.magic))
        return io_failure(path, why);
    errno = posix_fallocate(fd, 0, sizeof head);
    if (errno || pwrite(fd, &head, n, 0) != (ssize_t)n)
        return io_failure(path, why);
    return BATON_OK;
}

/* Makes the table again if it is of another layout. Byte 0 is locked. */
static enum baton_err make_if_needed(int fd, const char *path, struct baton_why *why)
{
    struct stat info;
    if (fstat(fd, &info))
        return io_failure(path, why);
    if (is_current(fd, info.st_size))
        return BATON_OK;
    if (!is_abandoned(fd))
        return baton_fail(why, BATON_VERSION,
                          "%s: in use by workers of another version; stop them, or give these a "
                          "--lease-dir of their own",
                          path);
    return make(fd, path, why);
}

static enum baton_err map(int fd, const char *path, struct baton_core_view *view,
                          struct baton_why *why)
{
    void *table =
        mmap(NULL, sizeof(struct baton_core_table), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (table == MAP_FAILED)
        return io_failure(path, why);
    view->table = table;
    return BATON_OK;
}

static enum baton_err take_slot(struct baton_core_view *view, const char *path,
                                struct baton_why *why)
{
    for (int i = 0; i < BATON_CORE_WORKERS_MAX; i++)
        if (baton_core_view_try_lock(view, i)) {
            view->slot = i;
            return BATON_OK;
        }
    return baton_fail(why, BATON_LIMIT, "%s: %d workers share it already", path,
                      BATON_CORE_WORKERS_MAX);
}

/* Takes the slot before byte 0 is unlocked, so that no process takes the table for abandoned. */
static enum baton_err open_locked(const char *path, struct baton_core_view *view,
                                  struct baton_why *why)
{
    enum baton_err err = lock_making(view->fd, path, why);
    if (!err)
        err = make_if_needed(view->fd, path, why);
    if (!err)
        err = take_slot(view, path, why);
    if (!err)
        err = map(view->fd, path, view, why);
    return err;
}

enum baton_err baton_core_view_open(const char *path, struct baton_core_view *view,
                                    struct baton_why *why)
{
    struct baton_core_view opened = {.fd = -1};
    enum baton_err err = baton_own_file_open(AT_FDCWD, path, path, O_RDWR | O_CREAT, 0600,
                                             &own_kind, &opened.fd, why);
    if (err)
        return err;
    err = open_locked(path, &opened, why);
    if (err) {
        close(opened.fd);
        return err;
    }
    (void)set_lock(opened.fd, F_UNLCK, 0, 1);
    *view = opened;
    return BATON_OK;
}

void baton_core_view_close(struct baton_core_view *view)
{
    (void)munmap(view->table, sizeof *view->table);
    close(view->fd);
}

bool baton_core_view_try_lock(struct baton_core_view *view, int slot)
{
    return set_lock(view->fd, F_WRLCK, slot_offset(slot), 1);
}

void baton_core_view_unlock(struct baton_core_view *view, int slot)
{
    (void)set_lock(view->fd, F_UNLCK, slot_offset(slot), 1);
}
