/* Layers that keep a state: whatever sequences begin, find, go on, compute again and end in a pool,
 * and however their steps are cut, a position's logits have the same bits. */
#include "tests/unit/engine/unit.h"

#include <stdio.h>

#include "engine/arch/arch.h"
#include "engine/engine.h"
#include "engine/kv/pool.h"
#include "engine/model/random.h"

enum {
    BLOCK = BATON_KV_BLOCK_TOKENS,
    LENGTH = 150,
    N_VOCAB = 83,
    N_TEXTS = 3,
    N_SEQS = 4,
    MAX_ROWS = 40,
    N_OPERATIONS = 500,
    N_HASHES = LENGTH / BLOCK
};

struct text {
    uint32_t tokens[LENGTH];
    struct baton_block_hash hashes[N_HASHES];
    float expected[LENGTH][N_VOCAB]; /* decoded alone, one by one */
};

struct timeline {
    struct baton_seq seq; /* seq.kv NULL: not begun */
    const struct text *text;
    bool may_repeat; /* the last position may be computed again */
};

static struct baton_model *model;
static struct baton_engine *engine;
static struct baton_kv *kv;
static struct text texts[N_TEXTS];
static struct timeline timelines[N_SEQS];
static float logits[MAX_ROWS][N_VOCAB];
static int n_hits, n_repeats;
static uint64_t n_drawn;

static int draw(int n)
{
    return (int)(baton_philox_uniform(5, n_drawn++) * n);
}

static void make_spec(struct baton_spec *spec)
{
    static struct baton_model_config config;
    static const char text[] =
        "{\"model_type\":\"qwen3_next\",\"num_hidden_layers\":5,\"hidden_size\":24,"
        "\"num_attention_heads\":2,\"num_key_value_heads\":1,\"head_dim\":12,"
        "\"intermediate_size\":20,\"vocab_size\":83,\"max_position_embeddings\":150,"
        "\"full_attention_interval\":2,\"linear_num_key_heads\":2,\"linear_num_value_heads\":4,"
        "\"linear_key_head_dim\":12,\"linear_value_head_dim\":16,\"num_experts\":3,"
        "\"num_experts_per_tok\":2,\"moe_intermediate_size\":8,"
        "\"shared_expert_intermediate_size\":8,\"partial_rotary_factor\":0.5}";
    const struct baton_arch *arch;
    struct baton_why why = {""};
    if (baton_model_config_parse(text, sizeof text - 1, &config, &why) ||
        baton_arch_configure(&config, 0, &arch, spec, &why))
        fail_msg("%s", why.text);
}

/* The second text begins as the first does, the third is one of its own. */
static void make_text(int index)
{
    struct text *text = &texts[index];
    struct baton_seq seq, *one[] = {&seq};
    assert_ok(baton_seq_init(&seq, kv, LENGTH));
    for (int i = 0; i < LENGTH; i++) {
        bool is_common = index == 1 && i < LENGTH / 2;
        text->tokens[i] = is_common ? texts[0].tokens[i] : (uint32_t)draw(N_VOCAB);
        assert_ok(baton_engine_decode(engine, one, &text->tokens[i], 1, text->expected[i]));
        if (i % BLOCK == BLOCK - 1)
            memset(text->hashes[i / BLOCK].bytes, (is_common ? 0 : 64 * index) + i / BLOCK + 1,
                   sizeof text->hashes->bytes);
    }
    baton_seq_fini(&seq);
}

SETUP(set_up)
{
    static struct baton_spec spec;
    const struct baton_model_options kept = {.dtype = "f32"};
    const struct baton_engine_options options = {.max_rows = MAX_ROWS, .n_threads = 2};
    const struct baton_kv_pool_options pool = {.n_blocks = N_SEQS * baton_kv_blocks_for(LENGTH),
                                               .n_window_blocks = 2 * N_SEQS - 1};
    make_spec(&spec);
    assert_ok(baton_model_random(&spec, 3, &kept, &model, NULL));
    assert_ok(baton_engine_create(model, &options, &engine, NULL));
    assert_ok(baton_kv_create(model, &pool, &kv, NULL));
    for (int i = 0; i < N_TEXTS; i++)
        make_text(i);
}

TEARDOWN(tear_down)
{
    baton_kv_destroy(kv);
    baton_engine_destroy(engine);
    baton_model_close(model);
}

static void begin(struct timeline *timeline)
{
    const struct text *text = &texts[draw(N_TEXTS)];
    enum baton_err err =
        baton_seq_init_shared(&timeline->seq, kv, LENGTH, text->hashes, draw(N_HASHES + 1));
    timeline->text = text;
    timeline->may_repeat = false;
    assert_true(!err || err == BATON_LIMIT);
    if (err)
        return;
    n_hits += timeline->seq.n_shared > 0;
    baton_seq_save_states(&timeline->seq, text->hashes, N_HASHES);
}

