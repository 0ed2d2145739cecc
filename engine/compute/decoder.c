#include "engine/compute/decoder.h"

#include <math.h>

#include "engine/arch/draft_head.h"
#include "engine/compute/per_layer.h"

/* Adds a row of a table. */
static void add_row(const struct baton_model *model, const float *table, int row, float *x)
{
    size_t n_embd = (size_t)model->spec.n_embd;
    for (size_t i = 0; i < n_embd; i++)
        x[i] += table[(size_t)row * n_embd + i];
}

static void embed_row(const struct baton_model *model, const struct baton_row *row, float *x)
{
    float scale = model->spec.embed_scale;
    baton_matrix_row(&model->token_embedding, (int)row->token, x);
    for (int i = 0; scale != 1 && i < model->spec.n_embd; i++)
        x[i] *= scale;
    if (model->position_embedding)
        add_row(model, model->position_embedding, model->spec.position_offset + row->position, x);
    if (model->token_types)
        add_row(model, model->token_types, row->type, x);
}

static void embed_rows(void *arg, int item, int worker)
{
    const struct baton_forward *forward = arg;
    int first = item * BATON_ROWS_PER_ITEM, end = first + BATON_ROWS_PER_ITEM;
    (void)worker;
    for (int r = first; r < end && r < forward->n_rows; r++)
        embed_row(forward->model, &forward->rows[r],
                  forward->x + (size_t)r * (size_t)forward->model->spec.n_embd);
}

/* ---- the input of a head that drafts ---- */

static void norm_to(const struct baton_forward *forward, const struct baton_norm *norm,
                    const float *in, float *out)
{
    forward->kernels->norm(norm->kind, out, in, norm->weight, norm->bias,
                           forward->model->spec.n_embd, norm->epsilon);
}

/* The norms of the token's embedding and of the state, side by side. */
static void pair_rows(void *arg, int item, int worker)
{
    const struct baton_forward *forward = arg;
    const struct baton_model *model = forward->model;
    int first = item * BATON_ROWS_PER_ITEM, end = first + BATON_ROWS_PER_ITEM;
    size_t n_embd = (size_t)model->spec.n_embd;
    (void)worker;
    for (int r = first; r < end && r < forward->n_rows; r++) {
        float *token = forward->x + (size_t)r * n_embd,
              *pair = forward->pairs + 2 * (size_t)r * n_embd;
        embed_row(model, &forward->rows[r], token);
        norm_to(forward, &model->draft_token_norm, token, pair);
        norm_to(forward, &model->draft_state_norm, forward->rows[r].state, pair + n_embd);
    }
}

static void embed_pairs(struct baton_forward *forward)
{
    struct baton_input input = baton_input_of(forward->pairs, 2 * forward->model->spec.n_embd);
    const struct baton_epilogue plain = {.kind = BATON_STORE, .scale = 1};
    baton_forward_share_rows(forward, pair_rows, forward);
    baton_forward_linear(forward, &forward->model->draft_in, &input, forward->x, plain);
}

void baton_decoder_embed(struct baton_forward *forward)
{
    if (baton_spec_is_draft_head(&forward->model->spec))
        embed_pairs(forward);
    else
        baton_forward_share_rows(forward, embed_rows, forward);
    if (forward->model->spec.has_embed_norm)
        baton_forward_norm_of(forward, &forward->model->embed_norm, forward->x, forward->x);
    baton_per_layer_embed(forward);
    baton_forward_rotate(forward);
}

static const struct baton_epilogue store = {.kind = BATON_STORE, .scale = 1};

/* Adds to x, the residual stream, in the kernel, which saves another pass over memory. */
static struct baton_epilogue add(const struct baton_model *model)
{
    return (struct baton_epilogue){.kind = BATON_ADD, .scale = model->spec.residual_scale};
}

/* A product with an input that no other matrix reads: its quantized form need not last. */
static void multiply(struct baton_forward *forward, const struct baton_matrix *matrix,
                     const float *in, float *out, struct baton_epilogue epilogue)
{
    struct baton_input input = baton_input_of(in, matrix->n_in);
    baton_forward_linear(forward, matrix, &input, out, epilogue);
}

/* The same for a matrix that the rows' adapters change. */
static void multiply_adapted(struct baton_forward *forward, int layer, enum baton_adapted slot,
                             const float *in, float *out, struct baton_epilogue epilogue)
{
    const struct baton_layer *of = &forward->model->layers[layer];
    const struct baton_matrix *const matrices[BATON_N_ADAPTED] = {
        [BATON_ADAPTED_QKV] = &of->attention.qkv,
        [BATON_ADAPTED_OUT] = &of->attention.out,
        [BATON_ADAPTED_UP] = &of->mlp.up,
        [BATON_ADAPTED_DOWN] = &of->mlp.down,
    };
    struct baton_input input = baton_input_of(in, matrices[slot]->n_in);
    epilogue.deltas = baton_adapted_deltas(forward, layer, slot, &input);
    baton_forward_linear(forward, matrices[slot], &input, out, epilogue);
}

