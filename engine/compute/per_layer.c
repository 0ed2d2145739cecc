#include "engine/compute/per_layer.h"

#include <math.h>

struct per_layer_loop {
    struct baton_forward *forward;
    int layer;
};

static int end_of(const struct baton_forward *forward, int item)
{
    int end = (item + 1) * BATON_ROWS_PER_ITEM;
    return end < forward->n_rows ? end : forward->n_rows;
}

/* Norms the projections of a row, layer by layer, and adds the token's row of the table. */
static void embed_row(const struct baton_forward *forward, int r, float *table_row)
{
    const struct baton_model *model = forward->model;
    const struct baton_spec *spec = &model->spec;
    int n = baton_spec_per_layer_width(spec);
    const float half = (float)sqrt(0.5), scale = (float)sqrt((double)spec->n_per_layer);
    float *row = forward->per_layer + (size_t)r * (size_t)n;
    forward->kernels->norm_heads(spec->norm, row, model->per_layer_in_norm, 0, spec->n_layers,
                                 spec->n_per_layer, spec->norm_epsilon);
    baton_row_table_read(&model->per_layer_table, (int)forward->rows[r].token, table_row);
    for (int i = 0; i < n; i++)
        row[i] = (row[i] + table_row[i] * scale) * half;
}

static void embed_rows(void *arg, int item, int worker)
{
    const struct per_layer_loop *loop = arg;
    const struct baton_forward *forward = loop->forward;
    size_t n = (size_t)baton_spec_per_layer_width(&forward->model->spec);
    for (int r = item * BATON_ROWS_PER_ITEM; r < end_of(forward, item); r++)
        embed_row(forward, r, forward->table_rows + (size_t)worker * n);
}

void baton_per_layer_embed(struct baton_forward *forward)
{
    const struct baton_spec *spec = &forward->model->spec;
    struct per_layer_loop loop = {.forward = forward};
    struct baton_input input = baton_input_of(forward->x, spec->n_embd);
    const struct baton_epilogue scaled = {.kind = BATON_STORE,
                                          .scale = (float)(1 / sqrt((double)spec->n_embd))};
    if (!spec->n_per_layer)
        return;
    baton_forward_linear(forward, &forward->model->per_layer_in, &input, forward->per_layer,
                         scaled);
    baton_forward_share_rows(forward, embed_rows, &loop);
}

static void gate_rows(void *arg, int item, int worker)
{
    const struct per_layer_loop *loop = arg;
    const struct baton_forward *forward = loop->forward;
    const struct baton_spec *spec = &forward->model->spec;
    size_t n = (size_t)spec->n_per_layer, width = (size_t)baton_spec_per_layer_width(spec);
    (void)worker;
    for (int r = item * BATON_ROWS_PER_ITEM; r < end_of(forward, item); r++) {
        const float *in = forward->per_layer + (size_t)r * width + (size_t)loop->layer * n;
        float *hidden = forward->hidden + (size_t)r * n;
        for (size_t i = 0; i < n; i++)
            hidden[i] *= in[i];
    }
}

void baton_per_layer_add(struct baton_forward *forward, int layer)
{
    const struct baton_spec *spec = &forward->model->spec;
    const struct baton_per_layer *of = &forward->model->layers[layer].per_layer;
    const struct baton_epilogue activate = {.kind = BATON_ACTIVATE, .activation = spec->activation},
                                store = {.kind = BATON_STORE, .scale = 1};
    struct per_layer_loop loop = {.forward = forward, .layer = layer};
    struct baton_input input = baton_input_of(forward->x, spec->n_embd),
                       hidden = baton_input_of(forward->hidden, spec->n_per_layer);
    baton_forward_linear(forward, &of->gate, &input, forward->hidden, activate);
    baton_forward_share_rows(forward, gate_rows, &loop);
    baton_forward_linear(forward, &of->out, &hidden, forward->branch, store);
    baton_forward_norm_add(forward, &of->norm, forward->branch, forward->x);
}
