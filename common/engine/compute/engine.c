#include "common/engine/compute/engine.h"

#include <math.h>
#include <stdlib.h>

#include "common/engine/model/arch/arch.h"
#include "common/engine/system/floats.h"

enum { MAX_ROWS = 1 << 20 };

struct baton_engine {
    struct baton_engine_options options;
    struct baton_run run; /* a view of all scratch; each call works on a copy */
    float *scratch;
    void *prepared;
};

/* Points the run into scratch, or measures it while scratch is NULL. */
static size_t lay_out(struct baton_run *run, float *scratch, size_t n_rows)
{
    const struct baton_model_shape *shape = &run->model->shape;
    size_t n_embd = (size_t)shape->n_embd;
    size_t n_qkv = (size_t)(shape->n_heads + 2 * shape->n_kv_heads) * (size_t)shape->head_dim;
    size_t n_threads = (size_t)baton_pool_n_threads(run->pool);
    const struct {
        float **array;
        size_t n;
    } parts[] = {
        {&run->x, n_rows * n_embd},
        {&run->normed, n_rows * n_embd},
        {&run->qkv, n_rows * n_qkv},
        {&run->mixed, n_rows * n_embd},
        {&run->hidden, n_rows * (size_t)shape->n_ff},
        {&run->attending, baton_run_attending_floats(shape) * n_threads},
    };
    size_t n = 0;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        *parts[i].array = scratch ? scratch + n : NULL;
        n += (parts[i].n + 15) / 16 * 16; /* each on its own cache lines */
    }
    return n;
}

static enum baton_err allocate(struct baton_engine *engine, struct baton_why *why)
{
    const struct baton_engine_options *options = &engine->options;
    int n_rows = options->max_rows;
    enum baton_err err = baton_pool_create(options->n_threads, &engine->run.pool, why);
    if (err)
        return err;
    engine->scratch = baton_floats_create(lay_out(&engine->run, NULL, (size_t)n_rows));
    engine->run.rows = calloc((size_t)n_rows, sizeof engine->run.rows[0]);
    engine->run.groups = calloc((size_t)n_rows, sizeof engine->run.groups[0]);
    engine->prepared = baton_floats_create(
        baton_run_prepared_bytes(engine->run.model, n_rows) / sizeof(float) + 1);
    engine->run.prepared = engine->prepared;
    if (!engine->scratch || !engine->run.rows || !engine->run.groups || !engine->prepared)
        return baton_fail(why, BATON_NO_MEMORY, "engine: no memory for %d rows", n_rows);
    (void)lay_out(&engine->run, engine->scratch, (size_t)n_rows);
    return BATON_OK;
}

enum baton_err baton_engine_create(const struct baton_model *model,
                                   const struct baton_engine_options *options,
                                   struct baton_engine **engine, struct baton_why *why)
{
    if (options->max_rows < 1 || options->max_rows > MAX_ROWS)
        return baton_fail(why, BATON_INVALID, "engine: rows of a pass must be 1..%d, not %d",
                          MAX_ROWS, options->max_rows);
    struct baton_engine *made = calloc(1, sizeof *made);
    if (!made)
        return baton_fail(why, BATON_NO_MEMORY, "engine: out of memory");
    made->options = *options;
    made->run.model = model;
    made->run.kernels = model->kernels;
    made->run.attention_scale = 1.0F / sqrtf((float)model->shape.head_dim);
    enum baton_err err = allocate(made, why);
    if (err)
        baton_engine_destroy(made);
    else
        *engine = made;
    return err;
}

void baton_engine_destroy(struct baton_engine *engine)
{
    if (!engine)
        return;
    baton_pool_destroy(engine->run.pool);
    free(engine->run.rows);
    free(engine->run.groups);
    free(engine->scratch);
    free(engine->prepared);
    free(engine);
}

void baton_engine_share(struct baton_engine *engine, int n_items, baton_item_fn fn, void *arg)
{
    baton_pool_run(engine->run.pool, n_items, fn, arg);
}

void baton_engine_set_share(struct baton_engine *engine, baton_share_fn fn, void *arg)
{
    baton_pool_set_share(engine->run.pool, fn, arg);
}

static bool fits(const struct baton_model_shape *shape, const struct baton_seq *seq,
                 const uint32_t *tokens, int n_tokens)
{
    int64_t end = (int64_t)seq->n_tokens + n_tokens;
    if (seq->n_tokens < seq->n_shared * BATON_KV_BLOCK_TOKENS || end > shape->n_context ||
        end > (int64_t)seq->n_blocks * BATON_KV_BLOCK_TOKENS)
        return false;
    for (int i = 0; i < n_tokens; i++)
        if (tokens[i] >= (uint32_t)shape->n_vocab)
            return false;
    return true;
}

/* Everything up to the last layer's K and V: rows are set, and what is left is complete_rows. */
static enum baton_err forward(struct baton_run *run, baton_layer_fn on_layer, void *arg)
{
    const struct baton_arch *arch = run->model->arch;
    int n_layers = run->model->shape.n_layers;
    arch->embed(run);
    for (int layer = 0; layer < n_layers; layer++) {
        if (layer) {
            baton_run_attend(run, layer - 1);
            arch->complete(run, layer - 1);
        }
        arch->project(run, layer);
        baton_run_store_kv(run, layer);
        if (on_layer && !on_layer(arg, layer))
            return BATON_CANCELED;
    }
    return BATON_OK;
}

