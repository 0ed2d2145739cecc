/* The metadata keys. Source: gguf-py/gguf/constants.py and conversion/ of ggml-org/llama.cpp. */
#include "bench/model/gguf_keys.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/checkpoint/gguf/config.h"

#define GGUF   struct bench_gguf
#define CONFIG struct baton_model_config
#define SPEC   struct baton_spec

/* ---- Gemma 4, whose sizes and rotations differ by layer ---- */

static bool is_by_layer(const CONFIG *config)
{
    return !strcmp(config->model_type, "gemma4_text");
}

/* The first layer with a window, or without one. */
static const struct baton_layer_spec *layer_of(const SPEC *spec, bool windowed)
{
    for (int i = 0; i < spec->n_layers; i++)
        if (!spec->layers[i].window == !windowed)
            return &spec->layers[i];
    return &spec->layers[0];
}

static void put_layers(GGUF *gguf, const SPEC *spec)
{
    const struct baton_layer_spec *global = layer_of(spec, false), *local = layer_of(spec, true);
    uint64_t n = (uint64_t)spec->n_layers;
    int n_shared = 0;
    bench_gguf_begin_numbers(gguf, "gemma4.feed_forward_length", n);
    for (int i = 0; i < spec->n_layers; i++)
        bench_gguf_put_int(gguf, spec->layers[i].n_ff + spec->moe.n_ff_shared);
    bench_gguf_begin_numbers(gguf, "gemma4.attention.head_count_kv", n);
    for (int i = 0; i < spec->n_layers; i++)
        bench_gguf_put_int(gguf, spec->layers[i].n_kv_heads);
    bench_gguf_begin_flags(gguf, "gemma4.attention.sliding_window_pattern", n);
    for (int i = 0; i < spec->n_layers; i++) {
        bench_gguf_put_bool(gguf, spec->layers[i].window);
        n_shared += !baton_spec_stores_kv(spec, i);
    }
    bench_gguf_put_size(gguf, "attention.shared_kv_layers", n_shared);
    bench_gguf_put_size(gguf, "embedding_length_per_layer_input", spec->n_per_layer);
    bench_gguf_put_size(gguf, "attention.key_length", global->head_dim);
    bench_gguf_put_size(gguf, "attention.value_length", global->head_dim);
    bench_gguf_put_size(gguf, "attention.key_length_swa", local->head_dim);
    bench_gguf_put_size(gguf, "attention.value_length_swa", local->head_dim);
    bench_gguf_put_size(gguf, "rope.dimension_count_swa", local->head_dim);
}

/* Divisors so large that the pairs of frequency 0 stand still. */
static int divide_proportional(const SPEC *spec, struct bench_gguf_divisors *divisors)
{
    const struct baton_rope_spec *rope = &spec->ropes[0];
    (void)snprintf(divisors->name, sizeof divisors->name, "rope_freqs.weight");
    divisors->n = rope->n_rotated / 2;
    for (int i = 0; i < divisors->n; i++)
        divisors->values[i] = rope->inverse[i] > 0 ? 1 : 1e30F;
    return 1;
}

/* ---- latents and states ---- */

static int n_dense_layers(const SPEC *spec)
{
    int n = 0;
    while (n < spec->n_layers && !spec->layers[n].is_moe)
        n++;
    return n;
}

/* The keys are wide as they are multiplied with queries, the latents; and those of the model. */
static void put_latents(GGUF *gguf, const CONFIG *config, const SPEC *spec)
{
    const struct baton_latent_spec *latent = &spec->latent;
    const struct baton_moe_spec *moe = &spec->moe;
    if (!latent->n_rank)
        return;
    bench_gguf_put_size(gguf, "attention.kv_lora_rank", latent->n_rank);
    if (latent->n_q_rank)
        bench_gguf_put_size(gguf, "attention.q_lora_rank", latent->n_q_rank);
    bench_gguf_put_size(gguf, "attention.key_length_mla", latent->n_plain + latent->n_turned);
    bench_gguf_put_size(gguf, "attention.value_length_mla", latent->n_values);
    bench_gguf_put_size(gguf, "leading_dense_block_count", n_dense_layers(spec));
    if (moe->n_experts)
        bench_gguf_put_size(gguf, "expert_shared_count", config->n_shared_experts);
}

static void begin_list(GGUF *gguf, const char *name, const SPEC *spec)
{
    char key[sizeof gguf->prefix + 40];
    (void)snprintf(key, sizeof key, "%s%s", gguf->prefix, name);
    bench_gguf_begin_numbers(gguf, key, (uint64_t)spec->n_layers);
}

