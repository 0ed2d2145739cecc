#include "engine/model/layers.h"

#include <stddef.h>

#define IN_MODEL(member) offsetof(struct baton_model, member)
#define IN_LAYER(member) offsetof(struct baton_layer, member)

/* Offsets instead of a switch: loading, packing and measuring all reach an array by its kind. */
static const size_t members[BATON_N_ARRAY_KINDS] = {
    [BATON_ARRAY_TOKEN_EMBEDDING] = IN_MODEL(token_embedding),
    [BATON_ARRAY_POSITION_EMBEDDING] = IN_MODEL(position_embedding),
    [BATON_ARRAY_PER_LAYER_TABLE] = IN_MODEL(per_layer_table),
    [BATON_ARRAY_PER_LAYER_IN] = IN_MODEL(per_layer_in),
    [BATON_ARRAY_PER_LAYER_IN_NORM] = IN_MODEL(per_layer_in_norm),
    [BATON_ARRAY_TOKEN_TYPES] = IN_MODEL(token_types),
    [BATON_ARRAY_EMBED_NORM] = IN_MODEL(embed_norm.weight),
    [BATON_ARRAY_EMBED_NORM_BIAS] = IN_MODEL(embed_norm.bias),
    [BATON_ARRAY_ATTN_NORM] = IN_LAYER(attention.norm.weight),
    [BATON_ARRAY_ATTN_NORM_BIAS] = IN_LAYER(attention.norm.bias),
    [BATON_ARRAY_MLP_NORM] = IN_LAYER(mlp.norm.weight),
    [BATON_ARRAY_MLP_NORM_BIAS] = IN_LAYER(mlp.norm.bias),
    [BATON_ARRAY_QKV] = IN_LAYER(attention.qkv),
    [BATON_ARRAY_QKV_BIAS] = IN_LAYER(attention.qkv.bias),
    [BATON_ARRAY_OUT] = IN_LAYER(attention.out),
    [BATON_ARRAY_OUT_BIAS] = IN_LAYER(attention.out.bias),
    [BATON_ARRAY_UP] = IN_LAYER(mlp.up),
    [BATON_ARRAY_UP_BIAS] = IN_LAYER(mlp.up.bias),
    [BATON_ARRAY_DOWN] = IN_LAYER(mlp.down),
    [BATON_ARRAY_DOWN_BIAS] = IN_LAYER(mlp.down.bias),
    [BATON_ARRAY_ROUTER] = IN_LAYER(mlp.router),
    [BATON_ARRAY_ROUTER_BIAS] = IN_LAYER(mlp.router.bias),
    [BATON_ARRAY_MIXTURE_BIAS] = IN_LAYER(mlp.mixture_bias),
    [BATON_ARRAY_SHARED_UP] = IN_LAYER(mlp.shared_up),
    [BATON_ARRAY_SHARED_DOWN] = IN_LAYER(mlp.shared_down),
    [BATON_ARRAY_ATTN_POST_NORM] = IN_LAYER(attention.post_norm.weight),
    [BATON_ARRAY_ATTN_POST_NORM_BIAS] = IN_LAYER(attention.post_norm.bias),
    [BATON_ARRAY_MLP_POST_NORM] = IN_LAYER(mlp.post_norm.weight),
    [BATON_ARRAY_MLP_POST_NORM_BIAS] = IN_LAYER(mlp.post_norm.bias),
    [BATON_ARRAY_Q_NORM] = IN_LAYER(attention.q_norm),
    [BATON_ARRAY_K_NORM] = IN_LAYER(attention.k_norm),
    [BATON_ARRAY_SINKS] = IN_LAYER(attention.sinks),
    [BATON_ARRAY_TAPS] = IN_LAYER(attention.taps),
    [BATON_ARRAY_TAPS_BIAS] = IN_LAYER(attention.taps_bias),
    [BATON_ARRAY_STATE_RATE] = IN_LAYER(attention.state_rate),
    [BATON_ARRAY_STATE_BIAS] = IN_LAYER(attention.state_bias),
    [BATON_ARRAY_STATE_SKIP] = IN_LAYER(attention.state_skip),
    [BATON_ARRAY_STATE_NORM] = IN_LAYER(attention.state_norm),
    [BATON_ARRAY_Q_RANK_NORM] = IN_LAYER(attention.q_rank_norm),
    [BATON_ARRAY_LATENT_NORM] = IN_LAYER(attention.latent_norm),
    [BATON_ARRAY_Q_UP] = IN_LAYER(attention.q_up),
    [BATON_ARRAY_KEY_UP] = IN_LAYER(attention.key_up),
    [BATON_ARRAY_VALUE_UP] = IN_LAYER(attention.value_up),
    [BATON_ARRAY_SCORE_BIAS] = IN_LAYER(mlp.score_bias),
    [BATON_ARRAY_ROUTER_NORM] = IN_LAYER(mlp.router_norm.weight),
    [BATON_ARRAY_EXPERT_SCALES] = IN_LAYER(mlp.expert_scales),
    [BATON_ARRAY_EXPERTS_NORM] = IN_LAYER(mlp.experts_norm.weight),
    [BATON_ARRAY_EXPERTS_POST_NORM] = IN_LAYER(mlp.experts_post_norm.weight),
    [BATON_ARRAY_SHARED_POST_NORM] = IN_LAYER(mlp.shared_post_norm.weight),
    [BATON_ARRAY_PER_LAYER_GATE] = IN_LAYER(per_layer.gate),
    [BATON_ARRAY_PER_LAYER_OUT] = IN_LAYER(per_layer.out),
    [BATON_ARRAY_PER_LAYER_NORM] = IN_LAYER(per_layer.norm.weight),
    [BATON_ARRAY_LAYER_SCALE] = IN_LAYER(scale),
    [BATON_ARRAY_XIELU_P] = IN_LAYER(mlp.xielu[0]),
    [BATON_ARRAY_XIELU_N] = IN_LAYER(mlp.xielu[1]),
    [BATON_ARRAY_XIELU_B] = IN_LAYER(mlp.xielu[2]),
    [BATON_ARRAY_XIELU_EPS] = IN_LAYER(mlp.xielu[3]),
    [BATON_ARRAY_FINAL_NORM] = IN_MODEL(final_norm.weight),
    [BATON_ARRAY_FINAL_NORM_BIAS] = IN_MODEL(final_norm.bias),
    [BATON_ARRAY_HEAD] = IN_MODEL(head),
    [BATON_ARRAY_HEAD_BIAS] = IN_MODEL(head.bias),
    [BATON_ARRAY_POOLED_1] = IN_MODEL(pooled_stages[0]),
    [BATON_ARRAY_POOLED_1_BIAS] = IN_MODEL(pooled_stages[0].bias),
    [BATON_ARRAY_POOLED_2] = IN_MODEL(pooled_stages[1]),
    [BATON_ARRAY_POOLED_2_BIAS] = IN_MODEL(pooled_stages[1].bias),
    [BATON_ARRAY_DRAFT_IN] = IN_MODEL(draft_in),
    [BATON_ARRAY_DRAFT_TOKEN_NORM] = IN_MODEL(draft_token_norm.weight),
    [BATON_ARRAY_DRAFT_STATE_NORM] = IN_MODEL(draft_state_norm.weight),
};

