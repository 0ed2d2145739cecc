#include "common/base/array.h"
#include "engine/kv/pool.h"
#include "tests/unit/engine/compute/engine_unit.h"

/* The hashes need only differ here. */
static void make_hashes(struct baton_block_hash *hashes, int n)
{
    for (int i = 0; i < n; i++)
        memset(hashes[i].bytes, i + 1, sizeof hashes[i].bytes);
}

static void forget_hashes(void)
{
    baton_kv_bound_cache(kv, 0);
    baton_kv_bound_cache(kv, baton_kv_n_blocks(kv));
    assert_int_equal(baton_kv_n_cached(kv), 0);
    assert_true(baton_kv_is_consistent(kv));
}

/* A prompt that another one began, with its own end, must cost nothing in exactness: whatever was
 * shared, the first logits and those of later steps have the bits of a prompt computed alone. */
TEST(a_prompt_on_shared_blocks_goes_on_to_the_same_bits)
{
    enum { N_HASHES = N_TOKENS / BATON_KV_BLOCK_TOKENS };
    struct baton_block_hash hashes[N_HASHES];
    struct baton_seq alone, first, seq, *one[] = {&alone}, *two[] = {&seq};
    make_hashes(hashes, N_HASHES);
    assert_ok(baton_seq_init(&alone, kv, CONTEXT));
    prefill(&alone, tokens, N_TOKENS, expected);
    assert_ok(baton_engine_decode(engine, one, tokens, 1, logits[0]));
    assert_ok(baton_seq_init(&first, kv, CONTEXT));
    for (int done = 0; done < N_TOKENS; done += 25) /* in chunks, and steps behind them */
        prefill(&first, tokens + done, 25, NULL);
    baton_seq_register(&first, 0, hashes, N_HASHES);
    for (int n_shared = 1; n_shared <= N_HASHES; n_shared++) {
        int n_done = n_shared * BATON_KV_BLOCK_TOKENS;
        assert_ok(baton_seq_init_shared(&seq, kv, CONTEXT, hashes, n_shared));
        assert_int_equal(seq.n_tokens, n_done);
        prefill(&seq, tokens + n_done, N_TOKENS - n_done, logits[1]);
        assert_same_logits(logits[1]);
        assert_ok(baton_engine_decode(engine, two, tokens, 1, logits[1]));
        assert_same(logits[1], logits[0]);
        baton_seq_fini(&seq);
        if (n_shared == N_HASHES / 2) /* from here on they have no holder */
            baton_seq_fini(&first);
    }
    forget_hashes();
    baton_seq_fini(&alone);
}

TEST(a_batch_on_shared_blocks_decodes_to_the_same_bits)
{
    enum { N_HASHES = 3, N_SHARED_TOKENS = N_HASHES * BATON_KV_BLOCK_TOKENS };
    struct baton_block_hash hashes[N_HASHES];
    struct baton_seq seqs[MAX_BATCH];
    struct baton_chunk chunks[MAX_BATCH];
    make_hashes(hashes, N_HASHES);
    compute_expected();
    for (int b = 0; b < MAX_BATCH; b++) {
        assert_ok(baton_seq_init_shared(&seqs[b], kv, N_TOKENS, hashes, N_HASHES));
        assert_int_equal(seqs[b].n_shared, b ? N_HASHES : 0);
        if (!b)
            prefill(&seqs[b], tokens, N_SHARED_TOKENS, NULL);
        baton_seq_register(&seqs[b], 0, hashes, N_HASHES);
        chunks[b] = (struct baton_chunk){
            .seq = &seqs[b], .tokens = tokens + N_SHARED_TOKENS, .n_tokens = b + 1, .n_logits = 0};
    }
    assert_ok(baton_engine_forward(engine, chunks, MAX_BATCH, NULL, NULL, NULL));
    for (int b = 0; b < MAX_BATCH; b++) {
        prefill(&seqs[b], tokens + seqs[b].n_tokens, N_TOKENS - seqs[b].n_tokens, logits[b]);
        assert_same_logits(logits[b]);
        baton_seq_fini(&seqs[b]);
    }
    forget_hashes();
}

TEST(a_sequence_never_begins_inside_its_shared_blocks)
{
    struct baton_block_hash hash;
    struct baton_seq first, seq;
    make_hashes(&hash, 1);
    assert_ok(baton_seq_init(&first, kv, N_TOKENS));
    prefill(&first, tokens, 16, NULL);
    baton_seq_register(&first, 0, &hash, 1);
    assert_ok(baton_seq_init_shared(&seq, kv, N_TOKENS, &hash, 1));
    seq.n_tokens = 15;
    assert_int_equal(baton_engine_prefill(engine, &seq, tokens, 1, NULL, NULL, NULL),
                     BATON_INVALID);
    baton_seq_fini(&first);
    baton_seq_fini(&seq);
    forget_hashes();
}

int main(void)
{
    return run_on_all_kernels();
}
