/* Rotary embeddings of a GGUF model. */
#include <math.h>
#include <string.h>

#include "common/base/array.h"
#include "engine/checkpoint/config/model_config.h"
#include "engine/checkpoint/gguf/config_internal.h"
#include "engine/checkpoint/tensor.h"

#define READING struct baton_gguf_reading

/* ---- factors for each pair, stored as tensors ---- */

float baton_gguf_factor(const struct baton_tensor *tensor, int64_t i)
{
    float factor;
    memcpy(&factor, tensor->data + (size_t)i * sizeof factor, sizeof factor);
    return factor;
}

static enum baton_err find_factors(const READING *reading, const char *name,
                                   const struct baton_tensor **tensor)
{
    const struct baton_tensor *found = baton_gguf_model_find(reading->model, name);
    if (found && (found->dtype != BATON_ELEMENT_F32 || found->n_dims != 1 ||
                  found->shape[0] > BATON_MAX_ROTARY_PAIRS))
        return baton_fail(reading->why, BATON_INVALID,
                          "tensor %s: must be a list of 1 to %d numbers in F32", name,
                          BATON_MAX_ROTARY_PAIRS);
    for (int64_t i = 0; found && i < found->shape[0]; i++)
        if (!(baton_gguf_factor(found, i) > 0) || !isfinite(baton_gguf_factor(found, i)))
            return baton_fail(reading->why, BATON_INVALID,
                              "tensor %s: must hold numbers over 0, not %g", name,
                              (double)baton_gguf_factor(found, i));
    *tensor = found;
    return BATON_OK;
}

static void put_factors(struct baton_json_out *out, const char *name,
                        const struct baton_tensor *tensor)
{
    baton_json_open(out, name, '[');
    for (int64_t i = 0; i < tensor->shape[0]; i++)
        baton_json_put_exact(out, NULL, (double)baton_gguf_factor(tensor, i));
    baton_json_close(out, ']');
}

/* Writes lists as LongRoPE, which has two. Llama 3's scaling is one divisor for each pair: LongRoPE
 * with the same list for short and long texts. */
static enum baton_err put_listed(READING *reading, const struct baton_tensor *shorter,
                                 const struct baton_tensor *longer)
{
    struct baton_json_out *out = &reading->out;
    int64_t original = 0;
    /* One list is Llama 3's, which leaves sine and cosine alone; two are LongRoPE's, whose factor
     * is derived from the lengths unless the file gives it. */
    double attention_factor = shorter == longer;
    enum baton_err err =
        baton_gguf_get_int(reading, "rope.scaling.original_context_length", &original);
    if (!err)
        err = baton_gguf_get_real(reading, "rope.scaling.attn_factor", &attention_factor);
    if (err)
        return err;
    baton_json_open(out, "rope_scaling", '{');
    baton_json_put_string(out, "rope_type", "longrope");
    put_factors(out, "short_factor", shorter);
    put_factors(out, "long_factor", longer);
    if (original)
        baton_json_put_int(out, "original_max_position_embeddings", original);
    if (attention_factor != 0)
        baton_json_put_exact(out, "attention_factor", attention_factor);
    baton_json_close(out, '}');
    return BATON_OK;
}

/* ---- scaling by numbers ---- */

static void put_some(struct baton_json_out *out, const char *name, double number)
{
    if (number != 0)
        baton_json_put_exact(out, name, number);
}

/* Reads the factor on sine and cosine, which the file gives whole or as llama.cpp's multiplier; 0:
 * not given. */
static enum baton_err get_attention_factor(const READING *reading, double factor, double *attention)
{
    double more = 1;
    *attention = 0;
    enum baton_err err = baton_gguf_get_real(reading, "rope.scaling.yarn_attn_factor", attention);
    if (!err)
        err = baton_gguf_get_real(reading, "rope.scaling.attn_factor", &more);
    /* llama.cpp multiplies YaRN's own factor, 0.1 ln(factor) + 1. */
    if (!err && *attention == 0 && more != 1)
        *attention = factor > 1 ? 0.1 * log(factor) + 1 : 1;
    *attention *= more;
    return err;
}