/* Whether some layers are marked by having no KV heads. */
static bool lists_kv_heads(const SPEC *spec)
{
    for (int i = 0; i < spec->n_layers; i++)
        if (spec->layers[i].mixer > BATON_MIXER_DELTA)
            return true;
    return false;
}

/* The first layer with attention. */
static const struct baton_layer_spec *attention_of(const SPEC *spec)
{
    for (int i = 0; i < spec->n_layers; i++)
        if (spec->layers[i].mixer == BATON_MIXER_ATTENTION)
            return &spec->layers[i];
    return &spec->layers[0];
}

static bool is_nemotron(const CONFIG *config)
{
    return !strcmp(config->model_type, "nemotron_h");
}

/* Nemotron's layers without a feed-forward part have a width of 0. */
static void put_hybrid_layers(GGUF *gguf, const CONFIG *config, const SPEC *spec)
{
    begin_list(gguf, "attention.head_count_kv", spec);
    for (int i = 0; i < spec->n_layers; i++) {
        const struct baton_layer_spec *layer = &spec->layers[i];
        bench_gguf_put_int(gguf, layer->mixer == BATON_MIXER_ATTENTION ? layer->n_kv_heads : 0);
    }
    if (!is_nemotron(config))
        return;
    bench_gguf_put_number(gguf, "attention.layer_norm_epsilon", (double)spec->norm_epsilon);
    begin_list(gguf, "feed_forward_length", spec);
    for (int i = 0; i < spec->n_layers; i++) {
        const struct baton_layer_spec *layer = &spec->layers[i];
        int n_ff = layer->is_moe ? spec->moe.n_ff : layer->n_ff;
        bench_gguf_put_int(gguf, layer->has_no_ff ? 0 : n_ff);
    }
}

/* ---- all models ---- */

static void put_sizes(GGUF *gguf, const CONFIG *config, const SPEC *spec, bool drafts)
{
    const struct baton_layer_spec *layer = attention_of(spec);
    int n_ff = spec->layers[0].n_ff ? spec->layers[0].n_ff : config->n_ff;
    bench_gguf_put_size(gguf, "vocab_size", spec->n_vocab);
    bench_gguf_put_size(gguf, "context_length", config->n_context);
    bench_gguf_put_size(gguf, "embedding_length", spec->n_embd);
    bench_gguf_put_size(gguf, "block_count", spec->n_layers + drafts);
    if (drafts)
        bench_gguf_put_size(gguf, "nextn_predict_layers", 1);
    bench_gguf_put_size(gguf, "attention.head_count", spec->n_heads);
    if (is_by_layer(config)) {
        put_layers(gguf, spec);
    } else {
        if (!is_nemotron(config))
            bench_gguf_put_size(gguf, "feed_forward_length", n_ff);
        if (lists_kv_heads(spec))
            put_hybrid_layers(gguf, config, spec);
        else
            bench_gguf_put_size(gguf, "attention.head_count_kv", layer->n_kv_heads);
        bench_gguf_put_size(gguf, "attention.key_length", layer->head_dim);
        bench_gguf_put_size(gguf, "attention.value_length",
                            layer->n_latent ? layer->n_latent : layer->head_dim);
    }
    bench_gguf_put_number(gguf,
                          spec->norm == BATON_RMS_NORM ? "attention.layer_norm_rms_epsilon"
                                                       : "attention.layer_norm_epsilon",
                          (double)spec->norm_epsilon);
}

static void put_yarn(GGUF *gguf, const struct baton_rope_config *rope, bool has_latents)
{
    bench_gguf_put_number(gguf, "rope.scaling.yarn_beta_fast", rope->beta_fast);
    bench_gguf_put_number(gguf, "rope.scaling.yarn_beta_slow", rope->beta_slow);
    if (rope->mscale_all_dim > 0) /* of latents' models the logarithm's factor is in it */
        bench_gguf_put_number(gguf, "rope.scaling.yarn_log_multiplier",
                              (has_latents ? 0.1 : 1) * rope->mscale_all_dim);
    if (rope->query_scaling_beta > 0)
        bench_gguf_put_number(gguf, "attention.temperature_scale", rope->query_scaling_beta);
}

/* Sets the divisors of llama3's scaling: plain frequencies over scaled ones. */
static int divide_llama3(const CONFIG *config, const SPEC *spec,
                         struct bench_gguf_divisors *divisors)
{
    const struct baton_rope_spec *rope = &spec->ropes[0];
    (void)snprintf(divisors->name, sizeof divisors->name, "rope_freqs.weight");
    divisors->n = rope->n_rotated / 2;
    for (int i = 0; i < divisors->n; i++)
        divisors->values[i] =
            (float)(pow(config->rope.theta, -2.0 * i / rope->n_rotated) / rope->inverse[i]);
    return 1;
}

