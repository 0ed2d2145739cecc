/* One process's pool as another one sees it: two pools of one layout, and one mapping. */
#include "tests/support/test.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/array.h"
#include "engine/kv/pool.h"

enum { N_BLOCKS = 7, N_LAYERS = 3 };

/* Layers of different sizes, one of which reads the first one's K and V. */
static const struct baton_spec spec = {.n_layers = N_LAYERS,
                                       .layers = {{.n_kv_heads = 2, .head_dim = 12, .kv_from = 0},
                                                  {.n_kv_heads = 2, .head_dim = 12, .kv_from = 0},
                                                  {.n_kv_heads = 1, .head_dim = 4, .kv_from = 2}}};
static const struct baton_kv_layout layout = {.spec = &spec, .auto_dtype = "f16"};

static struct baton_kv *theirs, *own;
static struct baton_kv_view *view;
static char *copy;

SETUP(set_up)
{
    assert_ok(baton_kv_create_of(
        layout, &(struct baton_kv_pool_options){.n_blocks = N_BLOCKS, .is_shared = true}, &theirs,
        NULL));
    assert_ok(
        baton_kv_create_of(layout, &(struct baton_kv_pool_options){.n_blocks = 2}, &own, NULL));
    assert_ok(baton_kv_view_open(own, baton_kv_fd(theirs), N_BLOCKS, &view, NULL));
    copy = malloc(baton_kv_all_block_bytes(own));
    assert_non_null(copy);
}

TEARDOWN(tear_down)
{
    free(copy);
    baton_kv_view_close(view);
    baton_kv_destroy(own);
    baton_kv_destroy(theirs);
}

static void fill(const struct baton_seq *seq, int seed)
{
    int n_held;
    const int *held = baton_kv_held_layers(theirs, &n_held);
    for (int i = 0; i < n_held; i++)
        for (int b = 0; b < seq->n_blocks; b++)
            memset(baton_seq_block(seq, held[i], b), seed + 16 * held[i] + b,
                   baton_kv_block_bytes(theirs, held[i]));
}

TEST(every_block_of_every_layer_is_seen_where_its_owner_has_it)
{
    struct baton_seq seq;
    int n_held;
    const int *held = baton_kv_held_layers(own, &n_held);
    assert_ok(baton_seq_init(&seq, theirs, N_BLOCKS * BATON_KV_BLOCK_TOKENS));
    fill(&seq, 1);
    for (int i = 0; i < n_held; i++)
        for (int b = 0; b < N_BLOCKS; b++) {
            size_t n = baton_kv_block_bytes(own, held[i]);
            assert_true(
                baton_kv_view_copy(view, held[i], seq.blocks[b], baton_kv_clock(theirs), copy));
            assert_memory_equal(copy, baton_seq_block(&seq, held[i], b), n);
        }
    baton_seq_fini(&seq);
}

/* The reader paused for too long, or the sender freed the sequence. */
TEST(a_copy_fails_when_the_block_belongs_to_another_sequence)
{
    struct baton_seq seq, next;
    assert_ok(baton_seq_init(&seq, theirs, N_BLOCKS * BATON_KV_BLOCK_TOKENS));
    fill(&seq, 1);
    uint64_t as_of = baton_kv_clock(theirs);
    int block = seq.blocks[3];
    baton_seq_fini(&seq);
    /* A block that is only free still has what it had. */
    assert_true(baton_kv_view_copy(view, 0, block, as_of, copy));
    assert_int_equal(copy[0], 1 + 3);
    assert_ok(baton_seq_init(&next, theirs, N_BLOCKS * BATON_KV_BLOCK_TOKENS));
    assert_false(baton_kv_view_copy(view, 0, block, as_of, copy));
    assert_true(baton_kv_view_copy(view, 0, block, baton_kv_clock(theirs), copy));
    baton_seq_fini(&next);
}

/* The clock after a block was filled, and with what, in one word. */
static _Atomic uint64_t filled;
static atomic_bool stops;

