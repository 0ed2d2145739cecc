#include "gateway/api/params/params.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/digest.h"
#include "common/base/random.h"
#include "common/params/sampling.h"
#include "gateway/api/params/adapters.h"
#include "gateway/api/params/bad_words.h"
#include "gateway/api/params/bias.h"
#include "gateway/api/params/grammar.h"

/* The gateway's own seeds are echoed as JSON numbers, of which JavaScript reads only 53 bits
 * exactly. */
#define OWN_SEED_MASK (((uint64_t)1 << 53) - 1)

void gw_params_fini(struct gw_completion_params *params)
{
    baton_sampling_params_fini(&params->shared.sampling);
    *params = (struct gw_completion_params){0};
}

static void read_field(struct gw_fields *fields, const struct baton_sampling_field *field,
                       struct baton_sampling_params *params)
{
    double value = baton_sampling_field_get(field, params);
    int64_t count = (int64_t)value;
    bool flag = value != 0;
    switch (field->type) {
    case BATON_PARAM_REAL:
        gw_field_real(fields, field->name, field->min, field->above_min, field->max, &value);
        break;
    case BATON_PARAM_COUNT:
        gw_field_int(fields, field->name, (int64_t)field->min, (int64_t)field->max, &count);
        value = (double)count;
        break;
    case BATON_PARAM_FLAG:
        gw_field_bool(fields, field->name, &flag);
        value = flag;
        break;
    }
    baton_sampling_field_set(field, params, value);
}

/* Sets a default of the model's. A value that no request may have, such as -1 for "unknown", is
 * ignored. */
static void take_default(const char *name, double value, struct baton_sampling_params *params)
{
    const struct baton_sampling_field *field = baton_sampling_field_named(name);
    if (field && baton_sampling_field_in_range(field, value))
        baton_sampling_field_set(field, params, value);
}

/* Sets the sampling defaults of the model's authors. Their do_sample false means temperature 0. */
static void take_defaults(const struct baton_sampling_defaults *defaults,
                          struct baton_sampling_params *params)
{
    take_default("temperature", defaults->do_sample ? defaults->temperature : 0, params);
    take_default("top_k", defaults->top_k, params);
    take_default("top_p", defaults->top_p, params);
    take_default("repetition_penalty", defaults->repetition_penalty, params);
}

static void read_table(struct gw_fields *fields, struct baton_sampling_params *params)
{
    const struct baton_sampling_field *field;
    for (int i = 0; (field = baton_sampling_field_at(i)); i++)
        if (!field->set_by_route)
            read_field(fields, field, params);
}

static void read_stop_ids(const struct gw_api *api, struct gw_fields *fields,
                          struct gw_params *params)
{
    struct baton_sampling_params *sampling = &params->sampling;
    size_t n =
        gw_field_ids(fields, "stop_token_ids",
                     gw_field_of(fields, "stop_token_ids", GW_IS_ARRAY, "an array of token ids"),
                     api->facts->n_vocab, GW_MAX_CLIENT_STOP_IDS, sampling->stop_ids);
    gw_field_bool(fields, "ignore_eos", &params->ignore_eos);
    /* The client's ids are at most GW_MAX_CLIENT_STOP_IDS, so the model's always fit behind
     * them. */
    for (int i = 0; i < api->facts->n_eos && !params->ignore_eos; i++)
        sampling->stop_ids[n++] = (uint32_t)api->facts->eos_ids[i];
    sampling->n_stop_ids = n;
}

static void read_allowed_ids(const struct gw_api *api, struct gw_fields *fields,
                             struct baton_sampling_params *params)
{
    const struct baton_json *ids =
        gw_field_of(fields, "allowed_token_ids", GW_IS_ARRAY, "an array of token ids");
    size_t n = baton_json_size(ids);
    if (!n || fields->failed)
        return;
    params->allowed_ids = malloc((n < BATON_MAX_ALLOWED_IDS ? n : 1) * sizeof *params->allowed_ids);
    if (!params->allowed_ids)
        gw_fields_fail(fields, "allowed_token_ids", "out_of_memory",
                       "allowed_token_ids: no memory for it");
    else
        params->n_allowed_ids = gw_field_ids(fields, "allowed_token_ids", ids, api->facts->n_vocab,
                                             BATON_MAX_ALLOWED_IDS, params->allowed_ids);
}

