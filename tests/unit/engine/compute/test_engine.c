#include "common/base/array.h"
#include "tests/unit/engine/compute/engine_unit.h"

TEST(prefill_in_chunks_of_any_size_gives_the_same_logits)
{
    compute_expected();
    for (int chunk = 1; chunk < N_TOKENS; chunk += 1 + chunk / 3) {
        struct baton_seq seq;
        assert_ok(baton_seq_init(&seq, kv, N_TOKENS));
        for (int done = 0, n; done < N_TOKENS; done += n) {
            n = N_TOKENS - done < chunk ? N_TOKENS - done : chunk;
            prefill(&seq, tokens + done, n, done + n == N_TOKENS ? logits[0] : NULL);
        }
        assert_same_logits(logits[0]);
        baton_seq_fini(&seq);
    }
}

TEST(decoding_token_by_token_gives_the_logits_of_prefill)
{
    struct baton_seq seq, *seqs[] = {&seq};
    compute_expected();
    assert_ok(baton_seq_init(&seq, kv, N_TOKENS));
    for (int i = 0; i < N_TOKENS; i++)
        assert_ok(baton_engine_decode(engine, seqs, &tokens[i], 1, logits[0]));
    assert_int_equal(seq.n_tokens, N_TOKENS);
    assert_same_logits(logits[0]);
    baton_seq_fini(&seq);
}

TEST(the_naive_step_gives_the_same_and_leaves_its_scratch_empty)
{
    struct baton_seq seq;
    compute_expected();
    assert_ok(baton_seq_init(&seq, kv, CONTEXT));
    assert_ok(baton_engine_naive(engine, &seq, tokens, N_TOKENS, logits[0]));
    assert_same_logits(logits[0]);
    assert_int_equal(seq.n_tokens, 0);
    /* Longer than one prefill takes. */
    assert_ok(baton_engine_naive(engine, &seq, tokens, CONTEXT, logits[0]));
    assert_int_equal(seq.n_tokens, 0);
    baton_seq_fini(&seq);
}

struct kept {
    float (*rows)[N_VOCAB];
    int n;
};

static void keep_row(void *arg, int row, const float *row_logits)
{
    struct kept *kept = arg;
    assert_int_equal(row, kept->n);
    memcpy(kept->rows[kept->n++], row_logits, sizeof kept->rows[0]);
}

TEST(scoring_gives_every_position_the_logits_of_its_prefix)
{
    static float scored[N_TOKENS][N_VOCAB];
    struct baton_seq seq;
    struct kept kept = {.rows = scored};
    compute_expected();
    assert_ok(baton_seq_init(&seq, kv, N_TOKENS));
    assert_ok(
        baton_engine_score(engine, &seq, tokens, N_TOKENS, NULL, NULL, keep_row, &kept, logits[0]));
    assert_int_equal(kept.n, N_TOKENS);
    assert_int_equal(seq.n_tokens, N_TOKENS);
    assert_same_logits(scored[N_TOKENS - 1]);
    baton_seq_fini(&seq);
    for (int last = 0; last < N_TOKENS; last += 7) {
        assert_ok(baton_seq_init(&seq, kv, N_TOKENS));
        prefill(&seq, tokens, last + 1, expected);
        assert_same_logits(scored[last]);
        baton_seq_fini(&seq);
    }
}

TEST(a_long_prefill_and_decoding_agree_at_every_position)
{
    static float rows[MAX_PREFILL][N_VOCAB];
    struct baton_seq whole, stepped, *seqs[] = {&stepped};
    struct kept kept = {.rows = rows};
    assert_ok(baton_seq_init(&whole, kv, MAX_PREFILL));
    assert_ok(baton_seq_init(&stepped, kv, MAX_PREFILL));
    assert_ok(baton_engine_score(engine, &whole, tokens, MAX_PREFILL, NULL, NULL, keep_row, &kept,
                                 logits[0]));
    for (int i = 0; i < MAX_PREFILL; i++) {
        assert_ok(baton_engine_decode(engine, seqs, &tokens[i], 1, logits[1]));
        assert_same(logits[1], rows[i]);
    }
    baton_seq_fini(&whole);
    baton_seq_fini(&stepped);
}

TEST(a_sequence_decodes_to_the_same_bits_in_any_batch)
{
    struct baton_seq seqs[MAX_BATCH], *batch[MAX_BATCH];
    uint32_t next[MAX_BATCH];
    for (int n_seqs = 1; n_seqs <= MAX_BATCH; n_seqs++) {
        for (int b = 0; b < n_seqs; b++) {
            int n = 1 + 11 * b; /* of different lengths, the last batch member the same each time */
            int n_last = 37;
            assert_ok(baton_seq_init(&seqs[b], kv, CONTEXT));
            prefill(&seqs[b], tokens, b == n_seqs - 1 ? n_last : n, NULL);
            next[b] = (uint32_t)(b == n_seqs - 1 ? 5 : b);
            batch[b] = &seqs[b];
        }
        assert_ok(baton_engine_decode(engine, batch, next, n_seqs, logits[0]));
        if (n_seqs == 1)
            memcpy(expected, logits[0], sizeof expected);
        assert_same_logits(logits[n_seqs - 1]);
        for (int b = 0; b < n_seqs; b++)
            baton_seq_fini(&seqs[b]);
    }
}

struct layers_seen {
    const struct baton_seq *seq;
    int n, stop_at;
    uint32_t first_k[8]; /* as stored */
};

static bool see_layer(void *arg, int layer)
{
    struct layers_seen *seen = arg;
    assert_int_equal(layer, seen->n);
    memcpy(&seen->first_k[seen->n++], baton_seq_block(seen->seq, layer, 0), sizeof(uint32_t));
    return layer != seen->stop_at;
}

