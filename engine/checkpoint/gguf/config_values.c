/* The values of an architecture's keys, and the keys that no supported model sets. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "engine/checkpoint/gguf/config_internal.h"

#define READING struct baton_gguf_reading

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

enum baton_err baton_gguf_refuse(const READING *reading, const char *name, const char *rule)
{
    char key[BATON_GGUF_KEY_BYTES];
    return baton_fail(reading->why, BATON_INVALID, "%s: must be %s",
                      baton_gguf_key(reading, name, key), rule);
}

/* Reads one number, or a list with the same number for every layer. */
enum baton_err baton_gguf_get_int(const READING *reading, const char *name, int64_t *number)
{
    const struct baton_gguf_value *value = baton_gguf_value(reading, name);
    int64_t first = 0, item = 0;
    struct baton_gguf_value one;
    if (!value)
        return BATON_OK;
    if (!value->is_array)
        return baton_gguf_int(value, number) ? BATON_OK
                                             : baton_gguf_refuse(reading, name, "a whole number");
    if (value->type == BATON_GGUF_TEXT || !value->n)
        return baton_gguf_refuse(reading, name, "a whole number, or a list of them");
    for (uint64_t i = 0; i < value->n; i++) {
        one = baton_gguf_item(value, i);
        if (!baton_gguf_int(&one, &item))
            return baton_gguf_refuse(reading, name, "a whole number, or a list of them");
        first = i ? first : item;
        if (item != first)
            return baton_gguf_refuse(reading, name, "the same for every layer");
    }
    *number = first;
    return BATON_OK;
}

double baton_gguf_decimal(float number)
{
    char text[32];
    /* A float needs 6 to 9 digits; the first that round back to it are the ones its author
     * wrote. */
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
        return baton_gguf_refuse(reading, name, "a number");
    *number = value->type == BATON_GGUF_F32 ? baton_gguf_decimal((float)given) : given;
    return BATON_OK;
}

bool baton_gguf_has(const READING *reading, const char *tensor)
{
    return baton_gguf_model_find(reading->model, tensor);
}

/* ---- keys that are not supported ---- */

/* Keys that change the result unless they have one of the values that every supported model has. */
static const struct {
    const char *name;
    double accepted[3];
} neutral_keys[] = {
    {"attention.causal", {1, 1, 1}},
    {"attention.max_alibi_bias", {0, 0, 0}},
    {"attention.key_length_mla", {0, 0, 0}},
    {"attention.shared_kv_layers", {0, 0, 0}},
    {"attention.value_scale", {1, 0, 0}},
    {"attention.output_scale", {1, 0, 0}},
    {"leading_dense_block_count", {0, 0, 0}},
    {"nextn_predict_layers", {0, 0, 0}},
    {"n_deepstack_layers", {0, 0, 0}},
    {"expert_group_count", {0, 1, 1}},
    {"expert_weights_scale", {1, 0, 0}},
    {"expert_gating_func", {1, 3, 0}}, /* a softmax over all experts, or over the chosen ones */
    {"router_logit_softcapping", {0, 0, 0}},
    {"rope.scaling.alpha", {0, 0, 0}},
    {"rope.scaling.yarn_ext_factor", {1, -1, -1}}, /* -1: the default of the kind of scaling */
    {"rope.dimension_sections", {0, 0, 0}},
    {"swiglu_clamp_exp", {0, 0, 0}},
    {"swiglu_clamp_shexp", {0, 0, 0}},
};

/* Whether a family's own part reads the key (config_layers.c, config_state.c,
 * config_latents.c). */
static bool is_read(const READING *reading, const char *name)
{
    unsigned traits = reading->family->traits;
    static const char *const of_latents[] = {
        "attention.key_length_mla", "leading_dense_block_count", "nextn_predict_layers",
        "expert_group_count",       "expert_weights_scale",      "expert_gating_func"};
    for (size_t i = 0; traits & BATON_GGUF_LATENTS && i < BATON_N_OF(of_latents); i++)
        if (!strcmp(of_latents[i], name))
            return true;
    return (traits & BATON_GGUF_BY_LAYER && !strcmp(name, "attention.shared_kv_layers")) ||
           (traits & BATON_GGUF_STATES && !strcmp(name, "nextn_predict_layers")) ||
           (traits & BATON_GGUF_SIGMOID &&
            (!strcmp(name, "expert_gating_func") || !strcmp(name, "expert_weights_scale") ||
             !strcmp(name, "expert_group_count") || !strcmp(name, "expert_group_used_count") ||
             !strcmp(name, "leading_dense_block_count"))) ||
           (traits & BATON_GGUF_ONE_PART && !strcmp(name, "expert_shared_count"));
}

/* Keys about pictures, which a text has not. */
static bool is_of_pictures(const READING *reading, const char *name)
{
    return reading->family->traits & BATON_GGUF_PICTURES &&
           (!strcmp(name, "rope.dimension_sections") || !strcmp(name, "n_deepstack_layers"));
}

static double number_of(struct baton_gguf_value value)
{
    double number = 0;
    bool flag = false;
    if (baton_gguf_flag(&value, &flag))
        return flag;
    (void)baton_gguf_real(&value, &number);
    return number;
}

/* Encoders have the one value of attention.causal that others must not have. */
static double normal(const READING *reading, const char *name, double number)
{
    bool is_causal = !strcmp(name, "attention.causal");
    return is_causal && reading->family->traits & BATON_GGUF_ENCODER ? number == 0 : number;
}

static bool is_accepted(const double accepted[3], double number)
{
    return number == accepted[0] || number == accepted[1] || number == accepted[2];
}

enum baton_err baton_gguf_check_neutral(const READING *reading)
{
    char key[BATON_GGUF_KEY_BYTES];
    for (size_t i = 0; i < BATON_N_OF(neutral_keys); i++) {
        if (is_read(reading, neutral_keys[i].name))
            continue;
        const struct baton_gguf_value *value = baton_gguf_value(reading, neutral_keys[i].name);
        if (is_of_pictures(reading, neutral_keys[i].name))
            continue;
        for (uint64_t k = 0; value && value->type != BATON_GGUF_TEXT && k < value->n; k++) {
            double number = number_of(baton_gguf_item(value, k));
            if (!is_accepted(neutral_keys[i].accepted,
                             normal(reading, neutral_keys[i].name, number)))
                return baton_fail(reading->why, BATON_INVALID, "%s: %g is not supported",
                                  baton_gguf_key(reading, neutral_keys[i].name, key), number);
        }
    }
    return BATON_OK;
}
