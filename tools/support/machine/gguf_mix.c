#include "tools/support/machine/gguf_mix.h"

#include <stdio.h>
#include <string.h>

#include "common/base/array.h"

enum { NAMES_BYTES = 512 };

static const struct {
    const char *name;
    struct bench_gguf_mix mix;
} mixes[] = {
    {"Q4_K_M", {.base = BATON_BLOCK_Q4_K, .is_mix = true}},
    {"Q5_K_M", {.base = BATON_BLOCK_Q5_K, .is_mix = true}},
    {"MXFP4_MOE", {.base = BATON_BLOCK_MXFP4, .is_mix = true, .of_experts = true}},
};

enum { N_MIXES = BATON_N_OF(mixes) };

static enum baton_err refuse(const char *option, const char *name, struct baton_why *why)
{
    char names[NAMES_BYTES] = "";
    for (int i = 0; i < BATON_N_BLOCK_TYPES + N_MIXES; i++) {
        size_t n = strlen(names);
        (void)snprintf(names + n, sizeof names - n, "%s%s", i ? ", " : "",
                       i < BATON_N_BLOCK_TYPES ? baton_block_type_name((enum baton_block_type)i)
                                               : mixes[i - BATON_N_BLOCK_TYPES].name);
    }
    return baton_fail(why, BATON_INVALID, "%s: no type \"%.20s\"; there are %s", option, name,
                      names);
}

enum baton_err bench_gguf_mix_parse(const char *option, const char *name,
                                    struct bench_gguf_mix *mix, struct baton_why *why)
{
    struct bench_gguf_mix found = {.is_mix = false};
    for (int i = 0; i < N_MIXES; i++)
        if (!strcmp(mixes[i].name, name)) {
            *mix = mixes[i].mix;
            return BATON_OK;
        }
    if (!baton_block_type_parse(name, &found.base))
        return refuse(option, name, why);
    *mix = found;
    return BATON_OK;
}

static bool is_encoded(const struct bench_tensor *tensor)
{
    switch (tensor->named.row->kind) {
    case BATON_ARRAY_TOKEN_EMBEDDING:
    case BATON_ARRAY_QKV:
    case BATON_ARRAY_OUT:
    case BATON_ARRAY_UP:
    case BATON_ARRAY_DOWN:
    case BATON_ARRAY_SHARED_UP:
    case BATON_ARRAY_SHARED_DOWN:
    case BATON_ARRAY_PER_LAYER_TABLE:
    case BATON_ARRAY_PER_LAYER_IN:
    case BATON_ARRAY_PER_LAYER_GATE:
    case BATON_ARRAY_PER_LAYER_OUT:
    case BATON_ARRAY_HEAD:
        return true;
    default:
        return false;
    }
}

/* True for the first and the last eighth of the layers, and every third layer between. So does
 * use_more_bits() of llama.cpp. */
static bool has_more_bits(int layer, int n_layers)
{
    int eighth = n_layers / 8;
    return layer < eighth || layer >= 7 * n_layers / 8 || (layer - eighth) % 3 == 2;
}

static bool is_of_experts(const struct baton_spec *spec, const struct bench_tensor *tensor)
{
    enum baton_array_kind kind = tensor->named.row->kind;
    return (kind == BATON_ARRAY_UP || kind == BATON_ARRAY_DOWN) &&
           spec->layers[tensor->named.layer].is_moe;
}

static enum baton_block_type type_in_mix(const struct bench_gguf_mix *mix,
                                         const struct baton_spec *spec,
                                         const struct bench_tensor *tensor)
{
    const struct baton_tensor_row *row = tensor->named.row;
    bool is_head = row->kind == BATON_ARRAY_HEAD ||
                   (row->kind == BATON_ARRAY_TOKEN_EMBEDDING && spec->has_tied_head);
    bool is_v = row->kind == BATON_ARRAY_QKV && row->slice == BATON_SLICE_V;
    if (mix->of_experts)
        return is_of_experts(spec, tensor) ? mix->base : BATON_BLOCK_Q8_0;
    bool is_down = row->kind == BATON_ARRAY_DOWN || row->kind == BATON_ARRAY_SHARED_DOWN;
    if (is_head)
        return BATON_BLOCK_Q6_K;
    if ((is_v || is_down) && has_more_bits(tensor->named.layer, spec->n_layers))
        return BATON_BLOCK_Q6_K;
    /* A joint QKV matrix gets one type for its three parts, between theirs. */
    if (row->kind == BATON_ARRAY_QKV && row->slice == BATON_SLICE_ALL)
        return mix->base == BATON_BLOCK_Q4_K ? BATON_BLOCK_Q5_K : BATON_BLOCK_Q6_K;
    return mix->base;
}

static enum baton_block_type narrower(enum baton_block_type type)
{
    switch (type) {
    case BATON_BLOCK_IQ1_S:
    case BATON_BLOCK_IQ1_M:
    case BATON_BLOCK_IQ2_XXS:
    case BATON_BLOCK_IQ2_XS:
    case BATON_BLOCK_IQ2_S:
    case BATON_BLOCK_TQ1_0:
    case BATON_BLOCK_TQ2_0:
    case BATON_BLOCK_Q1_0:
        return BATON_BLOCK_Q2_0;
    case BATON_BLOCK_IQ3_XXS:
    case BATON_BLOCK_IQ3_S:
        return BATON_BLOCK_IQ4_NL;
    case BATON_BLOCK_NVFP4:
        return BATON_BLOCK_MXFP4;
    case BATON_BLOCK_Q2_K:
    case BATON_BLOCK_Q3_K:
        return BATON_BLOCK_Q4_0;
    case BATON_BLOCK_Q4_K:
        return BATON_BLOCK_Q5_0;
    case BATON_BLOCK_Q5_K:
        return BATON_BLOCK_Q5_1;
    case BATON_BLOCK_Q6_K:
        return BATON_BLOCK_Q8_0;
    case BATON_BLOCK_IQ4_XS:
        return BATON_BLOCK_IQ4_NL;
    default:
        return BATON_BLOCK_F16;
    }
}

enum baton_block_type bench_gguf_mix_type(const struct bench_gguf_mix *mix,
                                          const struct baton_spec *spec,
                                          const struct bench_tensor *tensor)
{
    if (!is_encoded(tensor))
        return BATON_BLOCK_F32;
    enum baton_block_type type = mix->is_mix ? type_in_mix(mix, spec, tensor) : mix->base;
    /* It ends at F16 at the latest, whose block is one value. */
    while ((size_t)bench_tensor_line(tensor) % baton_block_values(type))
        type = narrower(type);
    return type;
}
