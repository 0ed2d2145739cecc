/* A class is measured. Every operation of the model runs on fixed inputs, in the kernels that will
 * serve it: products with a few outputs of one matrix of each dtype and width, activations, norms,
 * rotations, attention over more than one step with the KV cache's dtype, the router, the sampler's
 * sums, and the functions of the C library that they call. The class is the digest of all results.
 * It thus distinguishes kernels by their results and not by their names.
 *
 * openblas chooses its order of summation by the number of rows: its class is a name only. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/compute/moe/route.h"
#include "engine/kernels/vector/rope_angles.h"
#include "engine/kv/pool.h"
#include "engine/model/layers.h"

enum {
    LINE_BYTES = 64,
    N_OUTS = 2 * BATON_PANEL, /* of a matrix: a gate's panel and up's */
    N_ROWS = 4,
    N_BLAS_ROWS = 128, /* so many that OpenBLAS multiplies them itself */
    N_POSITIONS = 150, /* attention sums over steps of 64 */
    N_ATTENDING = 2,   /* the last of them */
    N_WINDOW = 100,    /* of layers that have one: it ends within a step */
    N_SAMPLED = 1000,
    N_CALLS = 256 /* of a function of the C library */
};

/* The architecture is part of the class: outside of kernels the compiler may contract a product and
 * a sum to one FMA on CPUs whose baseline has it. */
#if defined(__x86_64__)
#define ARCHITECTURE "x86_64"
#elif defined(__aarch64__)
#define ARCHITECTURE "aarch64"
#else
#define ARCHITECTURE "other"
#endif

struct probe {
    const struct baton_model *model;
    const struct baton_kv *kv;
    struct baton_sha256 *sha; /* of all results so far */
    uint32_t n_drawn;
    bool is_short; /* of memory: the digest is of no use */
};

static void add_floats(struct probe *probe, const float *results, size_t n)
{
    baton_sha256_update(probe->sha, results, n * sizeof *results);
}

