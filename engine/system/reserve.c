#include "engine/system/reserve.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* since Linux 5.14; older headers lack it */
#endif

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x10 /* since Linux 5.1; older headers lack it */
#endif

#define SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE)

/* The thread backs one huge page at a time, because it holds the lock of the address space
 * (mmap_lock) meanwhile. It keeps normal priority: with less, compute threads would preempt
 * it while it holds the lock, and every thread that faults a page in or maps memory would
 * wait for it. */
enum { HUGE_PAGE_BYTES = 2 << 20, STEP_BYTES = HUGE_PAGE_BYTES };

struct baton_reserve {
    char *mapping, *memory;
    size_t n_mapped, n_bytes;
    int fd; /* -1: the memory is this process's alone */
    pthread_t thread;
    bool has_thread;
    atomic_bool stopping;
    atomic_size_t n_backed; /* by the thread */
};

static int64_t cpu_ns(void)
{
    struct timespec time = {0};
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * BATON_SECOND + time.tv_nsec;
}

/* Sleeps so long that the thread uses a twentieth of one processor. */
static void rest(int64_t worked_ns)
{
    int64_t ns = 19 * worked_ns;
    struct timespec time = {.tv_sec = ns / BATON_SECOND, .tv_nsec = ns % BATON_SECOND};
    (void)nanosleep(&time, NULL);
}

/* A kernel before Linux 5.14 refuses; pages are then backed when they are touched. */
static void *back(void *arg)
{
    struct baton_reserve *reserve = arg;
    (void)pthread_setname_np(pthread_self(), "baton-kv-back");
    for (size_t at = 0; at < reserve->n_bytes && !atomic_load(&reserve->stopping);
         at += STEP_BYTES) {
        size_t left = reserve->n_bytes - at, n = left < STEP_BYTES ? left : STEP_BYTES;
        int64_t begin_ns = cpu_ns();
        if (madvise(reserve->memory + at, n, MADV_POPULATE_WRITE))
            break;
        atomic_fetch_add(&reserve->n_backed, n);
        rest(cpu_ns() - begin_ns);
    }
    return NULL;
}

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

/* Maps the file over the mapping. F_SEAL_FUTURE_WRITE spares existing mappings, so the seals come
 * last. */
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
    return fcntl(reserve->fd, F_ADD_SEALS, SEALS) ? BATON_IO : BATON_OK;
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
    made->fd = -1;
    enum baton_err err = map(made);
    if (!err && is_shared)
        err = map_file(made);
    if (err) {
        baton_reserve_destroy(made);
        return err;
    }
    made->has_thread = n_bytes >= STEP_BYTES && !pthread_create(&made->thread, NULL, back, made);
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
    atomic_store(&reserve->stopping, true);
    if (reserve->has_thread)
        pthread_join(reserve->thread, NULL);
    if (reserve->mapping)
        (void)munmap(reserve->mapping, reserve->n_mapped);
    if (reserve->fd >= 0)
        close(reserve->fd);
    free(reserve);
}

size_t baton_reserve_unbacked_bytes(const struct baton_reserve *reserve)
{
    return reserve->n_bytes - atomic_load(&reserve->n_backed);
}

void *baton_reserve_memory(const struct baton_reserve *reserve)
{
    return reserve->memory;
}

int baton_reserve_fd(const struct baton_reserve *reserve)
{
    return reserve->fd;
}
