#include "common/checkpoint/gguf_config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/checkpoint/gguf_config_parts.h"
#include "common/checkpoint/gguf_ids.h"
#include "common/checkpoint/tensor.h"

#define READING struct baton_gguf_reading
#define RMS     "attention.layer_norm_rms_epsilon"
#define LAYER   "attention.layer_norm_epsilon"

enum { JSON_MAX_BYTES = 1 << 20 };

enum {
    BIAS = BATON_GGUF_ATTENTION_BIAS,
    MLP_BIAS = BATON_GGUF_MLP_BIAS,
    USE_BIAS = BATON_GGUF_USE_BIAS,
    QKV_BIAS = BATON_GGUF_QKV_BIAS,
    HEAD_NORM = BATON_GGUF_HEAD_NORM,
    ONE_WIDTH = BATON_GGUF_ONE_WIDTH,
    RENORMALISES = BATON_GGUF_RENORMALISES,
    WHOLE_PAIRS = BATON_GGUF_WHOLE_PAIRS,
    LOCAL_ROPE = BATON_GGUF_LOCAL_ROPE,
    OPEN = BATON_GGUF_OPEN,
    QUERY_SCALAR = BATON_GGUF_QUERY_SCALAR,
    GRANITE = BATON_GGUF_GRANITE
};

/* The first row of an architecture is its plain one; choose_family knows when another one is meant.
 */
static const struct baton_gguf_family families[] = {
    {"llama", "llama", RMS, BIAS | MLP_BIAS},
    {"llama", "mixtral", RMS, ONE_WIDTH},
    {"llama", "mistral", RMS, 0},
    {"mistral3", "mistral", RMS, OPEN},
    {"mistral3", "ministral3", RMS, OPEN},
    {"qwen2", "qwen2", RMS, BIAS},
    {"qwen2moe", "qwen2_moe", RMS, QKV_BIAS},
    {"qwen3", "qwen3", RMS, BIAS},
    {"qwen3moe", "qwen3_moe", RMS, BIAS | RENORMALISES},
    {"gemma", "gemma", RMS, BIAS},
    {"gemma2", "gemma2", RMS, BIAS | QUERY_SCALAR},
    {"gemma3", "gemma3_text", RMS, BIAS | QUERY_SCALAR | LOCAL_ROPE | OPEN},
    {"phi2", "phi", LAYER, 0},
    {"phi3", "phi3", RMS, 0},
    {"smollm3", "smollm3", RMS, BIAS | MLP_BIAS},
    {"olmo2", "olmo2", RMS, BIAS},
    {"olmoe", "olmoe", RMS, BIAS | ONE_WIDTH},
    {"granite", "granite", RMS, BIAS | MLP_BIAS | GRANITE},
    {"granitemoe", "granitemoe", RMS, BIAS | ONE_WIDTH | GRANITE},
    {"gpt-oss", "gpt_oss", RMS, BIAS | ONE_WIDTH | WHOLE_PAIRS},
    {"gpt2", "gpt2", LAYER, 0},
    {"gptneox", "gpt_neox", LAYER, BIAS},
    {"starcoder2", "starcoder2", LAYER, USE_BIAS},
    {"command-r", "cohere", LAYER, BIAS | HEAD_NORM},
    {"cohere2", "cohere2", LAYER, BIAS},
    {"glm4", "glm4", RMS, BIAS},
    {"minicpm", "minicpm", RMS, BIAS},
};

enum { N_FAMILIES = sizeof families / sizeof families[0] };

/* ---- the architecture's values ---- */

const char *baton_gguf_key(const READING *reading, const char *name, char key[BATON_GGUF_KEY_BYTES])
{
    (void)snprintf(key, BATON_GGUF_KEY_BYTES, "%s.%s", reading->family->arch, name);
    return key;
}

const struct baton_gguf_value *baton_gguf_value(const READING *reading, const char *name)
{
    char key[BATON_GGUF_KEY_BYTES];
    return baton_gguf_find(baton_gguf_model_metadata(reading->model),
                           baton_gguf_key(reading, name, key));
}

