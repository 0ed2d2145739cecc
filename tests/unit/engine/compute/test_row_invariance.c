/* A hundred random layouts of the same work in every dtype (fewer on kernels that this CPU would
 * not choose, a few on those it emulates; ten times as many with BATON_LONG set): whatever the
 * batch, the chunks, the threads and the neighbours, a position's logits have the same bits, and so
 * has what embeddings are pooled of. */
#include "common/base/array.h"
#include "tests/unit/engine/unit.h"

#include <stdio.h>

#include "engine/engine.h"
#include "tests/support/kernel_sets.h"
#include "tests/unit/engine/compute/forms.h"

enum { MAX_SEQS = 64, N_POOLED = 4, LENGTH = 70, MAX_ROWS = 300, N_VOCAB = 83, N_ENGINES = 3 };

struct extent {
    int n_seqs, n_layouts;
};

/* Sets that are not the best of this CPU are several times as slow. */
static const struct extent chosen = {MAX_SEQS, 100}, others = {17, 10}, emulated = {17, 6};

/* The extents of each further form. */
static const struct extent form_chosen = {17, 10}, form_others = {9, 3}, form_emulated = {2, 1};

/* The extents of each native dtype, in two forms; on sets that are not the best in the first, and
 * on emulated ones every fourth dtype. */
static const struct extent native_chosen = {9, 10}, native_others = {2, 1};
static const char *const native_forms[] = {"llama", "qwen_moe"};

struct text {
    uint32_t tokens[LENGTH];
    struct baton_seq seq;            /* holds all of it */
    float expected[LENGTH][N_VOCAB]; /* decoded alone, one by one, on one thread */
    double *sums; /* [LENGTH][C] of its final hidden states, run likewise; NULL: not pooled */
};

static const struct baton_kernels *kernels;
static enum baton_dtype dtype;
static struct baton_spec spec;
static struct extent extent;
static uint64_t n_drawn;

static struct baton_model *model;
static struct baton_kv *kv;
static struct baton_engine *engines[N_ENGINES]; /* of 1, 2, 3 threads */
static struct text texts[MAX_SEQS];
static float logits[MAX_ROWS][N_VOCAB];
static double *pooled[MAX_SEQS]; /* [C] */

/* 0..n-1 */
static int draw(int n)
{
    return (int)(baton_philox_uniform(7, n_drawn++) * n);
}

static void decode_alone(struct text *text)
{
    struct baton_seq *seq = &text->seq;
    for (int i = 0; i < LENGTH; i++) {
        text->tokens[i] = (uint32_t)draw(N_VOCAB);
        assert_ok(baton_engine_decode(engines[0], &seq, &text->tokens[i], 1, text->expected[i]));
    }
}

/* The sum up to each position, one position after another. */
static void pool_alone(struct text *text)
{
    size_t n_embd = (size_t)spec.n_embd;
    text->sums = calloc(LENGTH * n_embd, sizeof *text->sums);
    assert_non_null(text->sums);
    text->seq.n_tokens = 0;
    for (int i = 0; i < LENGTH; i++) {
        double *sum = text->sums + (size_t)i * n_embd;
        const struct baton_chunk chunk = {.seq = &text->seq,
                                          .tokens = &text->tokens[i],
                                          .n_tokens = 1,
                                          .n_pooled = 1,
                                          .pooled = sum};
        if (i)
            memcpy(sum, sum - n_embd, n_embd * sizeof *sum);
        assert_ok(baton_engine_forward(engines[0], &chunk, 1, NULL, NULL, NULL));
    }
}

SETUP(set_up)
{
    const struct baton_model_options kept = {.dtype = baton_dtype_name(dtype),
                                             .kernels = kernel_sets_name(kernels)};
    int n_blocks = (MAX_SEQS + 1) * baton_kv_blocks_for(LENGTH);
    assert_ok(baton_model_random(&spec, 3, &kept, &model, NULL));
    assert_ok(
        baton_kv_create(model, &(struct baton_kv_pool_options){.n_blocks = n_blocks}, &kv, NULL));
    kernel_sets_give(model, kernels);
    for (int i = 0; i < N_ENGINES; i++) {
        const struct baton_engine_options options = {.max_rows = MAX_ROWS, .n_threads = i + 1};
        assert_ok(baton_engine_create(model, &options, &engines[i], NULL));
    }
    for (int i = 0; i < extent.n_seqs; i++) {
        assert_ok(baton_seq_init(&texts[i].seq, kv, LENGTH));
        decode_alone(&texts[i]);
        texts[i].sums = NULL;
        if (i < N_POOLED)
            pool_alone(&texts[i]);
        pooled[i] = calloc((size_t)spec.n_embd, sizeof *pooled[i]);
        assert_non_null(pooled[i]);
    }
}