static void *member_of(struct baton_model *model, const struct baton_array *array)
{
    char *base =
        baton_array_is_of_layer(array->kind) ? (char *)&model->layers[array->layer] : (char *)model;
    return base + members[array->kind];
}

float **baton_model_floats(struct baton_model *model, const struct baton_array *array)
{
    return member_of(model, array);
}

struct baton_matrix *baton_model_matrix(struct baton_model *model, const struct baton_array *array)
{
    return member_of(model, array);
}

const struct baton_matrix *baton_model_matrix_in(const struct baton_model *model,
                                                 const struct baton_array *array)
{
    return member_of((struct baton_model *)model, array); /* the result is const again */
}

int baton_model_n_packed_rows(const struct baton_array *array)
{
    return array->is_gated ? baton_gated_n_out(array->n_rows / 2) : array->n_rows;
}

size_t baton_model_n_floats(const struct baton_array *array)
{
    return (size_t)baton_model_n_packed_rows(array) * (size_t)array->n_columns;
}

float *baton_model_floats_of(struct baton_model *model, const struct baton_array *array)
{
    return *baton_model_floats(model, array) + (size_t)array->expert * baton_model_n_floats(array);
}

struct baton_matrix baton_model_matrix_of(struct baton_model *model,
                                          const struct baton_array *array)
{
    return baton_matrix_of_expert(baton_model_matrix(model, array), array->expert);
}