/* The input of a part: the norm of x, or x itself in forms POST and OUTER. */
static const float *norm_input(struct baton_forward *forward, const struct baton_norm *norm)
{
    if (!baton_spec_has_pre_norms(&forward->model->spec))
        return forward->x;
    baton_forward_norm(forward, norm);
    return forward->normed;
}

void baton_decoder_qkv(struct baton_forward *forward, int layer)
{
    const struct baton_attention *attention = &forward->model->layers[layer].attention;
    if (forward->model->spec.layers[layer].mixer == BATON_MIXER_NONE)
        return;
    const float *in = norm_input(forward, &attention->norm);
    multiply_adapted(forward, layer, BATON_ADAPTED_QKV, in, forward->qkv, store);
    if (baton_spec_has_state(&forward->model->spec, layer))
        baton_forward_scan(forward, layer);
    else
        baton_forward_finish_qkv(forward, layer);
}

/* Makes a layer's numbers of BATON_ACT_XIELU of what the model stores. */
static void xielu_numbers(const struct baton_mlp *mlp, float numbers[4])
{
    double beta = (double)*mlp->xielu[2];
    numbers[0] = (float)log1p(exp((double)*mlp->xielu[0]));
    numbers[1] = (float)(beta + log1p(exp((double)*mlp->xielu[1])));
    numbers[2] = *mlp->xielu[2];
    numbers[3] = *mlp->xielu[3];
}

/* hidden = the input of down: the gated or activated up projection */
static void widen(struct baton_forward *forward, int layer, const float *in)
{
    const struct baton_spec *spec = &forward->model->spec;
    float xielu[4] = {0};
    if (spec->activation == BATON_ACT_XIELU)
        xielu_numbers(&forward->model->layers[layer].mlp, xielu);
    const struct baton_epilogue activate = {
        .kind = spec->mlp == BATON_MLP_GATED ? BATON_GATE : BATON_ACTIVATE,
        .activation = spec->activation,
        .xielu = xielu,
        .n_ff = spec->layers[layer].n_ff,
    };
    multiply_adapted(forward, layer, BATON_ADAPTED_UP, in, forward->hidden, activate);
}

static void attn_out_to(struct baton_forward *forward, int layer, float *out,
                        struct baton_epilogue epilogue)
{
    multiply_adapted(forward, layer, BATON_ADAPTED_OUT, forward->attn_out, out, epilogue);
}

static void down_to(struct baton_forward *forward, int layer, float *out,
                    struct baton_epilogue epilogue)
{
    multiply_adapted(forward, layer, BATON_ADAPTED_DOWN, forward->hidden, out, epilogue);
}

/* Runs the MLP, or the layer's mixture of them, on `in`. */
static void run_mlp(struct baton_forward *forward, int layer, const float *in, float *out,
                    struct baton_epilogue epilogue)
{
    if (forward->model->spec.layers[layer].is_moe) {
        baton_moe_run(forward, &forward->model->layers[layer].mlp, in, out, epilogue);
        return;
    }
    widen(forward, layer, in);
    down_to(forward, layer, out, epilogue);
}

/* Form PRE: the MLP reads x after the attention's result joined it. A layer may lack either. */
static void finish_pre(struct baton_forward *forward, int layer)
{
    const struct baton_model *model = forward->model;
    if (model->spec.layers[layer].mixer != BATON_MIXER_NONE)
        attn_out_to(forward, layer, forward->x, add(model));
    if (!model->spec.layers[layer].has_no_ff)
        run_mlp(forward, layer, norm_input(forward, &model->layers[layer].mlp.norm), forward->x,
                add(model));
}

/* Form PARALLEL: both parts read x as it was before either. The norm is therefore taken before the
 * attention's result joins x. */
static void finish_parallel(struct baton_forward *forward, int layer)
{
    const struct baton_model *model = forward->model;
    const struct baton_layer *of = &model->layers[layer];
    const float *in =
        norm_input(forward, model->spec.mlp_has_norm ? &of->mlp.norm : &of->attention.norm);
    attn_out_to(forward, layer, forward->x, add(model));
    run_mlp(forward, layer, in, forward->x, add(model));
}

/* The MLP and the experts beside it: the router, the MLP and the experts each read x by a norm of
 * their own. Returns their normed sum in the memory of the shared expert's result. */
static float *run_beside(struct baton_forward *forward, int layer)
{
    const struct baton_mlp *mlp = &forward->model->layers[layer].mlp;
    float *sum = forward->moe.shared;
    baton_forward_norm(forward, &mlp->norm);
    baton_moe_run_shared(forward, mlp, forward->normed);
    baton_forward_norm_of(forward, &mlp->shared_post_norm, sum, sum);
    baton_forward_norm(forward, &mlp->router_norm);
    baton_moe_choose(forward, mlp, forward->normed,
                     (float)(1 / sqrt((double)forward->model->spec.n_embd)));
    baton_forward_norm(forward, &mlp->experts_norm);
    baton_moe_run_chosen(forward, mlp, forward->normed, forward->branch);
    baton_forward_norm_add(forward, &mlp->experts_post_norm, forward->branch, sum);
    return sum;
}

