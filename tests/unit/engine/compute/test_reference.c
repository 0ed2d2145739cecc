/* The engine against a decoder written the plain way, in double, over the same weights. */
#include "common/base/array.h"
#include "tests/unit/engine/unit.h"

#include <stdlib.h>

#include "engine/engine.h"
#include "engine/model/layers.h"
#include "tests/support/random_gpt2.h"

enum { N_TOKENS = 37, CONTEXT = 50, CHUNK = 11 };

static double *doubles(size_t n)
{
    double *all = calloc(n, sizeof *all);
    assert_non_null(all);
    return all;
}

/* y [n_out] = weights x + bias */
static void multiply(const struct baton_matrix *matrix, const double *x, double *y)
{
    float *row = calloc((size_t)matrix->n_in, sizeof *row);
    assert_non_null(row);
    for (int o = 0; o < matrix->n_out; o++) {
        baton_matrix_row(matrix, o, row);
        y[o] = matrix->bias ? matrix->bias[o] : 0;
        for (int i = 0; i < matrix->n_in; i++)
            y[o] += row[i] * x[i];
    }
    free(row);
}

static void normalise(const struct baton_norm *norm, const double *x, int n, double *y)
{
    double mean = 0, variance = 0;
    for (int i = 0; i < n; i++)
        mean += x[i] / n;
    for (int i = 0; i < n; i++)
        variance += (x[i] - mean) * (x[i] - mean) / n;
    for (int i = 0; i < n; i++)
        y[i] = (x[i] - mean) / sqrt(variance + (double)norm->epsilon) * norm->weight[i] +
               norm->bias[i];
}

static double gelu(double x)
{
    return 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}

/* out [D] of one query over n_past positions; k and v are n_stride doubles a position. */
static void attend(const double *q, const double *k, const double *v, int n_past, int n_stride,
                   int n_dim, double *out)
{
    double *weights = doubles((size_t)n_past), sum = 0;
    for (int p = 0; p < n_past; p++) {
        for (int d = 0; d < n_dim; d++)
            weights[p] += q[d] * k[p * n_stride + d];
        sum += weights[p] = exp(weights[p] / sqrt(n_dim));
    }
    for (int d = 0; d < n_dim; d++) {
        out[d] = 0;
        for (int p = 0; p < n_past; p++)
            out[d] += weights[p] / sum * v[p * n_stride + d];
    }
    free(weights);
}

/* x [n][C], as the layer leaves it. */
static void run_layer(const struct baton_spec *spec, const struct baton_layer *layer, double *x,
                      int n)
{
    int n_embd = spec->n_embd, dim = spec->layers[0].head_dim, n_q = spec->n_heads * dim;
    int n_kv = spec->layers[0].n_kv_heads * dim, n_qkv = n_q + 2 * n_kv;
    int group = spec->n_heads / spec->layers[0].n_kv_heads;
    double *normed = doubles((size_t)n_embd), *qkv = doubles((size_t)n * (size_t)n_qkv);
    double *heads = doubles((size_t)n_q), *hidden = doubles((size_t)spec->layers[0].n_ff);
    double *added = doubles((size_t)n_embd);
    for (int r = 0; r < n; r++) {
        normalise(&layer->attention.norm, x + r * n_embd, n_embd, normed);
        multiply(&layer->attention.qkv, normed, qkv + r * n_qkv);
    }
    for (int r = 0; r < n; r++) {
        double *row = x + r * n_embd;
        for (int h = 0; h < spec->n_heads; h++)
            attend(qkv + r * n_qkv + h * dim, qkv + n_q + h / group * dim,
                   qkv + n_q + n_kv + h / group * dim, r + 1, n_qkv, dim, heads + h * dim);
        multiply(&layer->attention.out, heads, added);
        for (int i = 0; i < n_embd; i++)
            row[i] += added[i];
        normalise(&layer->mlp.norm, row, n_embd, normed);
        multiply(&layer->mlp.up, normed, hidden);
        for (int i = 0; i < spec->layers[0].n_ff; i++)
            hidden[i] = gelu(hidden[i]);
        multiply(&layer->mlp.down, hidden, added);
        for (int i = 0; i < n_embd; i++)
            row[i] += added[i];
    }
    free(normed);
    free(qkv);
    free(heads);
    free(hidden);
    free(added);
}

