/* The HTTP endpoints: which path does what, and the state they share.
 *
 * Ownership: the api borrows its parts; it owns its completions (one per generation in progress).
 * Threading: loop thread (large bodies are parsed on libuv's pool and come back to the loop).
 * Errors:    answered to the client in the shape of gateway/http/status.h.
 */
#ifndef BATON_GATEWAY_API_API_H
#define BATON_GATEWAY_API_API_H

#include "common/base/json.h"
#include "common/chat/chat.h"
#include "gateway/api/params/fields.h"
#include "gateway/dispatch/dispatcher.h"
#include "gateway/http/server.h"

struct gw_access;
struct gw_completions;

struct gw_api {
    uv_loop_t *loop;
    struct gw_requests *requests;
    struct gw_dispatcher *dispatcher;
    struct gw_fleet *fleet;
    struct gw_metrics *metrics;
    struct baton_tokenizer *tokenizer;
    const struct baton_model_facts *facts;
    const struct baton_fingerprint *fingerprint;
    const struct baton_chat *chat;
    const struct gw_http_server *server;
    size_t longest_token_bytes; /* a text longer than context x this can not fit */
    double timeout_s;           /* of a request; 0: none */
    int64_t max_prompt_tokens;  /* of one prompt; at most the context */
    int64_t max_batch;          /* generations of one request: prompts x n */
    int64_t max_per_key;        /* generations of one key at once; 0: any */
    bool prefix_cache;          /* prompts may share what was computed for others */
    int64_t started_s;          /* Unix time */
    struct gw_access *access;
    struct gw_completions *completions;
};

/* What the HTTP server tells us. */
void gw_api_head(struct gw_api *api, struct gw_exchange *exchange);
void gw_api_request(struct gw_api *api, struct gw_exchange *exchange);
void gw_api_gone(struct gw_api *api, struct gw_exchange *exchange, const char *reason);
void gw_api_full(struct gw_api *api, struct gw_exchange *exchange, bool full);

/* Keep-alive comments to quiet streams. Call every second or so. */
void gw_api_tick(struct gw_api *api, int64_t now_ns);

/* ---- what endpoints use ---- */

typedef void (*gw_endpoint)(struct gw_api *api, struct gw_exchange *exchange,
                            const struct baton_json *body);

/* Answers with an error object. param and code may be NULL. */
void gw_api_fail(struct gw_exchange *exchange, int status, const char *message, const char *param,
                 const char *code);
void gw_api_refuse(struct gw_exchange *exchange, const struct gw_problem *problem);
void gw_api_json(struct gw_exchange *exchange, int status, const struct baton_buf *body);

#endif
