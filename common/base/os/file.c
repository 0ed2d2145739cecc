#include "common/base/os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WRITABLE_FOR_OTHERS = 022 };

static enum baton_err open_failure(const char *path, struct baton_why *why)
{
    return baton_fail(why, errno == ENOENT ? BATON_NOT_FOUND : BATON_IO, "%s: %s", path,
                      strerror(errno));
}

static enum baton_err open_regular(const char *path, int *fd_out, struct baton_why *why)
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return open_failure(path, why);
    if (fstat(fd, &info) || !S_ISREG(info.st_mode)) {
        close(fd);
        return baton_fail(why, BATON_IO, "%s: not a regular file", path);
    }
    *fd_out = fd;
    return BATON_OK;
}

enum baton_err baton_file_check_owner(int fd, const char *path, uid_t owner, mode_t forbidden,
                                      struct baton_why *why)
{
    struct stat info;
    if (fstat(fd, &info))
        return baton_fail(why, BATON_IO, "%s: %s", path, strerror(errno));
    if (!S_ISREG(info.st_mode))
        return baton_fail(why, BATON_INVALID, "%s: not a plain file", path);
    if (info.st_uid != geteuid() && info.st_uid != owner && info.st_uid)
        return baton_fail(why, BATON_INVALID, "%s: belongs to user %u, not to us", path,
                          (unsigned)info.st_uid);
    if (info.st_mode & forbidden)
        return baton_fail(why, BATON_INVALID, "%s: mode %03o lets others in; must be %03o", path,
                          (unsigned)info.st_mode & 0777,
                          (unsigned)(info.st_mode & 0777 & ~forbidden));
    return BATON_OK;
}

enum baton_err baton_file_open_owned(const char *path, uid_t owner, int *fd, struct baton_why *why)
{
    /* O_NONBLOCK: to open a pipe would block until somebody writes to it. */
    int opened = open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    if (opened < 0 && errno == ELOOP)
        return baton_fail(why, BATON_INVALID, "%s: a symbolic link, which is not followed", path);
    if (opened < 0)
        return open_failure(path, why);
    enum baton_err err = baton_file_check_owner(opened, path, owner, WRITABLE_FOR_OTHERS, why);
    if (err)
        close(opened);
    else
        *fd = opened;
    return err;
}

/* ---- contents; these functions close fd ---- */

static enum baton_err read_fd(int fd, const char *path, struct baton_buf *out,
                              struct baton_why *why)
{
    enum baton_err err = BATON_OK;
    char chunk[16384];
    ssize_t n;
    while ((n = read(fd, chunk, sizeof chunk)) > 0)
        baton_buf_append(out, chunk, (size_t)n);
    if (n < 0)
        err = baton_fail(why, BATON_IO, "%s: %s", path, strerror(errno));
    else if (baton_buf_err(out))
        err =
            baton_fail(why, baton_buf_err(out), "%s: larger than %zu bytes", path, out->max_bytes);
    close(fd);
    return err;
}

static enum baton_err map_fd(int fd, const char *path, struct baton_mapping *mapping,
                             struct baton_why *why)
{
    struct stat info = {0};
    void *data = NULL;
    enum baton_err err = BATON_OK;
    if (fstat(fd, &info))
        err = baton_fail(why, BATON_IO, "%s: %s", path, strerror(errno));
    if (!err && info.st_size) {
        data = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (data == MAP_FAILED)
            err = baton_fail(why, BATON_IO, "%s: mmap: %s", path, strerror(errno));
    }
    close(fd);
    if (!err)
        *mapping = (struct baton_mapping){.data = data, .n_bytes = (size_t)info.st_size};
    return err;
}

enum baton_err baton_file_read(const char *path, struct baton_buf *out, struct baton_why *why)
{
    int fd = -1;
    enum baton_err err = open_regular(path, &fd, why);
    return err ? err : read_fd(fd, path, out, why);
}

enum baton_err baton_file_read_owned(const char *path, uid_t owner, struct baton_buf *out,
                                     struct baton_why *why)
{
    int fd = -1;
    enum baton_err err = baton_file_open_owned(path, owner, &fd, why);
    return err ? err : read_fd(fd, path, out, why);
}

enum baton_err baton_file_map(const char *path, struct baton_mapping *mapping,
                              struct baton_why *why)
{
    int fd = -1;
    enum baton_err err = open_regular(path, &fd, why);
    return err ? err : map_fd(fd, path, mapping, why);
}

enum baton_err baton_file_map_owned(const char *path, uid_t owner, struct baton_mapping *mapping,
                                    struct baton_why *why)
{
    int fd = -1;
    enum baton_err err = baton_file_open_owned(path, owner, &fd, why);
    return err ? err : map_fd(fd, path, mapping, why);
}

void baton_file_unmap(struct baton_mapping *mapping)
{
    if (mapping->data)
        munmap((void *)(uintptr_t)mapping->data, mapping->n_bytes);
    *mapping = (struct baton_mapping){0};
}

enum baton_err baton_file_path(char path[PATH_MAX], const char *dir, const char *name,
                               struct baton_why *why)
{
    int n = snprintf(path, PATH_MAX, "%s/%s", dir, name);
    if (n < 0 || n >= PATH_MAX)
        return baton_fail(why, BATON_INVALID, "%s: path too long", dir);
    return BATON_OK;
}
