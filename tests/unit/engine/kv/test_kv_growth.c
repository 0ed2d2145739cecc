/* A pool that grows with its use: who waits for memory, and what becomes of memory nobody uses. */
#include "tests/support/test.h"

#include <dirent.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "common/base/clock.h"
#include "engine/kv/pool.h"

/* A step of 64 blocks takes 2 MiB in each layer. */
enum { BLOCK = BATON_KV_BLOCK_TOKENS, STEP = 64, N_STEPS = 6, STEP_BYTES = 4 << 20 };

#define IDLE_NS (300 * BATON_SECOND)

static const struct baton_spec spec = {.n_layers = 2,
                                       .layers = {{.n_kv_heads = 8, .head_dim = 64, .kv_from = 0},
                                                  {.n_kv_heads = 8, .head_dim = 64, .kv_from = 1}}};
static const struct baton_spec windowed = {
    .n_layers = 2,
    .layers = {{.n_kv_heads = 8, .head_dim = 64, .kv_from = 0},
               {.n_kv_heads = 8, .head_dim = 64, .kv_from = 1, .window = 64}}};

static sem_t moved;
static atomic_bool has_memory;
static struct baton_kv *kv;

static void grown(void *arg)
{
    sem_post(arg);
}

static bool may_take(void *arg, size_t n_bytes)
{
    (void)arg;
    return n_bytes == STEP_BYTES && atomic_load(&has_memory);
}

static struct baton_kv *make(bool is_shared, bool waits)
{
    const struct baton_kv_growth_options growth = {
        .may_take = may_take, .grown = grown, .arg = &moved, .idle_ns = IDLE_NS, .waits = waits};
    const struct baton_kv_pool_options options = {
        .dtype = "f16", .n_blocks = N_STEPS * STEP, .is_shared = is_shared, .growth = &growth};
    struct baton_kv *made = NULL;
    assert_ok(baton_kv_create_of((struct baton_kv_layout){.spec = &spec, .auto_dtype = "f16"},
                                 &options, &made, NULL));
    return made;
}

SETUP(set_up)
{
    sem_init(&moved, 0, 0);
    atomic_store(&has_memory, true);
    kv = make(false, false);
}

TEARDOWN(tear_down)
{
    baton_kv_destroy(kv);
    sem_destroy(&moved);
}

static size_t count_backed_steps(void)
{
    return baton_kv_memory(kv).backed_bytes / STEP_BYTES;
}

static void await(size_t n_steps)
{
    baton_kv_tick(kv, baton_now_ns());
    while (count_backed_steps() != n_steps) {
        sem_wait(&moved);
        baton_kv_tick(kv, baton_now_ns());
    }
}

/* Tries again for as long as memory may come. */
static enum baton_err try(struct baton_seq *seq, int n_blocks)
{
    enum baton_err err;
    while ((err = baton_seq_init(seq, kv, n_blocks * BLOCK)) == BATON_AGAIN)
        sem_wait(&moved);
    return err;
}

static void begin(struct baton_seq *seq, int n_blocks)
{
    assert_ok(try(seq, n_blocks));
}

static void write_all(const struct baton_seq *seq, int byte)
{
    for (int i = 0; i < seq->n_blocks; i++)
        for (int layer = 0; layer < spec.n_layers; layer++)
            memset(baton_seq_block(seq, layer, i), byte, baton_kv_block_bytes(kv, layer));
}

/* Time passes: longer than unused memory is kept. */
static void let_idle(void)
{
    baton_kv_tick(kv, baton_now_ns() + IDLE_NS + BATON_SECOND);
}

TEST(a_new_pool_has_memory_for_its_first_requests)
{
    struct baton_seq seq;
    struct baton_kv_memory memory = baton_kv_memory(kv);
    assert_int_equal(memory.cap_bytes, N_STEPS * STEP_BYTES);
    assert_int_equal(memory.backed_bytes, STEP_BYTES);
    assert_int_equal(memory.used_bytes, 0);
    assert_int_equal(baton_kv_n_free(kv), N_STEPS * STEP);
    assert_ok(baton_seq_init(&seq, kv, STEP * BLOCK));
    assert_int_equal(baton_kv_memory(kv).used_bytes, STEP_BYTES);
    baton_seq_fini(&seq);
}

