/* config -> spec: the part that all architectures share, controlled by a row of families.c. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/base/array.h"
#include "engine/arch/arch.h"
#include "engine/arch/layer_sizes.h"
#include "engine/arch/refine.h"
#include "engine/arch/rope.h"
#include "engine/checkpoint/checkpoint.h"

#define CONFIG struct baton_model_config

/* ---- features ---- */

static enum baton_err check_features(const struct baton_arch *arch, const CONFIG *config,
                                     struct baton_why *why)
{
    uint64_t refused = config->features & ~arch->features;
    char text[BATON_FEATURE_TEXT_BYTES];
    for (int i = 0; i < BATON_N_MODEL_FEATURES; i++)
        if (refused & UINT64_C(1) << i)
            return baton_fail(why, BATON_INVALID, "%s is not supported in a %s model",
                              baton_model_config_feature(config, (enum baton_model_feature)i, text),
                              arch->model_type);
    return BATON_OK;
}

/* ---- sizes ---- */

static enum baton_err require_sizes(const CONFIG *config, struct baton_why *why)
{
    const int *const sizes[] = {&config->n_layers, &config->n_embd, &config->n_heads,
                                &config->n_vocab, &config->n_context};
    enum baton_err err = BATON_OK;
    for (size_t i = 0; i < BATON_N_OF(sizes) && !err; i++)
        err = baton_model_config_require(config, sizes[i], why);
    return err;
}

static enum baton_err set_heads(const CONFIG *config, struct baton_layer_spec *layer,
                                struct baton_why *why)
{
    if (config->kv_rank) /* the latent and the turned part of keys, of which the first is V too */
        return baton_latent_heads(config, layer, why);
    layer->n_kv_heads = config->n_kv_heads ? config->n_kv_heads : config->n_heads;
    layer->head_dim = config->head_dim ? config->head_dim : config->n_embd / config->n_heads;
    if (!config->head_dim && config->n_embd % config->n_heads)
        return baton_fail(why, BATON_INVALID,
                          "num_attention_heads (n_head, num_heads): must divide the width %d, or "
                          "head_dim be given; not %d",
                          config->n_embd, config->n_heads);
    if (config->n_heads % layer->n_kv_heads)
        return baton_fail(why, BATON_INVALID,
                          "num_key_value_heads: must divide the %d heads, not %d", config->n_heads,
                          layer->n_kv_heads);
    return BATON_OK;
}

/* Learned positions are tensors, whose rows are all loaded however few are served. */
static enum baton_err set_context(const struct baton_arch *arch, const CONFIG *config,
                                  int n_context, struct baton_spec *spec, struct baton_why *why)
{
    int most = baton_rope_most_context(&config->rope, config->n_context);
    if (n_context < 0 || n_context > most)
        return baton_fail(why, BATON_INVALID,
                          "context: must be in 1..%d, which the model knows, not %d", most,
                          n_context);
    spec->n_context = n_context && !arch->has_learned_positions ? n_context : config->n_context;
    return BATON_OK;
}

static enum baton_err set_n_ff(const struct baton_arch *arch, const CONFIG *config,
                               struct baton_layer_spec *layer, struct baton_why *why)
{
    layer->n_ff = config->n_ff;
    if (!layer->n_ff && arch->defaults_n_ff)
        layer->n_ff = 4 * config->n_embd;
    return layer->n_ff ? BATON_OK : baton_model_config_require(config, &config->n_ff, why);
}

/* Sets the sizes of layer 0; the others begin as copies of it. */
static enum baton_err set_sizes(const struct baton_arch *arch, const CONFIG *config, int n_context,
                                struct baton_spec *spec, struct baton_why *why)
{
    struct baton_layer_spec *layer = &spec->layers[0];
    enum baton_err err = require_sizes(config, why);
    if (!err)
        err = set_heads(config, layer, why);
    if (!err)
        err = set_n_ff(arch, config, layer, why);
    if (!err)
        err = set_context(arch, config, n_context, spec, why);
    spec->n_layers = config->n_layers;
    spec->n_embd = config->n_embd;
    spec->n_heads = config->n_heads;
    spec->n_vocab = config->n_vocab;
    return err;
}

/* ---- norm and activation ---- */

static enum baton_err set_epsilon(const struct baton_arch *arch, const CONFIG *config,
                                  struct baton_spec *spec, struct baton_why *why)
{
    const struct {
        const char *name;
        double value;
    } keys[] = {
        [BATON_KEY_RMS_NORM_EPS] = {"rms_norm_eps", config->rms_norm_eps},
        [BATON_KEY_LAYER_NORM_EPS] = {"layer_norm_eps", config->layer_norm_eps},
        [BATON_KEY_LAYER_NORM_EPSILON] = {"layer_norm_epsilon", config->layer_norm_epsilon},
        [BATON_KEY_NORM_EPSILON] = {"norm_epsilon", config->norm_epsilon},
    };
    spec->norm_epsilon = (float)keys[arch->epsilon].value;
    if (keys[arch->epsilon].value > 0)
        return BATON_OK;
    return baton_fail(why, BATON_INVALID, "%s: must be given", keys[arch->epsilon].name);
}

