#include "gateway/api/params/bias.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ID_MAX_DIGITS = 9 };

struct reading {
    const struct gw_api *api;
    struct gw_fields *fields;
    struct baton_sampling_params *params; /* its bias has room for BATON_MAX_LOGIT_BIAS ids */
};

/* Reads a token id from a JSON key: digits without leading zeros, so that each id has one spelling
 * and cannot be given twice. */
static bool read_id(const char *key, int64_t n_vocab, uint32_t *id)
{
    size_t n = strlen(key);
    if (!n || n > ID_MAX_DIGITS || strspn(key, "0123456789") != n || (n > 1 && key[0] == '0'))
        return false;
    *id = (uint32_t)strtoul(key, NULL, 10);
    return *id < (uint64_t)n_vocab;
}

static void fail_count(struct gw_fields *fields, size_t n)
{
    gw_fields_fail(fields, "logit_bias", "out_of_range",
                   "logit_bias: must hold at most %d ids, not %zu", BATON_MAX_LOGIT_BIAS, n);
}

/* Sets the bias of an id; a later one replaces it. */
static void put(struct reading *reading, uint32_t id, double bias)
{
    struct baton_sampling_params *params = reading->params;
    size_t i = 0;
    while (i < params->n_bias && params->bias[i].id != id)
        i++;
    if (i == BATON_MAX_LOGIT_BIAS) {
        fail_count(reading->fields, i + 1);
        return;
    }
    params->bias[i] = (struct baton_logit_bias){.id = id, .bias = (float)bias};
    params->n_bias += i == params->n_bias;
}

static double number_of(struct reading *reading, const char *name, const struct baton_json *value)
{
    enum baton_json_kind kind = baton_json_kind(value);
    double given = baton_json_number(value);
    if ((kind != BATON_JSON_INT && kind != BATON_JSON_REAL) || fabs(given) > BATON_MAX_BIAS)
        gw_fields_fail(reading->fields, "logit_bias", "out_of_range",
                       "logit_bias[\"%.32s\"]: must be a number from %d to %d", name,
                       -BATON_MAX_BIAS, BATON_MAX_BIAS);
    return given;
}

static void put_text(struct reading *reading, const char *text, size_t n, double bias)
{
    struct baton_tokens tokens = {0};
    struct baton_why why = {""};
    if (baton_tokenizer_encode(reading->api->tokenizer, text, n, false, BATON_MAX_LOGIT_BIAS,
                               &tokens, &why))
        gw_fields_fail(reading->fields, "logit_bias", "invalid_value", "logit_bias: %s", why.text);
    for (size_t i = 0; i < tokens.n && !reading->fields->failed; i++)
        put(reading, tokens.ids[i], bias);
    baton_tokens_fini(&tokens);
}

/* A key that is no number is a text, as llama.cpp's clients write it. */
static bool is_text(const char *key)
{
    return strspn(key, "+-.0123456789eE") != strlen(key);
}

static void read_member(struct reading *reading, void *member)
{
    int64_t n_vocab = reading->api->facts->n_vocab;
    const char *key = baton_json_key(member);
    uint32_t id = 0;
    if (is_text(key)) {
        double bias = number_of(reading, key, baton_json_member(member));
        if (!reading->fields->failed)
            put_text(reading, key, strlen(key), bias);
        return;
    }
    if (!read_id(key, n_vocab, &id))
        gw_fields_fail(reading->fields, "logit_bias", "out_of_range",
                       "logit_bias: \"%.32s\" is not a token id from 0 to %lld", key,
                       (long long)n_vocab - 1);
    double bias = number_of(reading, key, baton_json_member(member));
    if (!reading->fields->failed)
        put(reading, id, bias);
}

/* ---- pairs ---- */

static void read_pair(struct reading *reading, size_t at, const struct baton_json *pair)
{
    const struct baton_json *token = baton_json_at(pair, 0), *value = baton_json_at(pair, 1);
    char name[32];
    size_t n = 0;
    const char *text = baton_json_string(token, &n);
    int64_t id = baton_json_kind(token) == BATON_JSON_INT ? baton_json_int(token) : -1;
    bool is_ban = baton_json_kind(value) == BATON_JSON_BOOL && !baton_json_bool(value);
    (void)snprintf(name, sizeof name, "%zu", at);
    if (baton_json_kind(pair) != BATON_JSON_ARRAY || baton_json_size(pair) != 2 ||
        (!text && (id < 0 || id >= reading->api->facts->n_vocab))) {
        gw_fields_fail(reading->fields, "logit_bias", "invalid_type",
                       "logit_bias[%zu]: must be [token id or text, number or false]", at);
        return;
    }
    double bias = is_ban ? -BATON_MAX_BIAS : number_of(reading, name, value);
    if (reading->fields->failed)
        return;
    if (text)
        put_text(reading, text, n, bias);
    else
        put(reading, (uint32_t)id, bias);
}

void gw_bias_read(const struct gw_api *api, struct gw_fields *fields,
                  struct baton_sampling_params *params)
{
    struct reading reading = {.api = api, .fields = fields, .params = params};
    char wanted[96];
    (void)snprintf(wanted, sizeof wanted,
                   "an object {token id: number from %d to %d} or an array of such pairs",
                   -BATON_MAX_BIAS, BATON_MAX_BIAS);
    const struct baton_json *given =
        gw_field_of(fields, "logit_bias", GW_IS_OBJECT | GW_IS_ARRAY, wanted);
    size_t n = baton_json_size(given);
    if (!given || !n)
        return;
    if (n > BATON_MAX_LOGIT_BIAS) {
        fail_count(fields, n);
        return;
    }
    params->bias = calloc(BATON_MAX_LOGIT_BIAS, sizeof *params->bias);
    if (!params->bias) {
        gw_fields_fail(fields, "logit_bias", "out_of_memory", "logit_bias: no memory for it");
        return;
    }
    if (baton_json_kind(given) == BATON_JSON_OBJECT)
        for (void *it = baton_json_first(given); it; it = baton_json_next(given, it))
            read_member(&reading, it);
    for (size_t i = 0; i < n && baton_json_kind(given) == BATON_JSON_ARRAY && !fields->failed; i++)
        read_pair(&reading, i, baton_json_at(given, i));
}
