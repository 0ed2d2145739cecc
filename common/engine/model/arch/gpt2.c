/* GPT-2 as Hugging Face's GPT2LMHeadModel computes it: learned positions, pre-norm blocks, Conv1D
 * matrices stored [in][out], gelu_new, the head tied to the token embedding. */
#include <stdio.h>
#include <string.h>

#include "common/engine/model/arch/arch.h"

enum { NAME_MAX_BYTES = 96 };

static enum baton_err check_activation(const char *name, struct baton_why *why)
{
    /* Where none is given it is gelu_new. */
    if (*name && strcmp(name, "gelu_new") != 0 && strcmp(name, "gelu_pytorch_tanh") != 0)
        return baton_fail(why, BATON_INVALID,
                          "activation_function: \"%.40s\" is not supported (supported: gelu_new)",
                          name);
    return BATON_OK;
}

static enum baton_err check_variants(const struct baton_model_config *config, struct baton_why *why)
{
    const struct {
        const char *field;
        bool value, computed;
    } flags[] = {
        {"scale_attn_weights", config->scales_scores, true},
        {"scale_attn_by_inverse_layer_idx", config->scales_by_layer, false},
        {"reorder_and_upcast_attn", config->upcasts_scores, false},
        {"add_cross_attention", config->cross_attends, false},
    };
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        if (flags[i].value != flags[i].computed)
            return baton_fail(why, BATON_INVALID, "%s: %s is not supported", flags[i].field,
                              flags[i].value ? "true" : "false");
    return BATON_OK;
}

static enum baton_err require_sizes(const struct baton_model_config *config, struct baton_why *why)
{
    const int *const sizes[] = {&config->n_layers, &config->n_embd, &config->n_heads,
                                &config->n_vocab, &config->n_context};
    enum baton_err err = BATON_OK;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0] && !err; i++)
        err = baton_model_config_require(config, sizes[i], why);
    return err;
}

static enum baton_err configure(const struct baton_model_config *config,
                                struct baton_model_shape *shape, struct baton_why *why)
{
    enum baton_err err = check_activation(config->activation, why);
    if (!err)
        err = check_variants(config, why);
    if (!err)
        err = require_sizes(config, why);
    if (err)
        return err;
    if (config->n_embd % config->n_heads)
        return baton_fail(why, BATON_INVALID, "n_head: %d does not divide n_embd %d",
                          config->n_heads, config->n_embd);
    struct baton_model_shape read = {
        .n_layers = config->n_layers,
        .n_embd = config->n_embd,
        .n_heads = config->n_heads,
        .n_kv_heads = config->n_heads,
        .head_dim = config->n_embd / config->n_heads,
        .n_ff = config->n_ff ? config->n_ff : 4 * config->n_embd,
        .n_vocab = config->n_vocab,
        .n_context = config->n_context,
        .norm_epsilon = config->norm_epsilon > 0 ? (float)config->norm_epsilon : 1e-5F,
    };
    err = baton_arch_check_shape(&read, why);
    if (!err)
        *shape = read;
    return err;
}

static struct baton_norm take_norm(struct baton_model *model)
{
    int n = model->shape.n_embd;
    float *weight = baton_model_take(model, 1, n), *bias = baton_model_take(model, 1, n);
    return (struct baton_norm){.weight = weight, .bias = bias};
}

static struct baton_matrix take_matrix(struct baton_model *model, int n_out, int n_in)
{
    struct baton_packed packed = baton_model_take_packed(model, n_out, n_in);
    return (struct baton_matrix){.packed = packed, .bias = baton_model_take(model, 1, n_out)};
}

static void lay_out(struct baton_model *model)
{
    int n_embd = model->shape.n_embd, n_ff = model->shape.n_ff, n_vocab = model->shape.n_vocab;
    model->token_embedding.packed = baton_model_take_packed(model, n_vocab, n_embd);
    model->position_embedding = baton_model_take(model, model->shape.n_context, n_embd);
    for (int i = 0; i < model->shape.n_layers; i++) {
        struct baton_layer *layer = &model->layers[i];
        layer->attention_norm = take_norm(model);
        layer->qkv = take_matrix(model, 3 * n_embd, n_embd);
        layer->attention_out = take_matrix(model, n_embd, n_embd);
        layer->mlp_norm = take_norm(model);
        layer->up = take_matrix(model, n_ff, n_embd);
        layer->down = take_matrix(model, n_embd, n_ff);
    }
    model->final_norm = take_norm(model);
    model->head.packed = model->own_head ? baton_model_take_packed(model, n_vocab, n_embd)
                                         : model->token_embedding.packed;
}

/* Reads tensors of one name space ("transformer.h.3.attn.c_attn") and remembers the first failure.
 */
struct loader {
    const struct baton_weights *weights;
    struct baton_packing *packing;
    const char *prefix; /* "transformer." or "" */
    char scope[NAME_MAX_BYTES / 2];
    enum baton_err err;
    struct baton_why *why;
};

static const char *full_name(const struct loader *loader, const char *name, const char *part,
                             char full[NAME_MAX_BYTES])
{
    (void)snprintf(full, NAME_MAX_BYTES, "%s%s%s%s", loader->prefix, loader->scope, name, part);
    return full;
}

