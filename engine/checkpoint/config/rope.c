/* Reads rope_scaling, and rope_parameters, which replaces it since transformers 5. Both hold the
 * parameters of rotary embeddings; rope_parameters may hold an object for each type of layer. */
#include <stdio.h>
#include <string.h>

#include "common/base/array.h"
#include "engine/checkpoint/config/internal.h"
#include "engine/checkpoint/config/table.h"

#define ROPE      struct baton_rope_config
#define AT(field) offsetof(ROPE, field)

enum { MAX_PAIRS = BATON_MAX_ROTARY_PAIRS };
static const double smallest = 1e-9, largest = 1e6; /* the range of factors */

/* clang-format off: one key a line */
static const struct baton_config_row rows[] = {
    {{"rope_type", "type"}, BATON_CONFIG_TEXT, AT(type), 0, sizeof(((ROPE *)0)->type), 0},
    {{"rope_theta"}, BATON_CONFIG_REAL, AT(theta), 1 + 1e-9, 1e12, 0},
    {{"partial_rotary_factor"}, BATON_CONFIG_REAL, AT(partial_rotary_factor), 1e-9, 1, 0},
    {{"factor"}, BATON_CONFIG_REAL, AT(factor), 1, 1e6, 0},
    {{"original_max_position_embeddings"},
     BATON_CONFIG_SIZE,
     AT(original_context),
     1,
     BATON_MAX_CONTEXT,
     0},
    {{"low_freq_factor"}, BATON_CONFIG_REAL, AT(low_freq_factor), 1e-9, 1e6, 0},
    {{"high_freq_factor"}, BATON_CONFIG_REAL, AT(high_freq_factor), 1e-9, 1e6, 0},
    {{"beta_fast"}, BATON_CONFIG_REAL, AT(beta_fast), 1e-9, 1e6, 0},
    {{"beta_slow"}, BATON_CONFIG_REAL, AT(beta_slow), 1e-9, 1e6, 0},
    {{"attention_factor"}, BATON_CONFIG_REAL, AT(attention_factor), 1e-9, 1e6, 0},
    {{"mscale"}, BATON_CONFIG_REAL, AT(mscale), 0, 1e6, 0},
    {{"mscale_all_dim"}, BATON_CONFIG_REAL, AT(mscale_all_dim), 0, 1e6, 0},
    {{"alpha"}, BATON_CONFIG_REAL, AT(alpha), 1, 1e6, 0},
    {{"llama_4_scaling_beta"}, BATON_CONFIG_REAL, AT(query_scaling_beta), 0, 1e6, 0},
    {{"mrope_interleaved"}, BATON_CONFIG_FLAG, AT(mrope_interleaved), 0, 0, 0},
    {{"truncate"}, BATON_CONFIG_FLAG, AT(truncate), 0, 0, 0},
};
/* clang-format on */

/* The other known keys: lists, which read_factors reads, and keys that change no result. */
static const char *const others[] = {"short_factor", "long_factor", "mrope_section", "finetuned",
                                     "max_position_embeddings"};

static bool is_known(const char *key)
{
    for (size_t i = 0; i < BATON_N_OF(others); i++)
        if (!strcmp(others[i], key))
            return true;
    for (size_t i = 0; i < BATON_N_OF(rows); i++)
        for (int k = 0; k < BATON_CONFIG_MAX_NAMES && rows[i].names[k]; k++)
            if (!strcmp(rows[i].names[k], key))
                return true;
    return false;
}

/* An unknown key is refused rather than ignored: it may scale positions in a way that would give
 * wrong tokens without an error. */
static enum baton_err check_keys(const struct baton_json *object, const char *prefix,
                                 struct baton_why *why)
{
    for (void *it = baton_json_first(object); it; it = baton_json_next(object, it))
        if (!is_known(baton_json_key(it)) &&
            baton_json_kind(baton_json_member(it)) != BATON_JSON_NULL)
            return baton_fail(why, BATON_INVALID, "%s%.40s: not supported", prefix,
                              baton_json_key(it));
    return BATON_OK;
}

static enum baton_err read_factors(const struct baton_json *object, const char *prefix,
                                   const char *name, double *factors, int *n_factors,
                                   struct baton_why *why)
{
    const struct baton_json *list = baton_json_get(object, name);
    size_t n = baton_json_size(list);
    if (baton_json_kind(list) == BATON_JSON_NULL)
        return BATON_OK;
    if (baton_json_kind(list) != BATON_JSON_ARRAY || n < 1 || n > MAX_PAIRS)
        return baton_config_refuse(prefix, name, list, "a list of 1 to 256 numbers", why);
    for (size_t i = 0; i < n; i++) {
        const struct baton_json *factor = baton_json_at(list, i);
        if (!baton_config_is_number(factor, smallest, largest))
            return baton_config_refuse(prefix, name, factor, "a list of numbers in 1e-09..1e+06",
                                       why);
        factors[i] = baton_json_number(factor);
    }
    *n_factors = (int)n;
    return BATON_OK;
}

/* Reads mrope_section: [24, 20, 20], the pairs that turn by time, by row and by column. */
static enum baton_err read_sections(const struct baton_json *object, const char *prefix, ROPE *rope,
                                    struct baton_why *why)
{
    static const char name[] = "mrope_section";
    const struct baton_json *list = baton_json_get(object, name);
    size_t n = baton_json_size(list);
    if (baton_json_kind(list) == BATON_JSON_NULL)
        return BATON_OK;
    if (baton_json_kind(list) != BATON_JSON_ARRAY || n < 3 || n > 4)
        return baton_config_refuse(prefix, name, list, "a list of 3 or 4 numbers", why);
    for (size_t i = 0; i < n; i++) {
        const struct baton_json *pairs = baton_json_at(list, i);
        if (!baton_config_is_whole(pairs, 0, MAX_PAIRS))
            return baton_config_refuse(prefix, name, pairs, "a list of whole numbers in 0..256",
                                       why);
        rope->n_mrope += (int)baton_json_int(pairs);
    }
    return BATON_OK;
}