static enum baton_err put_yarn(READING *reading, double factor)
{
    static const struct {
        const char *key, *name;
    } numbers[] = {{"rope.scaling.yarn_beta_fast", "beta_fast"},
                   {"rope.scaling.yarn_beta_slow", "beta_slow"},
                   {"attention.temperature_scale", "llama_4_scaling_beta"}};
    struct baton_json_out *out = &reading->out;
    bool has_latents = reading->family->traits & BATON_GGUF_LATENTS;
    int64_t original = 0;
    double attention = 0, number, multiplier = 0;
    enum baton_err err =
        baton_gguf_get_int(reading, "rope.scaling.original_context_length", &original);
    if (!err)
        err = get_attention_factor(reading, factor, &attention);
    if (!err)
        err = baton_gguf_get_real(reading, "rope.scaling.yarn_log_multiplier", &multiplier);
    if (err)
        return err;
    baton_json_open(out, "rope_scaling", '{');
    baton_json_put_string(out, "rope_type", "yarn");
    baton_json_put_exact(out, "factor", factor);
    if (original)
        baton_json_put_int(out, "original_max_position_embeddings", original);
    /* mscale_all_dim counts only beside mscale (engine/arch/rope.c). */
    put_some(out, "attention_factor", attention);
    /* DeepSeek's files have a tenth of it, and leave out that mscale is the same number. */
    put_some(out, "mscale", has_latents ? 10 * multiplier : multiplier != 0);
    put_some(out, "mscale_all_dim", has_latents ? 10 * multiplier : multiplier);
    for (size_t i = 0; i < BATON_N_OF(numbers) && !err; i++) {
        number = 0;
        err = baton_gguf_get_real(reading, numbers[i].key, &number);
        put_some(out, numbers[i].name, number);
    }
    if (reading->family->traits & BATON_GGUF_WHOLE_PAIRS)
        baton_json_put_bool(out, "truncate", false);
    baton_json_close(out, '}');
    return err;
}

/* Refuses a factor on sine and cosine where the scaling is neither YaRN nor LongRoPE. */
static enum baton_err refuse_attention_factor(const READING *reading)
{
    double factor = 1;
    enum baton_err err = baton_gguf_get_real(reading, "rope.scaling.attn_factor", &factor);
    if (!err && factor != 1 && factor != 0)
        err = baton_gguf_refuse(reading, "rope.scaling.attn_factor",
                                "1 where rope.scaling.type is none or linear");
    return err;
}

static enum baton_err put_linear(READING *reading, double factor)
{
    struct baton_json_out *out = &reading->out;
    baton_json_open(out, "rope_scaling", '{');
    baton_json_put_string(out, "rope_type", "linear");
    baton_json_put_exact(out, "factor", factor);
    baton_json_close(out, '}');
    return BATON_OK;
}

static enum baton_err get_type(const READING *reading, struct baton_gguf_text *type)
{
    const struct baton_gguf_value *value = baton_gguf_value(reading, "rope.scaling.type");
    char key[BATON_GGUF_KEY_BYTES];
    *type = (struct baton_gguf_text){"linear", 6};
    if (!value || baton_gguf_text(value, type))
        return BATON_OK;
    return baton_fail(reading->why, BATON_INVALID, "%s: must be a text",
                      baton_gguf_key(reading, "rope.scaling.type", key));
}

/* Writes the scaling by type and factor. A factor without a type scales linearly. */
static enum baton_err put_computed(READING *reading)
{
    struct baton_gguf_text type;
    double factor = 0;
    char key[BATON_GGUF_KEY_BYTES];
    enum baton_err err = get_type(reading, &type);
    if (!err)
        err = baton_gguf_get_real(reading, "rope.scale_linear", &factor);
    if (!err)
        err = baton_gguf_get_real(reading, "rope.scaling.factor", &factor);
    if (err)
        return err;
    if (baton_gguf_text_is(type, "yarn"))
        return put_yarn(reading, factor == 0 ? 1 : factor);
    err = refuse_attention_factor(reading);
    if (err)
        return err;
    if (baton_gguf_text_is(type, "linear") && factor != 0 && factor != 1)
        return put_linear(reading, factor);
    if (baton_gguf_text_is(type, "longrope"))
        return baton_fail(reading->why, BATON_INVALID,
                          "tensor rope_factors_long.weight is missing");
    if (!baton_gguf_text_is(type, "linear") && !baton_gguf_text_is(type, "none"))
        return baton_fail(reading->why, BATON_INVALID,
                          "%s: \"%.*s\" is not supported (supported: none, linear, yarn, longrope)",
                          baton_gguf_key(reading, "rope.scaling.type", key),
                          (int)(type.n < 40 ? type.n : 40), type.bytes);
    baton_json_put_null(&reading->out, "rope_scaling");
    return BATON_OK;
}

