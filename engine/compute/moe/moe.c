#include "engine/compute/moe/moe.h"

#include <math.h>
#include <string.h>

#include "engine/compute/forward.h"
#include "engine/compute/moe/product.h"
#include "engine/compute/moe/route.h"
#include "engine/system/slab.h"

static const struct baton_mlp *find_mixture(const struct baton_model *model)
{
    for (int i = 0; i < model->spec.n_layers; i++)
        if (model->spec.layers[i].is_moe)
            return &model->layers[i].mlp;
    return NULL;
}

size_t baton_moe_place(struct baton_moe_state *state, const struct baton_model *model, char *memory,
                       int n_rows)
{
    const struct baton_moe_spec *moe = &model->spec.moe;
    const struct baton_mlp *mlp = find_mixture(model);
    size_t n = 0, rows = (size_t)n_rows, pairs = rows * (size_t)moe->n_chosen,
           n_experts = (size_t)moe->n_experts,
           row_bytes = (size_t)model->spec.n_embd * sizeof(float);
    if (!mlp)
        return 0;
    const struct baton_packed *down = &mlp->down.parts[0];
    state->plan.groups = baton_slab_take(memory, &n, n_experts * sizeof state->plan.groups[0]);
    state->plan.rows = baton_slab_take(memory, &n, pairs * sizeof state->plan.rows[0]);
    state->plan.places = baton_slab_take(memory, &n, pairs * sizeof state->plan.places[0]);
    state->experts = baton_slab_take(memory, &n, pairs * sizeof state->experts[0]);
    state->weights = baton_slab_take(memory, &n, pairs * sizeof state->weights[0]);
    /* The router may have one output more, the gate of the shared expert. */
    state->logits = baton_slab_take(memory, &n, rows * (n_experts + 1) * sizeof state->logits[0]);
    state->shared = baton_slab_take(memory, &n, moe->n_ff_shared ? rows * row_bytes : 0);
    state->hidden =
        baton_slab_take(memory, &n, pairs * (size_t)moe->n_ff * sizeof state->hidden[0]);
    state->results = baton_slab_take(memory, &n, pairs * row_bytes);
    state->quantized = baton_slab_take(
        memory, &n, pairs * baton_quantized_bytes(model->kernels, down->dtype, 1, down->n_in));
    return n;
}

/* One layer's mixture while its rows run through it. */
struct moe_loop {
    struct baton_forward *forward;
    const struct baton_spec *spec;
    const struct baton_mlp *mlp;
    float *y;
    struct baton_epilogue epilogue;
};

static const struct baton_epilogue store = {.kind = BATON_STORE, .scale = 1};

static struct moe_loop loop_of(struct baton_forward *forward, const struct baton_mlp *mlp, float *y,
                               struct baton_epilogue epilogue)
{
    return (struct moe_loop){.forward = forward,
                             .spec = &forward->model->spec,
                             .mlp = mlp,
                             .y = y,
                             .epilogue = epilogue};
}

/* Of a gated MLP, or of a plain one. */
static struct baton_epilogue gate(const struct baton_spec *spec, int n_ff)
{
    return (struct baton_epilogue){.kind =
                                       spec->mlp == BATON_MLP_GATED ? BATON_GATE : BATON_ACTIVATE,
                                   .activation = spec->activation,
                                   .n_ff = n_ff};
}

static int count_items(int n)
{
    return (n + BATON_ROWS_PER_ITEM - 1) / BATON_ROWS_PER_ITEM;
}

static int end_of_item(int item, int n)
{
    int end = (item + 1) * BATON_ROWS_PER_ITEM;
    return end < n ? end : n;
}

/* Multiplies the weights of a row's experts by the experts' own scales. */
static void scale_weights(const struct moe_loop *loop, const int *experts, float *weights)
{
    const float *scales = loop->mlp->expert_scales;
    for (int i = 0; scales && i < loop->spec->moe.n_chosen; i++)
        weights[i] *= scales[experts[i]];
}

static void route_rows(void *arg, int item, int worker)
{
    const struct moe_loop *loop = arg;
    const struct baton_moe_state *state = &loop->forward->moe;
    size_t n_logits = (size_t)loop->mlp->router.n_out, k = (size_t)loop->spec->moe.n_chosen;
    (void)worker;
    for (int r = item * BATON_ROWS_PER_ITEM; r < end_of_item(item, loop->forward->n_rows); r++) {
        int *experts = state->experts + (size_t)r * k;
        float *weights = state->weights + (size_t)r * k;
        baton_moe_route(&loop->spec->moe, state->logits + (size_t)r * n_logits,
                        loop->mlp->score_bias, experts, weights);
        scale_weights(loop, experts, weights);
    }
}

static void route(struct moe_loop *loop, struct baton_input *input, float scale)
{
    struct baton_forward *forward = loop->forward;
    struct baton_moe_state *state = &forward->moe;
    const struct baton_epilogue scaled = {.kind = BATON_STORE, .scale = scale};
    baton_forward_linear(forward, &loop->mlp->router, input, state->logits, scaled);
    baton_forward_share_rows(forward, route_rows, loop);
    baton_moe_plan_fill(&state->plan, state->experts, forward->n_rows, loop->spec->moe.n_chosen,
                        loop->spec->moe.n_experts);
}