static enum baton_err refuse(const READING *reading, const char *name, const char *rule)
{
    char key[BATON_GGUF_KEY_BYTES];
    return baton_fail(reading->why, BATON_INVALID, "%s: must be %s",
                      baton_gguf_key(reading, name, key), rule);
}

/* One number, or a list of the same for every layer. */
enum baton_err baton_gguf_get_int(const READING *reading, const char *name, int64_t *number)
{
    const struct baton_gguf_value *value = baton_gguf_value(reading, name);
    int64_t first = 0, item = 0;
    struct baton_gguf_value one;
    if (!value)
        return BATON_OK;
    if (!value->is_array)
        return baton_gguf_int(value, number) ? BATON_OK : refuse(reading, name, "a whole number");
    if (value->type == BATON_GGUF_TEXT || !value->n)
        return refuse(reading, name, "a whole number, or a list of them");
    for (uint64_t i = 0; i < value->n; i++) {
        one = baton_gguf_item(value, i);
        if (!baton_gguf_int(&one, &item))
            return refuse(reading, name, "a whole number, or a list of them");
        first = i ? first : item;
        if (item != first)
            return refuse(reading, name, "the same for every layer");
    }
    *number = first;
    return BATON_OK;
}

/* The shortest decimal that rounds to this float: the number that the model's config.json had, so
 * that both formats compute with the same. */
static double decimal_of(float number)
{
    char text[32];
    for (int n_digits = 6; n_digits < 9; n_digits++) {
        (void)snprintf(text, sizeof text, "%.*g", n_digits, (double)number);
        if (strtof(text, NULL) == number)
            return strtod(text, NULL);
    }
    return (double)number;
}

enum baton_err baton_gguf_get_real(const READING *reading, const char *name, double *number)
{
    const struct baton_gguf_value *value = baton_gguf_value(reading, name);
    double given = 0;
    if (!value)
        return BATON_OK;
    if (!baton_gguf_real(value, &given) || !isfinite(given))
        return refuse(reading, name, "a number");
    *number = value->type == BATON_GGUF_F32 ? decimal_of((float)given) : given;
    return BATON_OK;
}

static bool has(const READING *reading, const char *tensor)
{
    return baton_gguf_model_find(reading->model, tensor);
}

/* ---- sizes ---- */

static enum baton_err need(const READING *reading, const char *name, int64_t max, int64_t *number)
{
    char key[BATON_GGUF_KEY_BYTES];
    if (!baton_gguf_value(reading, name))
        return refuse(reading, name, "given");
    enum baton_err err = baton_gguf_get_int(reading, name, number);
    if (!err && (*number < 1 || *number > max))
        return baton_fail(reading->why, BATON_INVALID,
                          "%s: must be in 1..%" PRId64 ", not %" PRId64,
                          baton_gguf_key(reading, name, key), max, *number);
    return err;
}

/* Keys and values of one size: key_length, or what the width leaves for each head. */
static enum baton_err put_head_dim(READING *reading)
{
    int64_t values;
    if (reading->n_embd % reading->n_heads == 0)
        reading->head_dim = reading->n_embd / reading->n_heads;
    enum baton_err err = baton_gguf_get_int(reading, "attention.key_length", &reading->head_dim);
    values = reading->head_dim;
    if (!err)
        err = baton_gguf_get_int(reading, "attention.value_length", &values);
    if (!err && values != reading->head_dim)
        err = refuse(reading, "attention.value_length", "the same as attention.key_length");
    if (!err && reading->head_dim)
        baton_json_put_int(&reading->out, "head_dim", reading->head_dim);
    return err;
}

/* As many as there are embeddings: a tokenizer may have fewer. */
static enum baton_err put_vocabulary(READING *reading)
{
    const struct baton_tensor *embedding =
        baton_gguf_model_find(reading->model, "token_embd.weight");
    const struct baton_gguf_value *tokens =
        baton_gguf_find(baton_gguf_model_metadata(reading->model), "tokenizer.ggml.tokens");
    int64_t n = tokens && tokens->is_array ? (int64_t)tokens->n : 0;
    enum baton_err err = baton_gguf_get_int(reading, "vocab_size", &n);
    if (!err && embedding && embedding->n_dims == 2)
        n = embedding->shape[0];
    if (!err && n)
        baton_json_put_int(&reading->out, "vocab_size", n);
    return err;
}