TEARDOWN(tear_down)
{
    for (int i = 0; i < extent.n_seqs; i++) {
        baton_seq_fini(&texts[i].seq);
        free(texts[i].sums);
        free(pooled[i]);
    }
    for (int i = 0; i < N_ENGINES; i++)
        baton_engine_destroy(engines[i]);
    baton_kv_destroy(kv);
    baton_model_close(model);
}

static int draw_chunk(void)
{
    const int usual[] = {1, 7, 32, LENGTH};
    return draw(2) ? usual[draw(4)] : 1 + draw(LENGTH);
}

/* Fills seq with the text's first n tokens, in chunks. */
static void prefill(const struct text *text, struct baton_seq *seq, int n)
{
    int chunk = draw_chunk();
    while (seq->n_tokens < n) {
        int n_left = n - seq->n_tokens, n_now = n_left < chunk ? n_left : chunk;
        float *row = draw(2) ? logits[0] : NULL;
        assert_ok(baton_engine_prefill(engines[draw(N_ENGINES)], seq, text->tokens + seq->n_tokens,
                                       n_now, NULL, NULL, row));
        if (row)
            assert_memory_equal(row, text->expected[seq->n_tokens - 1], sizeof logits[0]);
    }
}

/* Few rows as often as many. */
static int draw_batch(void)
{
    int largest = 1 << draw(7);
    return 1 + draw(largest < extent.n_seqs ? largest : extent.n_seqs);
}

/* Decodes seq, which holds a part of its text, in a batch beside others at random positions. */
static void decode_among_others(const struct text *text, struct baton_seq *seq)
{
    struct baton_seq *seqs[MAX_SEQS];
    uint32_t tokens[MAX_SEQS];
    const struct text *of[MAX_SEQS];
    int n = draw_batch(), own = draw(n), first = draw(extent.n_seqs);
    for (int b = 0; b < n; b++) {
        struct text *other = &texts[(first + b) % extent.n_seqs];
        other->seq.n_tokens = draw(LENGTH); /* what follows is written again as it was */
        seqs[b] = b == own ? seq : &other->seq;
        of[b] = b == own ? text : other;
        tokens[b] = of[b]->tokens[seqs[b]->n_tokens];
    }
    assert_ok(baton_engine_decode(engines[draw(N_ENGINES)], seqs, tokens, n, (float *)logits));
    for (int b = 0; b < n; b++)
        assert_memory_equal(logits[b], of[b]->expected[seqs[b]->n_tokens - 1], sizeof logits[b]);
}

/* The sum of the text's first n positions. */
static const double *sum_before(const struct text *text, int n)
{
    return text->sums + (size_t)(n - 1) * (size_t)spec.n_embd;
}

/* All of the chunk's rows go on top of the sum of those before it. */
static void begin_pooling(struct baton_chunk *chunk, const struct text *text, double *sum)
{
    size_t n_bytes = (size_t)spec.n_embd * sizeof *sum;
    int n = chunk->seq->n_tokens;
    memset(sum, 0, n_bytes);
    if (n)
        memcpy(sum, sum_before(text, n), n_bytes);
    chunk->n_pooled = chunk->n_tokens;
    chunk->pooled = sum;
}