/* The result of the layer's feed-forward part before its norm. */
static const float *run_mlp_apart(struct baton_forward *forward, int layer)
{
    const struct baton_spec *spec = &forward->model->spec;
    if (spec->layers[layer].is_moe && spec->moe.is_beside)
        return run_beside(forward, layer);
    run_mlp(forward, layer, norm_input(forward, &forward->model->layers[layer].mlp.norm),
            forward->branch, store);
    return forward->branch;
}

/* Forms SANDWICH and POST: the result of a part is normed before it joins x. */
static void finish_post(struct baton_forward *forward, int layer)
{
    const struct baton_layer *of = &forward->model->layers[layer];
    attn_out_to(forward, layer, forward->branch, store);
    baton_forward_norm_add(forward, &of->attention.post_norm, forward->branch, forward->x);
    const float *result = run_mlp_apart(forward, layer);
    baton_forward_norm_add(forward, &of->mlp.post_norm, result, forward->x);
}

struct scale_loop {
    const struct baton_forward *forward;
    float scale;
};

static void scale_rows(void *arg, int item, int worker)
{
    const struct scale_loop *loop = arg;
    size_t n_embd = (size_t)loop->forward->model->spec.n_embd;
    int first = item * BATON_ROWS_PER_ITEM, end = first + BATON_ROWS_PER_ITEM;
    (void)worker;
    if (end > loop->forward->n_rows)
        end = loop->forward->n_rows;
    float *x = loop->forward->x + (size_t)first * n_embd;
    for (size_t i = 0; i < (size_t)(end - first) * n_embd; i++)
        x[i] *= loop->scale;
}

/* x = what the layer's own parts make of it: its token's input, and a scale */
static void finish_layer(struct baton_forward *forward, int layer)
{
    const float *scale = forward->model->layers[layer].scale;
    if (forward->model->spec.n_per_layer)
        baton_per_layer_add(forward, layer);
    if (scale)
        baton_forward_share_rows(forward, scale_rows,
                                 &(struct scale_loop){.forward = forward, .scale = *scale});
}

/* Form OUTER: x is normed after the result of a part joined it. */
static void finish_outer(struct baton_forward *forward, int layer)
{
    const struct baton_model *model = forward->model;
    attn_out_to(forward, layer, forward->x, add(model));
    baton_forward_norm_of(forward, &model->layers[layer].attention.post_norm, forward->x,
                          forward->x);
    run_mlp(forward, layer, forward->x, forward->x, add(model));
    baton_forward_norm_of(forward, &model->layers[layer].mlp.post_norm, forward->x, forward->x);
}

void baton_decoder_attn_out_and_mlp(struct baton_forward *forward, int layer)
{
    switch (forward->model->spec.form) {
    case BATON_BLOCK_PRE:
        finish_pre(forward, layer);
        break;
    case BATON_BLOCK_PARALLEL:
        finish_parallel(forward, layer);
        break;
    case BATON_BLOCK_SANDWICH:
    case BATON_BLOCK_POST:
        finish_post(forward, layer);
        break;
    case BATON_BLOCK_OUTER:
        finish_outer(forward, layer);
        break;
    }
    finish_layer(forward, layer);
}

struct cap_loop {
    const struct baton_forward *forward;
    float *logits;
};

enum { CAPPED_PER_ITEM = 16 << 10 };

static void cap_some(void *arg, int item, int worker)
{
    const struct cap_loop *loop = arg;
    const struct baton_spec *spec = &loop->forward->model->spec;
    size_t n = (size_t)loop->forward->n_rows * (size_t)spec->n_vocab;
    size_t first = (size_t)item * CAPPED_PER_ITEM, rest = n - first;
    (void)worker;
    loop->forward->kernels->cap(loop->logits + first, spec->logit_cap,
                                rest < CAPPED_PER_ITEM ? rest : CAPPED_PER_ITEM);
}

const float *baton_decoder_hidden(struct baton_forward *forward)
{
    if (forward->model->spec.form == BATON_BLOCK_OUTER)
        return forward->x;
    baton_forward_norm(forward, &forward->model->final_norm);
    return forward->normed;
}

void baton_decoder_logits(struct baton_forward *forward, const float *hidden, float *logits)
{
    const struct baton_spec *spec = &forward->model->spec;
    const struct baton_epilogue scaled = {.kind = BATON_STORE, .scale = spec->logit_scale};
    struct cap_loop loop = {.forward = forward, .logits = logits};
    multiply(forward, &forward->model->head, hidden, logits, scaled);
    size_t n = (size_t)forward->n_rows * (size_t)spec->n_vocab;
    if (spec->logit_cap > 0)
        baton_pool_run(forward->pool, (int)((n + CAPPED_PER_ITEM - 1) / CAPPED_PER_ITEM), cap_some,
                       &loop);
}
