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

/* The first floats of a row's parts in its projections (spec.h). q and k are C and B of MAMBA. */
struct parts {
    size_t q, k, v, z, gates;
};

/* The sequences of a forward, each with its neighbouring rows from groups[i] on. */
struct state_loop {
    struct baton_forward *forward;
    const struct baton_attention *weights;
    const struct baton_state_spec *state;
    enum baton_mixer mixer;
    struct parts parts;
    int layer, n_groups, n_slices;
    size_t width; /* of a row's projections */
};

static struct parts parts_of(const struct baton_state_spec *state, enum baton_mixer mixer)
{
    size_t n_keys = (size_t)state->n_key_heads * (size_t)state->n_keys,
           n_channels = (size_t)baton_state_n_channels(state),
           n_values = (size_t)baton_state_width(state);
    struct parts parts = {
        .k = n_keys, .v = 2 * n_keys, .z = n_channels, .gates = n_channels + n_values};
    if (mixer == BATON_MIXER_MAMBA) {
        parts.v = 0;
        parts.k = n_values;
        parts.q = n_values + n_keys;
    }
    return parts;
}

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
                              .mixer = spec->layers[layer].mixer,
                              .parts = parts_of(&spec->state, spec->layers[layer].mixer),
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
    const struct baton_seq *seq = loop->forward->rows[first].seq;
    return baton_seq_block(seq, loop->layer, seq->end_window - 1);
}

static float *floats_of(struct baton_state_head *head)
{
    return (float *)(void *)head + BATON_STATE_HEAD_FLOATS;
}

/* Whether the state stays as it is for now. */
static bool is_on_trial(const struct state_loop *loop, int first)
{
    return loop->forward->rows[first].trial > 0;
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
                                          .bias = loop->weights->taps_bias,
                                          .n_rows = end_of(forward, first_row) - first_row,
                                          .n_taps = loop->state->n_taps,
                                          .n_channels = n_channels,
                                          .has_silu = loop->mixer != BATON_MIXER_SHORT};
    end = end < n_channels ? end : n_channels;
    if (rows)
        keep_dropped(loop, job.x, job.n_rows, rows, first, end);
    forward->kernels->convolve(&job, first, end);
}

/* Leaves the tail as it is. */
static void convolve_on_trial(const struct state_loop *loop, int first_row, const float *tail,
                              int slice, int worker)
{
    const struct baton_state_spec *state = loop->state;
    size_t n_channels = (size_t)baton_state_n_channels(state),
           first = (size_t)slice * CHANNELS_PER_ITEM, n = n_channels - first;
    float *copy = loop->forward->trial.tails + (size_t)(worker * state->n_taps) * n_channels;
    n = n < CHANNELS_PER_ITEM ? n : CHANNELS_PER_ITEM;
    for (size_t i = 0; i < (size_t)state->n_taps - 1; i++)
        memcpy(copy + i * n_channels + first, tail + i * n_channels + first, n * sizeof *copy);
    convolve_slice(loop, first_row, copy, slice, NULL);
}

