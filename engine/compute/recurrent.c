/* Layers with a state (arch/spec.h): from a row's projections to the input of the layer's last
 * product. Rows of a sequence go through its state one after the other, in one order of sums, so
 * that their bits do not depend on where a step begins. */
#include <math.h>
#include <string.h>

#include "engine/compute/forward.h"
#include "engine/kv/state.h"

enum { CHANNELS_PER_ITEM = 256 };

_Static_assert((int)BATON_STATE_MAX_TAPS == BATON_MAX_TAPS &&
                   (int)BATON_STATE_COLUMNS == BATON_SCAN_COLUMNS,
               "a spec has the kernels' limits");

/* The sequences of a forward, each with its neighbouring rows from groups[i] on. */
struct state_loop {
    struct baton_forward *forward;
    const struct baton_attention *weights;
    const struct baton_state_spec *state;
    int layer, n_groups, n_slices;
    size_t width; /* of a row's projections */
};

static int end_of(const struct baton_forward *forward, int first)
{
    int end = first + 1;
    while (end < forward->n_rows && forward->rows[end].seq == forward->rows[first].seq)
        end++;
    return end;
}

static struct state_loop loop_over(struct baton_forward *forward, int layer)
{
    const struct baton_spec *spec = &forward->model->spec;
    struct state_loop loop = {.forward = forward,
                              .weights = &forward->model->layers[layer].attention,
                              .state = &spec->state,
                              .layer = layer,
                              .width = (size_t)baton_spec_qkv_width(spec, layer)};
    for (int r = 0; r < forward->n_rows; r = end_of(forward, r))
        forward->groups[loop.n_groups++] = r;
    loop.n_slices =
        (baton_state_n_channels(loop.state) + CHANNELS_PER_ITEM - 1) / CHANNELS_PER_ITEM;
    return loop;
}

static float *projections(const struct state_loop *loop, int row)
{
    return loop->forward->qkv + (size_t)row * loop->width;
}

/* A sequence's state in the layer. */
static struct baton_state_head *head_of(const struct state_loop *loop, int first)
{
    const struct baton_row *last = &loop->forward->rows[end_of(loop->forward, first) - 1];
    return baton_seq_block(last->seq, loop->layer, last->position / BATON_KV_BLOCK_TOKENS);
}

static float *floats_of(struct baton_state_head *head)
{
    return (float *)(void *)head + BATON_STATE_HEAD_FLOATS;
}

/* Whether the state has gone through the row already: its result is wanted once more. */
static bool is_again(const struct state_loop *loop, int first)
{
    return head_of(loop, first)->n_positions > loop->forward->rows[first].position;
}

/* ---- the convolution ---- */

static void begin_group(void *arg, int item, int worker)
{
    const struct state_loop *loop = arg;
    int first = loop->forward->groups[item];
    (void)worker;
    if (!loop->forward->rows[first].position)
        memset(head_of(loop, first), 0, baton_state_bytes(loop->state));
}

/* The row that the convolution drops of the last n_taps ones is kept beside its tail. */
static void keep_dropped(const struct state_loop *loop, const float *x, int n_rows, float *rows,
                         int first, int end)
{
    size_t n_channels = (size_t)baton_state_n_channels(loop->state);
    int n_taps = loop->state->n_taps;
    const float *dropped = n_rows >= n_taps ? x + (size_t)(n_rows - n_taps) * loop->width
                                            : rows + (size_t)n_rows * n_channels;
    memmove(rows + first, dropped + first, (size_t)(end - first) * sizeof *rows);
}

static void convolve_slice(const struct state_loop *loop, int first_row, float *tail, int slice,
                           float *rows)
{
    const struct baton_forward *forward = loop->forward;
    int n_channels = baton_state_n_channels(loop->state), first = slice * CHANNELS_PER_ITEM,
        end = first + CHANNELS_PER_ITEM;
    const struct baton_convolution job = {.x = projections(loop, first_row),
                                          .x_stride = loop->width,
                                          .tail = tail,
                                          .weights = loop->weights->taps,
                                          .n_rows = end_of(forward, first_row) - first_row,
                                          .n_taps = loop->state->n_taps,
                                          .n_channels = n_channels,
                                          .has_silu = true};
    end = end < n_channels ? end : n_channels;
    if (rows)
        keep_dropped(loop, job.x, job.n_rows, rows, first, end);
    forward->kernels->convolve(&job, first, end);
}