TEST(it_grows_ahead_of_its_use)
{
    struct baton_seq first, second;
    assert_ok(baton_seq_init(&first, kv, BLOCK));
    await(2);
    assert_ok(baton_seq_init(&second, kv, STEP * BLOCK)); /* it need not wait */
    baton_seq_fini(&first);
    baton_seq_fini(&second);
    assert_true(baton_kv_is_consistent(kv));
}

TEST(a_sequence_waits_until_all_its_blocks_are_backed)
{
    struct baton_seq seq = {.n_tokens = 42};
    assert_int_equal(baton_seq_init(&seq, kv, 3 * STEP * BLOCK), BATON_AGAIN);
    assert_int_equal(seq.n_tokens, 42);
    assert_int_equal(baton_kv_n_free(kv), N_STEPS * STEP);
    begin(&seq, 3 * STEP);
    assert_true(count_backed_steps() >= 3);
    write_all(&seq, 7);
    baton_seq_fini(&seq);
    assert_true(baton_kv_is_consistent(kv));
}

TEST(more_than_the_pool_is_refused_at_once)
{
    struct baton_seq seq;
    assert_int_equal(baton_seq_init(&seq, kv, (N_STEPS * STEP + 1) * BLOCK), BATON_LIMIT);
    assert_int_equal(count_backed_steps(), 1);
    begin(&seq, N_STEPS * STEP);
    assert_int_equal(baton_seq_init(&(struct baton_seq){0}, kv, BLOCK), BATON_LIMIT);
    baton_seq_fini(&seq);
}

TEST(whoever_cannot_come_back_waits_within_the_call)
{
    struct baton_seq seq;
    baton_kv_destroy(kv);
    kv = make(false, true);
    assert_ok(baton_seq_init(&seq, kv, 4 * STEP * BLOCK));
    write_all(&seq, 7);
    baton_seq_fini(&seq);
}

TEST(use_is_compact)
{
    struct baton_seq first, second, third;
    begin(&first, STEP);
    begin(&second, 2 * STEP);
    baton_seq_fini(&first);
    begin(&third, 8);
    for (int i = 0; i < third.n_blocks; i++)
        assert_in_range(third.blocks[i], 0, STEP - 1);
    baton_seq_fini(&second);
    baton_seq_fini(&third);
}

TEST(without_memory_a_pool_is_as_large_as_what_it_has)
{
    struct baton_seq seq, held;
    begin(&held, STEP / 2);
    await(2);
    atomic_store(&has_memory, false);
    assert_int_equal(try(&seq, 3 * STEP), BATON_LIMIT);
    while (baton_kv_memory(kv).n_failures < 2) /* it asked for two steps */
        sem_wait(&moved);
    assert_int_equal(baton_kv_n_free(kv), 2 * STEP - STEP / 2);
    assert_int_equal(baton_kv_n_reservable(kv), 2 * STEP - STEP / 2);
    assert_ok(baton_seq_init(&seq, kv, STEP * BLOCK)); /* what is there serves */
    baton_seq_fini(&seq);
    atomic_store(&has_memory, true);
    baton_kv_tick(kv, baton_now_ns() + 2 * BATON_SECOND); /* it asks again */
    assert_int_equal(baton_kv_n_free(kv), N_STEPS * STEP - STEP / 2);
    begin(&seq, 3 * STEP);
    baton_seq_fini(&seq);
    baton_seq_fini(&held);
    assert_true(baton_kv_is_consistent(kv));
}

/* Leaves a step of cached blocks. */
static void cache_a_step(void)
{
    struct baton_block_hash hashes[STEP] = {0};
    struct baton_seq seq;
    begin(&seq, STEP);
    for (int i = 0; i < STEP; i++)
        hashes[i].bytes[0] = (uint8_t)(i + 1);
    baton_seq_register(&seq, 0, hashes, STEP);
    baton_seq_fini(&seq);
}

