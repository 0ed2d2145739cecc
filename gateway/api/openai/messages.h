/* The conversation of a chat request as one prompt, by the model's chat template: its messages, the
 * tools and documents beside them, and what else the template is told.
 *
 * Ownership: see gateway/api/params/prompts.h.
 * Threading: loop thread.
 * Errors:    in fields->problem: a message or tool of a wrong shape, a conversation that the
 *            template refuses, a model without a usable template.
 */
#ifndef BATON_GATEWAY_API_OPENAI_MESSAGES_H
#define BATON_GATEWAY_API_OPENAI_MESSAGES_H

#include "gateway/api/params/prompts.h"

/* Reads the fields that the template is given; they stay borrowed from the body. */
void gw_messages_fields(struct gw_fields *fields, struct baton_chat_input *input);

/* The conversation as the one prompt of prompts. */
void gw_messages_read(struct gw_api *api, struct gw_fields *fields,
                      const struct baton_chat_input *input, struct gw_prompts *prompts);

#endif