/* A row that is computed again is convolved by convolve_again. */
static void convolve_item(void *arg, int item, int worker)
{
    const struct state_loop *loop = arg;
    int first = loop->forward->groups[item / loop->n_slices], slice = item % loop->n_slices;
    float *rows = floats_of(head_of(loop, first)) + baton_state_floats(loop->state),
          *tail = rows + baton_state_n_channels(loop->state);
    if (is_on_trial(loop, first))
        convolve_on_trial(loop, first, tail, slice, worker);
    else if (!is_again(loop, first))
        convolve_slice(loop, first, tail, slice, rows);
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

/* Divides the heads by their length, those of q by n_keys^1/2 as well. */
static void normalise(const struct state_loop *loop, float *heads, bool is_k)
{
    const struct baton_state_spec *state = loop->state;
    float scale = 1 / sqrtf((float)state->n_keys);
    scale *= is_k ? 1 : scale;
    loop->forward->kernels->norm_heads(BATON_RMS_NORM, heads, NULL, 0, state->n_key_heads,
                                       state->n_keys, 1e-6F / (float)state->n_keys);
    for (int i = 0; i < state->n_key_heads * state->n_keys; i++)
        heads[i] *= scale;
}

/* Lays q and k of a head side by side: rows of all heads lie far apart, on the same sets of the
 * cache. */
static void place_keys(const struct state_loop *loop, int row, const float *heads, bool is_k)
{
    size_t n = (size_t)loop->state->n_keys, n_rows = (size_t)loop->forward->n_rows;
    for (size_t h = 0; h < (size_t)loop->state->n_key_heads; h++)
        memcpy(loop->forward->state_keys + ((h * n_rows + (size_t)row) * 2 + is_k) * n,
               heads + h * n, n * sizeof *heads);
}

static float clamp(float x, float least, float most)
{
    return x < least ? least : x > most ? most : x;
}

/* Makes write and decay of the row's last projections. */
static void set_gates(const struct state_loop *loop, int row)
{
    const struct baton_state_spec *state = loop->state;
    const float *b = projections(loop, row) + loop->parts.gates,
                *a = loop->mixer == BATON_MIXER_DELTA ? b + state->n_heads : b;
    float *write = loop->forward->state_gates + (size_t)row * 2 * (size_t)state->n_heads,
          *decay = write + state->n_heads;
    for (int h = 0; h < state->n_heads; h++) {
        float stored = loop->weights->state_rate[h];
        float rate = state->has_log_rate ? -expf(stored) : stored;
        float step = softplus(a[h] + loop->weights->state_bias[h]);
        if (loop->mixer == BATON_MIXER_MAMBA)
            step = clamp(step, state->least_write, state->most_write);
        write[h] = loop->mixer == BATON_MIXER_MAMBA ? step : 1 / (1 + expf(-b[h]));
        decay[h] = expf(rate * step);
    }
}

/* Neither gate changes a state that has gone through the row. */
static void open_gates(const struct state_loop *loop, int row)
{
    size_t n_heads = (size_t)loop->state->n_heads;
    float *write = loop->forward->state_gates + (size_t)row * 2 * n_heads;
    for (size_t h = 0; h < n_heads; h++) {
        write[h] = 0;
        write[n_heads + h] = 1;
    }
}

static void prepare_rows(void *arg, int item, int worker)
{
    const struct state_loop *loop = arg;
    int first = item * BATON_ROWS_PER_ITEM, end = first + BATON_ROWS_PER_ITEM;
    (void)worker;
    for (int r = first; r < end && r < loop->forward->n_rows; r++) {
        float *q = projections(loop, r) + loop->parts.q, *k = projections(loop, r) + loop->parts.k;
        if (loop->mixer == BATON_MIXER_DELTA) {
            normalise(loop, q, false);
            normalise(loop, k, true);
        }
        place_keys(loop, r, q, false);
        place_keys(loop, r, k, true);
        set_gates(loop, r);
        bool is_first = !r || loop->forward->rows[r - 1].seq != loop->forward->rows[r].seq;
        if (is_first && is_again(loop, r))
            open_gates(loop, r);
    }
}

/* ---- the scan ---- */

/* Leaves the state: 16 columns at a time go through the rows in a copy, which stays in cache. */
static void scan_on_trial(const struct state_loop *loop, struct baton_scan job, int worker)
{
    size_t n = (size_t)job.n_keys * BATON_STATE_COLUMNS;
    const float *state = job.state;
    job.state = loop->forward->trial.columns + (size_t)worker * n;
    for (int n_left = loop->state->n_values; n_left > 0; n_left -= BATON_STATE_COLUMNS) {
        memcpy(job.state, state, n * sizeof *state);
        int n_columns = n_left < BATON_STATE_COLUMNS ? n_left : (int)BATON_STATE_COLUMNS;
        loop->forward->kernels->scan(&job, 0, n_columns);
        state += n;
        job.v += BATON_STATE_COLUMNS;
        job.out += BATON_STATE_COLUMNS;
    }
}

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
    const float *gates = loop->forward->state_gates + (size_t)first * 2 * (size_t)state->n_heads;
    const struct baton_scan job = {
        .state = floats_of(head_of(loop, first)) +
                 (size_t)h * (baton_state_floats(state) / (size_t)state->n_heads),
        .q = keys,
        .k = keys + n_keys,
        .key_stride = 2 * n_keys,
        .v = projections(loop, first) + loop->parts.v + (size_t)h * n_values,
        .value_stride = loop->width,
        .out = loop->forward->attn_out + (size_t)first * width + (size_t)h * n_values,
        .out_stride = width,
        .write = gates + h,
        .decay = gates + state->n_heads + h,
        .gate_stride = 2 * (size_t)state->n_heads,
        .n_rows = end_of(loop->forward, first) - first,
        .n_keys = state->n_keys,
        .has_delta_rule = loop->mixer == BATON_MIXER_DELTA};
    if (is_on_trial(loop, first))
        scan_on_trial(loop, job, worker);
    else
        loop->forward->kernels->scan(&job, 0, state->n_values);
}

