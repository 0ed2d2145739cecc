#include "common/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static enum baton_err open_regular(const char *path, int *fd_out, size_t *n_bytes,
                                   struct baton_why *why)
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return baton_fail(why, errno == ENOENT ? BATON_NOT_FOUND : BATON_IO, "%s: %s", path,
                          strerror(errno));
    if (fstat(fd, &info) || !S_ISREG(info.st_mode)) {
        close(fd);
        return baton_fail(why, BATON_IO, "%s: not a regular file", path);
    }
    *fd_out = fd;
    *n_bytes = (size_t)info.st_size;
    return BATON_OK;
}

enum baton_err baton_file_read(const char *path, struct baton_buf *out, struct baton_why *why)
{
    int fd;
    size_t n_bytes;
    enum baton_err err = open_regular(path, &fd, &n_bytes, why);
    if (err)
        return err;
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

enum baton_err baton_file_path(char path[PATH_MAX], const char *dir, const char *name,
                               struct baton_why *why)
{
    int n = snprintf(path, PATH_MAX, "%s/%s", dir, name);
    if (n < 0 || n >= PATH_MAX)
        return baton_fail(why, BATON_INVALID, "%s: path too long", dir);
    return BATON_OK;
}

enum baton_err baton_file_map(const char *path, struct baton_mapping *mapping,
                              struct baton_why *why)
{
    int fd;
    size_t n_bytes;
    enum baton_err err = open_regular(path, &fd, &n_bytes, why);
    if (err)
        return err;
    void *data = NULL;
    if (n_bytes) {
        data = mmap(NULL, n_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
        if (data == MAP_FAILED)
            err = baton_fail(why, BATON_IO, "%s: mmap: %s", path, strerror(errno));
    }
    close(fd);
    if (!err)
        *mapping = (struct baton_mapping){.data = data, .n_bytes = n_bytes};
    return err;
}

void baton_file_unmap(struct baton_mapping *mapping)
{
    if (mapping->data)
        munmap((void *)(uintptr_t)mapping->data, mapping->n_bytes);
    *mapping = (struct baton_mapping){0};
}