static enum baton_err put_sizes(READING *reading)
{
    struct baton_json_out *out = &reading->out;
    int64_t n_context = 0, n_kv_heads;
    enum baton_err err = need(reading, "block_count", BATON_MAX_LAYERS, &reading->n_layers);
    if (!err)
        err = need(reading, "embedding_length", BATON_MAX_WIDTH, &reading->n_embd);
    if (!err)
        err = need(reading, "attention.head_count", BATON_MAX_WIDTH, &reading->n_heads);
    if (!err)
        err = need(reading, "context_length", BATON_MAX_CONTEXT, &n_context);
    n_kv_heads = reading->n_heads;
    if (!err)
        err = baton_gguf_get_int(reading, "attention.head_count_kv", &n_kv_heads);
    if (err)
        return err;
    baton_json_put_int(out, "num_hidden_layers", reading->n_layers);
    baton_json_put_int(out, "hidden_size", reading->n_embd);
    baton_json_put_int(out, "num_attention_heads", reading->n_heads);
    baton_json_put_int(out, "num_key_value_heads", n_kv_heads);
    baton_json_put_int(out, "max_position_embeddings", n_context);
    err = put_head_dim(reading);
    return err ? err : put_vocabulary(reading);
}

static enum baton_err put_epsilon(READING *reading)
{
    static const char *const names[] = {"rms_norm_eps", "layer_norm_eps", "layer_norm_epsilon",
                                        "norm_epsilon"};
    double epsilon = 0;
    if (!baton_gguf_value(reading, reading->family->epsilon))
        return refuse(reading, reading->family->epsilon, "given");
    enum baton_err err = baton_gguf_get_real(reading, reading->family->epsilon, &epsilon);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        baton_json_put_exact(&reading->out, names[i], epsilon);
    return err;
}

/* ---- feed-forward ---- */

/* The rows of an expert's matrices, where the key for their number is missing. */
static int64_t width_of(const READING *reading, const char *name)
{
    const struct baton_tensor *tensor = baton_gguf_model_find(reading->model, name);
    return tensor && tensor->n_dims >= 2 ? tensor->shape[tensor->n_dims - 2] : 0;
}

/* Layers of a mixture that are dense have a gate of their own. */
static void put_dense_layers(READING *reading)
{
    char name[64];
    baton_json_open(&reading->out, "mlp_only_layers", '[');
    for (int i = 0; i < (int)reading->n_layers; i++) {
        (void)snprintf(name, sizeof name, "blk.%d.ffn_gate.weight", i);
        if (has(reading, name))
            baton_json_put_int(&reading->out, NULL, i);
    }
    baton_json_close(&reading->out, ']');
}

static enum baton_err put_experts(READING *reading, int64_t n_experts)
{
    struct baton_json_out *out = &reading->out;
    int64_t n_chosen = 0, n_shared = width_of(reading, "blk.0.ffn_up_shexp.weight");
    bool renormalises = reading->family->traits & RENORMALISES;
    enum baton_err err = baton_gguf_get_int(reading, "expert_used_count", &n_chosen);
    if (!err)
        err = baton_gguf_get_int(reading, "expert_shared_feed_forward_length", &n_shared);
    if (err)
        return err;
    if (baton_gguf_value(reading, "expert_weights_norm") &&
        !baton_gguf_flag(baton_gguf_value(reading, "expert_weights_norm"), &renormalises))
        return refuse(reading, "expert_weights_norm", "true or false");
    baton_json_put_int(out, "num_local_experts", n_experts);
    baton_json_put_int(out, "num_experts_per_tok", n_chosen);
    baton_json_put_bool(out, "norm_topk_prob", renormalises);
    put_dense_layers(reading);
    if (n_shared)
        baton_json_put_int(out,
                           reading->family->traits & GRANITE ? "shared_intermediate_size"
                                                             : "shared_expert_intermediate_size",
                           n_shared);
    return BATON_OK;
}