/* ---- the result ---- */

/* z = silu(z), a convolution of one tap. */
static void activate(const struct state_loop *loop, float *z)
{
    const struct baton_forward *forward = loop->forward;
    int width = baton_state_width(loop->state);
    const struct baton_convolution silu = {.x = z,
                                           .x_stride = loop->width,
                                           .weights = forward->ones,
                                           .n_rows = 1,
                                           .n_taps = 1,
                                           .n_channels = width,
                                           .has_silu = true};
    forward->kernels->convolve(&silu, 0, width);
}

static void multiply(float *x, const float *y, int n)
{
    for (int i = 0; i < n; i++)
        x[i] *= y[i];
}

/* out = norm(out) * silu(z) */
static void finish_delta(const struct state_loop *loop, float *row, float *out)
{
    const struct baton_state_spec *state = loop->state;
    float *z = row + loop->parts.z;
    activate(loop, z);
    loop->forward->kernels->norm_heads(BATON_RMS_NORM, out, loop->weights->state_norm, 0,
                                       state->n_heads, state->n_values,
                                       loop->forward->model->spec.norm_epsilon);
    multiply(out, z, baton_state_width(state));
}

/* out = norm((out + D x) * silu(z)) */
static void finish_mamba(const struct state_loop *loop, float *row, float *out)
{
    const struct baton_state_spec *state = loop->state;
    int width = baton_state_width(state), n_normed = width / state->n_key_heads;
    const float *x = row + loop->parts.v;
    float *z = row + loop->parts.z;
    activate(loop, z);
    for (int i = 0; i < width; i++)
        out[i] += loop->weights->state_skip[i / state->n_values] * x[i];
    multiply(out, z, width);
    loop->forward->kernels->norm_heads(BATON_RMS_NORM, out, loop->weights->state_norm,
                                       (size_t)n_normed, state->n_key_heads, n_normed,
                                       loop->forward->model->spec.norm_epsilon);
}

/* out = g * the convolution of b u, which lies at b. */
static void finish_short(const struct state_loop *loop, float *row, float *out)
{
    int width = baton_state_width(loop->state);
    memcpy(out, row, (size_t)width * sizeof *out);
    multiply(out, row + width, width);
}

static void finish_rows(void *arg, int item, int worker)
{
    const struct state_loop *loop = arg;
    const struct baton_forward *forward = loop->forward;
    int first = item * BATON_ROWS_PER_ITEM, end = first + BATON_ROWS_PER_ITEM;
    size_t width = (size_t)baton_state_width(loop->state);
    (void)worker;
    for (int r = first; r < end && r < forward->n_rows; r++) {
        float *out = forward->attn_out + (size_t)r * width;
        if (loop->mixer == BATON_MIXER_DELTA)
            finish_delta(loop, projections(loop, r), out);
        else if (loop->mixer == BATON_MIXER_MAMBA)
            finish_mamba(loop, projections(loop, r), out);
        else
            finish_short(loop, projections(loop, r), out);
    }
}

