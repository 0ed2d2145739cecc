#include "engine/checkpoint/digest/file.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/base/os/cpu_quota.h"
#include "common/base/os/file.h"

/* The size of a piece is part of the digest: another size would give another fingerprint. Beyond 16
 * threads the memory or the disk is the limit. */
enum { PIECE_BYTES = 8 << 20, MAX_HELPERS = 15 };

struct piece_loop {
    struct baton_mapping file;
    size_t n_pieces;
    uint8_t (*digests)[BATON_SHA256_BYTES]; /* [n_pieces] */
    atomic_size_t n_taken;
    atomic_bool failed;
};

static size_t piece_bytes(const struct piece_loop *loop, size_t piece)
{
    size_t n_left = loop->file.n_bytes - piece * PIECE_BYTES;
    return n_left < PIECE_BYTES ? n_left : PIECE_BYTES;
}

/* Starts the disk on a piece before a thread waits for its first byte. */
static void read_ahead(const struct piece_loop *loop, size_t piece)
{
    if (piece < loop->n_pieces)
        (void)madvise((char *)(uintptr_t)loop->file.data + piece * PIECE_BYTES,
                      piece_bytes(loop, piece), MADV_WILLNEED);
}

static void hash_pieces(struct piece_loop *loop)
{
    size_t piece;
    while ((piece = atomic_fetch_add(&loop->n_taken, 1)) < loop->n_pieces) {
        read_ahead(loop, piece);
        /* The next piece too, so that the disk works while this thread hashes. */
        read_ahead(loop, piece + 1);
        if (baton_sha256_of(loop->file.data + piece * PIECE_BYTES, piece_bytes(loop, piece),
                            loop->digests[piece]))
            atomic_store(&loop->failed, true);
    }
}

static void *help(void *arg)
{
    (void)pthread_setname_np(pthread_self(), "baton-digest");
    hash_pieces(arg);
    return NULL;
}

static size_t n_helpers_for(size_t n_pieces)
{
    cpu_set_t allowed;
    struct baton_cpu_quota quota;
    int n_allowed = sched_getaffinity(0, sizeof allowed, &allowed) ? 1 : CPU_COUNT(&allowed);
    baton_cpu_quota_get(&quota);
    size_t n = (size_t)baton_cpu_quota_cores(&quota, n_allowed);
    n = n < n_pieces ? n : n_pieces;
    n = n < MAX_HELPERS + 1 ? n : MAX_HELPERS + 1;
    /* The caller hashes as well. */
    return n ? n - 1 : 0;
}

/* A helper that cannot be started is not missed: the caller takes its pieces. */
static void run(struct piece_loop *loop)
{
    pthread_t helpers[MAX_HELPERS];
    size_t n_wanted = n_helpers_for(loop->n_pieces), n = 0;
    while (n < n_wanted && !pthread_create(&helpers[n], NULL, help, loop))
        n++;
    hash_pieces(loop);
    while (n--)
        pthread_join(helpers[n], NULL);
}

enum baton_err baton_file_digest_add(struct baton_sha256 *sha, const char *path,
                                     struct baton_why *why)
{
    struct piece_loop loop = {.n_pieces = 0};
    char head[PATH_MAX + 32];
    enum baton_err err = baton_file_map(path, &loop.file, why);
    if (err)
        return err;
    loop.n_pieces = loop.file.n_bytes / PIECE_BYTES + (loop.file.n_bytes % PIECE_BYTES != 0);
    loop.digests = calloc(loop.n_pieces + 1, sizeof *loop.digests);
    if (loop.digests)
        run(&loop);
    if (!loop.digests || atomic_load(&loop.failed)) {
        err = baton_fail(why, BATON_NO_MEMORY, "%s: out of memory", path);
    } else {
        const char *slash = strrchr(path, '/');
        int n =
            snprintf(head, sizeof head, "%s\n%zu\n", slash ? slash + 1 : path, loop.file.n_bytes);
        baton_sha256_update(sha, head, (size_t)n);
        baton_sha256_update(sha, loop.digests, loop.n_pieces * sizeof *loop.digests);
    }
    free(loop.digests);
    baton_file_unmap(&loop.file);
    return err;
}