static void load_norm(struct loader *loader, const char *name, const struct baton_norm *norm, int n)
{
    char full[NAME_MAX_BYTES];
    if (!loader->err)
        loader->err =
            baton_weights_vector(loader->weights, full_name(loader, name, ".weight", full), n,
                                 norm->weight, loader->why);
    if (!loader->err)
        loader->err = baton_weights_vector(loader->weights, full_name(loader, name, ".bias", full),
                                           n, norm->bias, loader->why);
}

static void load_positions(struct loader *loader, const char *name, int n_rows, int n_columns,
                           float *table)
{
    char full[NAME_MAX_BYTES];
    if (!loader->err)
        loader->err =
            baton_weights_matrix(loader->weights, full_name(loader, name, ".weight", full), n_rows,
                                 n_columns, table, loader->why);
}

static void load_packed(struct loader *loader, const char *name, bool transposed,
                        const struct baton_packed *packed)
{
    char full[NAME_MAX_BYTES];
    struct baton_weights_source source;
    if (!loader->err)
        loader->err =
            baton_weights_source(loader->weights, full_name(loader, name, ".weight", full),
                                 packed->n_out, packed->n_in, transposed, &source, loader->why);
    if (!loader->err)
        loader->err = baton_packing_add(loader->packing, &source, packed);
}

/* Conv1D keeps its weights as [in][out]. */
static void load_conv1d(struct loader *loader, const char *name, const struct baton_matrix *matrix)
{
    char full[NAME_MAX_BYTES];
    load_packed(loader, name, true, &matrix->packed);
    if (!loader->err)
        loader->err = baton_weights_vector(loader->weights, full_name(loader, name, ".bias", full),
                                           matrix->packed.n_out, matrix->bias, loader->why);
}

static void load_layer(struct loader *loader, int index, const struct baton_layer *layer,
                       int n_embd)
{
    (void)snprintf(loader->scope, sizeof loader->scope, "h.%d.", index);
    load_norm(loader, "ln_1", &layer->attention_norm, n_embd);
    load_conv1d(loader, "attn.c_attn", &layer->qkv);
    load_conv1d(loader, "attn.c_proj", &layer->attention_out);
    load_norm(loader, "ln_2", &layer->mlp_norm, n_embd);
    load_conv1d(loader, "mlp.c_fc", &layer->up);
    load_conv1d(loader, "mlp.c_proj", &layer->down);
    loader->scope[0] = 0;
}

static enum baton_err load(struct baton_model *model, const struct baton_weights *weights,
                           struct baton_packing *packing, struct baton_why *why)
{
    const struct baton_model_shape *shape = &model->shape;
    bool prefixed = baton_weights_find(weights, "transformer.wte.weight") != NULL;
    struct loader loader = {.weights = weights,
                            .packing = packing,
                            .prefix = prefixed ? "transformer." : "",
                            .why = why};
    load_packed(&loader, "wte", false, &model->token_embedding.packed);
    load_positions(&loader, "wpe", shape->n_context, shape->n_embd, model->position_embedding);
    for (int i = 0; i < shape->n_layers; i++)
        load_layer(&loader, i, &model->layers[i], shape->n_embd);
    load_norm(&loader, "ln_f", &model->final_norm, shape->n_embd);
    loader.prefix = "";
    if (model->own_head)
        load_packed(&loader, "lm_head", false, &model->head.packed);
    return loader.err;
}

static void embed(struct baton_forward *forward)
{
    const struct baton_model *model = forward->model;
    size_t n_embd = (size_t)model->shape.n_embd;
    for (int r = 0; r < forward->n_rows; r++) {
        const float *position =
            model->position_embedding + (size_t)forward->rows[r].position * n_embd;
        float *x = forward->x + (size_t)r * n_embd;
        baton_packed_row(&model->token_embedding.packed, (int)forward->rows[r].token, x);
        for (size_t i = 0; i < n_embd; i++)
            x[i] += position[i];
    }
}

static void project(struct baton_forward *forward, int index)
{
    const struct baton_layer *layer = &forward->model->layers[index];
    baton_forward_norm(forward, &layer->attention_norm);
    baton_forward_linear(forward, &layer->qkv, forward->normed, forward->qkv, BATON_STORE);
}

static void complete(struct baton_forward *forward, int index)
{
    const struct baton_layer *layer = &forward->model->layers[index];
    baton_forward_linear(forward, &layer->attention_out, forward->attn_out, forward->x, BATON_ADD);
    baton_forward_norm(forward, &layer->mlp_norm);
    baton_forward_linear(forward, &layer->up, forward->normed, forward->hidden, BATON_GELU_TANH);
    baton_forward_linear(forward, &layer->down, forward->hidden, forward->x, BATON_ADD);
}

static void logits(struct baton_forward *forward, float *row_logits)
{
    baton_forward_norm(forward, &forward->model->final_norm);
    baton_forward_linear(forward, &forward->model->head, forward->normed, row_logits, BATON_STORE);
}

const struct baton_arch baton_arch_gpt2 = {
    .model_type = "gpt2",
    .configure = configure,
    .lay_out = lay_out,
    .load = load,
    .embed = embed,
    .project = project,
    .complete = complete,
    .logits = logits,
};
