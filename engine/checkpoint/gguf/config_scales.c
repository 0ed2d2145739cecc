/* Windows, scales and caps of a GGUF model. */
#include <math.h>
#include <string.h>

#include "common/base/array.h"
#include "engine/checkpoint/config/model_config.h"
#include "engine/checkpoint/gguf/config_internal.h"

#define READING struct baton_gguf_reading

/* ---- windows ---- */

/* Writes a list of flags, true where a layer has a window. */
static enum baton_err put_layer_types(READING *reading, const struct baton_gguf_value *flags)
{
    static const char name[] = "attention.sliding_window_pattern";
    bool windowed = false;
    if (flags->n < (uint64_t)reading->n_layers || flags->type != BATON_GGUF_BOOL)
        return baton_gguf_refuse(reading, name, "a whole number, or a flag for every layer");
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

/* Writes a pattern: every n-th layer is without a window. */
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
        err = baton_gguf_refuse(reading, name,
                                "a whole number in 1..1024, or a flag for every layer");
    if (err)
        return err;
    baton_json_open(&reading->out, "layer_types", '[');
    for (int64_t i = 1; i <= reading->n_layers; i++)
        baton_json_put_string(&reading->out, NULL, i % n ? "sliding_attention" : "full_attention");
    baton_json_close(&reading->out, ']');
    return BATON_OK;
}

enum baton_err baton_gguf_put_windows(READING *reading)
{
    int64_t window = 0;
    enum baton_err err = baton_gguf_get_int(reading, "attention.sliding_window", &window);
    if (err)
        return err;
    if (window)
        baton_json_put_int(&reading->out, "sliding_window", window);
    else if (reading->family->traits & BATON_GGUF_OPEN ||
             baton_gguf_value(reading, "attention.sliding_window"))
        baton_json_put_null(&reading->out, "sliding_window");
    return window ? put_pattern(reading) : BATON_OK;
}

/* ---- scales and caps ---- */

/* Writes numbers that both formats have under these names; 0 means none. */
enum baton_err baton_gguf_put_caps(READING *reading)
{
    static const struct {
        const char *key, *name;
    } numbers[] = {{"attn_logit_softcapping", "attn_logit_softcapping"},
                   {"final_logit_softcapping", "final_logit_softcapping"},
                   {"attention.clamp_kqv", "clip_qkv"}};
    enum baton_err err = BATON_OK;
    for (size_t i = 0; i < BATON_N_OF(numbers) && !err; i++) {
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

/* Writes MiniCPM's scales. The constants are those of its config.json, which its older files leave
 * out. */
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

enum baton_err baton_gguf_put_scales(READING *reading)
{
    const bool divides = reading->family->traits & BATON_GGUF_GRANITE;
    const struct {
        const char *key, *name;
    } scales[] = {{"embedding_scale", "embedding_multiplier"},
                  {"residual_scale", "residual_multiplier"},
                  {"logit_scale", divides ? "logits_scaling" : "logit_scale"},
                  {"attention.scale", "attention_multiplier"}};
    enum baton_err err = BATON_OK;
    if (!strcmp(reading->family->model_type, "minicpm"))
        return put_minicpm_scales(reading);
    for (size_t i = 0; i < BATON_N_OF(scales) && !err; i++) {
        double scale = 0;
        err = baton_gguf_get_real(reading, scales[i].key, &scale);
        if (scale != 0)
            baton_json_put_exact(&reading->out, scales[i].name, scale);
        else if (divides) /* Granite's family has defaults, which an absent key switches off */
            baton_json_put_null(&reading->out, scales[i].name);
    }
    return err;
}

/* Writes the divisor of Gemma's scores. Only the 27B models of Gemma 2 and 3, known by their number
 * of layers, scale by a size other than a head's. */
void baton_gguf_put_query_scalar(READING *reading)
{
    bool is_27b = reading->n_layers == (reading->family->traits & BATON_GGUF_LOCAL_ROPE ? 62 : 46);
    if (reading->family->traits & BATON_GGUF_QUERY_SCALAR && reading->head_dim)
        baton_json_put_int(&reading->out, "query_pre_attn_scalar",
                           is_27b ? reading->n_embd / reading->n_heads : reading->head_dim);
}
