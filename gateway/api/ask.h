/* What the fields of a body ask for: how tokens are chosen, what ends them, what is reported.
 *
 * Native and OpenAI routes share these fields (API contract, sections 1 and 2). Terms are what all
 * generations of one call have in common; prompts are read by gateway/api/prompts.h.
 *
 * Ownership: stop strings are borrowed from the body; the rest belongs to the terms.
 * Threading: loop thread.
 * Errors:    in fields->problem.
 */
#ifndef BATON_GATEWAY_API_ASK_H
#define BATON_GATEWAY_API_ASK_H

#include "gateway/api/api.h"

/* The rest of a request's room is for the ids that the model and its chat template end with. */
enum {
    GW_MAX_CHAT_STOP_IDS = 4,
    GW_MAX_CLIENT_STOP_IDS = BATON_MAX_STOP_IDS - BATON_MODEL_MAX_EOS - GW_MAX_CHAT_STOP_IDS
};

enum { GW_MAX_TIMEOUT_S = 86400 };

struct gw_terms {
    struct gw_ask ask; /* without prompt, length and seed, which differ per generation */
    const char *stops[BATON_STOP_MAX];
    size_t stop_bytes[BATON_STOP_MAX];
    int n_stops;
    double timeout_s; /* 0: the gateway's own */
    bool has_seed;
    int64_t seed;
    int64_t parsed_ns, tokenized_ns;
};

void gw_terms_fini(struct gw_terms *terms);

/* temperature ... ignore_eos, explain, timeout_s, cache_prompt: everything but the prompt, the
 * length and what only one kind of route knows. */
void gw_terms_read(const struct gw_api *api, struct gw_fields *fields, struct gw_terms *terms);

/* Fills a fresh request's ask and stop strings from the terms: its own copies. choice is added to
 * the client's seed; without one the seed is random. False: no memory. */
bool gw_terms_apply(const struct gw_terms *terms, int choice, struct gw_request *request);

#endif
