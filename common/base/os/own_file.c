#include "common/base/os/own_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum baton_err failure(const char *path, struct baton_why *why)
{
    enum baton_err err = BATON_IO;
    if (errno == ELOOP || errno == EISDIR || errno == ENXIO)
        return baton_fail(why, BATON_INVALID, "%s: not a plain file", path);
    if (errno == ENOENT)
        err = BATON_NOT_FOUND;
    else if (errno == ENOSPC || errno == EDQUOT)
        err = BATON_LIMIT;
    return baton_fail(why, err, "%s: %s", path, strerror(errno));
}

static enum baton_err check_owner(const struct stat *info, const char *path, mode_t forbidden,
                                  struct baton_why *why)
{
    if (info->st_uid != geteuid())
        return baton_fail(why, BATON_INVALID, "%s: belongs to user %u, not to us", path,
                          (unsigned)info->st_uid);
    if (info->st_mode & forbidden)
        return baton_fail(why, BATON_INVALID, "%s: mode %03o lets others in; must be %03o", path,
                          (unsigned)info->st_mode & 0777,
                          (unsigned)(info->st_mode & 0777 & ~forbidden));
    return BATON_OK;
}

/* ---- directories ---- */

/* Copies dir without what would make open follow a link at its end. */
static bool trim(const char *dir, char trimmed[PATH_MAX])
{
    size_t n = strlen(dir);
    while ((n > 1 && dir[n - 1] == '/') || (n > 2 && dir[n - 1] == '.' && dir[n - 2] == '/'))
        n--;
    if (n >= PATH_MAX)
        return false;
    memcpy(trimmed, dir, n);
    trimmed[n] = 0;
    return true;
}

enum baton_err baton_own_dir_open(const char *dir, mode_t forbidden, int *fd, struct baton_why *why)
{
    char path[PATH_MAX];
    struct stat info;
    if (!trim(dir, path))
        return baton_fail(why, BATON_INVALID, "%s: path too long", dir);
    int opened = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (opened < 0 && (errno == ELOOP || errno == ENOTDIR))
        return baton_fail(why, BATON_INVALID, "%s: a link or a file; must be a directory", dir);
    if (opened < 0 || fstat(opened, &info)) {
        enum baton_err failed = failure(dir, why);
        if (opened >= 0)
            (void)close(opened);
        return failed;
    }
    enum baton_err err = check_owner(&info, dir, forbidden, why);
    if (err)
        (void)close(opened);
    else
        *fd = opened;
    return err;
}

/* ---- files ---- */

enum baton_err baton_own_file_check(int fd, const char *path, const struct baton_own_kind *kind,
                                    struct baton_why *why)
{
    char begin[BATON_OWN_MAGIC_MAX];
    size_t n_magic = strlen(kind->magic);
    struct stat info;
    if (fstat(fd, &info))
        return failure(path, why);
    if (!S_ISREG(info.st_mode))
        return baton_fail(why, BATON_INVALID, "%s: not a plain file", path);
    enum baton_err err = check_owner(&info, path, kind->forbidden, why);
    if (err)
        return err;
    if (info.st_nlink > 1)
        return baton_fail(why, BATON_INVALID, "%s: has more than one name", path);
    ssize_t n = n_magic ? pread(fd, begin, n_magic, 0) : 0;
    if (n < 0)
        return failure(path, why);
    if (memcmp(begin, kind->magic, (size_t)n) != 0)
        return baton_fail(why, BATON_INVALID,
                          "%s: not a file of Baton's, by its first bytes; move it away", path);
    return BATON_OK;
}

enum baton_err baton_own_file_open(int dir, const char *name, const char *path, int flags,
                                   mode_t mode, const struct baton_own_kind *kind, int *fd,
                                   struct baton_why *why)
{
    /* O_NONBLOCK: to open a pipe would block until somebody opens its other end. */
    int opened = openat(dir, name, flags | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC, mode);
    if (opened < 0)
        return failure(path, why);
    enum baton_err err = baton_own_file_check(opened, path, kind, why);
    if (err)
        (void)close(opened);
    else
        *fd = opened;
    return err;
}

enum baton_err baton_own_file_may_replace(const char *path, const struct baton_own_kind *kind,
                                          struct baton_why *why)
{
    int fd = -1;
    enum baton_err err = baton_own_file_open(AT_FDCWD, path, path, O_RDONLY, 0, kind, &fd, why);
    if (!err)
        (void)close(fd);
    return err == BATON_NOT_FOUND ? BATON_OK : err;
}

enum baton_err baton_own_file_remove(int dir, const char *name, const char *path,
                                     const struct baton_own_kind *kind, struct baton_why *why)
{
    int fd = -1;
    enum baton_err err = baton_own_file_open(dir, name, path, O_RDONLY, 0, kind, &fd, why);
    if (err)
        return err;
    (void)close(fd);
    return unlinkat(dir, name, 0) ? failure(path, why) : BATON_OK;
}
