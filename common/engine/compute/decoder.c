#include "common/engine/compute/decoder.h"

void baton_decoder_embed(struct baton_forward *forward)
{
    const struct baton_model *model = forward->model;
    size_t n_embd = (size_t)model->spec.n_embd;
    for (int r = 0; r < forward->n_rows; r++) {
        const struct baton_row *row = &forward->rows[r];
        float *x = forward->x + (size_t)r * n_embd;
        baton_packed_row(&model->token_embedding.packed, (int)row->token, x);
        if (!model->position_embedding)
            continue;
        const float *position = model->position_embedding + (size_t)row->position * n_embd;
        for (size_t i = 0; i < n_embd; i++)
            x[i] += position[i];
    }
}

static const struct baton_epilogue store = {.kind = BATON_STORE, .scale = 1};
static const struct baton_epilogue add = {.kind = BATON_ADD, .scale = 1};

/* A product whose input no other matrix reads, so its quantized form need not last. */
static void multiply(struct baton_forward *forward, const struct baton_matrix *matrix,
                     const float *in, float *out, struct baton_epilogue epilogue)
{
    struct baton_input input =
        baton_forward_quantize(forward, matrix->packed.dtype, in, matrix->packed.n_in);
    baton_forward_linear(forward, matrix, input, out, epilogue);
}

void baton_decoder_qkv(struct baton_forward *forward, int layer)
{
    const struct baton_attention *attention = &forward->model->layers[layer].attention;
    baton_forward_norm(forward, &attention->norm);
    multiply(forward, &attention->qkv, forward->normed, forward->qkv, store);
}

/* `down` adds to x, the residual stream, in the kernel: no pass over memory of its own. */
static void run_mlp(struct baton_forward *forward, const struct baton_mlp *mlp)
{
    const struct baton_epilogue activate = {.kind = BATON_ACTIVATE,
                                            .activation = forward->model->spec.activation};
    baton_forward_norm(forward, &mlp->norm);
    multiply(forward, &mlp->up, forward->normed, forward->hidden, activate);
    multiply(forward, &mlp->down, forward->hidden, forward->x, add);
}

void baton_decoder_attn_out_and_mlp(struct baton_forward *forward, int layer)
{
    const struct baton_layer *of = &forward->model->layers[layer];
    multiply(forward, &of->attention.out, forward->attn_out, forward->x, add);
    run_mlp(forward, &of->mlp);
}

void baton_decoder_logits(struct baton_forward *forward, float *logits)
{
    baton_forward_norm(forward, &forward->model->final_norm);
    multiply(forward, &forward->model->head, forward->normed, logits, store);
}