/* Zeros, on cache lines of their own; NULL without memory. */
static void *allocate(struct probe *probe, size_t n_bytes)
{
    size_t n = (n_bytes + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
    void *memory = aligned_alloc(LINE_BYTES, n ? n : LINE_BYTES);
    if (memory)
        memset(memory, 0, n);
    probe->is_short |= !memory;
    return memory;
}

/* An odd multiple of 2^-23 in (-1, 1), which is exact in a float and so the same on every machine.
 * The multipliers are primes of xxHash32. */
static float draw(struct probe *probe)
{
    uint32_t bits = ++probe->n_drawn * 2654435761U;
    bits = (bits ^ bits >> 15) * 2246822519U;
    bits ^= bits >> 13;
    return (float)((int32_t)(bits >> 8 | 1) - (1 << 23)) / (float)(1 << 23);
}

static float *draw_floats(struct probe *probe, size_t n)
{
    float *floats = allocate(probe, n * sizeof *floats);
    for (size_t i = 0; floats && i < n; i++)
        floats[i] = draw(probe);
    return floats;
}

/* ---- products ---- */

/* x as the weights' dtype reads it: itself, or quantized into *form, which the caller frees. */
static const void *quantized(struct probe *probe, const struct baton_packed *weights,
                             const float *x, int n_rows, void **form)
{
    const struct baton_kernels *kernels = probe->model->kernels;
    *form = NULL;
    if (kernels->dtypes[weights->dtype].copies)
        return x;
    *form = allocate(probe, baton_quantized_bytes(kernels, weights->dtype, n_rows, weights->n_in));
    if (*form)
        kernels->dtypes[weights->dtype].quantize(x, weights->n_in, 0, n_rows, *form);
    return *form;
}

static void add_product(struct probe *probe, const struct baton_packed *weights,
                        struct baton_epilogue epilogue)
{
    int n_rows = weights->layout == BATON_ROWS ? N_BLAS_ROWS : N_ROWS;
    int n_outs = weights->n_out < N_OUTS ? weights->n_out : N_OUTS;
    void *form = NULL;
    float *x = draw_floats(probe, (size_t)n_rows * (size_t)weights->n_in);
    float *y = allocate(probe, (size_t)n_rows * N_OUTS * sizeof *y);
    const void *input = x ? quantized(probe, weights, x, n_rows, &form) : NULL;
    if (input && y) {
        const struct baton_linear job = {.weights = weights,
                                         .x = input,
                                         .y = y,
                                         .y_stride = N_OUTS,
                                         .n_rows = n_rows,
                                         .epilogue = epilogue};
        baton_kernels_linear(probe->model->kernels, &job, 0, n_outs);
        add_floats(probe, y, (size_t)n_rows * N_OUTS);
    }
    free(form);
    free(x);
    free(y);
}

/* The products that differ in their arithmetic: one of each dtype, width and epilogue. */
struct seen {
    bool gated[BATON_N_DTYPES], plain[BATON_N_DTYPES];
    int n_ins[BATON_N_DTYPES][8], n_n_ins[BATON_N_DTYPES];
};

static bool is_new_width(struct seen *seen, const struct baton_packed *weights)
{
    int *n_ins = seen->n_ins[weights->dtype], *n = &seen->n_n_ins[weights->dtype];
    for (int i = 0; i < *n; i++)
        if (n_ins[i] == weights->n_in)
            return false;
    if (*n == 8) /* more widths than any family has */
        return false;
    n_ins[(*n)++] = weights->n_in;
    return true;
}

static bool is_new(bool *seen)
{
    bool was_seen = *seen;
    *seen = true;
    return !was_seen;
}

static void add_matrix(struct probe *probe, struct seen *seen, const struct baton_array *array,
                       const struct baton_packed *weights)
{
    static const float xielu[] = {0.8F, 0.8F, 0.5F, -1e-6F};
    const struct baton_spec *spec = &probe->model->spec;
    bool is_up = array->kind == BATON_ARRAY_UP || array->kind == BATON_ARRAY_SHARED_UP ||
                 array->kind == BATON_ARRAY_PER_LAYER_GATE;
    struct baton_epilogue end = {.kind = array->is_gated ? BATON_GATE : BATON_ACTIVATE,
                                 .activation = spec->activation,
                                 .xielu = xielu,
                                 .n_ff = array->is_gated && array->n_rows / 2 < BATON_PANEL
                                             ? array->n_rows / 2
                                             : BATON_PANEL};
    if (is_new_width(seen, weights))
        add_product(probe, weights, (struct baton_epilogue){.kind = BATON_STORE, .scale = 1});
    if (is_up &&
        is_new(array->is_gated ? &seen->gated[weights->dtype] : &seen->plain[weights->dtype]))
        add_product(probe, weights, end);
}

static void add_products(struct probe *probe)
{
    struct seen seen = {0};
    for (int i = 0; i < baton_n_arrays(&probe->model->spec); i++) {
        struct baton_array array = baton_array_at(&probe->model->spec, i);
        if (!array.is_matrix || !array.n_rows)
            continue;
        const struct baton_matrix *matrix = baton_model_matrix_in(probe->model, &array);
        for (int part = 0; part < matrix->n_parts; part++)
            add_matrix(probe, &seen, &array, &matrix->parts[part]);
    }
}

/* ---- operations on single rows ---- */

static void add_norms(struct probe *probe)
{
    const struct baton_kernels *kernels = probe->model->kernels;
    const struct baton_spec *spec = &probe->model->spec;
    size_t n = (size_t)spec->n_embd;
    float *x = draw_floats(probe, n), *y = draw_floats(probe, n), *weight = draw_floats(probe, n),
          *bias = draw_floats(probe, n);
    if (!probe->is_short) {
        const float *used_bias = spec->norm_has_bias ? bias : NULL;
        kernels->norm(spec->norm, y, x, weight, used_bias, spec->n_embd, spec->norm_epsilon);
        add_floats(probe, y, n);
        kernels->norm_add(spec->norm, y, x, weight, used_bias, spec->n_embd, spec->norm_epsilon);
        kernels->add_scaled(y, x, spec->residual_scale, n);
        if (spec->logit_cap > 0)
            kernels->cap(y, spec->logit_cap, n);
        add_floats(probe, y, n);
    }
    free(x);
    free(y);
    free(weight);
    free(bias);
}

static void add_route(struct probe *probe)
{
    const struct baton_moe_spec *moe = &probe->model->spec.moe;
    if (!moe->n_experts)
        return;
    float *logits = draw_floats(probe, (size_t)moe->n_experts);
    float *weights = allocate(probe, (size_t)moe->n_chosen * sizeof *weights);
    int *experts = allocate(probe, (size_t)moe->n_chosen * sizeof *experts);
    for (int i = 0; !probe->is_short && i < N_CALLS / 16; i++) {
        for (int e = 0; e < moe->n_experts; e++)
            logits[e] = 8 * draw(probe);
        baton_moe_route(moe, logits, NULL, experts, weights);
        add_floats(probe, weights, (size_t)moe->n_chosen);
    }
    free(logits);
    free(weights);
    free(experts);
}

static void add_sampling(struct probe *probe)
{
    float *x = draw_floats(probe, N_SAMPLED), *y = allocate(probe, N_SAMPLED * sizeof *y);
    if (!probe->is_short) {
        double sum = probe->model->kernels->weigh(y, x, 1, 9, N_SAMPLED);
        add_floats(probe, y, N_SAMPLED);
        baton_sha256_update(probe->sha, &sum, sizeof sum);
    }
    free(x);
    free(y);
    /* log draws tokens, and log1p scales queries and makes XIELU's numbers: their last bits differ
     * between C libraries. */
    for (int i = 0; i < N_CALLS; i++) {
        double position = i * 37.0, values[] = {log(1 + (double)draw(probe)), log1p(position)};
        bool uses_log1p =
            probe->model->spec.has_q_scaling || probe->model->spec.activation == BATON_ACT_XIELU;
        baton_sha256_update(probe->sha, values, (uses_log1p ? 2 : 1) * sizeof values[0]);
    }
}

/* ---- attention ---- */

static void add_rotations(struct probe *probe)
{
    const struct baton_spec *spec = &probe->model->spec;
    float turns[BATON_MAX_ROTATED], head[BATON_MAX_ROTATED];
    for (int rope = 0; rope < spec->n_ropes; rope++)
        for (int i = 0; i < N_CALLS / 4; i++) {
            int n = spec->ropes[rope].n_rotated,
                position = (int)((int64_t)spec->n_context * i / 64);
            baton_rope_angles(&spec->ropes[rope], position, turns, turns + n / 2);
            for (int d = 0; d < n; d++)
                head[d] = draw(probe);
            probe->model->kernels->rope(head, turns, turns + n / 2, 1, n, n);
            add_floats(probe, turns, (size_t)n);
            add_floats(probe, head, (size_t)n);
        }
}

/* Stores K and V of one head at every position of consecutive blocks, normed as the model's. */
static void store_positions(struct probe *probe, int head_dim, int n_latent, float *k, float *v,
                            char *blocks, size_t block_bytes)
{
    const struct baton_kernels *kernels = probe->model->kernels;
    const struct baton_spec *spec = &probe->model->spec;
    for (int p = 0; p < N_POSITIONS; p++) {
        float *key = k + (size_t)p * (size_t)head_dim, *value = v + (size_t)p * (size_t)head_dim;
        if (spec->qk_norm != BATON_QK_NORM_NONE)
            kernels->norm_heads(spec->norm, key, v, 0, 1, head_dim, spec->norm_epsilon);
        if (spec->norms_values)
            kernels->norm_heads(spec->norm, value, NULL, 0, 1, head_dim, spec->norm_epsilon);
        kernels->store_kv(baton_kv_element(probe->kv), key, value, 1, head_dim, n_latent,
                          blocks + (size_t)(p / BATON_KV_BLOCK_TOKENS) * block_bytes,
                          p % BATON_KV_BLOCK_TOKENS);
    }
}

/* The last positions' queries of one KV head, in a layer like this one. */
static void add_attention(struct probe *probe, const struct baton_layer_spec *layer)
{
    const struct baton_spec *spec = &probe->model->spec;
    const int group = spec->n_heads / layer->n_kv_heads, dim = layer->head_dim;
    const int n_blocks = baton_kv_blocks_for(N_POSITIONS);
    size_t n = N_POSITIONS * (size_t)dim, width = (size_t)(group * dim);
    size_t block_bytes = baton_kv_head_bytes(baton_kv_element(probe->kv), dim, layer->n_latent);
    float *k = draw_floats(probe, n), *v = draw_floats(probe, n),
          *q = draw_floats(probe, N_ATTENDING * width), *sinks = draw_floats(probe, (size_t)group);
    float *out = allocate(probe, N_ATTENDING * width * sizeof *out);
    float *state = allocate(probe, N_ATTENDING * (size_t)group * baton_attend_query_floats(dim) *
                                       sizeof *state);
    float *values =
        allocate(probe, baton_attend_value_floats(layer->n_latent) * sizeof *values + 1);
    char *blocks = allocate(probe, (size_t)n_blocks * block_bytes);
    int numbers[N_POSITIONS];
    for (int b = 0; b < n_blocks; b++)
        numbers[b] = b;
    if (!probe->is_short) {
        const struct baton_attend job = {.q = q,
                                         .out = out,
                                         .q_stride = width,
                                         .out_stride = width,
                                         .layer = blocks,
                                         .blocks = numbers,
                                         .dtype = baton_kv_element(probe->kv),
                                         .n_rows = N_ATTENDING,
                                         .first_position = N_POSITIONS - N_ATTENDING,
                                         .n_heads = 1,
                                         .group = group,
                                         .head_dim = dim,
                                         .n_latent = layer->n_latent,
                                         /* Four times the scale, so that weights differ. */
                                         .scale = spec->score_scale * 4,
                                         .score_cap = spec->score_cap,
                                         .window = layer->window ? N_WINDOW : 0,
                                         .sinks = spec->has_sinks ? sinks : NULL,
                                         .state = state,
                                         .values = values};
        store_positions(probe, dim, layer->n_latent, k, v, blocks, block_bytes);
        probe->model->kernels->attend(&job, 0, 1);
        add_floats(probe, out, N_ATTENDING * width);
    }
    free(k);
    free(v);
    free(q);
    free(sinks);
    free(out);
    free(state);
    free(values);
    free(blocks);
}

static bool has_delta_rule(const struct baton_spec *spec)
{
    for (int i = 0; i < spec->n_layers; i++)
        if (spec->layers[i].mixer == BATON_MIXER_DELTA)
            return true;
    return false;
}

/* A convolution and a scan of a few rows, and the functions of the C library that make gates. */
static void add_state(struct probe *probe)
{
    enum { TAPS = 4, KEYS = 32, N = BATON_SCAN_COLUMNS };
    const struct baton_kernels *kernels = probe->model->kernels;
    if (!probe->model->spec.state.n_taps)
        return;
    float *x = draw_floats(probe, (size_t)N_ROWS * N), *taps = draw_floats(probe, (size_t)TAPS * N),
          *state = draw_floats(probe, (size_t)KEYS * N), *k = draw_floats(probe, N_ROWS * KEYS),
          *gates = draw_floats(probe, N_CALLS);
    if (!probe->is_short) {
        for (int i = 0; i < N_CALLS; i++)
            gates[i] = expf(-log1pf(expf(8 * gates[i])));
        const struct baton_convolution convolution = {.x = x,
                                                      .x_stride = N,
                                                      .tail = state,
                                                      .weights = taps,
                                                      .n_rows = N_ROWS,
                                                      .n_taps = TAPS,
                                                      .n_channels = N,
                                                      .has_silu = true};
        kernels->convolve(&convolution, 0, N);
        const struct baton_scan scan = {.state = state,
                                        .k = k,
                                        .q = k,
                                        .v = x,
                                        .out = x,
                                        .decay = gates,
                                        .write = gates + N_ROWS,
                                        .key_stride = KEYS,
                                        .value_stride = N,
                                        .out_stride = N,
                                        .gate_stride = 1,
                                        .n_rows = N_ROWS,
                                        .n_keys = KEYS,
                                        .has_delta_rule = has_delta_rule(&probe->model->spec)};
        kernels->scan(&scan, 0, N);
        add_floats(probe, gates, N_CALLS);
        add_floats(probe, x, (size_t)N_ROWS * N);
        add_floats(probe, state, (size_t)KEYS * N);
    }
    free(x);
    free(taps);
    free(state);
    free(k);
    free(gates);
}

static bool attends_alike(const struct baton_layer_spec *a, const struct baton_layer_spec *b)
{
    return a->head_dim == b->head_dim && a->n_latent == b->n_latent &&
           a->n_kv_heads == b->n_kv_heads && !a->window == !b->window;
}

static void add_attentions(struct probe *probe)
{
    const struct baton_layer_spec *layers = probe->model->spec.layers;
    for (int i = 0; i < probe->model->spec.n_layers; i++) {
        int earlier = 0;
        while (earlier < i && !attends_alike(&layers[earlier], &layers[i]))
            earlier++;
        if (earlier == i)
            add_attention(probe, &layers[i]);
    }
}

enum baton_err baton_numeric_class(const struct baton_model *model, const struct baton_kv *kv,
                                   struct baton_numeric_class *numeric_class)
{
    char text[256], hex[BATON_SHA256_HEX];
    struct probe probe = {.model = model, .kv = kv, .sha = baton_sha256_create()};
    if (!probe.sha)
        return BATON_NO_MEMORY;
    int n = snprintf(text, sizeof text, "baton numeric class\n%s\n%s\n%s\n", ARCHITECTURE,
                     model->info.dtype, baton_kv_layout_name(kv));
    baton_sha256_update(probe.sha, text, (size_t)n);
    add_products(&probe);
    add_norms(&probe);
    add_rotations(&probe);
    add_attentions(&probe);
    add_state(&probe);
    add_route(&probe);
    add_sampling(&probe);
    baton_sha256_final(probe.sha, hex);
    if (probe.is_short)
        return BATON_NO_MEMORY;
    (void)snprintf(numeric_class->hex, sizeof numeric_class->hex, "%.16s", hex);
    return BATON_OK;
}