/* logits [V] after the last of n tokens. */
static void run_plainly(const struct baton_model *model, const uint32_t *tokens, int n,
                        double *logits)
{
    const struct baton_spec *spec = &model->spec;
    size_t n_embd = (size_t)spec->n_embd;
    double *x = doubles((size_t)n * n_embd), *normed = doubles(n_embd);
    float *row = calloc(n_embd, sizeof *row);
    assert_non_null(row);
    for (size_t r = 0; r < (size_t)n; r++) {
        baton_matrix_row(&model->token_embedding, (int)tokens[r], row);
        for (size_t i = 0; i < n_embd; i++)
            x[r * n_embd + i] = (double)row[i] + model->position_embedding[r * n_embd + i];
    }
    for (int layer = 0; layer < spec->n_layers; layer++)
        run_layer(spec, &model->layers[layer], x, n);
    normalise(&model->final_norm, x + (size_t)(n - 1) * n_embd, spec->n_embd, normed);
    multiply(&model->head, normed, logits);
    free(x);
    free(normed);
    free(row);
}

static void check(const struct baton_gpt2_sizes *sizes, const char *kernels)
{
    const struct baton_model_options kept = {.kernels = kernels};
    const struct baton_engine_options options = {.max_rows = CHUNK, .n_threads = 2};
    struct baton_model *model;
    struct baton_kv *kv;
    struct baton_engine *engine;
    struct baton_seq seq;
    uint32_t tokens[N_TOKENS];
    float *logits = calloc((size_t)sizes->n_vocab, sizeof *logits);
    double *expected = doubles((size_t)sizes->n_vocab);
    assert_non_null(logits);
    for (int i = 0; i < N_TOKENS; i++)
        tokens[i] = (uint32_t)(i * i * 7 % sizes->n_vocab);
    assert_ok(random_gpt2(sizes, 5, &kept, &model));
    assert_ok(baton_kv_create(model, &(struct baton_kv_pool_options){.n_blocks = 4}, &kv, NULL));
    assert_ok(baton_engine_create(model, &options, &engine, NULL));
    assert_ok(baton_seq_init(&seq, kv, N_TOKENS));
    for (int done = 0, n; done < N_TOKENS; done += n) {
        n = N_TOKENS - done < CHUNK ? N_TOKENS - done : CHUNK;
        assert_ok(baton_engine_prefill(engine, &seq, tokens + done, n, NULL, NULL, logits));
    }
    run_plainly(model, tokens, N_TOKENS, expected);
    for (int i = 0; i < sizes->n_vocab; i++)
        assert_true(fabs(logits[i] - expected[i]) < 1e-4);
    baton_seq_fini(&seq);
    baton_engine_destroy(engine);
    baton_kv_destroy(kv);
    baton_model_close(model);
    free(logits);
    free(expected);
}

TEST(heads_may_be_wider_or_narrower_than_the_model_and_share_keys_and_values)
{
    static const struct {
        int n_embd, n_heads, n_kv_heads, head_dim;
    } odd[] = {
        {42, 6, 6, 7},  /* H D = C */
        {42, 6, 6, 19}, /* H D > C, wider than F */
        {42, 5, 5, 3},  /* H D < C */
        {42, 6, 2, 7},  /* groups of three */
        {35, 8, 1, 24}, /* one KV head, H D > C */
        {96, 6, 3, 9},  /* H D < C */
    };
    const struct baton_kernels *kernels;
    for (int k = 0; (kernels = baton_kernels_at(k)); k++)
        for (size_t i = 0; i < BATON_N_OF(odd); i++) {
            const struct baton_gpt2_sizes sizes = {.n_layers = 2,
                                                   .n_embd = odd[i].n_embd,
                                                   .n_heads = odd[i].n_heads,
                                                   .n_kv_heads = odd[i].n_kv_heads,
                                                   .head_dim = odd[i].head_dim,
                                                   .n_ff = 61,
                                                   .n_vocab = 83,
                                                   .n_context = CONTEXT};
            check(&sizes, kernels->name);
        }
}