/* A row that is computed again is convolved by convolve_again. */
static void convolve_item(void *arg, int item, int worker)
{
    const struct state_loop *loop = arg;
    int first = loop->forward->groups[item / loop->n_slices];
    float *rows = floats_of(head_of(loop, first)) + baton_state_floats(loop->state);
    (void)worker;
    if (!is_again(loop, first))
        convolve_slice(loop, first, rows + baton_state_n_channels(loop->state),
                       item % loop->n_slices, rows);
}

static void convolve_again(const struct state_loop *loop, int first)
{
    size_t n = (size_t)(loop->state->n_taps - 1) * (size_t)baton_state_n_channels(loop->state);
    const float *rows = floats_of(head_of(loop, first)) + baton_state_floats(loop->state);
    memcpy(loop->forward->state_tail, rows, n * sizeof *rows);
    for (int slice = 0; slice < loop->n_slices; slice++)
        convolve_slice(loop, first, loop->forward->state_tail, slice, NULL);
}

/* ---- keys, queries and gates of a row ---- */

static float softplus(float x)
{
    return x > 20 ? x : log1pf(expf(x));
}

/* Divides the heads by their length, and lays q and k of a head side by side: rows of all heads lie
 * far apart, on the same sets of the cache. */
static void place_keys(const struct state_loop *loop, int row, float *heads, int is_k)
{
    const struct baton_state_spec *state = loop->state;
    size_t n = (size_t)state->n_keys, n_rows = (size_t)loop->forward->n_rows;
    float scale = 1 / sqrtf((float)state->n_keys);
    scale *= is_k ? 1 : scale;
    loop->forward->kernels->norm_heads(BATON_RMS_NORM, heads, NULL, 0, state->n_key_heads,
                                       state->n_keys, 1e-6F / (float)state->n_keys);
    for (size_t h = 0; h < (size_t)state->n_key_heads; h++) {
        float *to = loop->forward->state_keys + ((h * n_rows + (size_t)row) * 2 + is_k) * n;
        for (size_t i = 0; i < n; i++)
            to[i] = heads[h * n + i] * scale;
    }
}

/* b becomes write and a becomes decay; neither changes a state that has gone through the row. */
static void set_gates(const struct state_loop *loop, float *b, float *a, bool again)
{
    const struct baton_state_spec *state = loop->state;
    for (int h = 0; h < state->n_heads; h++) {
        float stored = loop->weights->state_rate[h];
        float rate = state->has_log_rate ? -expf(stored) : stored;
        float decay = expf(rate * softplus(a[h] + loop->weights->state_bias[h]));
        b[h] = again ? 0 : 1 / (1 + expf(-b[h]));
        a[h] = again ? 1 : decay;
    }
}

static void prepare_rows(void *arg, int item, int worker)
{
    const struct state_loop *loop = arg;
    const struct baton_state_spec *state = loop->state;
    int first = item * BATON_ROWS_PER_ITEM, end = first + BATON_ROWS_PER_ITEM;
    int n_keys = state->n_key_heads * state->n_keys,
        gates = baton_state_n_channels(state) + baton_state_width(state);
    (void)worker;
    for (int r = first; r < end && r < loop->forward->n_rows; r++) {
        float *row = projections(loop, r);
        bool is_first = !r || loop->forward->rows[r - 1].seq != loop->forward->rows[r].seq;
        place_keys(loop, r, row, 0);
        place_keys(loop, r, row + n_keys, 1);
        set_gates(loop, row + gates, row + gates + state->n_heads, is_first && is_again(loop, r));
    }
}

/* ---- the scan ---- */