/* A grammar and a list may leave no token in common. */
static void check_allowed_ids(struct gw_fields *fields, const struct baton_sampling_params *params)
{
    if (params->n_allowed_ids && params->grammar.kind != BATON_GRAMMAR_NONE)
        gw_fields_fail(fields, "allowed_token_ids", "invalid_value",
                       "allowed_token_ids: cannot be combined with another constraint on the "
                       "output");
}

static void read_stops(struct gw_fields *fields, struct gw_completion_params *params)
{
    const struct baton_json *stop =
        gw_field_of(fields, "stop", GW_IS_STRING | GW_IS_ARRAY, "a string or an array of strings");
    bool one = baton_json_kind(stop) == BATON_JSON_STRING;
    size_t n = one ? 1 : baton_json_size(stop);
    if (n == 1 && baton_json_is(one ? stop : baton_json_at(stop, 0), ""))
        n = 0; /* asks for nothing */
    if (fields->failed)
        return;
    if (n > BATON_STOP_MAX)
        gw_fields_fail(fields, "stop", "out_of_range",
                       "stop: must hold at most %d strings, not %zu", BATON_STOP_MAX, n);
    for (size_t i = 0; i < n && !fields->failed; i++) {
        const struct baton_json *element = one ? stop : baton_json_at(stop, i);
        params->stops[i] = baton_json_string(element, &params->stop_bytes[i]);
        if (baton_json_kind(element) != BATON_JSON_STRING || !params->stop_bytes[i] ||
            params->stop_bytes[i] > BATON_STOP_MAX_BYTES)
            gw_fields_fail(fields, "stop", "out_of_range",
                           "stop: each must be a string of 1 to %d bytes", BATON_STOP_MAX_BYTES);
    }
    params->n_stops = fields->failed ? 0 : (int)n;
}

/* ---- fields that routes share ---- */

/* Lists the first name of each model, as far as there is room. */
static const char *list_models(const struct gw_served *served, char *list, size_t size)
{
    int n = 0;
    for (size_t i = 0; i < served->n && n < (int)size - 1; i++)
        n += snprintf(list + n, size - (size_t)n, "%s\"%s\"", i ? ", " : "",
                      served->models[i]->names->list[0]);
    return list;
}

void gw_params_refuse_model(const struct gw_api *api, const char *name, struct gw_problem *problem)
{
    char list[200];
    *problem = (struct gw_problem){.status = 404, .code = "model_not_found"};
    (void)snprintf(problem->param, sizeof problem->param, "model");
    (void)snprintf(problem->message, sizeof problem->message, "model '%.128s' not found; %s %s",
                   name, list_models(api->served, list, sizeof list),
                   api->served->n > 1 ? "are served here" : "is served here");
}

static bool is_served(const struct gw_api *api, const char *name, struct baton_adapter_uses *uses)
{
    return gw_adapters_named(api, name, uses) || gw_model_names_has(api->names, name);
}

void gw_params_read_model(const struct gw_api *api, struct gw_fields *fields,
                          struct baton_adapter_uses *uses)
{
    const struct baton_json *model = gw_field_of(fields, "model", GW_IS_STRING, "a string");
    const char *name = baton_json_string(model, NULL);
    if (!model || fields->failed)
        return;
    if (!is_served(api, name, uses)) {
        gw_fields_fail(fields, "model", "model_not_found", "model: unknown");
        gw_params_refuse_model(api, name, &fields->problem);
    }
}

void gw_params_read_priority(struct gw_fields *fields, enum baton_priority *priority)
{
    static const char wanted[] =
        "\"interactive\", \"batch\" or an integer, of which those above 0 are batch";
    const struct baton_json *value =
        gw_field_of(fields, "priority", GW_IS_STRING | GW_IS_INT, wanted);
    if (!value)
        return;
    if (baton_json_kind(value) != BATON_JSON_STRING) {
        *priority =
            baton_json_number(value) > 0 ? BATON_PRIORITY_BATCH : BATON_PRIORITY_INTERACTIVE;
        return;
    }
    for (int i = 0; i < BATON_N_PRIORITIES; i++)
        if (baton_json_is(value, baton_priority_name((enum baton_priority)i))) {
            *priority = (enum baton_priority)i;
            return;
        }
    gw_fields_fail(fields, "priority", "invalid_value", "priority: must be %s", wanted);
}

void gw_params_read_tier(struct gw_fields *fields, enum baton_priority *priority)
{
    const struct baton_json *tier = gw_field(fields, "service_tier");
    if (tier && baton_json_is(tier, "flex") && !gw_field(fields, "priority"))
        *priority = BATON_PRIORITY_BATCH;
}