/* Refuses divisors beside a scaling by numbers: no model has both, and their order would be a
 * guess. */
static enum baton_err refuse_both(const READING *reading)
{
    struct baton_gguf_text type;
    double factor = 0;
    char key[BATON_GGUF_KEY_BYTES];
    enum baton_err err = get_type(reading, &type);
    if (!err)
        err = baton_gguf_get_real(reading, "rope.scaling.factor", &factor);
    if (!err && factor != 0 && factor != 1 && !baton_gguf_text_is(type, "none"))
        return baton_fail(reading->why, BATON_INVALID,
                          "%s: %g is not supported beside tensor rope_freqs.weight",
                          baton_gguf_key(reading, "rope.scaling.factor", key), factor);
    return err;
}

static enum baton_err put_scaling(READING *reading)
{
    const struct baton_tensor *longer = NULL, *shorter = NULL, *divisors = NULL;
    enum baton_err err = find_factors(reading, "rope_factors_long.weight", &longer);
    if (!err)
        err = find_factors(reading, "rope_factors_short.weight", &shorter);
    if (!err)
        err = find_factors(reading, "rope_freqs.weight", &divisors);
    if (err)
        return err;
    if (longer && shorter)
        return put_listed(reading, shorter, longer);
    if (longer || shorter)
        return baton_fail(reading->why, BATON_INVALID, "tensor rope_factors_%s.weight is missing",
                          longer ? "short" : "long");
    if (!divisors)
        return put_computed(reading);
    err = refuse_both(reading);
    return err ? err : put_listed(reading, divisors, divisors);
}

/* ---- all parts ---- */

/* Granite's files switch the rotation off by a key that says something else in other files. */
static enum baton_err put_granite_switch(READING *reading)
{
    static const char name[] = "rope.scaling.finetuned";
    const struct baton_gguf_value *value = baton_gguf_value(reading, name);
    bool turns = true;
    if (!(reading->family->traits & BATON_GGUF_GRANITE) ||
        (!value && !(reading->family->traits & BATON_GGUF_MAMBA)))
        return BATON_OK;
    if (value && !baton_gguf_flag(value, &turns))
        return baton_gguf_refuse(reading, name, "true or false");
    baton_json_put_string(&reading->out, "position_embedding_type", turns ? "rope" : "nope");
    return BATON_OK;
}

static enum baton_err put_local(READING *reading, double theta)
/* Gemma 3's files leave the local base out: llama.cpp has 10000 for its layers with a window. */
{
    double local = reading->family->traits & BATON_GGUF_LOCAL_ROPE ? 10000 : theta;
    enum baton_err err = baton_gguf_get_real(reading, "rope.freq_base_swa", &local);
    if (!err && (local != theta || reading->family->traits & BATON_GGUF_LOCAL_ROPE))
        baton_json_put_exact(&reading->out, "rope_local_base_freq", local);
    return err;
}

enum baton_err baton_gguf_put_ropes(READING *reading)
{
    double theta = 10000;
    int64_t n_rotated = reading->head_dim;
    if (reading->family->traits & BATON_GGUF_BY_LAYER)
        return baton_gguf_put_layer_ropes(reading);
    enum baton_err err = baton_gguf_get_real(reading, "rope.freq_base", &theta);
    if (!err)
        err = baton_gguf_get_int(reading, "rope.dimension_count", &n_rotated);
    if (err)
        return err;
    baton_json_put_exact(&reading->out, "rope_theta", theta);
    if (reading->head_dim)
        baton_json_put_exact(&reading->out, "partial_rotary_factor",
                             (double)n_rotated / (double)reading->head_dim);
    err = put_local(reading, theta);
    if (!err)
        err = put_granite_switch(reading);
    return err ? err : put_scaling(reading);
}