/* The rest of the last layer, and the logits [n_rows][V]. */
static void complete_rows(struct baton_run *run, float *logits)
{
    int last = run->model->shape.n_layers - 1;
    baton_run_attend(run, last);
    run->model->arch->complete(run, last);
    run->model->arch->logits(run, logits);
}

/* One more row per token of the part; false when they do not fit. */
static bool add_rows(const struct baton_engine *engine, struct baton_run *run,
                     const struct baton_seq *seq, const uint32_t *tokens, int n_tokens)
{
    if (n_tokens < 1 || n_tokens > engine->options.max_rows - run->n_rows ||
        !fits(&run->model->shape, seq, tokens, n_tokens))
        return false;
    for (int i = 0; i < n_tokens; i++)
        run->rows[run->n_rows++] =
            (struct baton_row){.seq = seq, .position = seq->n_tokens + i, .token = tokens[i]};
    return true;
}

/* A run without rows yet. */
static struct baton_run begin_run(const struct baton_engine *engine)
{
    struct baton_run run = engine->run;
    run.n_rows = 0;
    return run;
}

/* Only the last rows of parts that want logits go on, moved together. */
static void keep_last_rows(struct baton_run *run, const struct baton_part *parts, int n_parts)
{
    int n_kept = 0;
    for (int i = 0, end = 0; i < n_parts; i++) {
        end += parts[i].n_tokens;
        if (parts[i].wants_logits)
            baton_run_move_row(run, end - 1, n_kept++);
    }
    run->n_rows = n_kept;
}

enum baton_err baton_engine_run(struct baton_engine *engine, const struct baton_part *parts,
                                int n_parts, baton_layer_fn on_layer, void *arg, float *logits)
{
    struct baton_run run = begin_run(engine);
    for (int i = 0; i < n_parts; i++)
        if (!add_rows(engine, &run, parts[i].seq, parts[i].tokens, parts[i].n_tokens))
            return BATON_INVALID;
    if (!run.n_rows)
        return BATON_INVALID;
    enum baton_err err = forward(&run, on_layer, arg);
    if (err)
        return err;
    keep_last_rows(&run, parts, n_parts);
    if (run.n_rows)
        complete_rows(&run, logits);
    for (int i = 0; i < n_parts; i++)
        parts[i].seq->n_tokens += parts[i].n_tokens;
    return BATON_OK;
}

enum baton_err baton_engine_prefill(struct baton_engine *engine, struct baton_seq *seq,
                                    const uint32_t *tokens, int n_tokens, baton_layer_fn on_layer,
                                    void *arg, float *logits)
{
    const struct baton_part part = {
        .seq = seq, .tokens = tokens, .n_tokens = n_tokens, .wants_logits = logits != NULL};
    return baton_engine_run(engine, &part, 1, on_layer, arg, logits);
}

enum baton_err baton_engine_score(struct baton_engine *engine, struct baton_seq *seq,
                                  const uint32_t *tokens, int n_tokens, baton_layer_fn on_layer,
                                  void *layer_arg, baton_row_fn on_row, void *row_arg,
                                  float *scratch)
{
    struct baton_run run = begin_run(engine);
    size_t n_vocab = (size_t)run.model->shape.n_vocab;
    if (!add_rows(engine, &run, seq, tokens, n_tokens))
        return BATON_INVALID;
    enum baton_err err = forward(&run, on_layer, layer_arg);
    for (int first = 0; first < n_tokens && !err; first += BATON_SCORE_ROWS) {
        int n = n_tokens - first < BATON_SCORE_ROWS ? n_tokens - first : BATON_SCORE_ROWS;
        struct baton_run some = run;
        baton_run_narrow(&some, first, n);
        complete_rows(&some, scratch);
        for (int i = 0; i < n; i++)
            on_row(row_arg, first + i, scratch + (size_t)i * n_vocab);
    }
    if (!err)
        seq->n_tokens += n_tokens;
    return err;
}

enum baton_err baton_engine_decode(struct baton_engine *engine, struct baton_seq *const *seqs,
                                   const uint32_t *tokens, int n_seqs, float *logits)
{
    struct baton_run run = begin_run(engine);
    for (int b = 0; b < n_seqs; b++)
        if (!add_rows(engine, &run, seqs[b], &tokens[b], 1))
            return BATON_INVALID;
    if (!run.n_rows)
        return BATON_INVALID;
    enum baton_err err = forward(&run, NULL, NULL);
    if (err)
        return err;
    complete_rows(&run, logits);
    for (int b = 0; b < n_seqs; b++)
        seqs[b]->n_tokens++;
    return BATON_OK;
}

enum baton_err baton_engine_naive(struct baton_engine *engine, struct baton_seq *scratch,
                                  const uint32_t *tokens, int n_tokens, float *logits)
{
    enum baton_err err = BATON_OK;
    if (n_tokens < 1 || scratch->n_tokens)
        return BATON_INVALID;
    for (int done = 0, n = 0; done < n_tokens && !err; done += n) {
        n = n_tokens - done;
        if (n > engine->options.max_rows)
            n = engine->options.max_rows;
        err = baton_engine_prefill(engine, scratch, tokens + done, n, NULL, NULL,
                                   done + n == n_tokens ? logits : NULL);
    }
    scratch->n_tokens = 0;
    return err;
}
