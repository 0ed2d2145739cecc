#include "engine/compute/adapted.h"

#include <string.h>

#include "engine/compute/forward.h"
#include "engine/system/slab.h"

enum { ROWS_PER_ITEM = 64, LINE_BYTES = 64 };

/* ---- memory ---- */

struct widths {
    int in, out; /* of the widest matrix that adapters change */
};

static struct widths widths_of(const struct baton_model *model)
{
    struct widths most = {0};
    for (int i = 0; i < model->spec.n_layers * BATON_N_ADAPTED; i++) {
        const struct baton_array array = baton_array_of(
            &model->spec, baton_adapted_kind((enum baton_adapted)(i % BATON_N_ADAPTED)),
            i / BATON_N_ADAPTED);
        int n_out = baton_model_n_packed_rows(&array);
        if (!array.n_rows || array.n_experts)
            continue;
        most.out = n_out > most.out ? n_out : most.out;
        most.in = array.n_columns > most.in ? array.n_columns : most.in;
    }
    return most;
}

size_t baton_adapted_place(struct baton_adapted_state *state, const struct baton_model *model,
                           char *memory, int n_rows)
{
    const int most_rank = BATON_ADAPTER_MAX_PARTS * BATON_ADAPTER_MAX_RANK;
    size_t n = 0, rows = (size_t)n_rows, n_out = (size_t)widths_of(model).out;
    state->groups = baton_slab_take(memory, &n, rows * sizeof state->groups[0]);
    state->group_of = baton_slab_take(memory, &n, rows * sizeof state->group_of[0]);
    state->rows = baton_slab_take(memory, &n, rows * sizeof state->rows[0]);
    state->of_rows = baton_slab_take(memory, &n, rows * sizeof state->of_rows[0]);
    state->inner = baton_slab_take(memory, &n, rows * (size_t)most_rank * sizeof(float));
    state->quantized = baton_slab_take(
        memory, &n, baton_quantized_bytes(model->kernels, BATON_F32, n_rows, most_rank));
    state->deltas = baton_slab_take(memory, &n, rows * n_out * sizeof(float));
    return n;
}

size_t baton_adapted_quantized_bytes(const struct baton_model *model, int n_rows)
{
    return baton_quantized_bytes(model->kernels, BATON_F32, n_rows, widths_of(model).in) +
           LINE_BYTES;
}

/* ---- groups ---- */

static bool are_equal(const struct baton_blend *a, const struct baton_blend *b)
{
    bool equal = a == b || a->n == b->n;
    for (int i = 0; a != b && equal && i < a->n; i++)
        equal = a->list[i].adapter == b->list[i].adapter && a->list[i].scale == b->list[i].scale;
    return equal;
}

/* The group of a row's blend, the latest first: a prompt's rows are neighbours. */
static int find_group(struct baton_adapted_state *state, int *n_groups,
                      const struct baton_blend *blend)
{
    for (int g = *n_groups - 1; g >= 0; g--)
        if (are_equal(state->groups[g].blend, blend))
            return g;
    state->groups[*n_groups] = (struct baton_adapted_group){.blend = blend};
    return (*n_groups)++;
}

/* Returns the number of groups. */
static int group_rows(const struct baton_forward *forward, struct baton_adapted_state *state)
{
    int n_groups = 0, place = 0;
    for (int r = 0; r < forward->n_rows; r++) {
        const struct baton_blend *blend = forward->rows[r].seq->blend;
        state->group_of[r] = blend ? find_group(state, &n_groups, blend) : -1;
    }
    for (int g = 0; g < n_groups; g++) {
        state->groups[g].first = place;
        for (int r = 0; r < forward->n_rows; r++)
            if (state->group_of[r] == g)
                state->rows[place++] = r;
        state->groups[g].n = place - state->groups[g].first;
    }
    return n_groups;
}

/* ---- products ---- */

/* An item is some panels of some rows. */
struct product_loop {
    const struct baton_kernels *kernels;
    struct baton_linear job;
    int n_row_items, rows_per_item, panels_per_item;
};

static void multiply_item(void *arg, int item, int worker)
{
    const struct product_loop *loop = arg;
    struct baton_linear job = loop->job;
    int row = item % loop->n_row_items * loop->rows_per_item;
    int out = item / loop->n_row_items * loop->panels_per_item * BATON_PANEL;
    int end = out + loop->panels_per_item * BATON_PANEL, n_out = job.weights->n_out;
    (void)worker;
    job.y += (size_t)row * (size_t)job.y_stride;
    if (job.rows)
        job.rows += row;
    else
        job.x = (const char *)job.x +
                (size_t)row * baton_quantized_bytes(loop->kernels, BATON_F32, 1, job.weights->n_in);
    job.n_rows = job.n_rows - row < loop->rows_per_item ? job.n_rows - row : loop->rows_per_item;
    baton_kernels_linear(loop->kernels, &job, out, end < n_out ? end : n_out);
}

