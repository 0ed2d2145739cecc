/* Layers of a GGUF model whose keys and values are made of a latent row, and their routers. */
#include <stdio.h>
#include <string.h>

#include "common/base/array.h"
#include "engine/checkpoint/config/model_config.h"
#include "engine/checkpoint/gguf/config_internal.h"
#include "engine/checkpoint/tensor.h"

#define READING struct baton_gguf_reading

/* GLM 4.7 Flash, whose first files have no key for the kind of its router. */
enum { GLM_VOCABULARY = 154880 };

/* Reads a size that new files have under the first key, and old ones under the second. */
static enum baton_err get_size(const READING *reading, const char *key, const char *old,
                               int64_t *size)
{
    const char *name = baton_gguf_value(reading, key) ? key : old;
    *size = 0;
    enum baton_err err = baton_gguf_get_int(reading, name, size);
    if (!err && (*size < 1 || *size > BATON_MAX_WIDTH))
        return baton_gguf_refuse(reading, name, "given, a whole number in 1..131072");
    return err;
}

enum baton_err baton_gguf_put_latent_heads(READING *reading)
{
    int64_t rank = 0, q_rank = 0, head = 0, turned = 0, values = 0;
    struct baton_json_out *out = &reading->out;
    enum baton_err err =
        get_size(reading, "attention.kv_lora_rank", "attention.kv_lora_rank", &rank);
    if (!err)
        err = baton_gguf_get_int(reading, "attention.q_lora_rank", &q_rank);
    if (!err)
        err = get_size(reading, "attention.key_length_mla", "attention.key_length", &head);
    if (!err)
        err = get_size(reading, "attention.value_length_mla", "attention.value_length", &values);
    if (!err)
        err = get_size(reading, "rope.dimension_count", "rope.dimension_count", &turned);
    if (!err && turned >= head)
        err = baton_gguf_refuse(reading, "rope.dimension_count", "below the length of keys");
    if (err)
        return err;
    reading->head_dim = turned; /* what rotates is whole */
    baton_json_put_int(out, "kv_lora_rank", rank);
    baton_json_put_int(out, "q_lora_rank", q_rank);
    baton_json_put_int(out, "qk_nope_head_dim", head - turned);
    baton_json_put_int(out, "qk_rope_head_dim", turned);
    baton_json_put_int(out, "v_head_dim", values);
    return BATON_OK;
}

/* Writes the function of scores: 1 is a softmax over all experts, 2 a sigmoid. */
static enum baton_err put_scoring(READING *reading)
{
    const struct baton_tensor *embedding =
        baton_gguf_model_find(reading->model, "token_embd.weight");
    bool is_glm = embedding && embedding->n_dims == 2 && embedding->shape[0] == GLM_VOCABULARY;
    int64_t function = is_glm ? 2 : 1;
    enum baton_err err = baton_gguf_get_int(reading, "expert_gating_func", &function);
    if (!err && function == 0)
        function = is_glm ? 2 : 1;
    if (!err && function != 1 && function != 2)
        return baton_gguf_refuse(reading, "expert_gating_func", "1 (softmax) or 2 (sigmoid)");
    baton_json_put_string(&reading->out, "scoring_func", function == 2 ? "sigmoid" : "softmax");
    return err;
}

/* Whether a layer's router has a bias; those of all layers have it, or none. */
static bool has_score_bias(const READING *reading)
{
    char name[64];
    for (int i = 0; i < (int)reading->n_layers; i++) {
        (void)snprintf(name, sizeof name, "blk.%d.exp_probs_b.bias", i);
        if (baton_gguf_has(reading, name))
            return true;
    }
    return false;
}

enum baton_err baton_gguf_put_router(READING *reading)
{
    int64_t n_shared = 0, n_groups = 0, n_kept = 0;
    double scale = 1;
    struct baton_json_out *out = &reading->out;
    if (!(reading->family->traits & BATON_GGUF_LATENTS))
        return BATON_OK;
    enum baton_err err = baton_gguf_get_int(reading, "expert_shared_count", &n_shared);
    if (!err)
        err = baton_gguf_get_int(reading, "expert_group_count", &n_groups);
    if (!err)
        err = baton_gguf_get_int(reading, "expert_group_used_count", &n_kept);
    if (!err)
        err = baton_gguf_get_real(reading, "expert_weights_scale", &scale);
    if (!err)
        err = put_scoring(reading);
    baton_json_put_int(out, "n_shared_experts", n_shared);
    baton_json_put_int(out, "n_group", n_groups);
    baton_json_put_int(out, "topk_group", n_kept);
    baton_json_put_exact(out, "routed_scaling_factor", scale == 0 ? 1 : scale);
    baton_json_put_string(out, "topk_method",
                          has_score_bias(reading) ? "noaux_tc"
                          : n_groups > 1          ? "group_limited_greedy"
                                                  : "greedy");
    return err;
}
