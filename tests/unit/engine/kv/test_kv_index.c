#include "tests/unit/engine/kv/kv_unit.h"

#include "engine/kv/blocks.h"

enum { N_BLOCKS = 10, N_HASHES = 10, BLOCK = BATON_KV_BLOCK_TOKENS };

static struct baton_kv *kv;
static struct baton_block_hash hashes[N_HASHES];

SETUP(set_up)
{
    for (uint32_t i = 0; i < N_HASHES; i++)
        hashes[i] = colliding_hash(i);
    assert_ok(make_pool("f32", N_BLOCKS, &kv));
}

TEARDOWN(tear_down)
{
    baton_kv_destroy(kv);
}

static void assert_counts(int n_free, int n_cached)
{
    assert_true(baton_kv_is_consistent(kv));
    assert_int_equal(baton_kv_n_free(kv), n_free);
    assert_int_equal(baton_kv_n_cached(kv), n_cached);
}

/* A sequence that may go on from what is found under hashes first.., of n_blocks in all. */
static void begin(struct baton_seq *seq, int n_blocks, int first, int n_hashes)
{
    assert_ok(baton_seq_init_shared(seq, kv, n_blocks * BLOCK, hashes + first, n_hashes));
    assert_int_equal(seq->n_blocks, n_blocks);
    assert_int_equal(seq->n_tokens, seq->n_shared * BLOCK);
}

static uint32_t stamp_of(int number)
{
    return 100 * ((uint32_t)number + 1);
}

/* Blocks kept under hashes first..first + n - 1. */
static void cache(int first, int n)
{
    struct baton_seq seq;
    begin(&seq, n, 0, 0);
    for (int i = 0; i < n; i++)
        stamp_block(&seq, i, stamp_of(first + i));
    baton_seq_register(&seq, 0, hashes + first, n);
    baton_seq_fini(&seq);
}

/* A look needs an empty block or two, and counts as a use of what it finds. */
static bool is_kept(int number)
{
    struct baton_seq seq;
    begin(&seq, 2, number, 1);
    bool kept = seq.n_shared == 1;
    if (kept)
        assert_stamped(&seq, 0, stamp_of(number));
    baton_seq_fini(&seq);
    return kept;
}

static void assert_kept(const char *wanted)
{
    char kept[N_HASHES + 1] = "";
    for (int i = 0; wanted[i]; i++)
        kept[i] = is_kept(i) ? 'x' : '-';
    assert_string_equal(kept, wanted);
}

TEST(a_registered_block_is_shared_while_it_is_held)
{
    struct baton_seq first, second;
    begin(&first, 3, 0, 2);
    assert_int_equal(first.n_shared, 0);
    stamp_block(&first, 0, 7);
    baton_seq_register(&first, 0, hashes, 2);
    assert_counts(7, 0);
    begin(&second, 4, 0, 3);
    assert_int_equal(second.n_shared, 2);
    assert_int_equal(second.n_tokens, 32);
    assert_ptr_equal(baton_seq_block(&first, 1, 1), baton_seq_block(&second, 1, 1));
    assert_ptr_not_equal(baton_seq_block(&first, 1, 2), baton_seq_block(&second, 1, 2));
    assert_counts(5, 0);
    baton_seq_fini(&first);
    assert_counts(6, 0);
    assert_stamped(&second, 0, 7);
    baton_seq_fini(&second);
    assert_counts(N_BLOCKS, 2);
}

TEST(a_registered_block_without_holders_is_kept_and_counts_as_free)
{
    cache(0, 3);
    assert_counts(N_BLOCKS, 3);
    assert_kept("xxx-");
    assert_counts(N_BLOCKS, 3);
}

TEST(hashes_are_found_from_the_first_on_without_a_gap)
{
    struct baton_seq seq;
    cache(0, 2);
    cache(3, 2);
    begin(&seq, 6, 0, 5);
    assert_int_equal(seq.n_shared, 2);
    baton_seq_fini(&seq);
    begin(&seq, 6, 2, 3);
    assert_int_equal(seq.n_shared, 0);
    baton_seq_fini(&seq);
    assert_counts(N_BLOCKS, 4);
}

