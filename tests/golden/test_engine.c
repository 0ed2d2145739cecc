/* The story model against numbers of another implementation, and the three ways to run a model
 * against each other. */
#include "tests/support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "engine/model/model.h"

enum {
    N_GOLDEN = 8,
    LENGTHS_PER_PROMPT = 7, /* 56 prompts, prefixes of the golden texts */
    N_PROMPTS = N_GOLDEN * LENGTHS_PER_PROMPT,
    N_NEW = 16,
    MAX_TOKENS = 512,
    GOLDEN_MAX_BYTES = 64 << 20
};

static const double tolerance = 2e-3;

static struct baton_model *model;
static struct baton_kv *kv;
static struct baton_engine *engine;
static struct baton_json *golden;
static float *logits; /* [N_PROMPTS][V] */
static int n_vocab;

SETUP(set_up)
{
    const struct baton_engine_options options = {.max_rows = MAX_TOKENS, .n_threads = 2};
    struct baton_why why;
    if (baton_model_open("models/tale", NULL, &model, &why) ||
        baton_kv_create(model,
                        &(struct baton_kv_pool_options){
                            .n_blocks = N_PROMPTS * baton_kv_blocks_for(MAX_TOKENS)},
                        &kv, &why) ||
        baton_engine_create(model, &options, &engine, &why) ||
        baton_json_read_file("tests/golden/tale.json", GOLDEN_MAX_BYTES, &golden, &why))
        fail_msg("%s", why.text);
    n_vocab = baton_model_info(model)->n_vocab;
    logits = calloc((size_t)N_PROMPTS * (size_t)n_vocab, sizeof *logits);
    assert_non_null(logits);
}

TEARDOWN(tear_down)
{
    free(logits);
    baton_json_free(golden);
    baton_engine_destroy(engine);
    baton_kv_destroy(kv);
    baton_model_close(model);
}

static const struct baton_json *golden_prompt(int index)
{
    const struct baton_json *prompts = baton_json_get(golden, "prompts");
    assert_int_equal(baton_json_size(prompts), N_GOLDEN);
    return baton_json_at(prompts, (size_t)index);
}

static int read_ids(const struct baton_json *array, uint32_t *ids)
{
    int n = (int)baton_json_size(array);
    assert_in_range(n, 1, MAX_TOKENS);
    for (int i = 0; i < n; i++)
        ids[i] = (uint32_t)baton_json_int(baton_json_at(array, (size_t)i));
    return n;
}

/* Of equal logits the lowest id, as the sampler at temperature 0. */
static uint32_t greedy(const float *row)
{
    uint32_t best = 0;
    for (int i = 1; i < n_vocab; i++)
        if (row[i] > row[best])
            best = (uint32_t)i;
    return best;
}

TEST(the_last_positions_top_ten_logits_match)
{
    for (int i = 0; i < N_GOLDEN; i++) {
        uint32_t ids[MAX_TOKENS];
        struct baton_seq seq;
        int n = read_ids(baton_json_get(golden_prompt(i), "ids"), ids);
        const struct baton_json *top = baton_json_get(golden_prompt(i), "top10");
        assert_ok(baton_seq_init(&seq, kv, n));
        assert_ok(baton_engine_prefill(engine, &seq, ids, n, NULL, NULL, logits));
        assert_int_equal(baton_json_size(top), 10);
        for (size_t k = 0; k < 10; k++) {
            const struct baton_json *pair = baton_json_at(top, k);
            int64_t id = baton_json_int(baton_json_at(pair, 0));
            double wanted = baton_json_number(baton_json_at(pair, 1));
            assert_true(fabs((double)logits[id] - wanted) <= tolerance);
        }
        baton_seq_fini(&seq);
    }
}

/* n_new greedy tokens after the prompt ids [n], with the KV cache. */
static void generate(const uint32_t *ids, int n, int n_new, uint32_t *out)
{
    struct baton_seq seq, *seqs[] = {&seq};
    assert_ok(baton_seq_init(&seq, kv, n + n_new));
    assert_ok(baton_engine_prefill(engine, &seq, ids, n, NULL, NULL, logits));
    out[0] = greedy(logits);
    for (int i = 1; i < n_new; i++) {
        assert_ok(baton_engine_decode(engine, seqs, &out[i - 1], 1, logits));
        out[i] = greedy(logits);
    }
    baton_seq_fini(&seq);
}