TEST(each_layers_kv_is_complete_when_its_callback_runs)
{
    struct baton_seq seq;
    assert_ok(baton_seq_init(&seq, kv, N_TOKENS));
    struct layers_seen seen = {.seq = &seq, .stop_at = -1};
    assert_ok(baton_engine_prefill(engine, &seq, tokens, N_TOKENS, see_layer, &seen, NULL));
    assert_int_equal(seen.n, sizes.n_layers);
    for (int layer = 0; layer < sizes.n_layers; layer++)
        assert_memory_equal(&seen.first_k[layer], baton_seq_block(&seq, layer, 0),
                            sizeof(uint32_t));
    baton_seq_fini(&seq);
}

TEST(a_callback_that_says_stop_cancels_and_the_sequence_can_start_again)
{
    struct baton_seq seq;
    compute_expected();
    assert_ok(baton_seq_init(&seq, kv, N_TOKENS));
    for (int stop_at = 0; stop_at < sizes.n_layers; stop_at++) {
        struct layers_seen seen = {.seq = &seq, .stop_at = stop_at};
        assert_int_equal(
            baton_engine_prefill(engine, &seq, tokens, N_TOKENS, see_layer, &seen, logits[0]),
            BATON_CANCELED);
        assert_int_equal(seen.n, stop_at + 1);
        assert_int_equal(seq.n_tokens, 0);
    }
    prefill(&seq, tokens, N_TOKENS, logits[0]);
    assert_same_logits(logits[0]);
    baton_seq_fini(&seq);
}

TEST(blocks_copied_to_another_sequence_continue_it)
{
    struct baton_seq first, other, *one[] = {&first}, *two[] = {&other};
    assert_ok(baton_seq_init(&first, kv, 40));
    assert_ok(baton_seq_init(&other, kv, 40));
    prefill(&first, tokens, 21, NULL);
    for (int layer = 0; layer < sizes.n_layers; layer++)
        for (int i = 0; i < baton_kv_blocks_for(21); i++)
            memcpy(baton_seq_block(&other, layer, i), baton_seq_block(&first, layer, i),
                   baton_kv_block_bytes(kv, layer));
    other.n_tokens = 21;
    assert_ok(baton_engine_decode(engine, one, &tokens[21], 1, logits[0]));
    assert_ok(baton_engine_decode(engine, two, &tokens[21], 1, logits[1]));
    assert_memory_equal(logits[0], logits[1], sizeof logits[0]);
    baton_seq_fini(&first);
    baton_seq_fini(&other);
}

TEST(calls_out_of_range_are_invalid_and_change_nothing)
{
    const uint32_t bad[] = {1, N_VOCAB};
    struct baton_seq seq, full, *batch[] = {&seq};
    float *row = logits[0];
    assert_ok(baton_seq_init(&seq, kv, 16));
    assert_ok(baton_seq_init(&full, kv, CONTEXT + 16));
    full.n_tokens = CONTEXT;
    assert_int_equal(baton_engine_prefill(engine, &seq, tokens, 0, NULL, NULL, row), BATON_INVALID);
    assert_int_equal(baton_engine_prefill(engine, &seq, tokens, 17, NULL, NULL, row),
                     BATON_INVALID);
    assert_int_equal(baton_engine_prefill(engine, &seq, bad, 2, NULL, NULL, row), BATON_INVALID);
    assert_int_equal(baton_engine_prefill(engine, &full, tokens, 1, NULL, NULL, row),
                     BATON_INVALID);
    assert_int_equal(baton_engine_prefill(engine, &full, tokens, MAX_PREFILL + 1, NULL, NULL, row),
                     BATON_INVALID);
    assert_int_equal(baton_engine_decode(engine, batch, tokens, 0, row), BATON_INVALID);
    assert_int_equal(baton_engine_forward(engine, NULL, 0, NULL, NULL, row), BATON_INVALID);
    assert_int_equal(baton_engine_decode(engine, batch, &bad[1], 1, row), BATON_INVALID);
    assert_int_equal(baton_engine_naive(engine, &full, tokens, 1, row), BATON_INVALID);
    assert_int_equal(baton_engine_naive(engine, &seq, tokens, 17, row), BATON_INVALID);
    assert_int_equal(seq.n_tokens, 0);
    assert_int_equal(full.n_tokens, CONTEXT);
    baton_seq_fini(&seq);
    baton_seq_fini(&full);
}

TEST(the_number_of_threads_never_changes_a_bit)
{
    compute_expected();
    for (int n_threads = 1; n_threads <= 5; n_threads += 2) {
        const struct baton_engine_options options = {.max_rows = N_TOKENS, .n_threads = n_threads};
        struct baton_engine *other;
        struct baton_seq seq;
        assert_ok(baton_engine_create(model, &options, &other, NULL));
        assert_ok(baton_seq_init(&seq, kv, N_TOKENS));
        assert_ok(baton_engine_prefill(other, &seq, tokens, N_TOKENS, NULL, NULL, logits[0]));
        assert_same_logits(logits[0]);
        baton_seq_fini(&seq);
        baton_engine_destroy(other);
    }
}

TEST(senseless_options_are_refused)
{
    const struct baton_engine_options cases[] = {
        {.max_rows = 0, .n_threads = 1},
        {.max_rows = 1, .n_threads = 0},
    };
    struct baton_engine *none = NULL;
    for (size_t i = 0; i < BATON_N_OF(cases); i++)
        assert_int_equal(baton_engine_create(model, &cases[i], &none, NULL), BATON_INVALID);
    assert_null(none);
}

int main(void)
{
    return run_on_all_kernels();
}
