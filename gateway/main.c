/* baton-gateway: the HTTP server in front of the fleet. */
#include <stddef.h>

#include "common/base/array.h"
#include "common/base/process.h"
#include "gateway/gateway.h"
#include "gateway/routing/prefix_table.h"

#define TEXT(field, ...)   BATON_ROW_TEXT(struct gw_options, field, __VA_ARGS__)
#define INT(field, ...)    BATON_ROW_INT(struct gw_options, field, __VA_ARGS__)
#define REAL(field, ...)   BATON_ROW_REAL(struct gw_options, field, __VA_ARGS__)
#define BOOL(field, ...)   BATON_ROW_BOOL(struct gw_options, field, __VA_ARGS__)
#define CHOICE(field, ...) BATON_ROW_CHOICE(struct gw_options, field, __VA_ARGS__)

/* In the order of enum baton_routing_policy. */
#define POLICIES "round-robin|least-loaded|prefix-aware"

static const struct baton_option option_table[] = {
    BATON_CHECKPOINT_OPTIONS(struct gw_options, checkpoint),
    TEXT(host, "host", "127.0.0.1", "numeric address to serve HTTP on, or localhost"),
    INT(port, "port", "8000", 0, 65535, "", "HTTP port; 0 takes a free one"),
    TEXT(inbox, "inbox", "tcp://127.0.0.1:7100", "URL at which workers reach this gateway"),
    TEXT(id, "id", "gateway-0", "gateway name that workers see"),
    BATON_FLEET_OPTIONS(struct gw_options, fleet),
    TEXT(api_keys, "api-keys", "",
         "file of API keys, one per line, reread on SIGHUP; \"\": clients need no key"),
    TEXT(admin_keys, "admin-keys", "",
         "file of operators' API keys, as --api-keys, reread on SIGHUP; \"\": keys that --api-keys "
         "marks admin; without both, programs on this host"),
    BOOL(require_auth, "require-auth", "false",
         "refuse to start where other hosts could connect without an API key or a cluster secret"),
    TEXT(ssl_certfile, "ssl-certfile", "",
         "PEM certificate chain: HTTPS instead of HTTP; reread on SIGHUP"),
    TEXT(ssl_keyfile, "ssl-keyfile", "", "PEM key of --ssl-certfile, without a password"),
    TEXT(cors_origins, "cors-origins", "",
         "origins whose web pages may call this API, separated by commas; localhost: any port of "
         "this host; *: all"),
    TEXT(allowed_hosts, "allowed-hosts", "",
         "names besides localhost and addresses that the Host header may have, separated by "
         "commas, or *; \"\": others are refused (421) if --host is a loopback address"),
    TEXT(chat_template, "chat-template", "auto",
         "chat template: a built-in name or a file; auto: the model's"),
    TEXT(served_model_name, "served-model-name", "",
         "model names that clients may use, separated by commas; responses show the first; *: any "
         "name; \"\": the model's own name"),
    TEXT(more_models, "more-models", "",
         "models served beside --model, as NAME=PATH or PATH, separated by commas; requests choose "
         "by their field model; each has its own context, chat template and workers"),
    INT(seed, "seed", "-1", -1, INT32_MAX, "",
        "seed of requests that have none, so that equal requests get equal answers; -1: a random "
        "one for each"),
    CHOICE(reasoning, "reasoning", "auto", "auto|off|on",
           "whether models whose chat template can switch it reason, if a request does not say; "
           "auto: as the template does without a word"),
    CHOICE(unknown_fields, "unknown-fields", "ignore", "ignore|refuse",
           "unknown fields of a request on OpenAI's routes: listed in x-baton-ignored, or rejected "
           "with 400"),
    CHOICE(overlong, "overlong", "cut", "cut|refuse",
           "max_tokens beyond the context on OpenAI's routes: reduced, or rejected with 400"),
    CHOICE(sampling_defaults, "sampling-defaults", "none", "none|model",
           "sampling parameters that a request leaves out: built-in defaults, or the model's "
           "generation_config.json"),
    INT(max_connections, "max-connections", "4096", 1, 1 << 20, "", "open client connections"),
    INT(max_connections_per_address, "max-connections-per-address", "0", 0, 1 << 20, "",
        "open connections per client address (IPv6: per /64), else 429; 0 = unlimited"),
    REAL(address_requests_per_s, "requests-per-s-per-address", "0", 0, 1e9, "",
         "requests per second per address (burst: 10 s), else 429; 0 = unlimited"),
    REAL(address_tokens_per_s, "tokens-per-s-per-address", "0", 0, 1e9, "tokens",
         "prompt and output tokens per second per address (burst: 10 s), else 429; 0 = unlimited"),
    REAL(address_bytes_per_s, "bytes-per-s-per-address", "0", 0, 1e12, "bytes",
         "bytes read and written per second per address (burst: 10 s), else 429; 0 = unlimited"),
    REAL(key_requests_per_s, "requests-per-s-per-key", "0", 0, 1e9, "",
         "requests per second per API key (burst: 10 s), else 429; requests_per_s=N in the key's "
         "line overrides it; 0 = unlimited"),
    REAL(key_tokens_per_s, "tokens-per-s-per-key", "0", 0, 1e9, "tokens",
         "prompt and output tokens per second per API key (burst: 10 s), else 429; tokens_per_s=N "
         "in the key's line overrides it; 0 = unlimited"),
    REAL(key_bytes_per_s, "bytes-per-s-per-key", "0", 0, 1e12, "bytes",
         "bytes of bodies and responses per second per API key (burst: 10 s), else 429; "
         "bytes_per_s=N in the key's line overrides it; 0 = unlimited"),
    INT(max_head_bytes, "max-head-bytes", "16384", 1024, 1 << 20, "bytes",
        "request line and headers, else 431"),
    INT(max_body_bytes, "max-body-bytes", "0", 0, 1 << 28, "bytes",
        "request body, else 413; 0 = 16 per token of the model's context, at least 1048576"),
    INT(max_prompt_tokens, "max-prompt-tokens", "0", 0, 1 << 30, "tokens",
        "longest prompt; 0 = the model's context, which is always the limit"),
    INT(max_batch, "max-batch", "64", 1, 1024, "", "generations per request: prompts x n"),
    INT(max_queued, "max-queued", "1024", 1, 1 << 20, "requests",
        "requests waiting for a worker, else 429"),
    INT(max_queued_tokens, "max-queued-tokens", "1048576", 1, 1 << 30, "tokens",
        "prompt tokens waiting for a worker, else 429"),
    REAL(max_wait_s, "max-wait-s", "60", 0, 86400, "s",
         "predicted wait for a worker, else 429; 0 = no limit but the request's own timeout"),
    REAL(absence_s, "absence-s", "5", 0, 3600, "s",
         "time that requests wait for a role without workers, also at start; 0 = 503 at once"),
    INT(max_per_key, "max-per-key", "0", 0, 1 << 20, "",
        "concurrent generations per API key, else 429; max=N in the key's line overrides it; 0 = "
        "unlimited"),
    INT(stored_responses, "stored-responses", "1024", 0, 1 << 16, "",
        "stored responses of POST /v1/responses, all API keys together; 0 = none"),
    INT(stored_response_bytes, "stored-response-bytes", "67108864", 1 << 16, INT64_C(1) << 40,
        "bytes", "memory for stored responses"),
    REAL(stored_response_s, "stored-response-s", "86400", 1, 1e9, "s",
         "lifetime of a stored response"),
    TEXT(files_dir, "files-dir", "",
         "private directory for the files of /v1/files and /v1/batches, which outlive the gateway; "
         "\"\": none are stored"),
    INT(files_bytes, "files-bytes", "1073741824", 1 << 20, INT64_C(1) << 40, "bytes",
        "disk space for these files, at most half of it per API key"),
    INT(batch_lines, "batch-lines", "32", 1, 1024, "requests",
        "most requests of batches on their way at once; fewer when the fleet rejects some"),
    REAL(resume_s, "resume-s", "60", 0, 86400, "s",
         "time that a resumable stream waits for its client, and that its end is kept; 0 = no "
         "stream is resumable"),
    INT(resume_bytes, "resume-bytes", "524288", 1 << 16, 1 << 30, "bytes",
        "events kept per resumable stream; generation pauses at half of it"),
    INT(resume_total_bytes, "resume-total-bytes", "134217728", 1 << 16, INT64_C(1) << 40, "bytes",
        "events kept of all resumable streams, at most half of it per API key or address"),
    INT(max_attempts, "max-attempts", "3", 1, 100, "",
        "attempts per request when workers fail before its first token"),
    INT(migration_limit, "migration-limit", "3", 0, 100, "",
        "migrations per request after its first token, drained workers not counted; 0 disables "
        "migration and hand-over"),
    CHOICE(prefill_policy, "prefill-policy", "least-loaded", POLICIES,
           "routing of prompts to prefill workers"),
    INT(prefill_split, "prefill-split", "1", 1, BATON_MAX_PARTS, "workers",
        "most prefill workers that compute one long prompt together, where others are idle; 1 = no "
        "split"),
    INT(prefill_split_min_tokens, "prefill-split-min-tokens", "2048", 32, 1 << 20, "tokens",
        "uncached prompt tokens from which a prompt is split"),
    CHOICE(decode_policy, "decode-policy", "least-loaded", POLICIES,
           "routing of requests to decode workers"),
    BOOL(strict_class, "strict-class", "false",
         "fail a request rather than continue it on a worker of another numeric class"),
    BATON_PREFIX_CACHE_OPTION(struct gw_options, prefix_cache),
    CHOICE(access_log, "access-log", "requests", "requests|all",
           "access lines: of requests and errors, or also of probes, scrapes and pages"),
    CHOICE(prefix_cache_scope, "prefix-cache-scope", "fleet", "fleet|key",
           "prompts that may share KV blocks: those of the whole fleet, or of one API key"),
    INT(prefix_blocks, "prefix-blocks", "65536", 1, GW_PREFIX_MAX_BLOCKS, "blocks",
        "KV blocks whose workers each prefix-aware policy remembers"),
    INT(colocated_prefill_tokens, "colocated-prefill-tokens", "0", 0, 1 << 20, "tokens",
        "uncached prompt tokens up to which the decode worker runs the prompt itself, if that is "
        "faster; 0 = never"),
    CHOICE(speculation, "speculation", "none", "none|prompt_lookup|draft_model",
           "default source of draft tokens: none, text that repeats, or the decode worker's draft "
           "model; one step verifies several"),
    INT(speculation_tokens, "speculation-tokens", "8", 1, BATON_MAX_DRAFTS, "tokens",
        "most draft tokens per sequence and step"),
    REAL(timeout_s, "timeout-s", "300", 0, 86400, "s",
         "time limit of a request, else 504; 0 = no limit"),
    REAL(head_timeout_s, "head-timeout-s", "10", 0.01, 3600, "s",
         "time limit for a request's head, else 408"),
    REAL(body_timeout_s, "body-timeout-s", "30", 0.01, 3600, "s",
         "time limit for a request's body, else 408"),
    REAL(idle_timeout_s, "idle-timeout-s", "75", 0.01, 86400, "s",
         "keep-alive time of an idle connection"),
    REAL(stall_timeout_s, "stall-timeout-s", "120", 0, 86400, "s",
         "time after which a client that reads nothing of its response is disconnected; 0 = never"),
    REAL(slo_ttft_s, "slo-ttft-s", "0.2", 0, 86400, "s",
         "longest time to the first token of a request that counts as good in /metrics; 0 = any"),
    REAL(slo_itl_s, "slo-itl-s", "0.05", 0, 86400, "s",
         "longest gap between tokens of a request that counts as good in /metrics; 0 = any"),
    TEXT(otlp_file, "otlp-file", "",
         "file for OpenTelemetry spans of requests and their stages, as lines of OTLP/JSON; \"\": "
         "none"),
    TEXT(otlp_endpoint, "otlp-endpoint", "",
         "http:// or https:// URL of an OpenTelemetry collector (OTLP/HTTP with JSON; /v1/traces "
         "is appended); \"\": none"),
    TEXT(otlp_headers_file, "otlp-headers-file", "",
         "file of headers for --otlp-endpoint, NAME=VALUE per line, such as a secret"),
    TEXT(otlp_cafile, "otlp-cafile", "",
         "PEM certificates of the authorities that --otlp-endpoint may have; \"\": the system's"),
    BATON_LOG_OPTIONS(struct gw_options, log),
};

static enum baton_err run(void *options, struct baton_why *why)
{
    return gw_run(options, why);
}

int main(int argc, char **argv)
{
    struct gw_options options;
    return baton_process_main(
        &(struct baton_process){.name = "baton-gateway",
                                .summary =
                                    "HTTP server in front of a fleet of prefill and decode workers",
                                .table = option_table,
                                .n_options = BATON_N_OF(option_table),
                                .options = &options,
                                .log = &options.log,
                                .run = run},
        argc, argv);
}
