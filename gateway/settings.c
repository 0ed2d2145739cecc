#include "gateway/settings.h"

#include "common/base/clock.h"

enum {
    BACKLOG = 4096, /* a burst of clients that overflows it retries its SYN after a second */
    PAUSE_BYTES = 8 << 10,
    CANCEL_BYTES = 256 << 10,
    ARRIVING_BYTES = 64 << 20, /* all incomplete bodies together, but at least */
    ARRIVING_BODIES = 8        /* this many bodies of the largest size */
};

struct gw_routing_options gw_settings_routing(const struct gw_options *options)
{
    return (struct gw_routing_options){
        .prefill = (enum baton_routing_policy)options->prefill_policy,
        .decode = (enum baton_routing_policy)options->decode_policy,
        .prefix_blocks = (size_t)options->prefix_blocks,
        .split = options->prefill_split,
        .split_min_tokens = options->prefill_split_min_tokens,
        .strict_class = options->strict_class,
        .colocated_prefill_tokens = options->colocated_prefill_tokens};
}

int64_t gw_settings_absence_ns(const struct gw_options *options)
{
    bool is_bounded = options->max_wait_s > 0 && options->max_wait_s < options->absence_s;
    return (int64_t)((is_bounded ? options->max_wait_s : options->absence_s) *
                     (double)BATON_SECOND);
}

/* ---- HTTP ---- */

static int64_t to_ms(double seconds)
{
    return (int64_t)(seconds * 1e3);
}

static struct gw_limits key_limits(const struct gw_options *options)
{
    return (struct gw_limits){.per_s = {[GW_LIMIT_requests] = options->key_requests_per_s,
                                        [GW_LIMIT_tokens] = options->key_tokens_per_s,
                                        [GW_LIMIT_bytes] = options->key_bytes_per_s}};
}

struct gw_access_options gw_settings_access(const struct gw_options *options)
{
    return (struct gw_access_options){.api_keys = options->api_keys,
                                      .admin_keys = options->admin_keys,
                                      .key_limits = key_limits(options),
                                      .cors_origins = options->cors_origins,
                                      .allowed_hosts = options->allowed_hosts,
                                      .host = options->host,
                                      .is_https = *options->ssl_certfile};
}

struct gw_response_bounds gw_settings_responses(const struct gw_options *options)
{
    return (struct gw_response_bounds){
        .n = (size_t)options->stored_responses,
        .bytes = (size_t)options->stored_response_bytes,
        .age_ns = (int64_t)(options->stored_response_s * (double)BATON_SECOND)};
}

struct gw_stream_bounds gw_settings_streams(const struct gw_options *options)
{
    return (struct gw_stream_bounds){.stream_bytes = (size_t)options->resume_bytes,
                                     .bytes = (size_t)options->resume_total_bytes,
                                     .window_ns =
                                         (int64_t)(options->resume_s * (double)BATON_SECOND),
                                     .lasting_ns = gw_settings_responses(options).age_ns};
}

static struct gw_limits address_limits(const struct gw_options *options)
{
    return (struct gw_limits){.per_s = {[GW_LIMIT_requests] = options->address_requests_per_s,
                                        [GW_LIMIT_tokens] = options->address_tokens_per_s,
                                        [GW_LIMIT_bytes] = options->address_bytes_per_s}};
}

/* A body of JSON has up to 12 bytes for a character beyond 16 bits, and a conversation has members
 * around its text. */
static size_t body_bytes(const struct gw_options *options, int64_t max_prompt_tokens)
{
    enum { TOKEN_BYTES = 16, LEAST_BYTES = 1 << 20, MOST_BYTES = 1 << 28 };
    int64_t n = options->max_body_bytes;
    if (!n)
        n = max_prompt_tokens < MOST_BYTES / TOKEN_BYTES ? max_prompt_tokens * TOKEN_BYTES
                                                         : MOST_BYTES;
    return (size_t)(options->max_body_bytes || n > LEAST_BYTES ? n : LEAST_BYTES);
}

static size_t arriving_bytes(size_t max_body_bytes)
{
    size_t largest = ARRIVING_BODIES * max_body_bytes;
    return largest > ARRIVING_BYTES ? largest : ARRIVING_BYTES;
}

struct gw_http_options gw_settings_http(const struct gw_options *options, int64_t max_prompt_tokens)
{
    size_t max_body_bytes = body_bytes(options, max_prompt_tokens);
    return (struct gw_http_options){.host = options->host,
                                    .port = (int)options->port,
                                    .backlog = BACKLOG,
                                    .max_connections = (size_t)options->max_connections,
                                    .max_connections_per_address =
                                        (size_t)options->max_connections_per_address,
                                    .address_limits = address_limits(options),
                                    .max_head_bytes = (size_t)options->max_head_bytes,
                                    .max_body_bytes = max_body_bytes,
                                    .max_arriving_bytes = arriving_bytes(max_body_bytes),
                                    .head_timeout_ms = to_ms(options->head_timeout_s),
                                    .body_timeout_ms = to_ms(options->body_timeout_s),
                                    .idle_timeout_ms = to_ms(options->idle_timeout_s),
                                    .stall_timeout_ms = to_ms(options->stall_timeout_s),
                                    .pause_bytes = PAUSE_BYTES,
                                    .cancel_bytes = CANCEL_BYTES,
                                    .logs_routine = options->access_log != 0};
}

struct gw_doors gw_settings_doors(const struct gw_options *options)
{
    return (struct gw_doors){.host = options->host,
                             .inbox = options->inbox,
                             .api_keys = options->api_keys,
                             .peer_certfile = options->fleet.peer_certfile,
                             .require_auth = options->require_auth};
}
