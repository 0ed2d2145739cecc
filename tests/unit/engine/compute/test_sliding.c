/* A pool that keeps only windows beside one that keeps all: whatever sequences begin, share, go on,
 * take back and end in it, a position's logits have the same bits. */
#include "common/base/array.h"
#include "tests/unit/engine/unit.h"

#include "engine/engine.h"
#include "engine/kv/pool.h"
#include "tests/support/kernel_sets.h"
#include "tests/unit/engine/compute/forms.h"

enum {
    BLOCK = BATON_KV_BLOCK_TOKENS,
    LENGTH = 230,
    N_VOCAB = 83,
    N_TEXTS = 3,
    N_SEQS = 4,
    MAX_ROWS = 24,
    N_OPERATIONS = 400,
    N_HASHES = LENGTH / BLOCK
};

struct text {
    uint32_t tokens[LENGTH];
    struct baton_block_hash hashes[N_HASHES];
    float expected[LENGTH][N_VOCAB]; /* decoded alone, one by one, in a pool that keeps all */
};

struct timeline {
    struct baton_seq seq; /* seq.kv NULL: not begun */
    const struct text *text;
    int n_back; /* positions of the last step that may be taken back */
};

static struct baton_spec spec;
static const char *kv_dtype;
static struct baton_model *model;
static struct baton_engine *engine;
static struct baton_kv *whole, *sliding;
static struct text texts[N_TEXTS];
static struct timeline timelines[N_SEQS];
static float logits[MAX_ROWS][N_VOCAB];
static int n_window_blocks, n_hits;
static uint64_t n_drawn;

static int draw(int n)
{
    return (int)(baton_philox_uniform(5, n_drawn++) * n);
}