static void read_mode(struct gw_fields *members, struct baton_speculation *speculation)
{
    static const char *words[BATON_N_SPECULATION_MODES];
    for (int i = 0; i < BATON_N_SPECULATION_MODES; i++)
        words[i] = baton_speculation_mode_name((enum baton_speculation_mode)i);
    int mode = gw_field_word(members, "mode", words, BATON_N_SPECULATION_MODES);
    if (mode >= 0)
        speculation->mode = (enum baton_speculation_mode)mode;
}

/* Members that the body omits keep the server's values. */
static void read_speculation(struct gw_fields *fields, struct baton_speculation *speculation)
{
    const struct baton_json *value =
        gw_field_of(fields, "speculation", GW_IS_OBJECT,
                    "an object {\"mode\": string, \"max_tokens\": int, \"min_tokens\": int}");
    int64_t max_tokens = speculation->max_tokens, min_tokens = speculation->min_tokens;
    if (!value && !fields->schema)
        return;
    struct gw_fields members = gw_fields_enter(fields, "speculation", value);
    read_mode(&members, speculation);
    gw_field_int(&members, "max_tokens", 1, BATON_MAX_DRAFTS, &max_tokens);
    gw_field_int(&members, "min_tokens", 0, max_tokens, &min_tokens);
    gw_fields_refuse_unknown(&members);
    speculation->max_tokens = (int)max_tokens;
    speculation->min_tokens = (int)min_tokens;
    gw_fields_leave(fields, "speculation", &members);
}

/* ---- samplers of other servers that Baton does not have ---- */

/* Each sampler with the value that switches it off; if that is 0, negative values do too. */
static const struct {
    const char *name;
    double off;
} samplers[] = {
    {"typical", 1},
    {"tfs_z", 1},
    {"tfs", 1},
    {"top_a", 0},
    {"xtc_probability", 0},
    {"dry_multiplier", 0},
    {"mirostat", 0},
    {"mirostat_mode", 0},
    {"dynatemp_range", 0},
    {"smoothing_factor", 0},
    {"epsilon_cutoff", 0},
    {"eta_cutoff", 0},
    {"penalty_alpha", 0},
    {"no_repeat_ngram_size", 0},
    {"encoder_repetition_penalty", 1},
    {"guidance_scale", 1},
    {"length_penalty", 1},
    {"num_beams", 1},
    {"use_beam_search", 0},
    {"adaptive_target", -1},
};

/* Settings of these samplers. They are ignored, because they have no effect while their sampler is
 * switched off. */
static const char *const settings_of_samplers[] = {
    "xtc_threshold",         "dry_base",       "dry_allowed_length", "dry_penalty_last_n",
    "dry_sequence_breakers", "mirostat_tau",   "mirostat_eta",       "dynatemp_exponent",
    "smoothing_curve",       "adaptive_decay",
};

#define NAMED(NAME, name) #name ", "
#define FILTERS           BATON_FILTERS(NAMED)

static const char there_are[] =
    "temperature, " FILTERS
    "repetition_penalty, presence_penalty, frequency_penalty and logit_bias";

/* A field that leaves one switched off is accepted, a field that requests it is rejected with the
 * list of Baton's samplers. */
static void reject_samplers(struct gw_fields *fields)
{
    for (size_t i = 0; i < BATON_N_OF(samplers); i++)
        gw_field_off(fields, samplers[i].name, samplers[i].off, there_are);
    for (size_t i = 0; i < BATON_N_OF(settings_of_samplers); i++)
        (void)gw_field(fields, settings_of_samplers[i]);
}

/* ---- the prefix cache ---- */

/* The salt is the digest of n bytes. Without memory for a digest the prompt shares nothing. */
static void set_salt(struct gw_params *params, const void *bytes, size_t n)
{
    uint8_t digest[BATON_SHA256_BYTES];
    params->has_prefix_salt = !baton_sha256_of(bytes, n, digest);
    params->cache_prompt &= params->has_prefix_salt;
    if (params->has_prefix_salt)
        memcpy(params->prefix_salt, digest, sizeof params->prefix_salt);
}

void gw_params_read_cache(const struct gw_api *api, struct gw_fields *fields,
                          struct gw_params *params)
{
    size_t n = 0;
    params->cache_prompt = true;
    gw_field_bool(fields, "cache_prompt", &params->cache_prompt);
    params->cache_prompt &= api->prefix_cache;
    const char *salt =
        baton_json_string(gw_field_of(fields, "cache_salt", GW_IS_STRING, "a string"), &n);
    if (salt && !n)
        gw_fields_fail(fields, "cache_salt", "invalid_value",
                       "cache_salt: must have at least one character");
    else if (salt)
        set_salt(params, salt, n);
}

