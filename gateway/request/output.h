/* Tokens that came back, turned into text that may be shown.
 *
 * Ownership: works on the request it is given.
 * Threading: loop thread.
 * Errors:    none of its own.
 */
#ifndef BATON_GATEWAY_REQUEST_OUTPUT_H
#define BATON_GATEWAY_REQUEST_OUTPUT_H

#include "common/checkpoint/facts.h"
#include "gateway/request/request.h"

struct gw_output {
    struct baton_tokenizer *tokenizer;
    const struct baton_model_facts *facts;
};

/* One more token of the request: counts it, passes it on, then the text that became showable. An id
 * that ends generation shows nothing. decision and logprobs may be NULL. Returns true when a stop
 * string was met: the request is then finished as far as the client is concerned (finish is set).
 */
bool gw_output_token(const struct gw_output *output, struct gw_request *request, uint32_t id,
                     const Baton__V1__Decision *decision, const Baton__V1__Logprobs *logprobs);

/* Forgets everything shown so far: the request is run again from its prompt. */
void gw_output_restart(struct gw_request *request);

/* No more tokens: passes on what was held back, and settles why it ended (unless a stop string
 * did). stopped: the last token was one of stop_ids. */
void gw_output_end(const struct gw_output *output, struct gw_request *request, bool stopped);

#endif