/* The second text begins as the first does, the third is one of its own. */
static void make_text(int index)
{
    struct text *text = &texts[index];
    struct baton_seq seq, *one[] = {&seq};
    assert_ok(baton_seq_init(&seq, whole, LENGTH));
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

static int open_all(void)
{
    const struct baton_engine_options options = {.max_rows = MAX_ROWS, .n_threads = 2};
    struct baton_kv_pool_options pool = {
        .dtype = kv_dtype, .n_blocks = baton_kv_blocks_for(LENGTH), .n_step_rows = MAX_ROWS};
    struct baton_kv_sizes sizes;
    if (baton_engine_create(model, &options, &engine, NULL) ||
        baton_kv_create(model, &pool, &whole, NULL) || baton_kv_measure(model, &pool, &sizes, NULL))
        return -1;
    n_window_blocks = sizes.window_blocks;
    /* Room for the windows of all but one. */
    pool.n_blocks = N_SEQS * baton_kv_blocks_for(LENGTH);
    pool.n_window_blocks = (N_SEQS - 1) * n_window_blocks;
    return baton_kv_create(model, &pool, &sliding, NULL);
}

SETUP(set_up)
{
    const struct baton_model_options kept = {.dtype = "f32"};
    assert_ok(baton_model_random(&spec, 3, &kept, &model, NULL));
    assert_false(open_all());
    n_hits = 0;
    for (int i = 0; i < N_TEXTS; i++)
        make_text(i);
}

TEARDOWN(tear_down)
{
    baton_kv_destroy(whole);
    baton_kv_destroy(sliding);
    baton_engine_destroy(engine);
    baton_model_close(model);
}

static bool has_windows(void)
{
    int n;
    (void)baton_kv_layers_with(sliding, true, &n);
    return n > 0;
}

static void begin(struct timeline *timeline)
{
    timeline->text = &texts[draw(N_TEXTS)];
    timeline->n_back = 0;
    enum baton_err err = baton_seq_init_shared(&timeline->seq, sliding, LENGTH,
                                               timeline->text->hashes, draw(N_HASHES + 1));
    assert_true(!err || (err == BATON_LIMIT && has_windows() &&
                         baton_kv_n_reservable(sliding) < n_window_blocks));
    n_hits += !err && timeline->seq.n_shared;
}

static void assert_rows(const struct timeline *timeline, int n)
{
    int first = timeline->seq.n_tokens - n;
    for (int i = 0; i < n; i++)
        assert_memory_equal(logits[i], timeline->text->expected[first + i], sizeof logits[0]);
}

/* All rows want logits, as drafts do; some of them may be taken back before the next step. */
static void go_on(struct timeline *timeline)
{
    struct baton_seq *seq = &timeline->seq;
    int n_left = LENGTH - seq->n_tokens, n = 1 + draw(draw(2) ? 2 : MAX_ROWS);
    n = n < n_left ? n : n_left;
    if (!n)
        return;
    const struct baton_chunk chunk = {
        .seq = seq, .tokens = timeline->text->tokens + seq->n_tokens, .n_tokens = n, .n_logits = n};
    assert_ok(baton_engine_forward(engine, &chunk, 1, NULL, NULL, logits[0]));
    assert_rows(timeline, n);
    timeline->n_back = n;
}

static void take_back(struct timeline *timeline)
{
    timeline->seq.n_tokens -= draw(timeline->n_back + 1);
    timeline->n_back = 0;
}

static void share(struct timeline *timeline)
{
    int n_whole = (timeline->seq.n_tokens - timeline->n_back) / BLOCK,
        first = timeline->seq.n_shared;
    if (n_whole > first)
        baton_seq_register(&timeline->seq, first, timeline->text->hashes + first, n_whole - first);
}

static void assert_accounted(void)
{
    baton_kv_account_begin(sliding);
    for (int i = 0; i < N_SEQS; i++)
        if (timelines[i].seq.kv)
            (void)baton_kv_account_claim(sliding, &timelines[i].seq);
    assert_int_equal(baton_kv_account_n_faults(sliding), 0);
}

static void operate(struct timeline *timeline)
{
    if (!timeline->seq.kv)
        begin(timeline);
    else if (draw(20) == 0)
        baton_seq_fini(&timeline->seq);
    else if (draw(6) == 0)
        take_back(timeline);
    else if (draw(4) == 0)
        share(timeline);
    else
        go_on(timeline);
}

TEST(a_pool_of_windows_gives_the_bits_of_one_that_keeps_all)
{
    for (int i = 0; i < N_OPERATIONS; i++) {
        operate(&timelines[draw(N_SEQS)]);
        assert_accounted();
    }
    for (int i = 0; i < N_SEQS; i++)
        baton_seq_fini(&timelines[i].seq);
    assert_accounted();
    assert_int_equal(baton_kv_n_set_aside(sliding), 0);
    assert_true(n_hits > 0);
}

static void forget_hashes(void)
{
    baton_kv_bound_cache(sliding, 0);
    baton_kv_bound_cache(sliding, baton_kv_n_blocks(sliding));
    assert_int_equal(baton_kv_n_cached(sliding), 0);
}

TEST(a_prompt_begins_behind_the_last_window_that_is_there)
{
    const struct text *text = &texts[0];
    struct baton_seq seq, next;
    forget_hashes();
    assert_ok(baton_seq_init(&seq, sliding, LENGTH));
    for (int done = 0, n; done < LENGTH; done += n) {
        n = LENGTH - done < MAX_ROWS ? LENGTH - done : MAX_ROWS;
        assert_ok(baton_engine_prefill(engine, &seq, text->tokens + done, n, NULL, NULL, NULL));
    }
    baton_seq_register(&seq, 0, text->hashes, N_HASHES);
    /* Behind the whole of it; not behind its first half, of which no window is kept. */
    assert_ok(baton_seq_init_shared(&next, sliding, LENGTH, text->hashes, N_HASHES));
    assert_int_equal(next.n_shared, N_HASHES);
    baton_seq_fini(&next);
    assert_ok(baton_seq_init_shared(&next, sliding, LENGTH, text->hashes, N_HASHES / 2));
    assert_int_equal(next.n_shared, has_windows() ? 0 : N_HASHES / 2);
    baton_seq_fini(&next);
    baton_seq_fini(&seq);
}

TEST(a_step_of_more_positions_than_the_pool_was_made_for_is_refused)
{
    struct baton_seq seq;
    assert_ok(baton_seq_init(&seq, sliding, LENGTH));
    assert_true(baton_seq_slide(&seq, MAX_ROWS));
    assert_int_equal(baton_seq_slide(&seq, LENGTH), !has_windows());
    baton_seq_fini(&seq);
}

ALL_TESTS(set_up, tear_down)

/* Every form, and at last one that has a window in all layers. */
static const char *form_at(int index, bool *is_last)
{
    const char *name = forms_at(index, N_VOCAB, LENGTH, &spec);
    *is_last = !name;
    if (*is_last) {
        (void)forms_at(1, N_VOCAB, LENGTH, &spec);
        for (int i = 0; i < spec.n_layers; i++)
            spec.layers[i].window = 17;
    }
    return name ? name : "windows alone";
}

int main(void)
{
    const char *const kv_dtypes[] = {"f32", "f16", "q8"};
    int n_failed = 0;
    bool is_last = false;
    for (int i = 0; !is_last; i++)
        for (int d = 0; d < 3; d++) {
            const char *name = form_at(i, &is_last);
            kv_dtype = kv_dtypes[d];
            n_failed += test_run(name);
        }
    return n_failed;
}