/* b = b u, the convolution's input. */
static void multiply_rows(void *arg, int item, int worker)
{
    const struct state_loop *loop = arg;
    int first = item * BATON_ROWS_PER_ITEM, end = first + BATON_ROWS_PER_ITEM,
        width = baton_state_width(loop->state);
    (void)worker;
    for (int r = first; r < end && r < loop->forward->n_rows; r++)
        multiply(projections(loop, r), projections(loop, r) + 2 * (size_t)width, width);
}

static void convolve_rows(struct state_loop *loop)
{
    struct baton_forward *forward = loop->forward;
    baton_pool_run(forward->pool, loop->n_groups * loop->n_slices, convolve_item, loop);
    for (int i = 0; i < loop->n_groups; i++)
        if (is_again(loop, forward->groups[i]))
            convolve_again(loop, forward->groups[i]);
}

/* From the projections to the results of the scan. */
static void pass_rows(struct state_loop *loop)
{
    int n_heads = loop->mixer == BATON_MIXER_SHORT ? 0 : loop->state->n_heads;
    convolve_rows(loop);
    if (n_heads)
        baton_forward_share_rows(loop->forward, prepare_rows, loop);
    baton_pool_run(loop->forward->pool, loop->n_groups * n_heads, scan_item, loop);
}

static void note_positions(const struct state_loop *loop)
{
    const struct baton_forward *forward = loop->forward;
    for (int i = 0; i < loop->n_groups; i++) {
        int first = forward->groups[i], last = end_of(forward, first) - 1;
        if (!is_on_trial(loop, first))
            head_of(loop, first)->n_positions = forward->rows[last].position + 1;
    }
}

/* ---- rows on trial ---- */

/* Keeps what the state reads of a row: its channels and its gates. */
static void keep_rows(void *arg, int item, int worker)
{
    const struct state_loop *loop = arg;
    const struct baton_forward *forward = loop->forward;
    int first = item * BATON_ROWS_PER_ITEM, end = first + BATON_ROWS_PER_ITEM;
    size_t n_channels = (size_t)baton_state_n_channels(loop->state), gates = loop->parts.gates,
           n_gates = loop->mixer == BATON_MIXER_SHORT ? 0 : loop->width - gates;
    (void)worker;
    for (int r = first; r < end && r < forward->n_rows; r++) {
        if (!forward->rows[r].trial)
            continue;
        float *kept = baton_trial_row(forward, loop->layer, forward->rows[r].trial - 1);
        memcpy(kept, projections(loop, r), n_channels * sizeof *kept);
        memcpy(kept + n_channels, projections(loop, r) + gates, n_gates * sizeof *kept);
    }
}

void baton_forward_replay(struct baton_forward *forward, int layer, int first_row)
{
    struct state_loop loop = loop_over(forward, layer);
    forward->qkv = baton_trial_row(forward, layer, first_row);
    loop.width = baton_trial_row_floats(&forward->model->spec);
    loop.parts.gates = (size_t)baton_state_n_channels(loop.state);
    pass_rows(&loop);
    note_positions(&loop);
}

void baton_forward_scan(struct baton_forward *forward, int layer)
{
    struct state_loop loop = loop_over(forward, layer);
    baton_pool_run(forward->pool, loop.n_groups, begin_group, &loop);
    if (loop.mixer == BATON_MIXER_SHORT)
        baton_forward_share_rows(forward, multiply_rows, &loop);
    if (forward->trial.n_rows)
        baton_forward_share_rows(forward, keep_rows, &loop);
    pass_rows(&loop);
    baton_forward_share_rows(forward, finish_rows, &loop);
    note_positions(&loop);
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