/* Reads *rope, whose theta and rotated share stay where the object has none. */
static enum baton_err read_rope(const struct baton_json *object, const char *prefix, ROPE *rope,
                                struct baton_why *why)
{
    static const ROPE unsaid = {.truncate = true};
    const struct baton_config_table table = {rows, BATON_N_OF(rows), &unsaid};
    ROPE read = unsaid;
    uint64_t features = 0;
    read.theta = rope->theta;
    read.partial_rotary_factor = rope->partial_rotary_factor;
    enum baton_err err = check_keys(object, prefix, why);
    if (!err)
        err = baton_config_read_table(&table, object, prefix, &read, &features, why);
    if (!err)
        err = read_sections(object, prefix, &read, why);
    if (!err)
        err = read_factors(object, prefix, "short_factor", read.short_factor, &read.n_short, why);
    if (!err)
        err = read_factors(object, prefix, "long_factor", read.long_factor, &read.n_long, why);
    if (!err)
        *rope = read;
    return err;
}

/* The keys beside rope_parameters hold for all types of layers, a family's defaults for none. */
static double share_beside(const struct baton_json *root)
{
    const struct baton_json *share = baton_json_get(root, "partial_rotary_factor");
    return baton_config_is_number(share, smallest, 1) ? baton_json_number(share) : 0;
}

/* Reads an object that holds one object for each type of layer. */
static enum baton_err read_by_layer(const struct baton_json *root, const struct baton_json *object,
                                    const char *prefix, struct baton_model_config *config,
                                    struct baton_why *why)
{
    char full[96], sliding[96];
    const struct baton_json *local = baton_json_get(object, "sliding_attention");
    (void)snprintf(full, sizeof full, "%sfull_attention.", prefix);
    (void)snprintf(sliding, sizeof sliding, "%ssliding_attention.", prefix);
    for (void *it = baton_json_first(object); it; it = baton_json_next(object, it))
        if (baton_json_kind(baton_json_member(it)) != BATON_JSON_OBJECT ||
            (strcmp(baton_json_key(it), "full_attention") != 0 &&
             strcmp(baton_json_key(it), "sliding_attention") != 0))
            return baton_fail(why, BATON_INVALID, "%s%.40s: not supported", prefix,
                              baton_json_key(it));
    config->rope.partial_rotary_factor = share_beside(root);
    enum baton_err err =
        read_rope(baton_json_get(object, "full_attention"), full, &config->rope, why);
    if (!err && local) {
        config->local_rope.partial_rotary_factor = share_beside(root);
        err = read_rope(local, sliding, &config->local_rope, why);
        config->features |= BATON_FEATURE(LOCAL_ROPE);
    }
    return err;
}

static enum baton_err read_object(const struct baton_json *root, const struct baton_json *object,
                                  const char *prefix, const char *name,
                                  struct baton_model_config *config, struct baton_why *why)
{
    char within[64];
    enum baton_json_kind kind = baton_json_kind(object);
    static const struct baton_json *const nothing = NULL;
    (void)snprintf(within, sizeof within, "%s%s.", prefix, name);
    if (kind == BATON_JSON_NULL) /* an explicit null: no scaling, whatever the default */
        return read_rope(nothing, within, &config->rope, why);
    if (kind != BATON_JSON_OBJECT)
        return baton_config_refuse(prefix, name, object, "an object", why);
    if (baton_json_get(object, "full_attention"))
        return read_by_layer(root, object, within, config, why);
    return read_rope(object, within, &config->rope, why);
}

static bool is_scaled(const ROPE *rope)
{
    return rope->type[0] && strcmp(rope->type, "default") != 0 && strcmp(rope->type, "mrope") != 0;
}

enum baton_err baton_model_config_read_ropes(const struct baton_json *object, const char *prefix,
                                             struct baton_model_config *config,
                                             struct baton_why *why)
{
    static const char *const names[] = {"rope_parameters", "rope_scaling"};
    const uint64_t chosen = BATON_FEATURE(ROPE_SCALING) | BATON_FEATURE(PARTIAL_ROTARY) |
                            BATON_FEATURE(QUERY_SCALING) | BATON_FEATURE(MROPE) |
                            BATON_FEATURE(ROPE_ALPHA);
    enum baton_err err = BATON_OK;
    for (int i = 0; i < 2 && !err; i++) {
        const struct baton_json *value = baton_json_get(object, names[i]);
        bool other = baton_json_kind(baton_json_get(object, names[1 - i])) != BATON_JSON_NULL;
        /* A null beside the other name's object is a leftover; alone it removes the default's
         * scaling. */
        if (value && (baton_json_kind(value) != BATON_JSON_NULL || !other))
            err = read_object(object, value, prefix, names[i], config, why);
    }
    config->features &= ~chosen;
    if (is_scaled(&config->rope) || is_scaled(&config->local_rope))
        config->features |= BATON_FEATURE(ROPE_SCALING);
    if (config->rope.n_mrope || !strcmp(config->rope.type, "mrope"))
        config->features |= BATON_FEATURE(MROPE);
    if (config->rope.alpha > 0)
        config->features |= BATON_FEATURE(ROPE_ALPHA);
    if (config->rope.partial_rotary_factor > 0 && config->rope.partial_rotary_factor < 1)
        config->features |= BATON_FEATURE(PARTIAL_ROTARY);
    if (config->rope.query_scaling_beta > 0)
        config->features |= BATON_FEATURE(QUERY_SCALING);
    return err;
}
