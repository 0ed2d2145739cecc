#include "gateway/settings.h"

#include <string.h>

enum {
    BACKLOG = 4096, /* so that clients that come at once need no second SYN */
    PAUSE_BYTES = 8 << 10,
    CANCEL_BYTES = 256 << 10
};

/* ---- placement ---- */

static enum baton_err read_policy(const char *option, const char *name,
                                  enum baton_routing_policy *policy, struct baton_why *why)
{
    if (baton_routing_parse(name, policy))
        return BATON_OK;
    return baton_fail(why, BATON_INVALID,
                      "%s: \"%s\" is not round-robin, least-loaded or prefix-aware", option, name);
}

static enum baton_err check_switch(const char *option, const char *value, struct baton_why *why)
{
    if (!strcmp(value, "on") || !strcmp(value, "off"))
        return BATON_OK;
    return baton_fail(why, BATON_INVALID, "%s: \"%s\" is not on or off", option, value);
}

enum baton_err gw_settings_routing(const struct gw_options *options,
                                   struct gw_routing_options *routing, struct baton_why *why)
{
    struct gw_routing_options read = {.prefix_blocks = (size_t)options->prefix_blocks,
                                      .colocated_prefill_tokens =
                                          options->colocated_prefill_tokens};
    enum baton_err err = read_policy("prefill-policy", options->prefill_policy, &read.prefill, why);
    if (!err)
        err = read_policy("decode-policy", options->decode_policy, &read.decode, why);
    if (!err)
        err = check_switch("prefix-cache", options->prefix_cache, why);
    if (!err)
        *routing = read;
    return err;
}

/* ---- HTTP ---- */

static int64_t to_ms(double seconds)
{
    return (int64_t)(seconds * 1e3);
}

struct gw_http_options gw_settings_http(const struct gw_options *options)
{
    return (struct gw_http_options){.host = options->host,
                                    .port = (int)options->port,
                                    .backlog = BACKLOG,
                                    .max_connections = (size_t)options->max_connections,
                                    .max_head_bytes = (size_t)options->max_head_bytes,
                                    .max_body_bytes = (size_t)options->max_body_bytes,
                                    .head_timeout_ms = to_ms(options->head_timeout_s),
                                    .body_timeout_ms = to_ms(options->body_timeout_s),
                                    .idle_timeout_ms = to_ms(options->idle_timeout_s),
                                    .stall_timeout_ms = to_ms(options->stall_timeout_s),
                                    .pause_bytes = PAUSE_BYTES,
                                    .cancel_bytes = CANCEL_BYTES};
}