TEST(the_least_recently_used_goes_first)
{
    struct baton_seq seq;
    for (int i = 0; i < 5; i++)
        cache(i, 1);
    begin(&seq, 7, 0, 0); /* five empty ones, and two of those kept */
    assert_counts(3, 3);
    baton_seq_fini(&seq);
    assert_kept("--xxx");
}

TEST(a_hit_makes_a_block_recently_used)
{
    struct baton_seq seq;
    for (int i = 0; i < 5; i++)
        cache(i, 1);
    assert_true(is_kept(0));
    assert_true(is_kept(2));
    begin(&seq, 8, 0, 0);
    baton_seq_fini(&seq);
    assert_kept("x-x--");
}

TEST(a_chain_loses_its_end_first)
{
    struct baton_seq seq;
    cache(0, 6);
    begin(&seq, 7, 0, 0);
    baton_seq_fini(&seq);
    assert_kept("xxx---");
}

TEST(a_taken_name_stays_with_its_block)
{
    struct baton_seq first, second, third;
    begin(&first, 2, 0, 0);
    begin(&second, 2, 0, 0);
    stamp_block(&first, 0, stamp_of(0));
    baton_seq_register(&first, 0, hashes, 1);
    baton_seq_register(&second, 0, hashes, 1);
    begin(&third, 2, 0, 1);
    assert_ptr_equal(baton_seq_block(&third, 0, 0), baton_seq_block(&first, 0, 0));
    baton_seq_fini(&second);
    assert_counts(N_BLOCKS - 3, 0);
    baton_seq_register(&first, 0, hashes + 1, 1); /* nor does a block change its hash */
    baton_seq_fini(&first);
    baton_seq_fini(&third);
    assert_counts(N_BLOCKS, 1);
    assert_kept("x-");
}

TEST(blocks_that_a_request_found_are_not_evicted_for_the_rest_of_it)
{
    struct baton_seq seq;
    cache(0, 3);
    cache(5, 4);
    begin(&seq, N_BLOCKS, 0, 3); /* the oldest are the ones it needs */
    assert_int_equal(seq.n_shared, 3);
    for (int i = 3; i < N_BLOCKS; i++)
        stamp_block(&seq, i, 1);
    for (int i = 0; i < 3; i++)
        assert_stamped(&seq, i, stamp_of(i));
    assert_counts(0, 0);
    baton_seq_fini(&seq);
    assert_kept("xxx------");
}

TEST(too_few_blocks_beside_the_found_ones_leave_no_trace)
{
    struct baton_seq other, seq = {.n_tokens = 42};
    cache(0, 4);
    begin(&other, 1, 0, 0);
    /* Nine are free; four of them are found and six more wanted. */
    assert_int_equal(baton_seq_init_shared(&seq, kv, 10 * BLOCK, hashes, 4), BATON_LIMIT);
    assert_int_equal(seq.n_tokens, 42);
    assert_counts(9, 4);
    begin(&seq, 9, 0, 4);
    assert_int_equal(seq.n_shared, 4);
    assert_counts(0, 0);
    baton_seq_fini(&seq);
    baton_seq_fini(&other);
    assert_counts(N_BLOCKS, 4);
}

TEST(shared_blocks_let_in_more_sequences_than_the_pool_could_hold)
{
    struct baton_seq seqs[4], none;
    cache(0, 6);
    for (int i = 0; i < 4; i++)
        begin(&seqs[i], 7, 0, 6);
    assert_counts(0, 0);
    assert_int_equal(baton_seq_init_shared(&none, kv, 7 * BLOCK, hashes, 6), BATON_LIMIT);
    assert_int_equal(baton_seq_init(&none, kv, 1), BATON_LIMIT);
    assert_counts(0, 0);
    for (int i = 0; i < 4; i++)
        baton_seq_fini(&seqs[i]);
    assert_counts(N_BLOCKS, 6);
}

