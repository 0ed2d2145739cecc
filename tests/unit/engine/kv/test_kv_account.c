#include "common/base/clock.h"
#include "engine/kv/pool.h"
#include "tests/unit/engine/kv/kv_unit.h"

enum { N_BLOCKS = 12, BLOCK = BATON_KV_BLOCK_TOKENS };

static struct baton_kv *kv;

SETUP(set_up)
{
    assert_ok(make_pool("f32", N_BLOCKS, &kv));
}

TEARDOWN(tear_down)
{
    baton_kv_destroy(kv);
}

static struct baton_seq take(int n_blocks)
{
    struct baton_seq seq;
    assert_ok(baton_seq_init(&seq, kv, n_blocks * BLOCK));
    return seq;
}

TEST(claims_of_all_sequences_are_the_pools_own_count)
{
    struct baton_seq a = take(3), b = take(2), none = {0};
    baton_kv_account_begin(kv);
    assert_int_equal(baton_kv_account_claim(kv, &a), 3);
    assert_int_equal(baton_kv_account_claim(kv, &b), 2);
    assert_int_equal(baton_kv_account_claim(kv, &none), 0);
    assert_int_equal(baton_kv_account_n_faults(kv), 0);
    baton_seq_fini(&a);
    baton_seq_fini(&b);
}

TEST(a_shared_block_is_the_first_claimants_and_counts_for_both)
{
    const struct baton_block_hash hashes[2] = {colliding_hash(1), colliding_hash(2)};
    struct baton_seq a = take(3), b;
    baton_seq_register(&a, 0, hashes, 2);
    assert_ok(baton_seq_init_shared(&b, kv, 4 * BLOCK, hashes, 2));
    baton_kv_account_begin(kv);
    assert_int_equal(baton_kv_account_claim(kv, &a), 3);
    assert_int_equal(baton_kv_account_claim(kv, &b), 2);
    assert_int_equal(baton_kv_account_n_faults(kv), 0);
    baton_seq_fini(&a);
    baton_seq_fini(&b);
    baton_kv_account_begin(kv); /* two blocks are cached now, and unclaimed */
    assert_int_equal(baton_kv_account_n_faults(kv), 0);
}

TEST(unclaimed_and_doubly_claimed_blocks_are_faults)
{
    struct baton_seq a = take(3), b = take(2);
    baton_kv_account_begin(kv);
    (void)baton_kv_account_claim(kv, &a);
    assert_int_equal(baton_kv_account_n_faults(kv), 2);
    (void)baton_kv_account_claim(kv, &b);
    (void)baton_kv_account_claim(kv, &b);
    assert_int_equal(baton_kv_account_n_faults(kv), 2);
    baton_seq_fini(&a);
    baton_seq_fini(&b);
}

TEST(a_cached_block_knows_since_when)
{
    const struct baton_block_hash hash = colliding_hash(1);
    struct baton_seq a = take(1);
    assert_int_equal(baton_kv_oldest_cached_ns(kv), 0);
    baton_seq_register(&a, 0, &hash, 1);
    int64_t before_ns = baton_now_ns();
    baton_seq_fini(&a);
    assert_true(baton_kv_oldest_cached_ns(kv) >= before_ns);
    assert_true(baton_kv_oldest_cached_ns(kv) <= baton_now_ns());
}

EACH_TEST(set_up, tear_down)
