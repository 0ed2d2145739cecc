/* The native generation fields (API contract, section 1) out of a body, into a gw_ask.
 *
 * Ownership: the ask's prompt and the stop strings' copies belong to the request.
 * Threading: loop thread.
 * Errors:    in fields->problem; the request is then as it was, but for what was filled in.
 */
#ifndef BATON_GATEWAY_API_ASK_H
#define BATON_GATEWAY_API_ASK_H

#include "gateway/api/api.h"

struct gw_ask_options {
    bool timeline;
    const char *prompt_text; /* borrowed from the body; NULL when it came as token ids */
    size_t prompt_bytes;
};

/* Reads every field, stamps parsed_ns and tokenized_ns, and leaves the request in state TOKENIZING.
 * False: see fields->problem. */
bool gw_ask_read(struct gw_api *api, struct gw_fields *fields, struct gw_request *request,
                 struct gw_ask_options *options);

#endif
