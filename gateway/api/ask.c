#include "gateway/api/ask.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/random.h"

/* Seeds we choose are echoed as JSON numbers that every client reads exactly. */
#define OWN_SEED_MASK (((uint64_t)1 << 53) - 1)

enum { ID_MAX_DIGITS = 9 };

void gw_terms_fini(struct gw_terms *terms)
{
    free(terms->ask.bias);
    *terms = (struct gw_terms){0};
}

static void read_distribution(struct gw_fields *fields, struct gw_ask *ask)
{
    int64_t top_k = 0;
    ask->temperature = ask->top_p = ask->repetition_penalty = 1;
    gw_field_real(fields, "temperature", 0, false, 100, &ask->temperature);
    gw_field_int(fields, "top_k", 0, INT32_MAX, &top_k);
    gw_field_real(fields, "top_p", 0, true, 1, &ask->top_p);
    gw_field_real(fields, "min_p", 0, false, 1, &ask->min_p);
    gw_field_real(fields, "repetition_penalty", 0, true, INFINITY, &ask->repetition_penalty);
    gw_field_real(fields, "presence_penalty", -2, false, 2, &ask->presence_penalty);
    gw_field_real(fields, "frequency_penalty", -2, false, 2, &ask->frequency_penalty);
    ask->top_k = (uint32_t)top_k;
}

static void read_stop_ids(const struct gw_api *api, struct gw_fields *fields, struct gw_ask *ask)
{
    bool ignore_eos = false;
    size_t n = gw_field_ids(fields, "stop_token_ids", gw_field(fields, "stop_token_ids"),
                            api->facts->n_vocab, GW_MAX_CLIENT_STOP_IDS, ask->stop_ids);
    gw_field_bool(fields, "ignore_eos", &ignore_eos);
    for (int i = 0; i < api->facts->n_eos && !ignore_eos; i++)
        ask->stop_ids[n++] = (uint32_t)api->facts->eos_ids[i];
    ask->n_stop_ids = (int)n;
    ask->ignore_eos = ignore_eos;
}

static void read_stops(struct gw_fields *fields, struct gw_terms *terms)
{
    const struct baton_json *stop = gw_field(fields, "stop");
    bool one = baton_json_kind(stop) == BATON_JSON_STRING;
    size_t n = one ? 1 : baton_json_size(stop);
    if (fields->failed)
        return;
    if (stop && !one && baton_json_kind(stop) != BATON_JSON_ARRAY)
        gw_fields_fail(fields, "stop", "invalid_type",
                       "stop: must be a string or an array of strings");
    if (n > BATON_STOP_MAX)
        gw_fields_fail(fields, "stop", "out_of_range",
                       "stop: must hold at most %d strings, not %zu", BATON_STOP_MAX, n);
    for (size_t i = 0; i < n && !fields->failed; i++) {
        const struct baton_json *element = one ? stop : baton_json_at(stop, i);
        terms->stops[i] = baton_json_string(element, &terms->stop_bytes[i]);
        if (baton_json_kind(element) != BATON_JSON_STRING || !terms->stop_bytes[i] ||
            terms->stop_bytes[i] > BATON_STOP_MAX_BYTES)
            gw_fields_fail(fields, "stop", "out_of_range",
                           "stop: each must be a string of 1 to %d bytes", BATON_STOP_MAX_BYTES);
    }
    terms->n_stops = fields->failed ? 0 : (int)n;
}

/* An id as JSON writes it in a key: digits without leading zeros, so that each has one spelling. */
static bool read_id(const char *key, int64_t n_vocab, uint32_t *id)
{
    size_t n = strlen(key);
    if (!n || n > ID_MAX_DIGITS || strspn(key, "0123456789") != n || (n > 1 && key[0] == '0'))
        return false;
    *id = (uint32_t)strtoul(key, NULL, 10);
    return *id < (uint64_t)n_vocab;
}