static enum baton_err put_mlp(READING *reading)
{
    int64_t n_experts = 0, n_ff = 0, n_ff_expert;
    enum baton_err err = baton_gguf_get_int(reading, "expert_count", &n_experts);
    if (!err)
        err = baton_gguf_get_int(reading, "feed_forward_length", &n_ff);
    n_ff_expert = width_of(reading, "blk.0.ffn_up_exps.weight");
    if (!err)
        err = baton_gguf_get_int(reading, "expert_feed_forward_length", &n_ff_expert);
    if (err)
        return err;
    if (n_experts && n_ff_expert && reading->family->traits & ONE_WIDTH)
        n_ff = n_ff_expert;
    else if (n_experts && n_ff_expert)
        baton_json_put_int(&reading->out, "moe_intermediate_size", n_ff_expert);
    if (!n_ff && !n_experts)
        return refuse(reading, "feed_forward_length", "given");
    if (n_ff)
        baton_json_put_int(&reading->out, "intermediate_size", n_ff);
    return n_experts ? put_experts(reading, n_experts) : BATON_OK;
}

/* ---- windows ---- */

/* A list of flags, true where a layer has a window. */
static enum baton_err put_layer_types(READING *reading, const struct baton_gguf_value *flags)
{
    static const char name[] = "attention.sliding_window_pattern";
    bool windowed = false;
    if (flags->n < (uint64_t)reading->n_layers || flags->type != BATON_GGUF_BOOL)
        return refuse(reading, name, "a whole number, or a flag for every layer");
    baton_json_open(&reading->out, "layer_types", '[');
    for (int64_t i = 0; i < reading->n_layers; i++) {
        const struct baton_gguf_value flag = baton_gguf_item(flags, (uint64_t)i);
        (void)baton_gguf_flag(&flag, &windowed);
        baton_json_put_string(&reading->out, NULL,
                              windowed ? "sliding_attention" : "full_attention");
    }
    baton_json_close(&reading->out, ']');
    return BATON_OK;
}

/* All but each n-th layer. */
static enum baton_err put_pattern(READING *reading)
{
    static const char name[] = "attention.sliding_window_pattern";
    const struct baton_gguf_value *value = baton_gguf_value(reading, name);
    int64_t n = 0;
    if (!value)
        return BATON_OK;
    if (value->is_array)
        return put_layer_types(reading, value);
    enum baton_err err = baton_gguf_get_int(reading, name, &n);
    if (!err && (n < 1 || n > BATON_MAX_LAYERS))
        err = refuse(reading, name, "a whole number in 1..1024, or a flag for every layer");
    if (err)
        return err;
    baton_json_open(&reading->out, "layer_types", '[');
    for (int64_t i = 1; i <= reading->n_layers; i++)
        baton_json_put_string(&reading->out, NULL, i % n ? "sliding_attention" : "full_attention");
    baton_json_close(&reading->out, ']');
    return BATON_OK;
}

static enum baton_err put_windows(READING *reading)
{
    int64_t window = 0;
    enum baton_err err = baton_gguf_get_int(reading, "attention.sliding_window", &window);
    if (err)
        return err;
    if (window)
        baton_json_put_int(&reading->out, "sliding_window", window);
    else if (reading->family->traits & OPEN ||
             baton_gguf_value(reading, "attention.sliding_window"))
        baton_json_put_null(&reading->out, "sliding_window");
    return window ? put_pattern(reading) : BATON_OK;
}

/* ---- scales and caps ---- */

/* Numbers by their names in both formats; 0 is none. */
static enum baton_err put_numbers(READING *reading)
{
    static const struct {
        const char *key, *name;
    } numbers[] = {{"attn_logit_softcapping", "attn_logit_softcapping"},
                   {"final_logit_softcapping", "final_logit_softcapping"},
                   {"attention.clamp_kqv", "clip_qkv"}};
    enum baton_err err = BATON_OK;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0] && !err; i++) {
        double number = 0;
        if (!baton_gguf_value(reading, numbers[i].key))
            continue;
        err = baton_gguf_get_real(reading, numbers[i].key, &number);
        if (number != 0)
            baton_json_put_exact(&reading->out, numbers[i].name, number);
        else
            baton_json_put_null(&reading->out, numbers[i].name);
    }
    return err;
}

