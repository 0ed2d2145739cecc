/* Layers that keep a state: whatever sequences begin, find, go on, compute again and end in a pool,
 * however their steps are cut, whichever guesses they take back and wherever they save states, a
 * position's logits have the same bits. BATON_TEST_OPERATIONS sets the length of the schedule. */
#include "tests/unit/engine/unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/base/array.h"

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
    N_BORDERS = 3,
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
    uint32_t borders[N_BORDERS];
    bool may_repeat; /* the last position may be computed again */
};

static struct baton_model *model;
static struct baton_engine *engine;
static struct baton_kv *kv;
static struct text texts[N_TEXTS];
static struct timeline timelines[N_SEQS];
static float logits[MAX_ROWS][N_VOCAB];
static int n_hits, n_partial_hits, n_repeats, n_taken_back;
static uint64_t n_drawn;

static int draw(int n)
{
    return (int)(baton_philox_uniform(5, n_drawn++) * n);
}

#define SIZES                                                                                      \
    "\"hidden_size\":24,\"num_attention_heads\":2,\"num_key_value_heads\":1,"                      \
    "\"intermediate_size\":20,\"vocab_size\":83,\"max_position_embeddings\":150"
#define EXPERTS "\"num_experts_per_tok\":2,\"moe_intermediate_size\":8"

/* A model of each mixer. Nemotron's layers have one part, its last one a mixture. */
static const char *const configs[] = {
    "{\"model_type\":\"qwen3_next\",\"num_hidden_layers\":5," SIZES "," EXPERTS ",\"head_dim\":12,"
    "\"full_attention_interval\":2,\"linear_num_key_heads\":2,\"linear_num_value_heads\":4,"
    "\"linear_key_head_dim\":12,\"linear_value_head_dim\":16,\"num_experts\":3,"
    "\"shared_expert_intermediate_size\":8,\"partial_rotary_factor\":0.5}",
    "{\"model_type\":\"lfm2\",\"num_hidden_layers\":4," SIZES ",\"full_attn_idxs\":[1]}",
    "{\"model_type\":\"nemotron_h\",\"num_hidden_layers\":6," SIZES "," EXPERTS ",\"head_dim\":12,"
    "\"hybrid_override_pattern\":\"M-*EME\",\"mamba_num_heads\":4,\"mamba_head_dim\":12,"
    "\"ssm_state_size\":8,\"n_groups\":2,\"n_routed_experts\":4,"
    "\"moe_shared_expert_intermediate_size\":8}"};