static void read_one_bias(const struct gw_api *api, struct gw_fields *fields, void *member,
                          struct gw_logit_bias *bias)
{
    const struct baton_json *value = baton_json_member(member);
    enum baton_json_kind kind = baton_json_kind(value);
    bias->bias = baton_json_number(value);
    if (!read_id(baton_json_key(member), api->facts->n_vocab, &bias->id))
        gw_fields_fail(fields, "logit_bias", "out_of_range",
                       "logit_bias: \"%.32s\" is no token id from 0 to %lld",
                       baton_json_key(member), (long long)api->facts->n_vocab - 1);
    if ((kind != BATON_JSON_INT && kind != BATON_JSON_REAL) || bias->bias < -100 ||
        bias->bias > 100)
        gw_fields_fail(fields, "logit_bias", "out_of_range",
                       "logit_bias[\"%.32s\"]: must be a number from -100 to 100",
                       baton_json_key(member));
}

static void read_bias(const struct gw_api *api, struct gw_fields *fields, struct gw_ask *ask)
{
    const struct baton_json *object = gw_field(fields, "logit_bias");
    size_t n = baton_json_size(object);
    if (!object)
        return;
    if (baton_json_kind(object) != BATON_JSON_OBJECT) {
        gw_fields_fail(fields, "logit_bias", "invalid_type",
                       "logit_bias: must be an object {token id: number from -100 to 100}");
        return;
    }
    if (n > BATON_MAX_LOGIT_BIAS) {
        gw_fields_fail(fields, "logit_bias", "out_of_range",
                       "logit_bias: must hold at most %d ids, not %zu", BATON_MAX_LOGIT_BIAS, n);
        return;
    }
    ask->bias = calloc(n ? n : 1, sizeof *ask->bias);
    if (!ask->bias) {
        gw_fields_fail(fields, "logit_bias", "out_of_memory", "logit_bias: no memory for it");
        return;
    }
    for (void *it = baton_json_first(object); it; it = baton_json_next(object, it))
        read_one_bias(api, fields, it, &ask->bias[ask->n_bias++]);
}

void gw_terms_read(const struct gw_api *api, struct gw_fields *fields, struct gw_terms *terms)
{
    struct gw_ask *ask = &terms->ask;
    int64_t explain = 0;
    read_distribution(fields, ask);
    read_bias(api, fields, ask);
    read_stop_ids(api, fields, ask);
    read_stops(fields, terms);
    terms->seed = -1;
    gw_field_int(fields, "seed", 0, INT64_MAX, &terms->seed);
    terms->has_seed = terms->seed >= 0;
    gw_field_real(fields, "timeout_s", 0, true, GW_MAX_TIMEOUT_S, &terms->timeout_s);
    gw_field_int(fields, "explain", 0, BATON_MAX_LISTED, &explain);
    ask->explain = (uint32_t)explain;
    ask->kv_cache = ask->cache_prompt = true;
    gw_field_bool(fields, "cache_prompt", &ask->cache_prompt);
    ask->cache_prompt &= api->prefix_cache;
}

bool gw_terms_apply(const struct gw_terms *terms, int choice, struct gw_request *request)
{
    struct gw_ask *ask = &request->ask;
    struct baton_tokens prompt = ask->prompt;
    int64_t max_new_tokens = ask->max_new_tokens;
    *ask = terms->ask;
    ask->prompt = prompt;
    ask->max_new_tokens = max_new_tokens;
    /* Past the highest seed of a client they begin again at 0. */
    ask->seed = terms->has_seed ? ((uint64_t)terms->seed + (uint64_t)choice) & INT64_MAX
                                : baton_random_id() & OWN_SEED_MASK;
    ask->bias = NULL;
    if (terms->ask.n_bias) {
        ask->bias = malloc(terms->ask.n_bias * sizeof *ask->bias);
        if (!ask->bias)
            return false;
        memcpy(ask->bias, terms->ask.bias, terms->ask.n_bias * sizeof *ask->bias);
    }
    return !baton_text_stream_init(&request->text, terms->stops, terms->stop_bytes, terms->n_stops);
}