static void scan_item(void *arg, int item, int worker)
{
    const struct state_loop *loop = arg;
    const struct baton_state_spec *state = loop->state;
    int first = loop->forward->groups[item / state->n_heads], h = item % state->n_heads;
    int key_head =
        state->is_tiled ? h % state->n_key_heads : h / (state->n_heads / state->n_key_heads);
    size_t n_keys = (size_t)state->n_keys, n_values = (size_t)state->n_values,
           width = (size_t)baton_state_width(state);
    const float *keys =
        loop->forward->state_keys +
        ((size_t)key_head * (size_t)loop->forward->n_rows + (size_t)first) * 2 * n_keys;
    const float *gates = projections(loop, first) + baton_state_n_channels(state) + width;
    const struct baton_scan job = {
        .state = floats_of(head_of(loop, first)) + (size_t)h * n_keys * n_values,
        .q = keys,
        .k = keys + n_keys,
        .key_stride = 2 * n_keys,
        .v =
            projections(loop, first) + baton_state_n_channels(state) - width + (size_t)h * n_values,
        .value_stride = loop->width,
        .out = loop->forward->attn_out + (size_t)first * width + (size_t)h * n_values,
        .out_stride = width,
        .write = gates + h,
        .decay = gates + state->n_heads + h,
        .gate_stride = loop->width,
        .n_rows = end_of(loop->forward, first) - first,
        .n_keys = state->n_keys,
        .has_delta_rule = true};
    (void)worker;
    loop->forward->kernels->scan(&job, 0, state->n_values);
}

/* ---- the result ---- */

/* attn_out = norm(attn_out) * silu(z), where silu is a convolution of one tap. */
static void finish_rows(void *arg, int item, int worker)
{
    const struct state_loop *loop = arg;
    const struct baton_forward *forward = loop->forward;
    const struct baton_state_spec *state = loop->state;
    int first = item * BATON_ROWS_PER_ITEM, end = first + BATON_ROWS_PER_ITEM;
    int width = baton_state_width(state);
    (void)worker;
    for (int r = first; r < end && r < forward->n_rows; r++) {
        float *out = forward->attn_out + (size_t)r * (size_t)width;
        float *z = projections(loop, r) + baton_state_n_channels(state);
        const struct baton_convolution silu = {.x = z,
                                               .x_stride = loop->width,
                                               .weights = forward->ones,
                                               .n_rows = 1,
                                               .n_taps = 1,
                                               .n_channels = width,
                                               .has_silu = true};
        forward->kernels->convolve(&silu, 0, width);
        forward->kernels->norm_heads(BATON_RMS_NORM, out, loop->weights->state_norm, 0,
                                     state->n_heads, state->n_values,
                                     forward->model->spec.norm_epsilon);
        for (int i = 0; i < width; i++)
            out[i] *= z[i];
    }
}

void baton_forward_scan(struct baton_forward *forward, int layer)
{
    struct state_loop loop = loop_over(forward, layer);
    struct baton_pool *pool = forward->pool;
    baton_pool_run(pool, loop.n_groups, begin_group, &loop);
    baton_pool_run(pool, loop.n_groups * loop.n_slices, convolve_item, &loop);
    for (int i = 0; i < loop.n_groups; i++)
        if (is_again(&loop, forward->groups[i]))
            convolve_again(&loop, forward->groups[i]);
    baton_forward_share_rows(forward, prepare_rows, &loop);
    baton_pool_run(pool, loop.n_groups * loop.state->n_heads, scan_item, &loop);
    baton_forward_share_rows(forward, finish_rows, &loop);
    for (int i = 0; i < loop.n_groups; i++) {
        int first = forward->groups[i], last = end_of(forward, first) - 1;
        head_of(&loop, first)->n_positions = forward->rows[last].position + 1;
    }
}

/* ---- the gate of attention's result ---- */

static void gate_rows(void *arg, int item, int worker)
{
    const struct state_loop *loop = arg;
    const struct baton_spec *spec = &loop->forward->model->spec;
    int first = item * BATON_ROWS_PER_ITEM, end = first + BATON_ROWS_PER_ITEM;
    int n = baton_spec_q_width(spec, loop->layer);
    (void)worker;
    for (int r = first; r < end && r < loop->forward->n_rows; r++) {
        const float *gate = projections(loop, r) + loop->width - n;
        float *out = loop->forward->attn_out + (size_t)r * (size_t)n;
        for (int i = 0; i < n; i++)
            out[i] /= 1 + expf(-gate[i]);
    }
}

void baton_forward_gate(struct baton_forward *forward, int layer)
{
    struct state_loop loop = {.forward = forward,
                              .layer = layer,
                              .width = (size_t)baton_spec_qkv_width(&forward->model->spec, layer)};
    baton_forward_share_rows(forward, gate_rows, &loop);
}