TEST(a_bound_holds_for_blocks_without_holders)
{
    struct baton_seq seq;
    baton_kv_bound_cache(kv, 2);
    begin(&seq, 5, 0, 0);
    baton_seq_register(&seq, 0, hashes, 5);
    for (int i = 0; i < 5; i++)
        stamp_block(&seq, i, stamp_of(i));
    assert_counts(5, 0);
    baton_seq_fini(&seq);
    assert_counts(N_BLOCKS, 2);
    assert_kept("xx---");
    cache(7, 1);
    assert_kept("-x-----x");
    baton_kv_bound_cache(kv, 1);
    assert_counts(N_BLOCKS, 1);
    assert_kept("-------x");
}

TEST(a_bound_of_none_names_and_finds_nothing)
{
    struct baton_seq registered, seq;
    cache(0, 2);
    begin(&registered, 2, 0, 0);
    baton_seq_register(&registered, 0, hashes + 2, 1);
    baton_kv_bound_cache(kv, 0);
    assert_counts(8, 0);
    baton_seq_register(&registered, 1, hashes + 3, 1);
    assert_kept("----");
    baton_seq_fini(&registered);
    assert_counts(N_BLOCKS, 0);
    begin(&seq, N_BLOCKS, 0, 0);
    baton_seq_fini(&seq);
    baton_kv_bound_cache(kv, N_BLOCKS);
    assert_kept("----");
    cache(0, 1);
    assert_counts(N_BLOCKS, 1);
}

TEST(hashes_that_leave_nothing_to_compute_are_refused)
{
    struct baton_seq seq = {.n_tokens = 42};
    cache(0, 2);
    assert_int_equal(baton_seq_init_shared(&seq, kv, 2 * BLOCK, hashes, 2), BATON_INVALID);
    assert_int_equal(baton_seq_init_shared(&seq, kv, 2 * BLOCK + 1, hashes, -1), BATON_INVALID);
    assert_int_equal(baton_seq_init_shared(&seq, kv, 0, hashes, 0), BATON_INVALID);
    assert_int_equal(baton_seq_init_shared(&seq, kv, BLOCK, hashes, INT32_MAX), BATON_INVALID);
    assert_int_equal(baton_seq_init_shared(&seq, kv, INT32_MAX, hashes, 2), BATON_LIMIT);
    assert_int_equal(seq.n_tokens, 42);
    assert_counts(N_BLOCKS, 2);
    begin(&seq, 3, 0, 2);
    baton_seq_fini(&seq);
}

TEST(many_colliding_hashes_are_distinguished)
{
    enum { N = 300 };
    struct baton_kv_blocks blocks;
    assert_ok(baton_kv_blocks_init(&blocks, N, N));
    for (int i = 0; i < N; i++)
        assert_in_range(baton_kv_blocks_allocate(&blocks), 0, N - 1);
    for (int i = 0; i < N; i++) {
        struct baton_block_hash hash = colliding_hash((uint32_t)i);
        baton_kv_blocks_register(&blocks, (i * 7) % N, &hash);
    }
    for (int i = 0; i < N; i += 3) /* from the ends and the middles of chains */
        baton_kv_blocks_release(&blocks, (i * 7) % N);
    baton_kv_blocks_bound(&blocks, 0); /* evicts the released ones */
    for (int i = 0; i < N; i++) {
        struct baton_block_hash hash = colliding_hash((uint32_t)i);
        assert_int_equal(baton_kv_blocks_find(&blocks, &hash),
                         i % 3 ? (i * 7) % N : BATON_KV_NO_BLOCK);
    }
    assert_true(baton_kv_blocks_are_consistent(&blocks));
    baton_kv_blocks_fini(&blocks);
}

EACH_TEST(set_up, tear_down)