static int divide_longrope(const struct baton_rope_config *rope,
                           struct bench_gguf_divisors *divisors)
{
    for (int k = 0; k < 2; k++) {
        const double *factors = k ? rope->long_factor : rope->short_factor;
        divisors[k].n = k ? rope->n_long : rope->n_short;
        (void)snprintf(divisors[k].name, sizeof divisors[k].name, "rope_factors_%s.weight",
                       k ? "long" : "short");
        for (int i = 0; i < divisors[k].n; i++)
            divisors[k].values[i] = (float)factors[i];
    }
    return 2;
}

/* The base of the frequencies; Hunyuan's files have it with the scaling in it. */
static double base_of(const struct baton_rope_config *rope, double n)
{
    return rope->alpha > 0 ? rope->theta * pow(rope->alpha, n / (n - 2)) : rope->theta;
}

/* Writes the rotary embedding of layers without a window; layers with one may have another base. */
static int put_rope(GGUF *gguf, const CONFIG *config, const SPEC *spec,
                    struct bench_gguf_divisors *divisors)
{
    const struct baton_rope_config *rope = &config->rope;
    bool is_yarn = !strcmp(rope->type, "yarn");
    bool is_long = !strcmp(rope->type, "longrope") || !strcmp(rope->type, "su");
    if (!spec->n_ropes)
        return 0;
    bench_gguf_put_size(gguf, "rope.dimension_count", spec->ropes[0].n_rotated);
    bench_gguf_put_number(gguf, "rope.freq_base", base_of(rope, spec->ropes[0].n_rotated));
    if (config->local_rope.theta > 0)
        bench_gguf_put_number(gguf, "rope.freq_base_swa", config->local_rope.theta);
    if (is_yarn || !strcmp(rope->type, "linear")) {
        bench_gguf_put_word(gguf, "rope.scaling.type", rope->type);
        bench_gguf_put_number(gguf, "rope.scaling.factor", rope->factor);
    }
    if (is_yarn)
        put_yarn(gguf, rope, spec->latent.n_rank);
    int original = rope->original_context ? rope->original_context : config->original_context;
    if ((is_yarn || is_long) && original)
        bench_gguf_put_size(gguf, "rope.scaling.original_context_length", original);
    if (is_long)
        bench_gguf_put_number(gguf, "rope.scaling.attn_factor", spec->ropes[0].attention_factor);
    if (!strcmp(rope->type, "proportional"))
        return divide_proportional(spec, divisors);
    if (!strcmp(rope->type, "llama3"))
        return divide_llama3(config, spec, divisors);
    return is_long ? divide_longrope(rope, divisors) : 0;
}

static void put_windows(GGUF *gguf, const CONFIG *config, const SPEC *spec)
{
    int window = 0;
    /* The file has one window size; layers without a window have 0. */
    for (int i = 0; i < spec->n_layers; i++)
        window = spec->layers[i].window > window ? spec->layers[i].window : window;
    if (!window)
        return;
    bench_gguf_put_size(gguf, "attention.sliding_window", window);
    if (config->sliding_window_pattern && !is_by_layer(config))
        bench_gguf_put_size(gguf, "attention.sliding_window_pattern",
                            config->sliding_window_pattern);
}

static void put_mixture(GGUF *gguf, const struct baton_moe_spec *moe)
{
    if (!moe->n_experts)
        return;
    bench_gguf_put_size(gguf, "expert_count", moe->n_experts);
    bench_gguf_put_size(gguf, "expert_used_count", moe->n_chosen);
    bench_gguf_put_size(gguf, "expert_feed_forward_length", moe->n_ff);
    bench_gguf_put_flag(gguf, "expert_weights_norm", moe->renormalises);
    if (moe->n_ff_shared && !moe->is_beside)
        bench_gguf_put_size(gguf, "expert_shared_feed_forward_length", moe->n_ff_shared);
    if (moe->has_sigmoid)
        bench_gguf_put_size(gguf, "expert_gating_func", 2);
    if (moe->scale > 0)
        bench_gguf_put_number(gguf, "expert_weights_scale", (double)moe->scale);
    if (moe->n_groups) {
        bench_gguf_put_size(gguf, "expert_group_count", moe->n_groups);
        bench_gguf_put_size(gguf, "expert_group_used_count", moe->n_kept);
    }
}

static bool is_any(const char *type, const char *const *types)
{
    for (; *types; types++)
        if (!strcmp(type, *types))
            return true;
    return false;
}