/* MiniCPM's own numbers are what older files of it leave out. */
static enum baton_err put_minicpm_scales(READING *reading)
{
    double depth = sqrt((double)reading->n_layers), embedding = 12, residual = 1.4 / depth;
    double logits = (double)reading->n_embd / 256;
    enum baton_err err = baton_gguf_get_real(reading, "embedding_scale", &embedding);
    if (!err)
        err = baton_gguf_get_real(reading, "residual_scale", &residual);
    if (!err)
        err = baton_gguf_get_real(reading, "logit_scale", &logits);
    baton_json_put_exact(&reading->out, "scale_emb", embedding);
    baton_json_put_exact(&reading->out, "scale_depth", residual * depth);
    baton_json_put_exact(&reading->out, "dim_model_base", (double)reading->n_embd / logits);
    return err;
}

static enum baton_err put_scales(READING *reading)
{
    const bool divides = reading->family->traits & GRANITE;
    const struct {
        const char *key, *name;
    } scales[] = {{"embedding_scale", "embedding_multiplier"},
                  {"residual_scale", "residual_multiplier"},
                  {"logit_scale", divides ? "logits_scaling" : "logit_scale"},
                  {"attention.scale", "attention_multiplier"}};
    enum baton_err err = BATON_OK;
    if (!strcmp(reading->family->model_type, "minicpm"))
        return put_minicpm_scales(reading);
    for (size_t i = 0; i < sizeof scales / sizeof scales[0] && !err; i++) {
        double scale = 0;
        err = baton_gguf_get_real(reading, scales[i].key, &scale);
        if (scale != 0)
            baton_json_put_exact(&reading->out, scales[i].name, scale);
        else if (divides)
            baton_json_put_null(&reading->out, scales[i].name);
    }
    return err;
}

/* Of Gemma 2 and 3 only the 27B models, which their layers tell, scale by another size than that of
 * a head. */
static void put_query_scalar(READING *reading)
{
    bool is_27b = reading->n_layers == (reading->family->traits & LOCAL_ROPE ? 62 : 46);
    if (reading->family->traits & QUERY_SCALAR && reading->head_dim)
        baton_json_put_int(&reading->out, "query_pre_attn_scalar",
                           is_27b ? reading->n_embd / reading->n_heads : reading->head_dim);
}

/* ---- what tensors tell ---- */

static void put_flags(READING *reading)
{
    const unsigned traits = reading->family->traits;
    const bool biased = has(reading, "blk.0.attn_q.bias") || has(reading, "blk.0.attn_qkv.bias");
    const struct {
        unsigned trait;
        const char *name;
        bool flag;
    } flags[] = {
        {BIAS, "attention_bias", biased},
        {USE_BIAS, "use_bias", biased},
        {QKV_BIAS, "qkv_bias", biased},
        {MLP_BIAS, "mlp_bias", has(reading, "blk.0.ffn_down.bias")},
        {HEAD_NORM, "use_qk_norm", has(reading, "blk.0.attn_q_norm.weight")},
    };
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        if (traits & flags[i].trait)
            baton_json_put_bool(&reading->out, flags[i].name, flags[i].flag);
    baton_json_put_bool(&reading->out, "tie_word_embeddings", !has(reading, "output.weight"));
}

/* ---- what is not computed ---- */

/* Keys that change the result unless they have one of the values that they have in every model
 * here. */