void gw_params_set_cache_epoch(struct gw_params *params, uint64_t epoch)
{
    uint8_t both[sizeof epoch + sizeof params->prefix_salt] = {0};
    memcpy(both, &epoch, sizeof epoch);
    if (params->has_prefix_salt)
        memcpy(both + sizeof epoch, params->prefix_salt, sizeof params->prefix_salt);
    if (epoch)
        set_salt(params, both, sizeof both);
}

void gw_params_set_cache_owner(struct gw_params *params, const struct gw_owner *owner)
{
    uint8_t both[sizeof owner->digest + sizeof params->prefix_salt] = {0};
    memcpy(both, owner->digest, sizeof owner->digest);
    if (params->has_prefix_salt)
        memcpy(both + sizeof owner->digest, params->prefix_salt, sizeof params->prefix_salt);
    set_salt(params, both, sizeof both);
}

/* ---- all of them ---- */

void gw_params_read(const struct gw_api *api, struct gw_fields *fields,
                    struct gw_completion_params *params)
{
    struct gw_params *shared = &params->shared;
    shared->sampling = (struct baton_sampling_params){BATON_SAMPLING_DEFAULTS};
    if (api->model_sampling)
        take_defaults(&api->facts->sampling, &shared->sampling);
    read_table(fields, &shared->sampling);
    reject_samplers(fields);
    gw_bias_read(api, fields, &shared->sampling);
    shared->speculation = api->speculation;
    read_speculation(fields, &shared->speculation);
    read_stop_ids(api, fields, shared);
    read_stops(fields, params);
    read_allowed_ids(api, fields, &shared->sampling);
    gw_grammar_read(fields, &shared->sampling, shared->ignore_eos);
    params->bad_words = gw_bad_words_read(fields, shared);
    check_allowed_ids(fields, &shared->sampling);
    gw_params_read_priority(fields, &shared->priority);
    params->seed =
        -1; /* outside the range, so it means "not given" and is no default in the schema */
    gw_field_int(fields, "seed", 0, INT64_MAX, &params->seed);
    if (params->seed < 0)
        params->seed = api->seed;
    params->has_seed = params->seed >= 0;
    gw_field_real(fields, "timeout_s", 0, true, GW_MAX_TIMEOUT_S, &params->timeout_s);
    shared->kv_cache = true;
    gw_params_read_cache(api, fields, shared);
    gw_adapters_read(api, fields, &shared->adapters);
}

void gw_params_read_logprobs(struct gw_fields *fields, struct baton_sampling_params *params)
{
    int64_t n = 0;
    gw_field_bool(fields, "logprobs", &params->logprobs);
    gw_field_int(fields, "top_logprobs", 0, BATON_MAX_LISTED, &n);
    if (n && !params->logprobs)
        gw_fields_fail(fields, "top_logprobs", "invalid_value",
                       "top_logprobs: only together with logprobs: true");
    params->top_logprobs = (uint32_t)n;
}

static bool copy_tokens(struct baton_tokens *to, const struct baton_tokens *from)
{
    to->ids = malloc(from->n * sizeof *to->ids);
    if (!to->ids)
        return false;
    memcpy(to->ids, from->ids, from->n * sizeof *to->ids);
    to->n = to->cap = from->n;
    return true;
}

bool gw_params_apply(const struct gw_completion_params *params, const struct baton_tokens *prompt,
                     int64_t max_new_tokens, int choice, struct gw_request *request)
{
    struct gw_params *own = &request->params;
    *own = params->shared;
    own->sampling = (struct baton_sampling_params){0};
    own->max_new_tokens = max_new_tokens;
    if (!copy_tokens(&own->prompt, prompt) ||
        baton_sampling_params_copy(&own->sampling, &params->shared.sampling))
        return false;
    /* The seed of a further choice wraps to 0 after the highest seed that a client may set, so that
     * the client can request this choice again by its seed. */
    own->sampling.seed = params->has_seed ? ((uint64_t)params->seed + (uint64_t)choice) & INT64_MAX
                                          : baton_random_id() & OWN_SEED_MASK;
    if (baton_text_stream_init(&request->output.text, params->stops, params->stop_bytes,
                               params->n_stops))
        return false;
    request->output.text.min_indent = own->min_indent;
    return true;
}