/* Granite and MiniCPM divide the logits by the key that Cohere multiplies them with. */
static void put_scales(GGUF *gguf, const CONFIG *config, const SPEC *spec)
{
    static const char *const granites[] = {"granite", "granitemoe", "granitemoeshared",
                                           "granitemoehybrid", NULL};
    static const char *const coheres[] = {"cohere", "cohere2", NULL};
    bool is_granite = is_any(config->model_type, granites);
    if (is_granite || !strcmp(config->model_type, "minicpm")) {
        bench_gguf_put_number(gguf, "embedding_scale", (double)spec->embed_scale);
        bench_gguf_put_number(gguf, "residual_scale", (double)spec->residual_scale);
        bench_gguf_put_number(gguf, "logit_scale", 1 / (double)spec->logit_scale);
    }
    if (is_granite) {
        bench_gguf_put_number(gguf, "attention.scale", (double)spec->score_scale);
        /* llama.cpp reads this key of Granite as "has a rotary embedding". */
        bench_gguf_put_flag(gguf, "rope.scaling.finetuned", attention_of(spec)->rope >= 0);
    }
    if (is_any(config->model_type, coheres))
        bench_gguf_put_number(gguf, "logit_scale", (double)spec->logit_scale);
    if (!strcmp(config->model_type, "gpt_neox"))
        bench_gguf_put_flag(gguf, "use_parallel_residual", config->use_parallel_residual);
    if (spec->score_cap > 0)
        bench_gguf_put_number(gguf, "attn_logit_softcapping", (double)spec->score_cap);
    if (spec->logit_cap > 0)
        bench_gguf_put_number(gguf, "final_logit_softcapping", (double)spec->logit_cap);
    if (spec->clip_qkv > 0)
        bench_gguf_put_number(gguf, "attention.clamp_kqv", (double)spec->clip_qkv);
}

/* Layers that keep a state. llama.cpp asks for the sections of pictures' positions, which turn
 * pairs of a head in turn; of text all three are equal. */
static void put_states(GGUF *gguf, const CONFIG *config, const SPEC *spec)
{
    const struct baton_state_spec *state = &spec->state;
    char sections[sizeof gguf->prefix + 32];
    int n_pairs = spec->n_ropes ? spec->ropes[0].n_rotated / 2 : 0;
    if (!state->n_taps)
        return;
    if (!strncmp(config->model_type, "lfm2", 4)) {
        bench_gguf_put_size(gguf, "shortconv.l_cache", state->n_taps);
        if (spec->moe.n_experts)
            bench_gguf_put_size(gguf, "leading_dense_block_count", n_dense_layers(spec));
        return;
    }
    bench_gguf_put_size(gguf, "ssm.conv_kernel", state->n_taps);
    bench_gguf_put_size(gguf, "ssm.state_size", state->n_keys);
    bench_gguf_put_size(gguf, "ssm.group_count", state->n_key_heads);
    bench_gguf_put_size(gguf, "ssm.time_step_rank", state->n_heads);
    bench_gguf_put_size(gguf, "ssm.inner_size", baton_state_width(state));
    if (lists_kv_heads(spec))
        return;
    bench_gguf_put_size(gguf, "full_attention_interval", config->full_interval);
    (void)snprintf(sections, sizeof sections, "%srope.dimension_sections", gguf->prefix);
    bench_gguf_begin_numbers(gguf, sections, 4);
    for (int i = 0; i < 4; i++)
        bench_gguf_put_int(gguf, i < 3 ? (n_pairs + 2 - i) / 3 : 0);
}

/* Granite's mixtures share one, with or without a shared expert. Those without states are written
 * for other models alone. */
const char *bench_gguf_architecture(const CONFIG *config, const SPEC *spec)
{
    const char *type = config->model_type;
    if (!strcmp(type, "granitemoehybrid") && !spec->state.n_heads)
        return NULL;
    if (is_nemotron(config) && spec->moe.n_experts)
        return "nemotron_h_moe";
    return baton_gguf_arch_of(strcmp(type, "granitemoeshared") ? type : "granitemoe");
}

int bench_gguf_put_model(struct bench_gguf *gguf, const CONFIG *config, const SPEC *spec,
                         bool drafts, struct bench_gguf_divisors divisors[BENCH_GGUF_MAX_DIVISORS])
{
    put_sizes(gguf, config, spec, drafts);
    put_windows(gguf, config, spec);
    put_mixture(gguf, &spec->moe);
    put_scales(gguf, config, spec);
    put_latents(gguf, config, spec);
    put_states(gguf, config, spec);
    return put_rope(gguf, config, spec, divisors);
}