static const struct {
    const char *name;
    double neutral, other;
} neutral_keys[] = {
    {"attention.causal", 1, 1},
    {"attention.max_alibi_bias", 0, 0},
    {"attention.key_length_mla", 0, 0},
    {"attention.shared_kv_layers", 0, 0},
    {"attention.value_scale", 1, 0},
    {"attention.output_scale", 1, 0},
    {"leading_dense_block_count", 0, 0},
    {"nextn_predict_layers", 0, 0},
    {"n_deepstack_layers", 0, 0},
    {"expert_group_count", 0, 1},
    {"expert_weights_scale", 1, 0},
    {"router_logit_softcapping", 0, 0},
    {"rope.scaling.alpha", 0, 0},
    {"rope.scaling.yarn_ext_factor", 1, -1}, /* -1: as the kind of scaling has it */
    {"rope.dimension_sections", 0, 0},
    {"swiglu_clamp_exp", 0, 0},
    {"swiglu_clamp_shexp", 0, 0},
};

static double number_of(struct baton_gguf_value value)
{
    double number = 0;
    bool flag = false;
    if (baton_gguf_flag(&value, &flag))
        return flag;
    (void)baton_gguf_real(&value, &number);
    return number;
}

static enum baton_err check_neutral(const READING *reading)
{
    char key[BATON_GGUF_KEY_BYTES];
    for (size_t i = 0; i < sizeof neutral_keys / sizeof neutral_keys[0]; i++) {
        const struct baton_gguf_value *value = baton_gguf_value(reading, neutral_keys[i].name);
        for (uint64_t k = 0; value && value->type != BATON_GGUF_TEXT && k < value->n; k++) {
            double number = number_of(baton_gguf_item(value, k));
            if (number != neutral_keys[i].neutral && number != neutral_keys[i].other)
                return baton_fail(reading->why, BATON_INVALID, "%s: %g is not supported",
                                  baton_gguf_key(reading, neutral_keys[i].name, key), number);
        }
    }
    return BATON_OK;
}

/* ---- all together ---- */

static enum baton_err put_parallel(READING *reading)
{
    const struct baton_gguf_value *value = baton_gguf_value(reading, "use_parallel_residual");
    bool parallel = false;
    if (value && !baton_gguf_flag(value, &parallel))
        return refuse(reading, "use_parallel_residual", "true or false");
    if (value)
        baton_json_put_bool(&reading->out, "use_parallel_residual", parallel);
    return BATON_OK;
}

static enum baton_err put_all(READING *reading)
{
    static enum baton_err (*const parts[])(READING *) = {
        put_sizes,   put_epsilon, put_mlp,    baton_gguf_put_ropes,
        put_windows, put_numbers, put_scales, put_parallel,
    };
    enum baton_err err = check_neutral(reading);
    baton_json_open(&reading->out, NULL, '{');
    baton_json_put_string(&reading->out, "model_type", reading->family->model_type);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0] && !err; i++)
        err = parts[i](reading);
    put_query_scalar(reading);
    put_flags(reading);
    baton_json_close(&reading->out, '}');
    return err;
}

/* ---- which family ---- */

static const struct baton_gguf_family *find_family(const char *model_type,
                                                   struct baton_gguf_text arch)
{
    for (int i = 0; i < N_FAMILIES; i++)
        if (baton_gguf_text_is(arch, families[i].arch) &&
            (!model_type || !strcmp(families[i].model_type, model_type)))
            return &families[i];
    return NULL;
}

static bool is_set(const READING *reading, const char *name)
{
    double number = 0;
    (void)baton_gguf_real(baton_gguf_value(reading, name), &number);
    return number != 0;
}

/* Llama's files are those of Mistral and Mixtral too, and Mistral 3's are of two generations. */
static const struct baton_gguf_family *choose_family(const READING *reading,
                                                     struct baton_gguf_text arch)
{
    if (baton_gguf_text_is(arch, "llama") && is_set(reading, "expert_count"))
        return find_family("mixtral", arch);
    if (baton_gguf_text_is(arch, "llama") && is_set(reading, "attention.sliding_window"))
        return find_family("mistral", arch);
    if (baton_gguf_text_is(arch, "mistral3") && is_set(reading, "attention.temperature_scale"))
        return find_family("ministral3", arch);
    return reading->family;
}