static void multiply_up(struct moe_loop *loop, struct baton_input *input)
{
    const struct baton_moe_state *state = &loop->forward->moe;
    const struct baton_matrix *first = &loop->mlp->up;
    int n_ff = loop->spec->moe.n_ff;
    const struct baton_moe_product up = {
        .plan = &state->plan,
        .first = first,
        .x = baton_forward_quantize(loop->forward, input, first->parts[0].dtype),
        .x_is_rows = true,
        .y = state->hidden,
        .y_width = n_ff,
        .epilogue = gate(loop->spec, n_ff)};
    baton_moe_multiply(loop->forward, &up);
}

/* The expert that every row takes. */
static void run_shared(struct moe_loop *loop, struct baton_input *input)
{
    struct baton_forward *forward = loop->forward;
    const struct baton_matrix *down = &loop->mlp->shared_down;
    struct baton_input hidden = baton_input_of(forward->hidden, down->n_in);
    baton_forward_linear(forward, &loop->mlp->shared_up, input, forward->hidden,
                         gate(loop->spec, loop->spec->moe.n_ff_shared));
    baton_forward_linear(forward, down, &hidden, forward->moe.shared, store);
}

static void quantize_pairs(void *arg, int item, int worker)
{
    const struct moe_loop *loop = arg;
    const struct baton_moe_state *state = &loop->forward->moe;
    const struct baton_packed *down = &loop->mlp->down.parts[0];
    (void)worker;
    loop->forward->kernels->dtypes[down->dtype].quantize(
        state->hidden, down->n_in, item * BATON_ROWS_PER_ITEM,
        end_of_item(item, state->plan.n_pairs), state->quantized);
}

static void multiply_down(struct moe_loop *loop)
{
    struct baton_forward *forward = loop->forward;
    struct baton_moe_state *state = &forward->moe;
    struct baton_moe_product down = {.plan = &state->plan,
                                     .first = &loop->mlp->down,
                                     .x = state->hidden,
                                     .y = state->results,
                                     .y_width = loop->spec->n_embd,
                                     .epilogue = store};
    if (!forward->kernels->dtypes[loop->mlp->down.parts[0].dtype].copies) {
        baton_pool_run(forward->pool, count_items(state->plan.n_pairs), quantize_pairs, loop);
        down.x = state->quantized;
    }
    baton_moe_multiply(forward, &down);
}

static float weight_of_shared(const struct moe_loop *loop, int row)
{
    size_t n_logits = (size_t)loop->mlp->router.n_out;
    if (!loop->spec->moe.has_shared_gate)
        return 1;
    return 1 / (1 + expf(-loop->forward->moe.logits[(size_t)row * n_logits + n_logits - 1]));
}

/* Adds the results by rank. The order of their places in the plan depends on the other rows, and
 * sums of floats depend on their order. */
static void combine_row(const struct moe_loop *loop, int row)
{
    const struct baton_moe_state *state = &loop->forward->moe;
    const struct baton_kernels *kernels = loop->forward->kernels;
    size_t n_embd = (size_t)loop->spec->n_embd;
    int k = loop->spec->moe.n_chosen;
    float *y = loop->y + (size_t)row * n_embd, scale = loop->epilogue.scale;
    if (loop->epilogue.kind == BATON_STORE)
        memset(y, 0, n_embd * sizeof *y);
    for (int i = row * k; i < (row + 1) * k; i++)
        kernels->add_scaled(y, state->results + (size_t)state->plan.places[i] * n_embd,
                            scale * state->weights[i], n_embd);
    if (loop->spec->moe.n_ff_shared && !loop->spec->moe.is_beside)
        kernels->add_scaled(y, state->shared + (size_t)row * n_embd,
                            scale * weight_of_shared(loop, row), n_embd);
    if (loop->mlp->mixture_bias)
        kernels->add_scaled(y, loop->mlp->mixture_bias, scale, n_embd);
}

static void combine_rows(void *arg, int item, int worker)
{
    const struct moe_loop *loop = arg;
    (void)worker;
    for (int r = item * BATON_ROWS_PER_ITEM; r < end_of_item(item, loop->forward->n_rows); r++)
        combine_row(loop, r);
}

void baton_moe_run(struct baton_forward *forward, const struct baton_mlp *mlp, const float *in,
                   float *y, struct baton_epilogue epilogue)
{
    struct moe_loop loop = loop_of(forward, mlp, y, epilogue);
    struct baton_input input = baton_input_of(in, loop.spec->n_embd);
    route(&loop, &input, 1);
    multiply_up(&loop, &input);
    if (loop.spec->moe.n_ff_shared)
        run_shared(&loop, &input);
    multiply_down(&loop);
    baton_forward_share_rows(forward, combine_rows, &loop);
}

void baton_moe_run_shared(struct baton_forward *forward, const struct baton_mlp *mlp,
                          const float *in)
{
    struct moe_loop loop = loop_of(forward, mlp, NULL, store);
    struct baton_input input = baton_input_of(in, loop.spec->n_embd);
    run_shared(&loop, &input);
}

void baton_moe_choose(struct baton_forward *forward, const struct baton_mlp *mlp, const float *in,
                      float scale)
{
    struct moe_loop loop = loop_of(forward, mlp, NULL, store);
    struct baton_input input = baton_input_of(in, loop.spec->n_embd);
    route(&loop, &input, scale);
}

void baton_moe_run_chosen(struct baton_forward *forward, const struct baton_mlp *mlp,
                          const float *in, float *y)
{
    struct moe_loop loop = loop_of(forward, mlp, y, store);
    struct baton_input input = baton_input_of(in, loop.spec->n_embd);
    multiply_up(&loop, &input);
    multiply_down(&loop);
    baton_forward_share_rows(forward, combine_rows, &loop);
}
