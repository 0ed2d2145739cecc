#include "common/base/os/once_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/os/own_file.h"

enum { POLL_MS = 10, MODE = 0644, FOR_OTHERS = 022 };

/* True when the locked file still has its name. It is normal that the file was renamed or deleted
 * while we waited for the lock: its holder has finished. */
static bool is_still_named(const struct baton_once_file *once)
{
    struct stat ours, named;
    return !fstat(once->fd, &ours) && !lstat(once->temporary, &named) &&
           ours.st_dev == named.st_dev && ours.st_ino == named.st_ino;
}

static enum baton_err io_failure(const struct baton_once_file *once, struct baton_why *why)
{
    return baton_fail(why, BATON_IO, "%s: %s", once->temporary, strerror(errno));
}

/* Empties the file and begins it, so that it stays recognisable wherever its maker dies. */
static enum baton_err start(const struct baton_once_file *once, struct baton_why *why)
{
    ssize_t n = (ssize_t)strlen(once->magic);
    if (ftruncate(once->fd, 0) || pwrite(once->fd, once->magic, (size_t)n, 0) != n)
        return io_failure(once, why);
    /* Before the file grows: a loss of power may keep its size and lose its first bytes. */
    (void)fdatasync(once->fd);
    return BATON_OK;
}

/* Tries once. AGAIN while another process holds the lock, or if it has just finished. */
static enum baton_err try_lock(struct baton_once_file *once, struct baton_why *why)
{
    const struct baton_own_kind kind = {.magic = once->magic, .forbidden = FOR_OTHERS};
    enum baton_err err = BATON_OK;
    once->fd = open(once->temporary, O_RDWR | O_CREAT | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC, MODE);
    if (once->fd < 0)
        return io_failure(once, why);
    if (flock(once->fd, LOCK_EX | LOCK_NB))
        err = errno == EWOULDBLOCK || errno == EINTR ? BATON_AGAIN : io_failure(once, why);
    else if (!is_still_named(once))
        err = BATON_AGAIN;
    else if (baton_own_file_check(once->fd, once->temporary, &kind, why))
        err = BATON_IO; /* somebody else's, or its creator could go on writing */
    else
        err = start(once, why);
    if (err)
        close(once->fd);
    return err;
}

enum baton_err baton_once_file_begin(const char *path, const char *magic, double wait_s,
                                     struct baton_once_file *once, struct baton_why *why)
{
    /* flock(2) has no time limit, hence the polling. */
    const struct timespec pause = {.tv_nsec = POLL_MS * BATON_MS};
    int64_t until_ns = baton_now_ns() + (int64_t)(wait_s * (double)BATON_SECOND);
    struct baton_once_file begun = {.magic = magic};
    int n = snprintf(begun.temporary, sizeof begun.temporary, "%s.tmp", path);
    if (n < 0 || n >= (int)sizeof begun.temporary)
        return baton_fail(why, BATON_IO, "%s: path too long", path);
    memcpy(begun.path, path, strlen(path) + 1);
    enum baton_err err = try_lock(&begun, why);
    while (err == BATON_AGAIN && baton_now_ns() < until_ns) {
        (void)nanosleep(&pause, NULL);
        err = try_lock(&begun, why);
    }
    if (err == BATON_AGAIN)
        return baton_fail(why, BATON_TIMEOUT, "%s: another process is still making it",
                          begun.temporary);
    if (!err)
        *once = begun;
    return err;
}

enum baton_err baton_once_file_may_commit(const struct baton_once_file *once, struct baton_why *why)
{
    const struct baton_own_kind kind = {.magic = once->magic};
    return baton_own_file_may_replace(once->path, &kind, why) ? BATON_IO : BATON_OK;
}

enum baton_err baton_once_file_commit(struct baton_once_file *once, struct baton_why *why)
{
    enum baton_err err = baton_once_file_may_commit(once, why);
    if (!err && rename(once->temporary, once->path))
        err = io_failure(once, why);
    if (err)
        (void)unlink(once->temporary);
    close(once->fd);
    return err;
}

void baton_once_file_abort(struct baton_once_file *once)
{
    (void)unlink(once->temporary);
    close(once->fd);
}