/* The names of ACT2FN in transformers. */
static const struct {
    const char *name;
    enum baton_activation activation;
} activations[] = {
    {"gelu_new", BATON_ACT_GELU_TANH},
    {"gelu_pytorch_tanh", BATON_ACT_GELU_TANH},
    {"gelu_fast", BATON_ACT_GELU_TANH},
    {"gelu_accurate", BATON_ACT_GELU_TANH},
    {"gelu_python_tanh", BATON_ACT_GELU_TANH},
    {"gelu", BATON_ACT_GELU_ERF},
    {"gelu_python", BATON_ACT_GELU_ERF},
    {"silu", BATON_ACT_SILU},
    {"swish", BATON_ACT_SILU},
    {"relu", BATON_ACT_RELU},
    {"relu2", BATON_ACT_RELU2},
    {"xielu", BATON_ACT_XIELU},
};

static enum baton_err set_activation(const struct baton_arch *arch, const CONFIG *config,
                                     struct baton_spec *spec, struct baton_why *why)
{
    const char *key = "hidden_act", *name = config->hidden_act;
    if (arch->activation == BATON_KEY_MLP_HIDDEN_ACT)
        key = "mlp_hidden_act";
    if (arch->activation == BATON_KEY_ACTIVATION_FUNCTION ||
        arch->activation == BATON_KEY_ACTIVATION_OR_GATE) {
        key = "activation_function";
        name = config->activation_function;
    } else if (arch->activation == BATON_KEY_HIDDEN_ACTIVATION && config->hidden_activation[0]) {
        key = "hidden_activation";
        name = config->hidden_activation;
    }
    if (arch->activation == BATON_KEY_ACTIVATION_OR_GATE && !strcmp(name, "swiglu")) {
        spec->mlp = BATON_MLP_GATED;
        name = "silu";
    }
    /* Early Gemma configs say "gelu"; the model was trained with the tanh form. */
    if (arch->activation == BATON_KEY_HIDDEN_ACTIVATION && !strcmp(name, "gelu"))
        name = "gelu_pytorch_tanh";
    for (size_t i = 0; i < BATON_N_OF(activations); i++)
        if (!strcmp(activations[i].name, name) && (activations[i].activation != BATON_ACT_XIELU ||
                                                   arch->refine == baton_refine_apertus)) {
            spec->activation = activations[i].activation;
            return BATON_OK;
        }
    return baton_fail(why, BATON_INVALID,
                      "%s: \"%s\" is not supported (supported: silu, gelu, gelu_new, "
                      "gelu_pytorch_tanh, gelu_fast, relu, relu2)",
                      key, name);
}

/* ---- flags and scales of the whole model ---- */

static void set_encoder(const struct baton_arch *arch, const CONFIG *config,
                        struct baton_spec *spec)
{
    spec->is_encoder = config->is_encoder;
    spec->has_embed_norm = arch->has_embed_norm;
    spec->position_offset = config->position_offset;
    spec->n_token_types = arch->has_embed_norm ? config->n_token_types : 0;
    spec->has_tied_head = config->tied_head || config->is_encoder; /* an encoder needs no head */
    if (!config->is_encoder)
        return;
    spec->n_pooled_stages = config->pooled.n_stages;
    memcpy(spec->pooled_stages, config->pooled.stages, sizeof spec->pooled_stages);
}

static void set_flags(const struct baton_arch *arch, const CONFIG *config, struct baton_spec *spec)
{
    bool reads_biases = arch->features & BATON_FEATURE(ATTENTION_BIAS);
    spec->form = arch->form;
    spec->norm = arch->norm;
    spec->norm_has_bias = arch->norm_has_bias;
    if (arch->activation != BATON_KEY_ACTIVATION_OR_GATE)
        spec->mlp = arch->mlp;
    spec->qk_norm = arch->qk_norm;
    spec->rotates_pairs = arch->rotates_pairs;
    spec->has_learned_positions = arch->has_learned_positions;
    spec->has_qkv_bias = arch->has_qkv_bias || (reads_biases && config->attention_bias);
    spec->has_out_bias =
        arch->has_out_bias || (reads_biases && config->attention_bias && !arch->never_has_out_bias);
    spec->has_mlp_bias = arch->has_mlp_bias || config->mlp_bias;
    spec->has_head_bias = arch->has_head_bias;
    set_encoder(arch, config, spec);
    spec->score_scale = 1.0F / sqrtf((float)spec->layers[0].head_dim);
    spec->score_cap = (float)config->score_cap;
    spec->logit_cap = (float)config->logit_cap;
    spec->clip_qkv = (float)config->clip_qkv;
    spec->embed_scale = 1;
    spec->residual_scale = 1;
    spec->logit_scale = 1;
}

