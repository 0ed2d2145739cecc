#include "bench/shapes.h"

#include <stdio.h>
#include <string.h>

#include "common/arch/arch.h"

static const char prefix[] = "shape:";

/* L, C, H, V, positions. */
#define GPT2(l, c, h, v, n)                                                                        \
    "{\"model_type\":\"gpt2\",\"architectures\":[\"GPT2LMHeadModel\"],\"n_layer\":" #l             \
    ",\"n_embd\":" #c ",\"n_head\":" #h ",\"vocab_size\":" #v ",\"n_positions\":" #n               \
    ",\"activation_function\":\"gelu_new\",\"layer_norm_epsilon\":1e-5,\"tie_word_embeddings\":"   \
    "true"

/* L, C, H, G, D, F, V, positions, and what else the family asks for. */
#define ROTARY(type, class, l, c, h, g, d, f, v, n, rest)                                          \
    "{\"model_type\":\"" type                                                                      \
    "\",\"architectures\":[\"" class "\"],\"num_hidden_layers\":" #l ",\"hidden_size\":" #c        \
                                     ",\"num_attention_heads\":" #h ",\"num_key_value_heads\":" #g \
                                     ",\"head_dim\":" #d ",\"intermediate_size\":" #f              \
                                     ",\"vocab_size\":" #v ",\"max_position_embeddings\":" #n      \
                                     ",\"rms_norm_eps\":1e-6," rest

#define LLAMA(l, c, h, g, d, f, v, n, rest)                                                        \
    ROTARY("llama", "LlamaForCausalLM", l, c, h, g, d, f, v, n, "\"hidden_act\":\"silu\"," rest)
#define QWEN3(l, c, h, g, d, f, v, n, rest)                                                        \
    ROTARY("qwen3", "Qwen3ForCausalLM", l, c, h, g, d, f, v, n,                                    \
           "\"hidden_act\":\"silu\",\"rope_theta\":1000000," rest)
#define GEMMA3(l, c, h, g, d, f, v, n, rest)                                                       \
    ROTARY("gemma3_text", "Gemma3ForCausalLM", l, c, h, g, d, f, v, n,                             \
           "\"hidden_activation\":\"gelu_pytorch_tanh\",\"query_pre_attn_scalar\":256,"            \
           "\"rope_theta\":1000000,\"rope_local_base_freq\":10000,\"sliding_window_pattern\":6,"   \
           "\"tie_word_embeddings\":true," rest)
#define THETA(theta) "\"rope_theta\":" #theta ","
#define TIED(tied)   "\"tie_word_embeddings\":" #tied

/* Configurations without their last brace. */
static const struct {
    const char *name, *config;
} shapes[] = {
    {"distilgpt2", GPT2(6, 768, 12, 50257, 1024)},
    {"gpt2", GPT2(12, 768, 12, 50257, 1024)},
    {"gpt2-medium", GPT2(24, 1024, 16, 50257, 1024)},
    {"gpt2-large", GPT2(36, 1280, 20, 50257, 1024)},
    {"gpt2-xl", GPT2(48, 1600, 25, 50257, 1024)},
    {"tiny", GPT2(2, 80, 4, 2560, 256)}, /* for tests: widths that kernels must pad */
    {"smollm2-135m", LLAMA(30, 576, 9, 3, 64, 1536, 49152, 8192, THETA(100000) TIED(true))},
    {"llama-3.2-1b", LLAMA(16, 2048, 32, 8, 64, 8192, 128256, 131072, THETA(500000) TIED(true))},
    {"llama-3.2-3b", LLAMA(28, 3072, 24, 8, 128, 8192, 128256, 131072, THETA(500000) TIED(true))},
    {"llama-3.1-8b", LLAMA(32, 4096, 32, 8, 128, 14336, 128256, 131072, THETA(500000) TIED(false))},
    {"qwen3-0.6b", QWEN3(28, 1024, 16, 8, 128, 3072, 151936, 40960, TIED(true))},
    {"gemma-3-1b", GEMMA3(26, 1152, 4, 1, 256, 6912, 262144, 32768, "\"sliding_window\":512")},
    {"gemma-3-4b", GEMMA3(34, 2560, 8, 4, 256, 10240, 262208, 131072, "\"sliding_window\":1024")},
};

enum { N_SHAPES = sizeof shapes / sizeof shapes[0], CONFIG_BYTES = 1024 };

const char *bench_shape_name(const char *model)
{
    return strncmp(model, prefix, sizeof prefix - 1) ? NULL : model + sizeof prefix - 1;
}

static enum baton_err refuse(const char *option, const char *name, struct baton_why *why)
{
    char names[512] = "";
    for (size_t i = 0; i < N_SHAPES; i++) {
        size_t n = strlen(names);
        (void)snprintf(names + n, sizeof names - n, "%s%s", i ? ", " : "", shapes[i].name);
    }
    return baton_fail(why, BATON_INVALID, "%s: no shape \"%.40s\"; there are %s", option, name,
                      names);
}

const char *bench_shape_config(const char *name)
{
    for (size_t i = 0; i < N_SHAPES; i++)
        if (!strcmp(shapes[i].name, name))
            return shapes[i].config;
    return NULL;
}

enum baton_err bench_shape_find(const char *option, const char *name,
                                const struct baton_arch **arch, struct baton_spec *spec,
                                struct baton_why *why)
{
    char text[CONFIG_BYTES];
    struct baton_model_config config;
    const char *begun = bench_shape_config(name);
    if (!begun)
        return refuse(option, name, why);
    int n = snprintf(text, sizeof text, "%s}", begun);
    enum baton_err err = baton_model_config_parse(text, (size_t)n, &config, why);
    return err ? err : baton_arch_configure(&config, 0, arch, spec, why);
}