TEST(cached_blocks_give_way_where_memory_does_not_come)
{
    struct baton_seq seq;
    cache_a_step();
    await(2); /* one is cached, one empty */
    atomic_store(&has_memory, false);
    assert_ok(try(&seq, 2 * STEP));
    assert_int_equal(baton_kv_n_cached(kv), 0);
    baton_seq_fini(&seq);
}

TEST(memory_nobody_uses_is_given_back)
{
    struct baton_seq seq, low;
    begin(&low, 8);
    begin(&seq, 3 * STEP);
    write_all(&seq, 7);
    baton_seq_fini(&seq);
    size_t n_backed = count_backed_steps();
    assert_true(n_backed > 2);
    baton_kv_tick(kv, baton_now_ns());
    assert_true(count_backed_steps() >= n_backed); /* a moment ago it was in use */
    let_idle();
    assert_int_equal(count_backed_steps(), 2); /* its own, and the next requests' */
    begin(&seq, 3 * STEP);
    for (int i = 2 * STEP; i < seq.n_blocks; i++) /* the memory is new */
        assert_int_equal(*(char *)baton_seq_block(&seq, 0, i), 0);
    baton_seq_fini(&seq);
    baton_seq_fini(&low);
    assert_true(baton_kv_is_consistent(kv));
}

TEST(blocks_that_are_cached_for_too_long_are_evicted)
{
    cache_a_step();
    assert_int_equal(baton_kv_n_cached(kv), STEP);
    let_idle();
    assert_int_equal(baton_kv_n_cached(kv), 0);
    assert_int_equal(count_backed_steps(), 1);
}

/* A reader that comes too late finds zeros: the stamp must tell it. */
TEST(readers_notice_that_memory_was_given_back)
{
    struct baton_seq low, seq;
    struct baton_kv_view *view = NULL;
    char *copy = malloc(baton_kv_block_bytes(kv, 0));
    baton_kv_destroy(kv);
    kv = make(true, false);
    assert_ok(baton_kv_view_open(kv, baton_kv_fd(kv), N_STEPS * STEP, &view, NULL));
    begin(&low, STEP);
    begin(&seq, 2 * STEP);
    write_all(&seq, 7);
    int block = seq.blocks[seq.n_blocks - 1], kept = low.blocks[0];
    uint64_t as_of = baton_kv_clock(kv);
    assert_true(baton_kv_view_copy(view, 1, block, as_of, copy));
    assert_int_equal(copy[0], 7);
    baton_seq_fini(&seq);
    let_idle();
    assert_false(baton_kv_view_copy(view, 1, block, as_of, copy));
    assert_true(baton_kv_view_copy(view, 1, kept, as_of, copy));
    baton_seq_fini(&low);
    baton_kv_view_close(view);
    free(copy);
}

/* A sequence takes the blocks of its window while it runs, when it cannot wait. */
TEST(windows_that_are_set_aside_are_backed)
{
    enum { N_SEQS = 20, N_ROWS = 16, N_TOKENS = 12 * BLOCK };
    const struct baton_kv_growth_options growth = {.grown = grown, .arg = &moved};
    const struct baton_kv_pool_options options = {.dtype = "f16",
                                                  .n_blocks = N_STEPS * STEP,
                                                  .n_window_blocks = N_STEPS * STEP / 2,
                                                  .n_step_rows = N_ROWS,
                                                  .growth = &growth};
    struct baton_seq seqs[N_SEQS];
    baton_kv_destroy(kv);
    assert_ok(baton_kv_create_of((struct baton_kv_layout){.spec = &windowed, .auto_dtype = "f16"},
                                 &options, &kv, NULL));
    for (int i = 0; i < N_SEQS; i++)
        begin(&seqs[i], N_TOKENS / BLOCK);
    for (int at = 0; at < N_TOKENS; at += N_ROWS)
        for (int i = 0; i < N_SEQS; i++) {
            assert_true(baton_seq_slide(&seqs[i], N_ROWS));
            memset(baton_seq_block(&seqs[i], 1, at / BLOCK), i, baton_kv_block_bytes(kv, 1));
            seqs[i].n_tokens += N_ROWS;
        }
    assert_true(baton_kv_is_consistent(kv));
    for (int i = 0; i < N_SEQS; i++)
        baton_seq_fini(&seqs[i]);
    assert_true(baton_kv_is_consistent(kv));
}