/* Runs the next chunk of seq's text in a forward that also has chunks of other sequences. */
static void run_among_others(const struct text *text, struct baton_seq *seq)
{
    struct baton_chunk chunks[MAX_SEQS];
    const struct text *of[MAX_SEQS];
    int n = draw_batch(), own = draw(n), first = draw(extent.n_seqs), n_left = MAX_ROWS,
        n_wanted = 0;
    for (int b = 0; b < n; b++) {
        struct text *other = &texts[(first + b) % extent.n_seqs];
        of[b] = b == own ? text : other;
        struct baton_seq *at = b == own ? seq : &other->seq;
        if (b != own)
            at->n_tokens = draw(LENGTH);
        int most = LENGTH - at->n_tokens, n_spare = n_left - (n - b - 1);
        most = most < n_spare ? most : n_spare;
        chunks[b] = (struct baton_chunk){.seq = at,
                                         .tokens = of[b]->tokens + at->n_tokens,
                                         .n_tokens = draw(2) ? 1 : 1 + draw(most),
                                         .n_logits = draw(2)};
        if (draw(2)) /* as drafts are checked */
            chunks[b].n_logits = draw(chunks[b].n_tokens + 1);
        if (of[b]->sums && draw(2))
            begin_pooling(&chunks[b], of[b], pooled[b]);
        n_left -= chunks[b].n_tokens;
    }
    assert_ok(
        baton_engine_forward(engines[draw(N_ENGINES)], chunks, n, NULL, NULL, (float *)logits));
    for (int b = 0; b < n; b++)
        for (int row = chunks[b].n_logits; row > 0; row--)
            assert_memory_equal(logits[n_wanted++], of[b]->expected[chunks[b].seq->n_tokens - row],
                                sizeof logits[0]);
    for (int b = 0; b < n; b++)
        if (chunks[b].n_pooled)
            assert_memory_equal(pooled[b], sum_before(of[b], chunks[b].seq->n_tokens),
                                (size_t)spec.n_embd * sizeof *pooled[b]);
}

TEST(a_positions_bits_do_not_depend_on_the_layout)
{
    int n_layouts = extent.n_layouts * (getenv("BATON_LONG") ? 10 : 1);
    for (int i = 0; i < n_layouts; i++) {
        const struct text *text = &texts[draw(extent.n_seqs)];
        struct baton_seq seq;
        assert_ok(baton_seq_init(&seq, kv, LENGTH));
        prefill(text, &seq, 1 + draw(LENGTH - 1));
        if (draw(2))
            run_among_others(text, &seq);
        if (seq.n_tokens < LENGTH)
            decode_among_others(text, &seq);
        baton_seq_fini(&seq);
    }
}

/* Rows that are whole blocks, but for those that attention gives. */
static void widen(void)
{
    enum { WIDTH = BATON_BLOCK_MAX_VALUES };
    spec.n_embd = WIDTH;
    spec.moe.n_ff = spec.moe.n_ff ? WIDTH : 0;
    spec.moe.n_ff_shared = spec.moe.n_ff_shared ? 2 * WIDTH : 0;
    for (int i = 0; i < spec.n_layers; i++)
        spec.layers[i].n_ff = WIDTH;
}

static bool is_native_form(const char *form)
{
    size_t n = kernels == baton_kernels_best() ? BATON_N_OF(native_forms) : 1;
    for (size_t i = 0; i < n; i++)
        if (!strcmp(native_forms[i], form))
            return true;
    return false;
}

static const struct extent *native_extent_of(const struct baton_kernels *set)
{
    if (kernel_sets_is_slow(set))
        return &form_emulated;
    return set == baton_kernels_best() ? &native_chosen : &native_others;
}

static const struct extent *extent_of(const struct baton_kernels *set, int form)
{
    if (kernel_sets_is_slow(set))
        return form ? &form_emulated : &emulated;
    if (set == baton_kernels_best())
        return form ? &form_chosen : &chosen;
    return form ? &form_others : &others;
}

ALL_TESTS(set_up, tear_down)

/* Returns how many groups failed. */
static int run_on(const char *form)
{
    char name[96];
    (void)snprintf(name, sizeof name, "%s, %s, %s", kernels->name, baton_dtype_name(dtype), form);
    return test_run(name);
}

static int run_form(int index, const char *form)
{
    int n_failed = 0;
    extent = *extent_of(kernels, index);
    for (dtype = 0; !baton_dtype_is_native(dtype); dtype++)
        n_failed += run_on(form);
    if (!is_native_form(form))
        return n_failed;
    widen();
    extent = *native_extent_of(kernels);
    int stride = kernel_sets_is_slow(kernels) ? 4 : 1;
    for (; dtype < BATON_N_DTYPES; dtype += stride)
        if (kernels->dtypes[dtype].linear)
            n_failed += run_on(form);
    return n_failed;
}

int main(void)
{
    int n_failed = 0;
    const char *form;
    for (int i = 0; (kernels = kernel_sets_at(i)); i++)
        for (int f = 0;
             kernels->layout == BATON_PANELS && (form = forms_at(f, N_VOCAB, LENGTH, &spec)); f++)
            n_failed += run_form(f, form);
    return n_failed;
}
