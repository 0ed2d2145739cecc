/* Answers that all endpoints share: a JSON body, an error object.
 *
 * Without an exchange, when an endpoint runs to record its schema (body_schema.h), nothing is
 * sent.
 *
 * Ownership: texts and bodies are borrowed during the call; the exchange is gone after it.
 * Threading: loop thread.
 * Errors:    a body that did not fit its buffer becomes a 500.
 */
#ifndef BATON_GATEWAY_API_ANSWER_H
#define BATON_GATEWAY_API_ANSWER_H

#include "common/base/buf.h"
#include "common/base/json.h"
#include "gateway/api/fields.h"
#include "gateway/http/server.h"

enum { GW_ANSWER_MAX_BYTES = 256 << 20 };

/* The headers of every stream. nginx and other proxies collect an answer without the second one
 * before they pass it on. */
#define GW_STREAM_HEADERS "Cache-Control: no-store\r\nX-Accel-Buffering: no\r\n"

/* A JSON object, or an array, that becomes an answer. It may not be moved while it is open: out
 * points into it. */
struct gw_answer {
    struct baton_buf body;
    struct baton_json_out out;
    bool is_array;
};

/* Opens the object; gw_answer_close ends it, answers with it and frees it. */
void gw_answer_open(struct gw_answer *answer);
/* Makes an array of the object, which has no members yet. */
void gw_answer_make_array(struct gw_answer *answer);
void gw_answer_close(struct gw_answer *answer, struct gw_exchange *exchange, int status);

enum { GW_REPLY_MODEL_BYTES = 256 };

/* An answer that any thread may make: an open object, or the problem instead. */
struct gw_reply {
    bool has_failed;
    /* What the body names if it is not the model: the loop must see whether it is an adapter. */
    char model[GW_REPLY_MODEL_BYTES];
    const struct gw_error_shape *errors; /* of another server; NULL: the route's */
    struct gw_problem problem;
    struct gw_answer answer;
};

/* Answers with the object or the problem, and frees it. */
void gw_reply_send(struct gw_reply *reply, struct gw_exchange *exchange);

/* Call after every field of the route was read: the others are problems (refuses), or are listed in
 * the header x-baton-ignored, so that a client can see why they have no effect. */
void gw_answer_end_fields(struct gw_fields *fields, struct gw_exchange *exchange, bool refuses);

/* Answers with the body as JSON. */
void gw_answer_json(struct gw_exchange *exchange, int status, const struct baton_buf *body);

/* Answers with the error object of gateway/http/status.h, which names no field. */
void gw_answer_error(struct gw_exchange *exchange, int status, const char *code,
                     const char *message);

/* The same for a problem with a field, which the error object names. */
void gw_answer_problem(struct gw_exchange *exchange, const struct gw_problem *problem);

#endif
