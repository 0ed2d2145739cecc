/* The messages of a chat request as one prompt, by the model's chat template.
 *
 * Ownership: see gateway/api/params/prompts.h.
 * Threading: loop thread.
 * Errors:    in fields->problem: a message of a wrong shape, an order of roles that the template
 *            refuses, a model without a usable template.
 */
#ifndef BATON_GATEWAY_API_OPENAI_MESSAGES_H
#define BATON_GATEWAY_API_OPENAI_MESSAGES_H

#include "gateway/api/params/prompts.h"

/* The field "messages" as the one prompt of prompts. */
void gw_messages_read(struct gw_api *api, struct gw_fields *fields, struct gw_prompts *prompts);

#endif