/* ---- the thread ---- */

static bool is_named(const char *thread, const char *wanted)
{
    char path[300], name[64] = "";
    (void)snprintf(path, sizeof path, "/proc/self/task/%s/comm", thread);
    FILE *file = fopen(path, "r");
    bool is_read = file && fgets(name, sizeof name, file);
    if (file)
        (void)fclose(file);
    return is_read && !strcmp(name, wanted);
}

/* The thread's id; 0 while it has not said its name. */
static int find_thread(void)
{
    int id = 0;
    DIR *threads = opendir("/proc/self/task");
    assert_non_null(threads);
    for (struct dirent *entry; !id && (entry = readdir(threads));)
        if (is_named(entry->d_name, "baton-kv-back\n"))
            id = atoi(entry->d_name);
    (void)closedir(threads);
    return id;
}

/* A thread of low priority would hold the lock of the address space while it is preempted, and
 * every thread that touches a page or maps memory would wait for it. */
TEST(it_is_backed_at_the_priority_of_all_others)
{
    int id;
    while (!(id = find_thread()))
        ;
    assert_int_equal(getpriority(PRIO_PROCESS, (id_t)id), getpriority(PRIO_PROCESS, 0));
}

TEST(a_pool_can_go_while_it_grows)
{
    for (int i = 0; i < 20; i++) {
        struct baton_seq seq;
        baton_kv_destroy(kv);
        kv = make(false, false);
        assert_int_equal(baton_seq_init(&seq, kv, N_STEPS * STEP * BLOCK), BATON_AGAIN);
    }
}

TEST(a_pool_grows_by_the_states_that_are_saved)
{
    enum { N_STATES = 40, N_SAVED = 20 };
    static const struct baton_spec with_state = {
        .n_layers = 2,
        .layers = {{.n_kv_heads = 8, .head_dim = 64, .kv_from = 0},
                   {.mixer = BATON_MIXER_DELTA, .kv_from = 1}},
        .state = {.n_heads = 8, .n_key_heads = 8, .n_keys = 128, .n_values = 128, .n_taps = 4}};
    const struct baton_kv_growth_options growth = {.grown = grown, .arg = &moved};
    const struct baton_kv_pool_options options = {
        .dtype = "f16", .n_blocks = STEP, .n_window_blocks = N_STATES, .growth = &growth};
    struct baton_kv *states = NULL;
    assert_ok(baton_kv_create_of((struct baton_kv_layout){.spec = &with_state, .auto_dtype = "f16"},
                                 &options, &states, NULL));
    const struct baton_kv_blocks *blocks = &states->windows->blocks;
    assert_true(blocks->n_blocks - blocks->n_unbacked < N_SAVED);
    for (int i = 0, number; i < N_SAVED; i++) {
        struct baton_block_hash hash = {.bytes = {(uint8_t)(i + 1)}};
        baton_kv_windows_allocate(states->windows, &number, 0, 1);
        baton_kv_windows_register(states->windows, number, &hash);
        baton_kv_windows_release(states->windows, &number, 0, 1);
        baton_kv_tick(states, baton_now_ns());
        while (blocks->n_blocks - blocks->n_unbacked <= i + 1) {
            sem_wait(&moved);
            baton_kv_tick(states, baton_now_ns());
        }
    }
    assert_int_equal(baton_kv_states(states).n_cached, N_SAVED);
    baton_kv_destroy(states);
}

EACH_TEST(set_up, tear_down)
