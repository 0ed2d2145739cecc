/* baton-gateway: HTTP in front, the fleet behind. */
#include <stddef.h>

#include "common/base/process.h"
#include "gateway/gateway.h"

#define TEXT(name, field, fallback, help)                                                          \
    {name, BATON_OPTION_TEXT, offsetof(struct gw_options, field), fallback, 0, 0, "", help}
#define INT(name, field, fallback, min, max, unit, help)                                           \
    {name, BATON_OPTION_INT, offsetof(struct gw_options, field), fallback, min, max, unit, help}
#define REAL(name, field, fallback, min, max, unit, help)                                          \
    {name, BATON_OPTION_REAL, offsetof(struct gw_options, field), fallback, min, max, unit, help}

static const struct baton_option option_table[] = {
    TEXT("model", model, "models/tale", "model directory: config and tokenizer; weights if at hand"),
    TEXT("host", host, "127.0.0.1", "numeric address to serve HTTP on"),
    INT("port", port, "8000", 0, 65535, "", "HTTP port; 0 takes a free one"),
    TEXT("inbox", inbox, "tcp://127.0.0.1:7100", "where workers find this gateway"),
    TEXT("id", id, "gateway-0", "name of this gateway, told to workers"),
    TEXT("cluster-token", cluster_token, "", "shared secret of the fleet"),
    INT("max-connections", max_connections, "4096", 1, 1 << 20, "", "open client connections"),
    INT("max-body-bytes", max_body_bytes, "1048576", 64, 1 << 28, "bytes", "request body -> 413"),
    INT("max-queued", max_queued, "1024", 1, 1 << 20, "requests", "waiting for a worker -> 429"),
    INT("max-queued-tokens", max_queued_tokens, "1048576", 1, 1 << 30, "tokens",
        "prompt tokens waiting for a worker -> 429"),
    INT("max-attempts", max_attempts, "3", 1, 100, "",
        "tries of a request when workers fail, before its client saw a token"),
    REAL("timeout-s", timeout_s, "300", 0, 86400, "s", "time of a request -> 504; 0: no limit"),
    REAL("head-timeout-s", head_timeout_s, "10", 0.01, 3600, "s", "for a request's head -> 408"),
    REAL("body-timeout-s", body_timeout_s, "30", 0.01, 3600, "s", "for a request's body -> 408"),
    REAL("idle-timeout-s", idle_timeout_s, "75", 0.01, 86400, "s", "keep-alive without a request"),
    REAL("beat-s", beat_s, "0.25", 0.01, 60, "s",
         "pause between heartbeats; a worker silent for six is lost"),
    REAL("drain-s", drain_s, "8", 0, 3600, "s", "how long open requests may go on after SIGTERM"),
    TEXT("log-level", log_level, "info", "debug, info, warn or error"),
};

static enum baton_err run(void *options, struct baton_why *why)
{
    return gw_run(options, why);
}

int main(int argc, char **argv)
{
    struct gw_options options;
    struct baton_process process = {
        .config = {.process = "baton-gateway",
                   .summary = "HTTP in front, a fleet of prefill and decode workers behind",
                   .env_prefix = "BATON_GATEWAY",
                   .options = option_table,
                   .n_options = sizeof option_table / sizeof option_table[0]},
        .options = &options,
        .log_level = &options.log_level,
        .log_name = "gateway",
        .run = run,
    };
    return baton_process_main(&process, argc, argv);
}