static enum baton_err refuse_arch(const READING *reading, struct baton_gguf_text arch)
{
    char names[512] = "";
    size_t n = 0;
    for (int i = 0; i < N_FAMILIES; i++)
        if (!i || strcmp(families[i].arch, families[i - 1].arch) != 0)
            n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", i ? ", " : "",
                                  families[i].arch);
    return baton_fail(reading->why, BATON_INVALID,
                      "general.architecture: \"%.*s\" is not supported (supported: %s)",
                      (int)(arch.n < 40 ? arch.n : 40), arch.bytes, names);
}

static enum baton_err set_family(READING *reading)
{
    static const char name[] = "general.architecture";
    struct baton_gguf_text arch;
    if (!baton_gguf_text(baton_gguf_find(baton_gguf_model_metadata(reading->model), name), &arch))
        return baton_fail(reading->why, BATON_INVALID, "%s: must be given as text", name);
    reading->family = find_family(NULL, arch);
    if (!reading->family)
        return refuse_arch(reading, arch);
    reading->family = choose_family(reading, arch);
    return BATON_OK;
}

/* Heads turn by whole elements, which a share of them may miss. */
static enum baton_err set_rotated(const READING *reading, struct baton_model_config *config)
{
    int64_t n = 0;
    enum baton_err err = baton_gguf_get_int(reading, "rope.dimension_count", &n);
    if (!err && n && n != reading->head_dim)
        config->rotary_dim = (int)n;
    return err;
}

/* The reader of config.json names its keys; an operator knows the file's. */
static void name_key(const READING *reading, struct baton_why *why)
{
    static const struct {
        const char *name, *key;
    } keys[] = {
        {"hidden_size", "embedding_length"},
        {"num_key_value_heads", "attention.head_count_kv"},
        {"head_dim", "attention.key_length"},
        {"intermediate_size", "feed_forward_length"},
        {"moe_intermediate_size", "expert_feed_forward_length"},
        {"num_local_experts", "expert_count"},
        {"num_experts_per_tok", "expert_used_count"},
        {"rms_norm_eps", RMS},
        {"layer_norm_eps", LAYER},
        {"rope_theta", "rope.freq_base"},
        {"partial_rotary_factor", "rope.dimension_count"},
        {"rope_scaling.factor", "rope.scaling.factor"},
        {"sliding_window", "attention.sliding_window"},
    };
    struct baton_why said = *why;
    size_t n = strcspn(said.text, ":");
    char key[BATON_GGUF_KEY_BYTES];
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (n == strlen(keys[i].name) && !strncmp(said.text, keys[i].name, n))
            (void)baton_fail(why, BATON_INVALID, "%s, read as %.640s",
                             baton_gguf_key(reading, keys[i].key, key), said.text);
}

static enum baton_err read_metadata(READING *reading, struct baton_buf *json,
                                    struct baton_model_config *config)
{
    struct baton_model_config made;
    enum baton_err err = set_family(reading);
    if (!err)
        err = put_all(reading);
    if (!err && baton_buf_err(json))
        err = baton_fail(reading->why, baton_buf_err(json), "metadata: cannot be written down");
    if (err)
        return err;
    err = baton_model_config_parse(baton_buf_text(json), json->len, &made, reading->why);
    if (err)
        name_key(reading, reading->why);
    else
        err = set_rotated(reading, &made);
    if (!err)
        err = baton_gguf_ids_apply(baton_gguf_model_metadata(reading->model), &made, reading->why);
    if (err)
        return err;
    made.gguf_names = true;
    *config = made;
    return BATON_OK;
}

enum baton_err baton_gguf_config_read(const struct baton_gguf_model *model,
                                      struct baton_model_config *config, struct baton_why *why)
{
    struct baton_buf json;
    struct baton_why reason;
    baton_buf_init(&json, JSON_MAX_BYTES);
    READING reading = {.model = model, .out = baton_json_out(&json), .why = &reason};
    enum baton_err err = read_metadata(&reading, &json, config);
    if (err)
        (void)baton_fail(why, err, "%s: %s", model->path, reason.text);
    baton_buf_fini(&json);
    return err;
}
