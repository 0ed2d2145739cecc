/* Converts the gateway's options into the options of its parts. Texts are borrowed.
 *
 * Pure.
 */
#ifndef BATON_GATEWAY_SETTINGS_H
#define BATON_GATEWAY_SETTINGS_H

#include "common/base/process.h"
#include "common/wire/fleet_options.h"
#include "engine/checkpoint/options.h"
#include "gateway/api/access/access.h"
#include "gateway/api/access/exposure.h"
#include "gateway/api/responses/store.h"
#include "gateway/api/streams/streams.h"
#include "gateway/http/server.h"
#include "gateway/routing/routing.h"

/* One field for each row of the option table in main.c. */
struct gw_options {
    struct baton_checkpoint_options checkpoint;
    struct baton_fleet_options fleet;
    struct baton_log_options log;
    const char *host, *inbox, *id, *ssl_certfile, *ssl_keyfile;
    const char *otlp_file, *otlp_endpoint, *otlp_headers_file, *otlp_cafile;
    const char *api_keys, *admin_keys, *cors_origins, *allowed_hosts;
    const char *chat_template, *served_model_name, *more_models, *files_dir;
    bool require_auth;
    int prefill_policy, decode_policy; /* enum baton_routing_policy */
    int prefix_cache;                  /* 1: prompts may share KV blocks of other prompts */
    int access_log;                    /* 1: of every answer */
    int prefix_cache_scope;            /* 1: of their API key only */
    int sampling_defaults;             /* 1: the model's */
    int unknown_fields, overlong;      /* 1: an error */
    int reasoning;                     /* BATON_THINKING_... of chat.h */
    int speculation;                   /* enum baton_speculation_mode */
    int64_t speculation_tokens, seed;
    bool strict_class;
    int64_t prefill_split, prefill_split_min_tokens;
    int64_t prefix_blocks, colocated_prefill_tokens;
    int64_t port, max_connections, max_head_bytes, max_body_bytes, max_prompt_tokens, max_batch;
    int64_t max_queued, max_queued_tokens, max_per_key, max_attempts, migration_limit;
    int64_t max_connections_per_address;
    int64_t stored_responses, stored_response_bytes, files_bytes, batch_lines;
    double stored_response_s;
    int64_t resume_bytes, resume_total_bytes;
    double resume_s;
    double address_requests_per_s, address_tokens_per_s, address_bytes_per_s;
    double key_requests_per_s, key_tokens_per_s, key_bytes_per_s;
    double max_wait_s, absence_s, timeout_s, head_timeout_s, body_timeout_s, idle_timeout_s,
        stall_timeout_s, slo_ttft_s, slo_itl_s;
};

struct gw_routing_options gw_settings_routing(const struct gw_options *options);

/* How long requests wait for a role without a worker: at most as long as for any other reason. */
int64_t gw_settings_absence_ns(const struct gw_options *options);

/* Who may use the API. */
struct gw_access_options gw_settings_access(const struct gw_options *options);

/* The addresses that strangers may reach. */
struct gw_doors gw_settings_doors(const struct gw_options *options);

/* The bounds of stored responses. */
struct gw_response_bounds gw_settings_responses(const struct gw_options *options);

/* The bounds of resumable streams. */
struct gw_stream_bounds gw_settings_streams(const struct gw_options *options);

/* The HTTP server's options without callbacks, for prompts of at most max_prompt_tokens. */
struct gw_http_options gw_settings_http(const struct gw_options *options,
                                        int64_t max_prompt_tokens);

#endif