/* Gives the pool's only block to one sequence after the other. */
static void *reuse_block(void *arg)
{
    for (uint64_t i = 1; !atomic_load(&stops); i++) {
        struct baton_seq seq;
        if (baton_seq_init(&seq, arg, BATON_KV_BLOCK_TOKENS))
            abort();
        memset(baton_seq_block(&seq, 0, 0), (int)(i % 256), baton_kv_block_bytes(arg, 0));
        atomic_store(&filled, baton_kv_clock(arg) << 8 | i % 256);
        baton_seq_fini(&seq);
    }
    return NULL;
}

TEST(no_copy_that_passes_has_anything_of_the_next_sequence)
{
    enum { N_COPIES = 20000 };
    struct baton_kv *one_block;
    struct baton_kv_view *seen;
    pthread_t writer;
    size_t n = baton_kv_block_bytes(own, 0);
    int n_passed = 0, n_late = 0;
    assert_ok(baton_kv_create_of(layout,
                                 &(struct baton_kv_pool_options){.n_blocks = 1, .is_shared = true},
                                 &one_block, NULL));
    assert_ok(baton_kv_view_open(own, baton_kv_fd(one_block), 1, &seen, NULL));
    assert_int_equal(pthread_create(&writer, NULL, reuse_block, one_block), 0);
    while (!atomic_load(&filled))
        ;
    /* Until both have been seen: threads may run in turns. */
    for (int i = 0; i < N_COPIES || !n_passed || !n_late; i++) {
        uint64_t told = atomic_load(&filled);
        if (!baton_kv_view_copy(seen, 0, 0, told >> 8, copy)) {
            n_late++;
            continue;
        }
        n_passed++;
        for (size_t at = 0; at < n; at++)
            if ((uint8_t)copy[at] != told % 256)
                fail_msg("byte %zu is %u, not %u", at, (uint8_t)copy[at], (unsigned)(told % 256));
    }
    atomic_store(&stops, true);
    pthread_join(writer, NULL);
    baton_kv_view_close(seen);
    baton_kv_destroy(one_block);
}

TEST(a_pool_that_is_gone_is_still_seen)
{
    struct baton_seq seq;
    assert_ok(baton_seq_init(&seq, theirs, BATON_KV_BLOCK_TOKENS));
    fill(&seq, 9);
    int block = seq.blocks[0];
    uint64_t as_of = baton_kv_clock(theirs);
    baton_seq_fini(&seq);
    baton_kv_destroy(theirs);
    theirs = NULL;
    assert_true(baton_kv_view_copy(view, 0, block, as_of, copy));
    assert_int_equal(copy[0], 9);
}

TEST(another_file_than_a_sealed_pool_of_that_size_is_refused)
{
    struct baton_kv_view *none = NULL;
    struct baton_why why;
    struct stat pool;
    static const int wrong[] = {0, -1, N_BLOCKS - 1, N_BLOCKS + 1, INT32_MAX};
    for (size_t i = 0; i < BATON_N_OF(wrong); i++)
        assert_int_equal(baton_kv_view_open(own, baton_kv_fd(theirs), wrong[i], &none, &why),
                         BATON_INVALID);
    assert_non_null(strstr(why.text, "not a pool of"));
    assert_int_equal(fstat(baton_kv_fd(theirs), &pool), 0);
    int fd = memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_int_equal(ftruncate(fd, pool.st_size), 0);
    assert_int_equal(baton_kv_view_open(own, fd, N_BLOCKS, &none, &why), BATON_INVALID);
    assert_non_null(strstr(why.text, "not sealed"));
    assert_int_equal(baton_kv_view_open(own, -1, N_BLOCKS, &none, &why), BATON_INVALID);
    close(fd);
    assert_null(none);
}

TEST(a_reader_cannot_write)
{
    void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, baton_kv_fd(theirs), 0);
    assert_ptr_equal(memory, MAP_FAILED);
    assert_int_equal(errno, EACCES);
}

EACH_TEST(set_up, tear_down)
