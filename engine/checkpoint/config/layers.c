/* The lists of a config.json that have an entry for each layer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "engine/checkpoint/config/internal.h"
#include "engine/checkpoint/config/table.h"

#define CONFIG struct baton_model_config

/* ---- kinds of attention ---- */

static const struct {
    const char *name;
    enum baton_layer_type type;
} types[] = {
    {"full_attention", BATON_LAYER_FULL},
    {"sliding_attention", BATON_LAYER_SLIDING},
    {"linear_attention", BATON_LAYER_LINEAR},
    {"conv", BATON_LAYER_CONV},
    {"mamba", BATON_LAYER_MAMBA},
    {"mlp", BATON_LAYER_MLP}, /* Nemotron-H's layers have one part */
    {"moe", BATON_LAYER_MOE},
    {"attention", BATON_LAYER_FULL}, /* Granite 4's name */
    {"global", BATON_LAYER_FULL},    /* GPT-Neo's names */
    {"local", BATON_LAYER_SLIDING},
};

/* Refuses a kind by name, with what it is where that is known. */
static enum baton_err refuse_type(const char *prefix, const char *name,
                                  const struct baton_json *value, struct baton_why *why)
{
    static const struct {
        const char *name, *meaning;
    } unserved[] = {{"chunked_attention", "attention in chunks"},
                    {"recurrent", "a recurrent layer"}};
    const char *given = baton_json_string(value, NULL);
    enum baton_err err =
        baton_config_refuse(prefix, name, value, "full_attention or sliding_attention", why);
    struct baton_why said = *why;
    for (size_t i = 0; given && i < BATON_N_OF(unserved); i++)
        if (!strcmp(unserved[i].name, given))
            return baton_fail(why, err, "%.200s, %s", said.text, unserved[i].meaning);
    return err;
}

static enum baton_err add_type(CONFIG *config, const char *prefix, const char *name,
                               const struct baton_json *value, struct baton_why *why)
{
    const char *given = baton_json_string(value, NULL);
    for (size_t i = 0; given && i < BATON_N_OF(types); i++)
        if (!strcmp(types[i].name, given)) {
            if (config->n_layer_types < BATON_MAX_LAYERS)
                config->layer_types[config->n_layer_types] = (unsigned char)types[i].type;
            config->n_layer_types++;
            return BATON_OK;
        }
    return refuse_type(prefix, name, value, why);
}

static enum baton_err check_length(const CONFIG *config, const char *prefix, const char *name,
                                   int n, struct baton_why *why)
{
    if (n == config->n_layers)
        return BATON_OK;
    return baton_fail(why, BATON_INVALID, "%s%s: must have an entry for each of %d layers, not %d",
                      prefix, name, config->n_layers, n);
}

/* The number of layers, where only a list says it. */
static void take_length(CONFIG *config, size_t n)
{
    if (!config->n_layers && n <= BATON_MAX_LAYERS)
        config->n_layers = (int)n;
}

/* Reads layer_types: ["sliding_attention", "full_attention", ..]. */
static enum baton_err read_types(const struct baton_json *list, const char *prefix,
                                 const char *name, CONFIG *config, struct baton_why *why)
{
    enum baton_err err = BATON_OK;
    if (baton_json_kind(list) != BATON_JSON_ARRAY)
        return baton_config_refuse(prefix, name, list, "a list", why);
    take_length(config, baton_json_size(list));
    config->n_layer_types = 0;
    /* One entry over the maximum is read, so that check_length can report a list that is too
     * long. */
    for (size_t i = 0; i < baton_json_size(list) && i <= BATON_MAX_LAYERS && !err; i++)
        err = add_type(config, prefix, name, baton_json_at(list, i), why);
    return err ? err : check_length(config, prefix, name, config->n_layer_types, why);
}

/* Reads attention_types: [[["global", "local"], 12]], where each list is repeated 12 times. */
static enum baton_err read_repeated(const struct baton_json *list, const char *prefix,
                                    const char *name, CONFIG *config, struct baton_why *why)
{
    enum baton_err err = BATON_OK;
    config->n_layer_types = 0;
    for (size_t i = 0; i < baton_json_size(list) && !err; i++) {
        const struct baton_json *item = baton_json_at(list, i);
        const struct baton_json *names = baton_json_at(item, 0), *times = baton_json_at(item, 1);
        if (baton_json_kind(item) != BATON_JSON_ARRAY || !baton_json_size(names) ||
            !baton_config_is_whole(times, 1, BATON_MAX_LAYERS))
            return baton_config_refuse(prefix, name, item, "a list of [kinds, times]", why);
        for (int64_t k = 0; k < baton_json_int(times) && !err; k++)
            for (size_t j = 0; j < baton_json_size(names) && !err; j++) {
                err = add_type(config, prefix, name, baton_json_at(names, j), why);
                if (!err && config->n_layer_types > config->n_layers)
                    return check_length(config, prefix, name, config->n_layer_types, why);
            }
    }
    return err ? err : check_length(config, prefix, name, config->n_layer_types, why);
}

