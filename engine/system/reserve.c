#include "engine/system/reserve.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* since Linux 5.14; older headers lack it */
#endif

#define SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW)

enum { HUGE_PAGE_BYTES = BATON_RESERVE_ALIGNMENT };

struct baton_reserve {
    char *mapping, *memory;
    size_t n_mapped, n_bytes;
    int fd, reader_fd; /* the file, and the same opened for reading only; -1: not shared */
};

/* Maps a huge page more than needed: mmap aligns to 4 KiB, and huge pages need 2 MiB. */
static enum baton_err map(struct baton_reserve *reserve)
{
    if (__builtin_add_overflow(reserve->n_bytes, HUGE_PAGE_BYTES, &reserve->n_mapped))
        return BATON_NO_MEMORY;
    void *mapping =
        mmap(NULL, reserve->n_mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping == MAP_FAILED)
        return BATON_NO_MEMORY;
    reserve->mapping = mapping;
    reserve->memory = reserve->mapping +
                      (HUGE_PAGE_BYTES - (uintptr_t)mapping % HUGE_PAGE_BYTES) % HUGE_PAGE_BYTES;
    (void)madvise(reserve->memory, reserve->n_bytes, MADV_HUGEPAGE); /* only a hint */
    return BATON_OK;
}

/* Opens the file once more, for readers. A descriptor that may only read maps no writable memory,
 * and without permissions the file's name in /proc opens no other. */
static enum baton_err open_for_readers(struct baton_reserve *reserve)
{
    char name[64];
    (void)snprintf(name, sizeof name, "/proc/self/fd/%d", reserve->fd);
    reserve->reader_fd = open(name, O_RDONLY | O_CLOEXEC);
    return reserve->reader_fd < 0 || fchmod(reserve->fd, 0) ? BATON_IO : BATON_OK;
}

/* Maps the file over the mapping. F_SEAL_FUTURE_WRITE would keep others from writing as well, but
 * the kernel then refuses to punch holes, by which the file gives memory back. */
static enum baton_err map_file(struct baton_reserve *reserve)
{
    reserve->fd = memfd_create("baton-kv", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (reserve->fd < 0)
        return BATON_IO;
    if (reserve->n_bytes > INT64_MAX || ftruncate(reserve->fd, (off_t)reserve->n_bytes))
        return BATON_NO_MEMORY;
    if (mmap(reserve->memory, reserve->n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
             reserve->fd, 0) == MAP_FAILED)
        return BATON_NO_MEMORY;
    (void)madvise(reserve->memory, reserve->n_bytes, MADV_HUGEPAGE); /* only a hint */
    return fcntl(reserve->fd, F_ADD_SEALS, SEALS) ? BATON_IO : open_for_readers(reserve);
}

bool baton_reserve_is_sealed(int fd)
{
    int seals = fcntl(fd, F_GET_SEALS);
    return seals >= 0 && (seals & SEALS) == SEALS;
}

static enum baton_err create(size_t n_bytes, bool is_shared, struct baton_reserve **reserve)
{
    struct baton_reserve *made = calloc(1, sizeof *made);
    if (!made)
        return BATON_NO_MEMORY;
    made->n_bytes = n_bytes;
    made->fd = made->reader_fd = -1;
    enum baton_err err = map(made);
    if (!err && is_shared)
        err = map_file(made);
    if (err) {
        baton_reserve_destroy(made);
        return err;
    }
    *reserve = made;
    return BATON_OK;
}

enum baton_err baton_reserve_create(size_t n_bytes, struct baton_reserve **reserve)
{
    return create(n_bytes, false, reserve);
}

enum baton_err baton_reserve_create_shared(size_t n_bytes, struct baton_reserve **reserve)
{
    return create(n_bytes, true, reserve);
}

void baton_reserve_destroy(struct baton_reserve *reserve)
{
    if (!reserve)
        return;
    if (reserve->mapping)
        (void)munmap(reserve->mapping, reserve->n_mapped);
    if (reserve->fd >= 0)
        close(reserve->fd);
    if (reserve->reader_fd >= 0)
        close(reserve->reader_fd);
    free(reserve);
}

/* Touches pages where the kernel (before Linux 5.14) cannot back them. Another thread may be
 * writing to the first and the last one, so the touch is atomic and changes nothing. */
static void touch(char *from, const char *end)
{
    for (char *p = from; p < end; p += getpagesize())
        (void)atomic_fetch_or((_Atomic char *)p, 0);
}

enum baton_err baton_reserve_back(struct baton_reserve *reserve, size_t at, size_t n)
{
    size_t page = (size_t)getpagesize(), past = at % page;
    char *from = reserve->memory + at - past;
    if (!madvise(from, n + past, MADV_POPULATE_WRITE))
        return BATON_OK;
    if (errno != EINVAL)
        return BATON_NO_MEMORY;
    touch(from, from + n + past);
    return BATON_OK;
}

void baton_reserve_give_back(struct baton_reserve *reserve, size_t at, size_t n)
{
    size_t page = reserve->fd < 0 ? (size_t)HUGE_PAGE_BYTES : (size_t)getpagesize();
    size_t from = (at + page - 1) / page * page, end = (at + n) / page * page;
    if (end <= from)
        return;
    if (reserve->fd < 0)
        (void)madvise(reserve->memory + from, end - from, MADV_DONTNEED);
    else
        (void)fallocate(reserve->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)from,
                        (off_t)(end - from));
}

void *baton_reserve_memory(const struct baton_reserve *reserve)
{
    return reserve->memory;
}

int baton_reserve_fd(const struct baton_reserve *reserve)
{
    return reserve->reader_fd;
}
