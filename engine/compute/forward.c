#include "engine/compute/forward.h"

#include <string.h>

#include "engine/arch/draft_head.h"
#include "engine/system/slab.h"

void baton_forward_share_rows(struct baton_forward *forward, baton_item_fn fn, void *arg)
{
    baton_pool_run(forward->pool, (forward->n_rows + BATON_ROWS_PER_ITEM - 1) / BATON_ROWS_PER_ITEM,
                   fn, arg);
}

struct norm_loop {
    struct baton_forward *forward;
    const struct baton_norm *norm;
    void (*run)(enum baton_norm_kind kind, float *y, const float *x, const float *weight,
                const float *bias, int n, float epsilon);
    const float *in;
    float *out;
};

static void norm_rows(void *arg, int item, int worker)
{
    const struct norm_loop *loop = arg;
    const struct baton_norm *norm = loop->norm;
    int first = item * BATON_ROWS_PER_ITEM, end = first + BATON_ROWS_PER_ITEM;
    int n = loop->forward->model->spec.n_embd;
    (void)worker;
    for (int r = first; r < end && r < loop->forward->n_rows; r++)
        loop->run(norm->kind, loop->out + (size_t)r * n, loop->in + (size_t)r * n, norm->weight,
                  norm->bias, n, norm->epsilon);
}

void baton_forward_norm_of(struct baton_forward *forward, const struct baton_norm *norm,
                           const float *in, float *out)
{
    struct norm_loop loop = {
        .forward = forward, .norm = norm, .run = forward->kernels->norm, .in = in, .out = out};
    baton_forward_share_rows(forward, norm_rows, &loop);
}

void baton_forward_norm(struct baton_forward *forward, const struct baton_norm *norm)
{
    baton_forward_norm_of(forward, norm, forward->x, forward->normed);
}

void baton_forward_norm_add(struct baton_forward *forward, const struct baton_norm *norm,
                            const float *in, float *out)
{
    struct norm_loop loop = {
        .forward = forward, .norm = norm, .run = forward->kernels->norm_add, .in = in, .out = out};
    baton_forward_share_rows(forward, norm_rows, &loop);
}

/* The arrays of rows. This list is the only place with the width of each. */
enum { N_ROW_ARRAYS = 16 };

struct row_array {
    float **array;
    size_t width;  /* of a row of the widest layer */
    size_t stride; /* from a row to the next before last_common's attention; 0: holds nothing */
};

static size_t hidden_width(const struct baton_spec *spec)
{
    int n = baton_spec_most_n_ff(spec);
    return (size_t)(n > spec->n_per_layer ? n : spec->n_per_layer);
}

static void list_arrays(struct baton_forward *forward, struct row_array arrays[N_ROW_ARRAYS])
{
    const struct baton_spec *spec = &forward->model->spec;
    size_t n_embd = (size_t)spec->n_embd, per_layer = (size_t)baton_spec_per_layer_width(spec);
    size_t rotations = baton_forward_rotation_floats(spec);
    bool has_state = baton_spec_has_state(spec, forward->last_common);
    bool has_latents = spec->latent.n_rank > 0;
    size_t queries = (size_t)baton_latent_query_width(spec),
           results = (size_t)baton_latent_result_width(spec);
    size_t by_heads = (size_t)spec->n_heads * (size_t)spec->latent.n_plain;
    bool is_last = forward->last_common == spec->n_layers - 1;
    /* Before that layer's attention only the residual stream, the queries in qkv or latent.queries,
     * or the result of a state in attn_out, layers' inputs and later layers' rotations hold values
     * that are still read; moving a row copies no more than these. */
    const struct row_array all[N_ROW_ARRAYS] = {
        {&forward->x, n_embd, n_embd},
        {&forward->normed, n_embd, 0},
        {&forward->qkv, (size_t)baton_spec_most_qkv_width(spec),
         has_state || has_latents ? 0 : (size_t)baton_spec_qkv_width(spec, forward->last_common)},
        {&forward->attn_out, (size_t)baton_spec_most_q_width(spec),
         has_state ? (size_t)baton_spec_q_width(spec, forward->last_common) : 0},
        {&forward->state_keys, 2 * (size_t)spec->state.n_key_heads * (size_t)spec->state.n_keys, 0},
        {&forward->state_gates, 2 * (size_t)spec->state.n_heads, 0},
        {&forward->hidden, hidden_width(spec), 0},
        {&forward->branch, baton_spec_has_post_norms(spec) ? n_embd : 0, 0},
        {&forward->pairs, baton_spec_is_draft_head(spec) ? 2 * n_embd : 0, 0},
        {&forward->per_layer, per_layer, per_layer},
        {&forward->rotations, rotations, is_last ? 0 : rotations},
        {&forward->latent.queries, queries, queries},
        {&forward->latent.results, results, 0},
        {&forward->latent.ranks, (size_t)spec->latent.n_q_rank, 0},
        {&forward->latent.q, spec->latent.n_q_rank ? (size_t)baton_latent_q_width(spec) : 0, 0},
        {&forward->latent.by_heads, by_heads > results ? by_heads : results, 0},
    };
    memcpy(arrays, all, sizeof all);
}