const char *baton_model_config_state_type(const CONFIG *config)
{
    for (int i = 0; i < config->n_layer_types; i++)
        for (size_t k = 0; k < BATON_N_OF(types); k++)
            if (types[k].type == config->layer_types[i] && types[k].type >= BATON_LAYER_LINEAR)
                return types[k].name;
    return "";
}

/* Reads Nemotron-H's hybrid_override_pattern: "M-*E", a letter a layer. */
static enum baton_err read_letters(const struct baton_json *value, const char *prefix,
                                   CONFIG *config, struct baton_why *why)
{
    static const char name[] = "hybrid_override_pattern", letters[] = "*M-E";
    static const enum baton_layer_type kinds[] = {BATON_LAYER_FULL, BATON_LAYER_MAMBA,
                                                  BATON_LAYER_MLP, BATON_LAYER_MOE};
    size_t n = 0;
    const char *text = baton_json_string(value, &n);
    if (!text || strspn(text, letters) != n)
        return baton_config_refuse(prefix, name, value, "a text of M, *, - and E", why);
    take_length(config, n);
    for (size_t i = 0; i < n && i < BATON_MAX_LAYERS; i++)
        config->layer_types[i] = (unsigned char)kinds[strchr(letters, text[i]) - letters];
    config->n_layer_types = n > INT_MAX ? INT_MAX : (int)n;
    return check_length(config, prefix, name, config->n_layer_types, why);
}

/* Reads LFM2's full_attn_idxs: [2, 5], the numbers of the layers with attention. */
static enum baton_err read_attending(const struct baton_json *list, const char *prefix,
                                     CONFIG *config, struct baton_why *why)
{
    static const char name[] = "full_attn_idxs";
    if (baton_json_kind(list) != BATON_JSON_ARRAY)
        return baton_config_refuse(prefix, name, list, "a list", why);
    config->n_layer_types = config->n_layers;
    memset(config->layer_types, BATON_LAYER_CONV, (size_t)config->n_layers);
    for (size_t i = 0; i < baton_json_size(list); i++) {
        const struct baton_json *layer = baton_json_at(list, i);
        if (!baton_config_is_whole(layer, 0, config->n_layers - 1))
            return baton_config_refuse(prefix, name, layer, "a list of layers' numbers", why);
        config->layer_types[baton_json_int(layer)] = BATON_LAYER_FULL;
    }
    return BATON_OK;
}

static enum baton_err read_all_types(const struct baton_json *object, const char *prefix,
                                     CONFIG *config, struct baton_why *why)
{
    static const char *const lists[] = {"layer_types", "layers_block_type", "attention_layers"};
    const struct baton_json *repeated = baton_json_get(object, "attention_types"),
                            *letters = baton_json_get(object, "hybrid_override_pattern"),
                            *attending = baton_json_get(object, "full_attn_idxs");
    enum baton_err err = BATON_OK;
    bool found = false;
    for (size_t i = 0; i < BATON_N_OF(lists) && !err && !found; i++) {
        const struct baton_json *list = baton_json_get(object, lists[i]);
        found = baton_json_kind(list) != BATON_JSON_NULL;
        if (found)
            err = read_types(list, prefix, lists[i], config, why);
    }
    if (!found && baton_json_kind(repeated) != BATON_JSON_NULL)
        err = read_repeated(repeated, prefix, "attention_types", config, why);
    else if (!found && baton_json_kind(letters) != BATON_JSON_NULL)
        err = read_letters(letters, prefix, config, why);
    else if (!found && baton_json_kind(attending) != BATON_JSON_NULL)
        err = read_attending(attending, prefix, config, why);
    config->features &= ~(BATON_FEATURE(LAYER_TYPES) | BATON_FEATURE(LINEAR_LAYERS));
    for (int i = 0; i < config->n_layer_types && !err; i++)
        if (config->layer_types[i] >= BATON_LAYER_LINEAR)
            config->features |= BATON_FEATURE(LINEAR_LAYERS);
        else if (config->layer_types[i] != BATON_LAYER_FULL)
            config->features |= BATON_FEATURE(LAYER_TYPES);
    return err;
}

/* ---- layers without rotation, layers without experts ---- */

/* Reads no_rope_layers: [1, 1, 1, 0, ..], where 0 means no rotation. An empty list counts as
 * absent. */
static enum baton_err read_no_rope(const struct baton_json *object, const char *prefix,
                                   CONFIG *config, struct baton_why *why)
{
    static const char name[] = "no_rope_layers";
    const struct baton_json *list = baton_json_get(object, name);
    size_t n = baton_json_size(list);
    if (baton_json_kind(list) == BATON_JSON_NULL)
        return BATON_OK;
    if (baton_json_kind(list) != BATON_JSON_ARRAY)
        return baton_config_refuse(prefix, name, list, "a list", why);
    if (n && n != (size_t)config->n_layers)
        return check_length(config, prefix, name, n > INT_MAX ? INT_MAX : (int)n, why);
    for (size_t i = 0; i < n; i++) {
        const struct baton_json *rotates = baton_json_at(list, i);
        if (!baton_config_is_whole(rotates, 0, 1))
            return baton_config_refuse(prefix, name, rotates, "a list of 0 and 1", why);
        config->no_rope[i] = !baton_json_int(rotates);
        if (config->no_rope[i])
            config->features |= BATON_FEATURE(NO_ROPE_LAYERS);
    }
    config->n_no_rope = (int)n;
    return BATON_OK;
}