static int divide_up(int n, int by)
{
    return (n + by - 1) / by;
}

static void multiply(const struct baton_forward *forward, const struct baton_linear *job)
{
    struct product_loop loop = {.kernels = forward->kernels, .job = *job};
    size_t work = baton_forward_work(baton_packed_read_bytes(job->weights), job->n_rows);
    int n_items = baton_forward_n_items(forward, work),
        n_panels = baton_packed_n_panels(job->weights);
    /* An A has few panels, so that its rows are shared out as well. */
    loop.rows_per_item = n_items > n_panels ? ROWS_PER_ITEM : job->n_rows;
    loop.n_row_items = divide_up(job->n_rows, loop.rows_per_item);
    loop.panels_per_item = divide_up(n_panels, n_items);
    baton_pool_run(forward->pool, loop.n_row_items * divide_up(n_panels, loop.panels_per_item),
                   multiply_item, &loop);
}

/* inner as products with f32 weights read it. */
static const void *quantize_inner(const struct baton_forward *forward, int n, int rank)
{
    const struct baton_dtype_kernels *kernels = &forward->kernels->dtypes[BATON_F32];
    if (kernels->copies)
        return forward->adapted.inner;
    kernels->quantize(forward->adapted.inner, rank, 0, n, forward->adapted.quantized);
    return forward->adapted.quantized;
}

static void add_delta(struct baton_forward *forward, const struct baton_adapted_group *group,
                      const struct baton_delta *delta, float scale, const void *x)
{
    struct baton_adapted_state *state = &forward->adapted;
    size_t n_out = (size_t)delta->up.n_out;
    const struct baton_linear down = {.weights = &delta->down,
                                      .x = x,
                                      .rows = state->rows + group->first,
                                      .y = state->inner,
                                      .y_stride = delta->rank,
                                      .n_rows = group->n,
                                      .epilogue = {.kind = BATON_STORE, .scale = 1}};
    multiply(forward, &down);
    const struct baton_linear up = {.weights = &delta->up,
                                    .x = quantize_inner(forward, group->n, delta->rank),
                                    .y = state->deltas + (size_t)group->first * n_out,
                                    .y_stride = delta->up.n_out,
                                    .n_rows = group->n,
                                    .epilogue = {.kind = BATON_ADD, .scale = scale}};
    multiply(forward, &up);
}

/* Zeroes the deltas of a group, for sums to begin from. */
static void begin_group(struct baton_adapted_state *state, const struct baton_adapted_group *group,
                        size_t n_out)
{
    float *first = state->deltas + (size_t)group->first * n_out;
    memset(first, 0, (size_t)group->n * n_out * sizeof *first);
    for (int i = 0; i < group->n; i++)
        state->of_rows[state->rows[group->first + i]] = first + (size_t)i * n_out;
}

/* Whether any adapter of the blend changes the matrix. */
static bool add_group(struct baton_forward *forward, int layer, enum baton_adapted slot,
                      struct baton_input *input, const struct baton_adapted_group *group)
{
    bool any = false;
    for (int i = 0; i < group->blend->n; i++) {
        const struct baton_delta *delta = &group->blend->list[i].adapter->layers[layer][slot];
        if (!delta->rank)
            continue;
        if (!any)
            begin_group(&forward->adapted, group, (size_t)delta->up.n_out);
        any = true;
        add_delta(forward, group, delta, group->blend->list[i].scale,
                  baton_forward_quantize(forward, input, BATON_F32));
    }
    return any;
}

const float *const *baton_adapted_deltas(struct baton_forward *forward, int layer,
                                         enum baton_adapted slot, struct baton_input *input)
{
    struct baton_adapted_state *state = &forward->adapted;
    bool any = false;
    if (!state->groups)
        return NULL;
    int n_groups = group_rows(forward, state);
    if (!n_groups)
        return NULL;
    memset((void *)state->of_rows, 0, (size_t)forward->n_rows * sizeof *state->of_rows);
    for (int g = 0; g < n_groups; g++)
        any |= add_group(forward, layer, slot, input, &state->groups[g]);
    return any ? state->of_rows : NULL;
}