static void go_on(struct timeline *timeline)
{
    struct baton_seq *seq = &timeline->seq;
    int first = seq->n_tokens, n_left = LENGTH - first, n = 1 + draw(draw(2) ? 2 : MAX_ROWS);
    if (draw(3) == 0 && first % BLOCK) /* to the end of a block, where the next step saves */
        n = BLOCK - first % BLOCK;
    n = n < n_left ? n : n_left;
    if (!n)
        return;
    const struct baton_chunk chunk = {
        .seq = seq, .tokens = timeline->text->tokens + first, .n_tokens = n, .n_logits = n};
    assert_ok(baton_engine_forward(engine, &chunk, 1, NULL, NULL, logits[0]));
    for (int i = 0; i < n; i++)
        assert_memory_equal(logits[i], timeline->text->expected[first + i], sizeof logits[0]);
    timeline->may_repeat = n == 1;
}

/* As often as it is wanted: a message that does not fit into a queue is made again later. */
static void repeat(struct timeline *timeline)
{
    struct baton_seq *seq = &timeline->seq;
    for (int i = 0; timeline->may_repeat && i < 2; i++) {
        struct baton_seq *one[] = {seq};
        seq->n_tokens--;
        assert_ok(
            baton_engine_decode(engine, one, &timeline->text->tokens[seq->n_tokens], 1, logits[0]));
        assert_memory_equal(logits[0], timeline->text->expected[seq->n_tokens - 1],
                            sizeof logits[0]);
        n_repeats++;
    }
}

static void share(struct timeline *timeline)
{
    int n_whole = timeline->seq.n_tokens / BLOCK, first = timeline->seq.n_shared;
    if (n_whole > first)
        baton_seq_register(&timeline->seq, first, timeline->text->hashes + first, n_whole - first);
}

static void assert_accounted(void)
{
    baton_kv_account_begin(kv);
    for (int i = 0; i < N_SEQS; i++)
        if (timelines[i].seq.kv)
            (void)baton_kv_account_claim(kv, &timelines[i].seq);
    assert_int_equal(baton_kv_account_n_faults(kv), 0);
}

static void operate(struct timeline *timeline)
{
    if (!timeline->seq.kv)
        begin(timeline);
    else if (draw(12) == 0)
        baton_seq_fini(&timeline->seq);
    else if (draw(6) == 0)
        repeat(timeline);
    else if (draw(4) == 0)
        share(timeline);
    else
        go_on(timeline);
}

TEST(any_schedule_gives_the_bits_of_steps_of_one)
{
    for (int i = 0; i < N_OPERATIONS; i++) {
        operate(&timelines[draw(N_SEQS)]);
        assert_accounted();
    }
    for (int i = 0; i < N_SEQS; i++)
        baton_seq_fini(&timelines[i].seq);
    assert_accounted();
    assert_int_equal(baton_kv_n_set_aside(kv), 0);
    assert_true(n_hits > 0);
    assert_true(n_repeats > 0);
}

TEST(rows_of_a_batch_have_the_bits_that_they_have_alone)
{
    struct baton_seq seqs[N_TEXTS], *all[N_TEXTS];
    uint32_t tokens[N_TEXTS];
    for (int i = 0; i < N_TEXTS; i++) {
        all[i] = &seqs[i];
        assert_ok(baton_seq_init(&seqs[i], kv, LENGTH));
    }
    for (int t = 0; t < LENGTH; t++) {
        for (int i = 0; i < N_TEXTS; i++)
            tokens[i] = texts[i].tokens[t];
        assert_ok(baton_engine_decode(engine, all, tokens, N_TEXTS, logits[0]));
        for (int i = 0; i < N_TEXTS; i++)
            assert_memory_equal(logits[i], texts[i].expected[t], sizeof logits[0]);
    }
    for (int i = 0; i < N_TEXTS; i++)
        baton_seq_fini(&seqs[i]);
}

TEST(positions_taken_out_of_a_state_are_refused)
{
    struct baton_seq seq;
    assert_ok(baton_seq_init(&seq, kv, LENGTH));
    assert_ok(baton_engine_prefill(engine, &seq, texts[0].tokens, 9, NULL, NULL, NULL));
    seq.n_tokens = 7;
    assert_int_equal(baton_engine_prefill(engine, &seq, texts[0].tokens, 1, NULL, NULL, NULL),
                     BATON_INVALID);
    seq.n_tokens = 8;
    assert_int_equal(baton_engine_prefill(engine, &seq, texts[0].tokens, 2, NULL, NULL, NULL),
                     BATON_INVALID);
    seq.n_tokens = 0; /* from the beginning again */
    assert_ok(baton_engine_prefill(engine, &seq, texts[0].tokens, 9, NULL, NULL, logits[0]));
    assert_memory_equal(logits[0], texts[0].expected[8], sizeof logits[0]);
    baton_seq_fini(&seq);
}

static bool stop_at_third(void *arg, int layer)
{
    (void)arg;
    return layer < 2;
}

TEST(a_state_of_a_forward_that_was_canceled_is_not_continued)
{
    struct baton_seq seq;
    assert_ok(baton_seq_init(&seq, kv, LENGTH));
    assert_ok(baton_engine_prefill(engine, &seq, texts[0].tokens, 9, NULL, NULL, NULL));
    assert_int_equal(
        baton_engine_prefill(engine, &seq, texts[0].tokens + 9, 2, stop_at_third, NULL, NULL),
        BATON_CANCELED);
    assert_int_equal(baton_engine_prefill(engine, &seq, texts[0].tokens + 9, 2, NULL, NULL, NULL),
                     BATON_INVALID);
    baton_seq_fini(&seq);
}

EACH_TEST(set_up, tear_down)