TEST(greedy_continuations_match)
{
    for (int i = 0; i < N_GOLDEN; i++) {
        uint32_t ids[MAX_TOKENS], wanted[MAX_TOKENS], found[MAX_TOKENS];
        int n = read_ids(baton_json_get(golden_prompt(i), "ids"), ids);
        int n_new = read_ids(baton_json_get(golden_prompt(i), "greedy_ids"), wanted);
        generate(ids, n, n_new, found);
        assert_memory_equal(found, wanted, (size_t)n_new * sizeof found[0]);
    }
}

/* Prompt index of N_PROMPTS: the prefix of a golden prompt and its continuation. */
static int make_prompt(int index, uint32_t *ids)
{
    int golden_index = index % N_GOLDEN, part = index / N_GOLDEN + 1;
    uint32_t all[2 * MAX_TOKENS];
    int n = read_ids(baton_json_get(golden_prompt(golden_index), "ids"), all);
    n += read_ids(baton_json_get(golden_prompt(golden_index), "greedy_ids"), all + n);
    int length = n * part / (LENGTHS_PER_PROMPT + 1);
    memcpy(ids, all, (size_t)length * sizeof *ids);
    return length;
}

static void generate_naively(const uint32_t *ids, int n, uint32_t *out)
{
    uint32_t all[MAX_TOKENS];
    struct baton_seq scratch;
    memcpy(all, ids, (size_t)n * sizeof *ids);
    assert_ok(baton_seq_init(&scratch, kv, n + N_NEW));
    for (int i = 0; i < N_NEW; i++) {
        assert_ok(baton_engine_naive(engine, &scratch, all, n + i, logits));
        all[n + i] = out[i] = greedy(logits);
    }
    assert_int_equal(scratch.n_tokens, 0);
    baton_seq_fini(&scratch);
}

/* The same with every new token and the prompt's last third run as prefill chunks. */
static void generate_by_prefill(const uint32_t *ids, int n, uint32_t *out)
{
    struct baton_seq seq;
    int n_first = n - n / 3;
    assert_ok(baton_seq_init(&seq, kv, n + N_NEW));
    assert_ok(baton_engine_prefill(engine, &seq, ids, n_first, NULL, NULL, logits));
    if (n_first < n)
        assert_ok(
            baton_engine_prefill(engine, &seq, ids + n_first, n - n_first, NULL, NULL, logits));
    out[0] = greedy(logits);
    for (int i = 1; i < N_NEW; i++) {
        assert_ok(baton_engine_prefill(engine, &seq, &out[i - 1], 1, NULL, NULL, logits));
        out[i] = greedy(logits);
    }
    baton_seq_fini(&seq);
}

TEST(decoding_recomputing_and_prefilling_choose_the_same_tokens)
{
    for (int i = 0; i < N_PROMPTS; i++) {
        uint32_t ids[MAX_TOKENS], decoded[N_NEW], naive[N_NEW], prefilled[N_NEW];
        int n = make_prompt(i, ids);
        generate(ids, n, N_NEW, decoded);
        generate_naively(ids, n, naive);
        generate_by_prefill(ids, n, prefilled);
        assert_memory_equal(decoded, naive, sizeof decoded);
        assert_memory_equal(decoded, prefilled, sizeof decoded);
    }
}

TEST(a_batch_of_all_prompts_chooses_the_same_tokens_as_each_alone)
{
    static struct baton_seq seqs[N_PROMPTS];
    static uint32_t alone[N_PROMPTS][N_NEW];
    struct baton_seq *batch[N_PROMPTS];
    uint32_t tokens[N_PROMPTS];
    for (int i = 0; i < N_PROMPTS; i++) {
        uint32_t ids[MAX_TOKENS];
        int n = make_prompt(i, ids);
        generate(ids, n, N_NEW, alone[i]);
        assert_ok(baton_seq_init(&seqs[i], kv, n + N_NEW));
        assert_ok(baton_engine_prefill(engine, &seqs[i], ids, n, NULL, NULL, logits));
        tokens[i] = greedy(logits);
        batch[i] = &seqs[i];
    }
    for (int step = 0; step < N_NEW; step++) {
        for (int i = 0; i < N_PROMPTS; i++)
            assert_int_equal(tokens[i], alone[i][step]);
        assert_ok(baton_engine_decode(engine, batch, tokens, N_PROMPTS, logits));
        for (int i = 0; i < N_PROMPTS; i++)
            tokens[i] = greedy(logits + (size_t)i * (size_t)n_vocab);
    }
    for (int i = 0; i < N_PROMPTS; i++)
        baton_seq_fini(&seqs[i]);
}

ALL_TESTS(set_up, tear_down)
