/* The context of all endpoints of the HTTP API, for one model: the parts of the gateway that they
 * use, and bounds.
 *
 * Ownership: the api borrows its parts.
 * Threading: loop thread.
 * Errors:    an endpoint answers them to its client, in the shape of gateway/http/status.h.
 */
#ifndef BATON_GATEWAY_API_API_H
#define BATON_GATEWAY_API_API_H

#include "common/base/json.h"
#include "common/params/speculation.h"
#include "engine/tokenizer/fim.h"
#include "gateway/api/fields.h"
#include "gateway/api/model_names.h"
#include "gateway/chat/chat.h"
#include "gateway/dispatch/dispatcher.h"
#include "gateway/fleet/fleets.h"
#include "gateway/http/server.h"

struct gw_access;
struct gw_adapter_defaults;
struct gw_batches;
struct gw_bodies;
struct gw_completions;
struct gw_events;
struct gw_files;
struct gw_loop_lag;
struct gw_kv_debug;
struct gw_lora;
struct gw_openapi;
struct gw_response_store;
struct gw_streams;

enum { GW_MAX_MODELS = GW_MAX_FLEETS };

/* The models behind one gateway, each with an API of its own. The first answers requests that name
 * none. */
struct gw_served {
    struct gw_api *models[GW_MAX_MODELS];
    size_t n;
    struct gw_fleets fleets; /* theirs, in the same order */
};

struct gw_api {
    uv_loop_t *loop;
    const struct gw_served *served; /* all models; this one is among them */
    struct gw_requests *requests;
    struct gw_dispatcher *dispatcher;
    struct gw_fleet *fleet;
    struct gw_metrics *metrics;
    const struct gw_spans *spans;
    const struct gw_loop_lag *lag;
    struct baton_tokenizer *tokenizer;
    struct baton_tokenizer *pool_tokenizer; /* for one thread of libuv's pool at a time */
    const struct baton_model_facts *facts;
    const struct baton_fim *fim;           /* the tokens of fill in the middle */
    struct gw_model_names *names;          /* what clients call the model */
    const struct baton_json *text_prompts; /* object: name -> text; NULL: the files have none */
    const struct baton_fingerprint *fingerprint;
    const struct baton_chat *chat;
    struct gw_http_server *server;
    double timeout_s;          /* of a request; 0: none */
    int64_t max_prompt_tokens; /* of one prompt; at most the context */
    int64_t max_batch;         /* generations of one request: prompts x n */
    int64_t max_per_key;       /* concurrent generations of one key; 0: unlimited */
    bool prefix_cache;         /* prompts may share KV blocks that were computed for others */
    bool prefix_of_key;        /* ... for others of the same API key only */
    uint64_t cache_epoch;      /* prompts share KV blocks with those of the same epoch only */
    bool refuses_unknown;      /* unknown fields are errors on OpenAI's routes too */
    bool refuses_overlong; /* max_tokens beyond the context is an error there, and not reduced */
    int thinking;          /* BATON_THINKING_... of a chat that says nothing about it */
    int64_t seed;          /* of a request that has none; -1: a random one for each */
    bool model_sampling;   /* a body's absent fields get the model's sampling defaults */
    struct baton_speculation speculation; /* the default for a body without the field */
    int64_t started_s;                    /* Unix time */
    const struct gw_exposure *exposure;
    struct gw_access *access;
    struct gw_bodies *bodies; /* that are parsed */
    struct gw_completions *completions;
    struct gw_events *events; /* their readers */
    struct gw_kv_debug *kv_debug;
    struct gw_lora *lora;
    struct gw_adapter_defaults *adapter_defaults;
    struct gw_response_store *responses; /* stored responses */
    struct gw_streams *streams;          /* resumable streams */
    struct gw_files *files;              /* NULL: none are stored */
    struct gw_batches *batches;          /* NULL: there are none without files */
    const struct gw_openapi *openapi;    /* the description of all routes */
    struct gw_body_schema *schema;       /* set while the endpoint runs to record it; else NULL */
};

/* An exchange's data, if not NULL, points to a struct that begins with this. It says what the
 * client waits for: a body that is being parsed (routes/bodies.c), a completion, the events of a
 * resumable stream (streams/stream.h), or workers' reports (debug_kv.c). */
enum gw_exchange_user {
    GW_USER_PARSE,
    GW_USER_COMPLETION,
    GW_USER_STREAM,
    GW_USER_KV_DEBUG,
    GW_USER_OTHER
};

/* What a client of GW_USER_OTHER waits for. */
struct gw_other_user {
    enum gw_exchange_user user;
    void (*gone)(struct gw_other_user *self);
    void (*full)(struct gw_other_user *self, bool full); /* NULL: it sends no stream */
};

/* An endpoint answers the exchange, now or later. body is NULL for GET and HEAD; with api->schema
 * it is empty, and the exchange is NULL. */
typedef void (*gw_endpoint)(struct gw_api *api, struct gw_exchange *exchange,
                            const struct baton_json *body);

/* An endpoint that only computes, on libuv's pool, for a body whose endpoint would hold the loop.
 * It touches nothing of the api that changes. Returns false, and leaves the reply alone, where only
 * the endpoint itself can answer. */
struct gw_reply;
typedef bool (*gw_pool_endpoint)(struct gw_api *api, const struct baton_json *body,
                                 struct gw_reply *reply);

#endif