static void make_spec(const char *text, struct baton_spec *spec)
{
    static struct baton_model_config config;
    const struct baton_arch *arch;
    struct baton_why why = {""};
    if (baton_model_config_parse(text, strlen(text), &config, &why) ||
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

static void open_model(const char *config)
{
    static struct baton_spec spec;
    const struct baton_model_options kept = {.dtype = "f32"};
    const struct baton_engine_options options = {
        .max_rows = MAX_ROWS, .max_trial_rows = MAX_ROWS, .n_threads = 2};
    const struct baton_kv_pool_options pool = {.n_blocks = N_SEQS * baton_kv_blocks_for(LENGTH),
                                               .n_window_blocks = 2 * N_SEQS - 1};
    make_spec(config, &spec);
    assert_ok(baton_model_random(&spec, 3, &kept, &model, NULL));
    assert_ok(baton_engine_create(model, &options, &engine, NULL));
    assert_ok(baton_kv_create(model, &pool, &kv, NULL));
    for (int i = 0; i < N_TEXTS; i++)
        make_text(i);
}

static void close_model(void)
{
    baton_kv_destroy(kv);
    baton_engine_destroy(engine);
    baton_model_close(model);
}

SETUP(set_up)
{
    open_model(configs[0]);
}

TEARDOWN(tear_down)
{
    close_model();
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
    n_partial_hits += timeline->seq.n_shared && timeline->seq.n_shared < timeline->seq.n_found;
    for (int i = 0; i < N_BORDERS; i++)
        timeline->borders[i] = (uint32_t)draw(LENGTH + 1);
    baton_seq_save_states(&timeline->seq, (struct baton_state_saves){.hashes = text->hashes,
                                                                     .n_hashes = N_HASHES,
                                                                     .borders = timeline->borders,
                                                                     .n_borders = N_BORDERS});
    if (draw(2)) /* as of an output */
        baton_seq_save_states(&timeline->seq, (struct baton_state_saves){0});
    baton_seq_save_output(&timeline->seq, draw(3) * BLOCK);
}

static void go_on(struct timeline *timeline)
{
    struct baton_seq *seq = &timeline->seq;
    int first = seq->n_tokens, n_left = LENGTH - first, n = 1 + draw(draw(2) ? 2 : MAX_ROWS);
    n = n < n_left ? n : n_left;
    if (draw(3)) /* to where the next step saves */
        n = baton_seq_cut(seq, n);
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

/* The next tokens of a timeline, the first n_right of which are the text's. */
struct guess {
    struct timeline *timeline;
    uint32_t tokens[MAX_ROWS / N_SEQS];
    int n, n_right, n_before;
};

static struct guess make_guess(struct timeline *timeline)
{
    struct guess guess = {.timeline = timeline, .n_before = timeline->seq.n_tokens};
    int n_left = LENGTH - guess.n_before, n_most = MAX_ROWS / N_SEQS;
    n_most = n_most < n_left ? n_most : n_left;
    guess.n = 1 + draw(draw(2) ? n_most : 1);
    guess.n_right = 1 + draw(guess.n);
    for (int i = 0; i < guess.n; i++) {
        uint32_t right = timeline->text->tokens[guess.n_before + i];
        guess.tokens[i] = i < guess.n_right ? right : (right + 1) % N_VOCAB;
    }
    return guess;
}

static bool may_guess(const struct timeline *timeline)
{
    return timeline->seq.kv && timeline->seq.n_tokens < LENGTH && baton_seq_may_try(&timeline->seq);
}

/* Takes back the wrong tokens, or all, as when a message does not fit into a queue. */
static void end_guess(const struct guess *guess, float (*made)[N_VOCAB])
{
    struct timeline *timeline = guess->timeline;
    for (int i = 0; i < guess->n_right; i++)
        assert_memory_equal(made[i], timeline->text->expected[guess->n_before + i], sizeof *made);
    timeline->seq.n_tokens = guess->n_before + (draw(4) ? guess->n_right : 0);
    n_taken_back += timeline->seq.n_tokens < guess->n_before + guess->n;
    timeline->may_repeat = timeline->seq.n_tokens > guess->n_before;
}

/* One step of all timelines that may guess, most of them on trial. */
static void guess_all(void)
{
    struct guess guesses[N_SEQS];
    struct baton_chunk chunks[N_SEQS];
    int n = 0, n_rows = 0;
    for (int i = 0; i < N_SEQS; i++) {
        if (!may_guess(&timelines[i]))
            continue;
        guesses[n] = make_guess(&timelines[i]);
        chunks[n] = (struct baton_chunk){.seq = &timelines[i].seq,
                                         .tokens = guesses[n].tokens,
                                         .n_tokens = guesses[n].n,
                                         .n_logits = guesses[n].n,
                                         .is_trial = guesses[n].n > 1 || draw(2)};
        n++;
    }
    if (n)
        assert_ok(baton_engine_forward(engine, chunks, n, NULL, NULL, logits[0]));
    for (int i = 0; i < n; n_rows += guesses[i++].n)
        if (chunks[i].is_trial)
            end_guess(&guesses[i], &logits[n_rows]);
        else
            guesses[i].timeline->may_repeat = true;
    baton_engine_settle(engine);
}

static void share(struct timeline *timeline)
{
    int n_whole = timeline->seq.n_tokens / BLOCK, first = timeline->seq.n_shared;
    if (n_whole > first)
        baton_seq_register(&timeline->seq, first, timeline->text->hashes + first, n_whole - first);
}

static void end(struct timeline *timeline)
{
    share(timeline);
    if (draw(2))
        baton_seq_register_states(&timeline->seq, 0, timeline->text->hashes, N_HASHES);
    baton_seq_fini(&timeline->seq);
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
        end(timeline);
    else if (draw(6) == 0)
        repeat(timeline);
    else if (draw(2) == 0)
        guess_all();
    else if (draw(4) == 0)
        share(timeline);
    else
        go_on(timeline);
}

static void run_schedule(void)
{
    const char *wanted = getenv("BATON_TEST_OPERATIONS");
    int n_operations = wanted ? atoi(wanted) : N_OPERATIONS;
    for (int i = 0; i < n_operations; i++) {
        operate(&timelines[draw(N_SEQS)]);
        assert_accounted();
    }
    for (int i = 0; i < N_SEQS; i++)
        baton_seq_fini(&timelines[i].seq);
    assert_accounted();
    assert_int_equal(baton_kv_n_set_aside(kv), 0);
    assert_true(n_hits > 0);
    assert_true(n_partial_hits > 0);
    assert_true(n_repeats > 0);
    assert_true(n_taken_back > 0);
    n_hits = n_partial_hits = n_repeats = n_taken_back = 0;
}

/* Whether a prompt that begins as the text does starts behind so many positions. */
static bool is_found(int n_positions)
{
    struct baton_seq seq;
    int n_hashes = n_positions / BLOCK;
    assert_ok(baton_seq_init_shared(&seq, kv, LENGTH, texts[0].hashes, n_hashes));
    bool is_it = seq.n_tokens == n_positions;
    assert_int_equal(seq.n_found, n_hashes);
    baton_seq_fini(&seq);
    return is_it;
}

static void compute_by_cuts(struct baton_seq *seq, int n_tokens, int n_most)
{
    while (seq->n_tokens < n_tokens) {
        int n_left = n_tokens - seq->n_tokens, n = n_left < n_most ? n_left : n_most;
        n = baton_seq_cut(seq, n);
        assert_ok(baton_engine_prefill(engine, seq, texts[0].tokens + seq->n_tokens, n, NULL, NULL,
                                       NULL));
    }
}

TEST(states_are_saved_at_borders_and_at_the_last_whole_block)
{
    static const uint32_t borders[] = {3, 37, 37, 160};
    struct baton_seq seq;
    assert_ok(baton_seq_init(&seq, kv, LENGTH));
    baton_seq_save_states(&seq, (struct baton_state_saves){texts[0].hashes, borders, N_HASHES, 4});
    compute_by_cuts(&seq, LENGTH, MAX_ROWS);
    baton_seq_register(&seq, 0, texts[0].hashes, N_HASHES);
    baton_seq_fini(&seq);
    for (int n = BLOCK; n < LENGTH; n += BLOCK)
        assert_int_equal(is_found(n), n == 32 || n == N_HASHES * BLOCK);
}

/* Registered are the state kept last, and the one after the last position if a block ends there. */
TEST(a_sequence_holds_the_state_of_a_late_block_of_its_output)
{
    enum { N_PROMPT = 37, N_KEPT = 32 };
    static const struct {
        int n_end, n_found, n_also;
    } cases[] = {{47, 0, 0},   {48, 48, 48}, {50, 48, 48},
                 {79, 48, 48}, {96, 80, 96}, {LENGTH, 144, 144}};
    for (size_t i = 0; i < BATON_N_OF(cases); i++) {
        struct baton_seq seq, *one[] = {&seq};
        int n_whole = cases[i].n_end / BLOCK;
        close_model();
        open_model(configs[0]);
        assert_ok(baton_seq_init(&seq, kv, LENGTH));
        assert_ok(baton_engine_prefill(engine, &seq, texts[0].tokens, N_PROMPT, NULL, NULL, NULL));
        baton_seq_save_output(&seq, N_KEPT);
        while (seq.n_tokens < cases[i].n_end)
            assert_ok(
                baton_engine_decode(engine, one, &texts[0].tokens[seq.n_tokens], 1, logits[0]));
        baton_seq_register(&seq, 0, texts[0].hashes, n_whole);
        baton_seq_register_states(&seq, 0, texts[0].hashes, n_whole);
        assert_int_equal(baton_kv_n_set_aside(kv), seq.n_set_aside);
        baton_seq_fini(&seq);
        for (int n = BLOCK; n <= n_whole * BLOCK; n += BLOCK)
            assert_int_equal(is_found(n), n == cases[i].n_found || n == cases[i].n_also);
    }
}

TEST(steps_of_a_long_prompt_end_at_intervals_whose_states_take_no_more_than_k_and_v)
{
    enum { N_BLOCKS = 4096 };
    int interval = baton_kv_state_interval(kv);
    size_t kv_bytes = baton_kv_all_block_bytes(kv), state_bytes = 0;
    struct baton_seq seq = {.kv = kv};
    for (int i = 0; i < baton_kv_n_layers(kv); i++)
        state_bytes += baton_kv_has_window(kv, i) ? baton_kv_block_bytes(kv, i) : 0;
    kv_bytes = (kv_bytes - state_bytes) / BLOCK;
    assert_true(interval % BLOCK == 0 && (size_t)interval * kv_bytes >= state_bytes);
    assert_true(interval == 512 || (size_t)(interval - BLOCK) * kv_bytes < state_bytes);
    baton_seq_save_states(
        &seq, (struct baton_state_saves){.hashes = texts[0].hashes, .n_hashes = N_BLOCKS});
    assert_int_equal(baton_seq_cut(&seq, N_BLOCKS * BLOCK), interval);
    seq.n_tokens = interval + 1;
    assert_int_equal(baton_seq_cut(&seq, N_BLOCKS * BLOCK), interval - 1);
    assert_int_equal(baton_seq_cut(&seq, 5), 5);
}

TEST(a_context_that_arrives_shares_blocks_where_no_state_is_saved)
{
    struct baton_seq computes, arrives;
    assert_ok(baton_seq_init(&computes, kv, LENGTH));
    assert_ok(baton_engine_prefill(engine, &computes, texts[0].tokens, MAX_ROWS, NULL, NULL, NULL));
    baton_seq_register(&computes, 0, texts[0].hashes, MAX_ROWS / BLOCK);
    assert_false(is_found(MAX_ROWS / BLOCK * BLOCK));
    assert_ok(baton_seq_init_arriving(&arrives, kv, LENGTH, texts[0].hashes, N_HASHES));
    assert_int_equal(arrives.n_shared, MAX_ROWS / BLOCK);
    /* The last block of the context and its state arrive, and the sequence goes on. */
    assert_true(baton_seq_hold_window(&arrives, MAX_ROWS / BLOCK, baton_kv_blocks_for(MAX_ROWS)));
    for (int i = 0; i < baton_kv_n_layers(kv); i++)
        memcpy(baton_seq_block(&arrives, i, MAX_ROWS / BLOCK),
               baton_seq_block(&computes, i, MAX_ROWS / BLOCK), baton_kv_block_bytes(kv, i));
    arrives.n_tokens = MAX_ROWS;
    baton_seq_fini(&computes);
    for (int i = MAX_ROWS; i < LENGTH; i++) {
        struct baton_seq *one[] = {&arrives};
        assert_ok(baton_engine_decode(engine, one, &texts[0].tokens[i], 1, logits[0]));
        assert_memory_equal(logits[0], texts[0].expected[i], sizeof logits[0]);
    }
    const struct baton_kv_states states = baton_kv_states(kv);
    assert_int_equal(states.n_total - states.n_free, arrives.n_set_aside);
    baton_seq_fini(&arrives);
}

static void copy_block(const struct baton_seq *from, int index, struct baton_seq *to, int to_index,
                       bool of_states)
{
    int n;
    const int *layers = baton_kv_layers_with(kv, of_states, &n);
    for (int i = 0; i < n; i++)
        memcpy(baton_seq_block(to, layers[i], to_index), baton_seq_block(from, layers[i], index),
               baton_kv_block_bytes(kv, layers[i]));
}

static void decode_all(struct baton_seq *seq)
{
    struct baton_seq *one[] = {seq};
    for (int i = seq->n_tokens; i < LENGTH; i++) {
        assert_ok(baton_engine_decode(engine, one, &texts[0].tokens[i], 1, logits[0]));
        assert_memory_equal(logits[0], texts[0].expected[i], sizeof logits[0]);
    }
}

/* As the file of states does. It is registered under another hash than the one it came from. */
TEST(a_state_that_was_kept_elsewhere_is_continued_and_shared)
{
    enum { N_SAVED = 48, LAST = N_SAVED / BLOCK - 1 };
    struct baton_seq saves, holds, placed;
    const struct baton_block_hash *under = &texts[2].hashes[LAST];
    assert_ok(baton_seq_init(&saves, kv, LENGTH));
    baton_seq_save_states(
        &saves, (struct baton_state_saves){.hashes = texts[0].hashes, .n_hashes = LAST + 1});
    compute_by_cuts(&saves, N_SAVED + 1, MAX_ROWS);
    assert_ok(baton_seq_init(&holds, kv, LENGTH));
    assert_false(baton_seq_find_state(&holds, 1, &texts[0].hashes[1]));
    assert_true(baton_seq_find_state(&holds, LAST, &texts[0].hashes[LAST]));
    assert_ok(baton_seq_init(&placed, kv, LENGTH));
    baton_seq_expect_state(&placed, LAST + 3);
    copy_block(&holds, LAST, &placed, LAST + 3, true);
    baton_seq_fini(&holds);
    for (int i = 0; i <= LAST; i++)
        copy_block(&saves, i, &placed, i, false);
    baton_seq_fini(&saves);
    baton_seq_place_state(&placed, LAST);
    placed.n_tokens = N_SAVED;
    baton_seq_register(&placed, 0, texts[2].hashes, LAST + 1);
    baton_seq_register_states(&placed, LAST, under, 1);
    decode_all(&placed);
    baton_seq_fini(&placed);
    assert_ok(baton_seq_init_shared(&placed, kv, LENGTH, texts[2].hashes, N_HASHES));
    assert_int_equal(placed.n_tokens, N_SAVED);
    baton_seq_expect_state(&placed, LAST + 2); /* and does not come */
    baton_seq_place_state(&placed, -1);
    decode_all(&placed);
    baton_seq_fini(&placed);
    assert_accounted();
}

static void run_batch(void)
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

TEST(any_schedule_gives_the_bits_of_steps_of_one)
{
    run_schedule();
}

TEST(rows_of_a_batch_have_the_bits_that_they_have_alone)
{
    run_batch();
}

TEST(both_hold_for_short_convolutions_and_mamba_layers_too)
{
    for (size_t i = 1; i < BATON_N_OF(configs); i++) {
        close_model();
        open_model(configs[i]);
        run_schedule();
        run_batch();
    }
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

TEST(a_step_on_trial_changes_no_state_until_it_is_settled)
{
    struct baton_seq seq;
    const struct baton_chunk chunk = {
        .seq = &seq, .tokens = texts[0].tokens + 9, .n_tokens = 3, .n_logits = 3, .is_trial = true};
    assert_ok(baton_seq_init(&seq, kv, LENGTH));
    assert_false(baton_seq_may_try(&seq));
    assert_int_equal(baton_engine_forward(engine, &chunk, 1, NULL, NULL, logits[0]), BATON_INVALID);
    assert_ok(baton_engine_prefill(engine, &seq, texts[0].tokens, 9, NULL, NULL, NULL));
    for (int i = 0; i < 2; i++) {
        seq.n_tokens = 9;
        assert_true(baton_seq_may_try(&seq));
        assert_ok(baton_engine_forward(engine, &chunk, 1, NULL, NULL, logits[0]));
        assert_memory_equal(logits[2], texts[0].expected[11], sizeof logits[0]);
    }
    assert_false(baton_seq_may_try(&seq));
    assert_int_equal(baton_engine_forward(engine, &chunk, 1, NULL, NULL, logits[0]), BATON_INVALID);
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