/* Reads mlp_only_layers: [0, 3], the numbers of the layers without experts. */
static enum baton_err read_dense(const struct baton_json *object, const char *prefix,
                                 CONFIG *config, struct baton_why *why)
{
    static const char name[] = "mlp_only_layers";
    const struct baton_json *list = baton_json_get(object, name);
    if (baton_json_kind(list) == BATON_JSON_NULL)
        return BATON_OK;
    if (baton_json_kind(list) != BATON_JSON_ARRAY)
        return baton_config_refuse(prefix, name, list, "a list", why);
    for (size_t i = 0; i < baton_json_size(list); i++) {
        const struct baton_json *layer = baton_json_at(list, i);
        if (!baton_config_is_whole(layer, 0, config->n_layers - 1))
            return baton_config_refuse(prefix, name, layer, "a list of layers' numbers", why);
        config->is_dense[baton_json_int(layer)] = true;
        config->features |= BATON_FEATURE(DENSE_LAYERS);
    }
    return BATON_OK;
}

/* ---- sizes of single layers ---- */

#define AT(field) offsetof(struct baton_layer_sizes, field)

static const struct baton_config_row size_rows[] = {
    {{"head_dim"}, BATON_CONFIG_SIZE, AT(head_dim), 1, BATON_MAX_WIDTH, 0},
    {{"num_key_value_heads"}, BATON_CONFIG_SIZE, AT(n_kv_heads), 1, BATON_MAX_WIDTH, 0},
    {{"intermediate_size"}, BATON_CONFIG_SIZE, AT(n_ff), 1, BATON_MAX_WIDTH, 0},
};

static bool is_size(const char *key)
{
    for (size_t i = 0; i < BATON_N_OF(size_rows); i++)
        if (!strcmp(size_rows[i].names[0], key))
            return true;
    return false;
}

/* Reads one layer's {"head_dim": 512, ..}. An unknown key would change the result. */
static enum baton_err read_sizes(const struct baton_json *object, const char *prefix,
                                 struct baton_layer_sizes *sizes, struct baton_why *why)
{
    static const struct baton_layer_sizes unsaid;
    const struct baton_config_table table = {size_rows, BATON_N_OF(size_rows), &unsaid};
    uint64_t features = 0;
    for (void *it = baton_json_first(object); it; it = baton_json_next(object, it))
        if (!is_size(baton_json_key(it)))
            return baton_fail(why, BATON_INVALID, "%s%.40s: not supported", prefix,
                              baton_json_key(it));
    return baton_config_read_table(&table, object, prefix, sizes, &features, why);
}

/* Reads per_layer_config: {"4": {"head_dim": 512, ..}, ..}. */
static enum baton_err read_per_layer(const struct baton_json *object, const char *prefix,
                                     CONFIG *config, struct baton_why *why)
{
    static const char name[] = "per_layer_config";
    const struct baton_json *layers = baton_json_get(object, name);
    enum baton_err err = BATON_OK;
    if (baton_json_kind(layers) == BATON_JSON_NULL)
        return BATON_OK;
    if (baton_json_kind(layers) != BATON_JSON_OBJECT)
        return baton_config_refuse(prefix, name, layers, "an object", why);
    for (void *it = baton_json_first(layers); it && !err; it = baton_json_next(layers, it)) {
        const char *key = baton_json_key(it);
        char within[96], *end;
        long layer = strtol(key, &end, 10);
        (void)snprintf(within, sizeof within, "%s%s.%.20s.", prefix, name, key);
        if (*key < '0' || *key > '9' || *end || layer >= config->n_layers ||
            baton_json_kind(baton_json_member(it)) != BATON_JSON_OBJECT)
            return baton_fail(why, BATON_INVALID,
                              "%s%s.%.20s: must be an object of one of %d layers", prefix, name,
                              key, config->n_layers);
        err = read_sizes(baton_json_member(it), within, &config->layer_sizes[layer], why);
    }
    config->features |= BATON_FEATURE(PER_LAYER_CONFIG);
    return err;
}

enum baton_err baton_model_config_read_layers(const struct baton_json *object, const char *prefix,
                                              CONFIG *config, struct baton_why *why)
{
    enum baton_err err = read_all_types(object, prefix, config, why);
    if (!err)
        err = read_no_rope(object, prefix, config, why);
    if (!err)
        err = read_per_layer(object, prefix, config, why);
    return err ? err : read_dense(object, prefix, config, why);
}