static void place_state(struct baton_forward *forward, char *memory, size_t *n_taken)
{
    const struct baton_state_spec *state = &forward->model->spec.state;
    size_t n_rows = state->n_taps ? (size_t)state->n_taps - 1 : 0,
           n_channels = (size_t)baton_state_n_channels(state),
           width = (size_t)baton_state_width(state);
    forward->state_tail = baton_slab_take(memory, n_taken, n_rows * n_channels * sizeof(float));
    forward->ones = baton_slab_take(memory, n_taken, width * sizeof(float));
    for (size_t i = 0; memory && i < width; i++)
        forward->ones[i] = 1;
}

size_t baton_forward_place(struct baton_forward *forward, char *memory, int n_rows)
{
    struct row_array arrays[N_ROW_ARRAYS];
    size_t n_taken = 0, n_threads = (size_t)baton_pool_n_threads(forward->pool);
    list_arrays(forward, arrays);
    for (int i = 0; i < N_ROW_ARRAYS; i++)
        *arrays[i].array =
            baton_slab_take(memory, &n_taken, (size_t)n_rows * arrays[i].width * sizeof(float));
    forward->attn_scratch_floats = baton_forward_attn_scratch_floats(&forward->model->spec);
    forward->attn_scratch =
        baton_slab_take(memory, &n_taken, forward->attn_scratch_floats * n_threads * sizeof(float));
    place_state(forward, memory, &n_taken);
    forward->latent.quantized =
        baton_slab_take(memory, &n_taken, baton_latent_quantized_bytes(forward->model, n_rows));
    forward->table_rows = baton_slab_take(
        memory, &n_taken,
        (size_t)baton_spec_per_layer_width(&forward->model->spec) * n_threads * sizeof(float));
    return n_taken;
}

void baton_forward_narrow(struct baton_forward *forward, int first, int n)
{
    struct row_array arrays[N_ROW_ARRAYS];
    list_arrays(forward, arrays);
    for (int i = 0; i < N_ROW_ARRAYS; i++)
        *arrays[i].array += (size_t)first * arrays[i].stride;
    forward->rows += first;
    forward->n_rows = n;
}

void baton_forward_move_row(struct baton_forward *forward, int from, int to)
{
    struct row_array arrays[N_ROW_ARRAYS];
    if (from == to)
        return;
    list_arrays(forward, arrays);
    forward->rows[to] = forward->rows[from];
    for (int i = 0; i < N_ROW_ARRAYS; i++) {
        float *array = *arrays[i].array;
        size_t stride = arrays[i].stride;
        if (stride)
            memcpy(array + (size_t)to * stride, array + (size_t)from * stride,
                   stride * sizeof *array);
    }
}
