/* The parameters in a body: sampling, stop conditions, and what is reported.
 *
 * All routes share these fields (docs/http-api.md), and so do all choices of a completion.
 * gateway/api/params/prompts.h reads the prompts.
 *
 * Ownership: stop strings are borrowed from the body; the rest belongs to the params.
 * Threading: loop thread.
 * Errors:    in fields->problem; 404 model_not_found for a model that is not served.
 */
#ifndef BATON_GATEWAY_API_PARAMS_PARAMS_H
#define BATON_GATEWAY_API_PARAMS_PARAMS_H

#include "common/policy/priority.h"
#include "gateway/api/access/access.h"
#include "gateway/api/api.h"

/* The other stop ids of a request are reserved for those of the model and its chat template. */
enum {
    GW_MAX_CHAT_STOP_IDS = 4,
    GW_MAX_CLIENT_STOP_IDS = BATON_MAX_STOP_IDS - BATON_MODEL_MAX_EOS - GW_MAX_CHAT_STOP_IDS
};

enum { GW_MAX_TIMEOUT_S = 86400 };

struct gw_completion_params {
    struct gw_params shared; /* without prompt, length and seed, which differ per generation */
    const char *stops[BATON_STOP_MAX];
    size_t stop_bytes[BATON_STOP_MAX];
    int n_stops;
    const struct baton_json *bad_words; /* array of strings; NULL: none */
    double timeout_s;                   /* 0: the gateway's own */
    bool has_seed;
    int64_t seed;
    int64_t parsed_ns, tokenized_ns;
};

void gw_params_fini(struct gw_completion_params *params);

/* Reads temperature ... ignore_eos, explain, timeout_s, cache_prompt: all fields except the prompt,
 * the length and those that only one kind of route has. */
void gw_params_read(const struct gw_api *api, struct gw_fields *fields,
                    struct gw_completion_params *params);

/* Reads the field "model", which may name the served model or an adapter of it, alone or as
 * "MODEL:ADAPTER". The adapter is the only one of uses then. And: makes the problem that no model
 * called name is served. */
void gw_params_read_model(const struct gw_api *api, struct gw_fields *fields,
                          struct baton_adapter_uses *uses);
void gw_params_refuse_model(const struct gw_api *api, const char *name, struct gw_problem *problem);

/* Reads "priority": the name of a class, or an integer, of which vLLM schedules lower ones first:
 * above 0 means batch. gw_params_read reads it too. */
void gw_params_read_priority(struct gw_fields *fields, enum baton_priority *priority);

/* Reads "cache_prompt" and "cache_salt", vLLM's field: prompts share KV blocks only with those of
 * the same salt. gw_params_read reads them too. */
void gw_params_read_cache(const struct gw_api *api, struct gw_fields *fields,
                          struct gw_params *params);

/* Lets the request share KV blocks only with requests of the same epoch, besides its cache_salt.
 * The epoch 0 changes nothing. */
void gw_params_set_cache_epoch(struct gw_params *params, uint64_t epoch);
/* Likewise with requests of the same owner. */
void gw_params_set_cache_owner(struct gw_params *params, const struct gw_owner *owner);

/* Reads "service_tier": flex means batch, other texts change nothing. For routes that have it; call
 * after "priority" is read, which overrides it. */
void gw_params_read_tier(struct gw_fields *fields, enum baton_priority *priority);

/* Reads "logprobs" and "top_logprobs" in the form of chats. */
void gw_params_read_logprobs(struct gw_fields *fields, struct baton_sampling_params *params);

/* Fills a fresh request's params and stop strings with copies of these and of the prompt. choice is
 * added to the client's seed; without one the seed is random. False: no memory. */
bool gw_params_apply(const struct gw_completion_params *params, const struct baton_tokens *prompt,
                     int64_t max_new_tokens, int choice, struct gw_request *request);

#endif