/* ---- layers ---- */

/* Families without the feature ignore layer_types, as transformers does: a Mistral's window holds
 * in all layers. */
static bool goes_by_layer_types(const struct baton_arch *arch, const CONFIG *config)
{
    return config->n_layer_types && arch->features & BATON_FEATURE(LAYER_TYPES);
}

static bool has_window(const struct baton_arch *arch, const CONFIG *config, int layer)
{
    if (arch->window == BATON_WINDOW_PATTERN_LAST && layer == config->n_layers - 1)
        return false;
    if (goes_by_layer_types(arch, config))
        return config->layer_types[layer] == BATON_LAYER_SLIDING;
    switch (arch->window) {
    case BATON_WINDOW_ALL:
        return true;
    case BATON_WINDOW_SWITCHED:
        return config->use_sliding_window;
    case BATON_WINDOW_EVEN:
        return layer % 2 == 0;
    case BATON_WINDOW_PATTERN:
    case BATON_WINDOW_PATTERN_LAST:
        return config->sliding_window_pattern && (layer + 1) % config->sliding_window_pattern;
    case BATON_WINDOW_LATE:
        return config->use_sliding_window && layer >= config->max_window_layers;
    case BATON_WINDOW_NO_ROPE:
    case BATON_WINDOW_NONE:
        break;
    }
    return false;
}

static bool switches_windows(const struct baton_arch *arch)
{
    return arch->window == BATON_WINDOW_SWITCHED || arch->window == BATON_WINDOW_LATE ||
           arch->window == BATON_WINDOW_NO_ROPE;
}

static enum baton_err set_layers(const struct baton_arch *arch, const CONFIG *config,
                                 struct baton_spec *spec, struct baton_why *why)
{
    int window = config->sliding_window;
    if (switches_windows(arch) && !config->use_sliding_window)
        window = 0;
    spec->layers[0].rope = arch->has_learned_positions ? -1 : 0;
    for (int i = 0; i < spec->n_layers; i++) {
        spec->layers[i] = spec->layers[0];
        spec->layers[i].kv_from = i;
    }
    for (int i = 0; i < spec->n_layers; i++) {
        bool windowed = has_window(arch, config, i);
        spec->layers[i].window = windowed ? window : 0;
        if (windowed && !window &&
            (goes_by_layer_types(arch, config) || arch->window == BATON_WINDOW_PATTERN_LAST))
            return baton_fail(why, BATON_INVALID,
                              "sliding_window: must be given where layer_types has "
                              "sliding_attention");
    }
    return BATON_OK;
}

/* The one size of the heads that a rope turns. */
static enum baton_err head_dim_of(const struct baton_spec *spec, int rope, int *head_dim,
                                  struct baton_why *why)
{
    int first = 0;
    while (first < spec->n_layers - 1 && spec->layers[first].rope != rope)
        first++;
    *head_dim = spec->layers[first].head_dim;
    for (int i = first; i < spec->n_layers; i++)
        if (spec->layers[i].rope == rope && spec->layers[i].head_dim != *head_dim)
            return baton_fail(why, BATON_INVALID,
                              "per_layer_config.%d.head_dim: must be that of layer %d, which has "
                              "its rotation, %d, not %d",
                              i, first, *head_dim, spec->layers[i].head_dim);
    return BATON_OK;
}

static enum baton_err add_rope(const CONFIG *config, const struct baton_rope_config *rope,
                               struct baton_spec *spec, struct baton_why *why)
{
    int head_dim;
    enum baton_err err = head_dim_of(spec, spec->n_ropes, &head_dim, why);
    if (err)
        return err;
    if (config->kv_rank)
        head_dim = config->n_turned;
    const struct baton_rope_request request = {.config = rope,
                                               .head_dim = head_dim,
                                               .n_rotated = config->rotary_dim,
                                               .n_known = config->n_context,
                                               .n_context = spec->n_context,
                                               .original = config->original_context};
    err = baton_rope_make(&request, &spec->ropes[spec->n_ropes], why);
    if (!err)
        spec->n_ropes++;
    return err;
}

