/* Answers that all endpoints share: a JSON body, an error object.
 *
 * Without an exchange, when an endpoint runs for its notes (notes.h), nobody is answered.
 *
 * Ownership: texts and bodies are borrowed during the call; the exchange is gone after it.
 * Threading: loop thread.
 * Errors:    a body that did not fit its buffer becomes a 500.
 */
#ifndef BATON_GATEWAY_API_ANSWER_H
#define BATON_GATEWAY_API_ANSWER_H

#include "common/base/buf.h"
#include "gateway/api/fields.h"
#include "gateway/http/server.h"

/* The body as JSON. */
void gw_answer_json(struct gw_exchange *exchange, int status, const struct baton_buf *body);

/* The error object of gateway/http/status.h, about no field. */
void gw_answer_error(struct gw_exchange *exchange, int status, const char *code,
                     const char *message);

/* The same about the field that the problem names. */
void gw_answer_problem(struct gw_exchange *exchange, const struct gw_problem *problem);

#endif
