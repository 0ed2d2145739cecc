/* Two claims of one process stand for two workers: each view has locks of its own. */
#include "tests/support/scratch.h"

#include "worker/kv/memory_claims.h"

static struct baton_memory_claim *open_claim_in(uint64_t group, bool decodes)
{
    struct baton_memory_claim *claim = NULL;
    struct baton_why why = {""};
    assert_ok(baton_memory_claim_open(scratch, decodes, group, &claim, &why));
    return claim;
}

static struct baton_memory_claim *open_claim(bool decodes)
{
    return open_claim_in(0, decodes);
}

static void assert_peers(struct baton_memory_claim *claim, struct baton_memory_peers expected)
{
    struct baton_memory_peers peers;
    baton_memory_claim_peers(claim, &peers);
    assert_int_equal(peers.n_prefill, expected.n_prefill);
    assert_int_equal(peers.n_decode, expected.n_decode);
    assert_int_equal(peers.n_unsized_prefill, expected.n_unsized_prefill);
    assert_int_equal(peers.n_unsized_decode, expected.n_unsized_decode);
    assert_int_equal(peers.pool_bytes, expected.pool_bytes);
    assert_int_equal(peers.unbacked_bytes, expected.unbacked_bytes);
}

TEST(a_worker_sees_who_is_still_to_decide)
{
    struct baton_memory_claim *decode = open_claim(true);
    assert_peers(decode, (struct baton_memory_peers){0});
    struct baton_memory_claim *prefill = open_claim(false);
    assert_peers(decode, (struct baton_memory_peers){.n_prefill = 1, .n_unsized_prefill = 1});
    assert_peers(prefill, (struct baton_memory_peers){.n_decode = 1, .n_unsized_decode = 1});
    baton_memory_claim_close(prefill);
    assert_peers(decode, (struct baton_memory_peers){0});
    baton_memory_claim_close(decode);
}

TEST(pool_bytes_count_as_free_until_they_are_backed)
{
    struct baton_memory_claim *decode = open_claim(true), *prefill = open_claim(false);
    baton_memory_claim_set_pool(decode, (3 << 20) - 1);
    assert_peers(prefill, (struct baton_memory_peers){
                              .n_decode = 1, .pool_bytes = 3 << 20, .unbacked_bytes = 3 << 20});
    baton_memory_claim_set_unbacked(decode, 1);
    assert_peers(prefill, (struct baton_memory_peers){
                              .n_decode = 1, .pool_bytes = 3 << 20, .unbacked_bytes = 1 << 20});
    baton_memory_claim_set_unbacked(decode, 0);
    assert_peers(prefill, (struct baton_memory_peers){.n_decode = 1, .pool_bytes = 3 << 20});
    baton_memory_claim_close(decode);
    decode = open_claim(true); /* its slot, with nothing of the old worker's */
    assert_peers(prefill, (struct baton_memory_peers){.n_decode = 1, .n_unsized_decode = 1});
    baton_memory_claim_close(decode);
    baton_memory_claim_close(prefill);
}

TEST(a_limit_of_ones_own_is_not_shared_with_other_containers)
{
    struct baton_memory_claim *here = open_claim_in(7, true), *beside = open_claim_in(7, false),
                              *elsewhere = open_claim_in(8, false), *host = open_claim(false);
    baton_memory_claim_set_pool(elsewhere, 1 << 20);
    assert_peers(here, (struct baton_memory_peers){.n_prefill = 1, .n_unsized_prefill = 1});
    assert_peers(host, (struct baton_memory_peers){.n_prefill = 2,
                                                   .n_unsized_prefill = 1,
                                                   .n_decode = 1,
                                                   .n_unsized_decode = 1,
                                                   .pool_bytes = 1 << 20,
                                                   .unbacked_bytes = 1 << 20});
    baton_memory_claim_close(host);
    baton_memory_claim_close(elsewhere);
    baton_memory_claim_close(beside);
    baton_memory_claim_close(here);
}

TEST(a_null_claim_has_no_peers)
{
    struct baton_memory_claim *none = NULL;
    struct baton_why why = {""};
    assert_int_equal(baton_memory_claim_open("", true, 0, &none, &why), BATON_NOT_FOUND);
    assert_peers(NULL, (struct baton_memory_peers){0});
    baton_memory_claim_set_pool(NULL, 1);
    baton_memory_claim_set_unbacked(NULL, 1);
    baton_memory_claim_close(NULL);
}

EACH_TEST(make_scratch, remove_scratch)