static enum baton_err set_ropes(const struct baton_arch *arch, const CONFIG *config,
                                struct baton_spec *spec, struct baton_why *why)
{
    struct baton_rope_config local = config->local_rope;
    bool has_local = local.theta > 0 && arch->features & BATON_FEATURE(LOCAL_ROPE);
    if (arch->has_learned_positions)
        return BATON_OK;
    bool scales_global = arch->scales_global_rope && config->features & BATON_FEATURE(ROPE_SCALING);
    if (!has_local && scales_global) {
        local = (struct baton_rope_config){.theta = config->rope.theta};
        has_local = true;
    }
    /* Layers with a window have a rope of their own: Gemma 3's by rope_local_base_freq. */
    for (int i = 0; i < spec->n_layers; i++)
        if (has_local && spec->layers[i].window)
            spec->layers[i].rope = 1;
    enum baton_err err = add_rope(config, &config->rope, spec, why);
    return err || !has_local ? err : add_rope(config, &local, spec, why);
}

static enum baton_err make_spec(const struct baton_arch *arch, const CONFIG *config, int n_context,
                                struct baton_spec *spec, struct baton_why *why)
{
    memset(spec, 0, sizeof *spec);
    enum baton_err err = check_features(arch, config, why);
    if (!err)
        err = set_sizes(arch, config, n_context, spec, why);
    if (!err)
        err = set_epsilon(arch, config, spec, why);
    if (!err)
        err = set_activation(arch, config, spec, why);
    if (err)
        return err;
    set_flags(arch, config, spec);
    err = set_layers(arch, config, spec, why);
    if (!err)
        err = baton_layer_sizes_set(config, spec, why);
    if (!err)
        err = set_ropes(arch, config, spec, why);
    return !err && arch->refine ? arch->refine(config, spec, why) : err;
}

/* ---- the architecture ---- */

/* Models of pictures and text, of which only the language model is computed, and its model_type. */
static const struct {
    const char *wrapper, *model_type;
} wrappers[] = {{"gemma3", "gemma3_text"},
                {"gemma4", "gemma4_text"},
                {"gemma4_unified", "gemma4_unified_text"},
                {"gemma4_unified", "gemma4_text"},
                {"mistral3", "mistral"},
                {"mistral3", "ministral3"},
                {"qwen2_vl", "qwen2_5_vl_text"},
                {"qwen2_5_vl", "qwen2_5_vl_text"},
                {"qwen3_5", "qwen3_5_text"},
                {"qwen3_5_moe", "qwen3_5_moe_text"},
                {"qwen3_vl", "qwen3_vl_text"}};

/* A wrapper's model_type at the top level means that its text_config is missing. */
static enum baton_err check_wrapper(const struct baton_model_config *config, struct baton_why *why)
{
    bool fits = !config->wrapper[0];
    for (size_t i = 0; i < BATON_N_OF(wrappers); i++) {
        if (!strcmp(wrappers[i].wrapper, config->model_type))
            return baton_fail(why, BATON_INVALID, "text_config: must be given in a %s model",
                              config->model_type);
        fits = fits || (!strcmp(wrappers[i].wrapper, config->wrapper) &&
                        !strcmp(wrappers[i].model_type, config->model_type));
    }
    if (fits)
        return BATON_OK;
    return baton_fail(why, BATON_INVALID,
                      "model_type: \"%.40s\" with a text_config of \"%.40s\" is not supported",
                      config->wrapper, config->model_type);
}

enum baton_err baton_arch_check_family(const struct baton_model_config *config,
                                       struct baton_why *why)
{
    char names[BATON_ARCH_NAMES_BYTES];
    if (!config->model_type[0])
        return baton_fail(why, BATON_INVALID, "model_type: must be given as text");
    enum baton_err err = check_wrapper(config, why);
    if (!err && !baton_arch_find(config->model_type))
        err = baton_fail(why, BATON_INVALID, "model_type: \"%.40s\" is not supported (%s)",
                         config->model_type, baton_arch_names(names));
    return err;
}

enum baton_err baton_arch_configure(const struct baton_model_config *config, int n_context,
                                    const struct baton_arch **arch, struct baton_spec *spec,
                                    struct baton_why *why)
{
    const struct baton_arch *found = baton_arch_find(config->model_type);
    enum baton_err err = baton_arch_check_family(config, why);
    if (!err)
        err = make_spec(found, config, n_context, spec, why);
    if (!err)
        err = baton_spec_check(spec, why);
    if (!err)
        *arch = found;
    return err;
}

enum baton_err baton_arch_configure_model(const struct baton_checkpoint *checkpoint, int n_context,
                                          const struct baton_arch **arch, struct baton_spec *spec,
                                          struct baton_why *why)
{
    struct baton_why reason;
    enum baton_err err = baton_arch_configure(&checkpoint->config, n_context, arch, spec, &reason);
    if (err)
        (void)baton_fail(why, err, "%s: %s", checkpoint->config_path, reason.text);
    return err;
}
