/* baton-gateway: HTTP in front, the fleet behind. */
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
    TEXT(host, "host", "127.0.0.1", "numeric address to serve HTTP on"),
    INT(port, "port", "8000", 0, 65535, "", "HTTP port; 0 takes a free one"),
    TEXT(inbox, "inbox", "tcp://127.0.0.1:7100", "where workers find this gateway"),
    TEXT(id, "id", "gateway-0", "name of this gateway, told to workers"),
    BATON_FLEET_OPTIONS(struct gw_options, fleet),
    TEXT(api_keys, "api-keys", "",
         "file of API keys, one a line, read again on SIGHUP; none: no key is needed"),
    BOOL(require_auth, "require-auth", "false",
         "start only if clients need a key and workers a secret, wherever they are not on this "
         "host"),
    TEXT(ssl_certfile, "ssl-certfile", "",
         "PEM file of the certificate and its issuers: HTTPS instead of HTTP; read again on "
         "SIGHUP"),
    TEXT(ssl_keyfile, "ssl-keyfile", "", "PEM file of that certificate's key, without a password"),
    TEXT(cors_origins, "cors-origins", "",
         "origins whose web pages may use this, between commas; or *"),
    TEXT(chat_template, "chat-template", "auto",
         "template of conversations: a built-in name or a file; auto: the model's own"),
    TEXT(served_model_name, "served-model-name", "",
         "names that clients may ask for, between commas; answers tell the first; none: the "
         "model's own"),
    CHOICE(unknown_fields, "unknown-fields", "ignore", "ignore|refuse",
           "of a request on OpenAI's routes: named in x-baton-ignored, or 400"),
    CHOICE(overlong, "overlong", "cut", "cut|refuse",
           "max_tokens that do not fit the context, on OpenAI's routes: fewer, or 400"),
    CHOICE(sampling_defaults, "sampling-defaults", "none", "none|model",
           "model: what a request leaves open is as generation_config.json says"),
    INT(max_connections, "max-connections", "4096", 1, 1 << 20, "", "open client connections"),
    INT(max_connections_per_address, "max-connections-per-address", "0", 0, 1 << 20, "",
        "of them from one address (IPv6: one /64) -> 429; 0: any"),
    REAL(address_requests_per_s, "requests-per-s-per-address", "0", 0, 1e9, "",
         "a second from one address, ten seconds' worth at once -> 429; 0: any"),
    REAL(address_tokens_per_s, "tokens-per-s-per-address", "0", 0, 1e9, "tokens",
         "the same of prompts and outputs"),
    REAL(address_bytes_per_s, "bytes-per-s-per-address", "0", 0, 1e12, "bytes",
         "the same of what is read and written"),
    REAL(key_requests_per_s, "requests-per-s-per-key", "0", 0, 1e9, "",
         "a second with one API key, unless its line says requests_per_s=N -> 429; 0: any"),
    REAL(key_tokens_per_s, "tokens-per-s-per-key", "0", 0, 1e9, "tokens",
         "the same of prompts and outputs, tokens_per_s=N"),
    REAL(key_bytes_per_s, "bytes-per-s-per-key", "0", 0, 1e12, "bytes",
         "the same of bodies and answers, bytes_per_s=N"),
    INT(max_head_bytes, "max-head-bytes", "16384", 1024, 1 << 20, "bytes",
        "request line and headers -> 431"),
    INT(max_body_bytes, "max-body-bytes", "1048576", 64, 1 << 28, "bytes", "request body -> 413"),
    INT(max_prompt_tokens, "max-prompt-tokens", "0", 0, 1 << 30, "tokens",
        "one prompt; 0, and at most: the model's context"),
    INT(max_batch, "max-batch", "64", 1, 1024, "", "generations of one request: prompts x n"),
    INT(max_queued, "max-queued", "1024", 1, 1 << 20, "requests", "waiting for a worker -> 429"),
    INT(max_queued_tokens, "max-queued-tokens", "1048576", 1, 1 << 30, "tokens",
        "prompt tokens waiting for a worker -> 429"),
    REAL(max_wait_s, "max-wait-s", "60", 0, 86400, "s",
         "predicted wait for a worker -> 429; 0: any, as long as the request's own time allows"),
    REAL(absence_s, "absence-s", "5", 0, 3600, "s",
         "requests wait so long for a role whose last worker left, also at start; 0: 503 at once"),
    INT(max_per_key, "max-per-key", "0", 0, 1 << 20, "",
        "generations of one API key at once -> 429, unless its line says max=N; 0: any"),
    INT(stored_responses, "stored-responses", "1024", 0, 1 << 16, "",
        "responses of POST /v1/responses that are kept, of all API keys; 0: none"),
    INT(stored_response_bytes, "stored-response-bytes", "67108864", 1 << 16, INT64_C(1) << 40,
        "bytes", "memory that they may take"),
    REAL(stored_response_s, "stored-response-s", "86400", 1, 1e9, "s",
         "how long one of them is kept"),
    REAL(resume_s, "resume-s", "60", 0, 86400, "s",
         "how long a client may be away from a stream that it asked to be resumable, and how long "
         "its end is kept; 0: none is resumable"),
    INT(resume_bytes, "resume-bytes", "524288", 1 << 16, 1 << 30, "bytes",
        "events of such a stream that are kept; generation pauses at half of it"),
    INT(resume_total_bytes, "resume-total-bytes", "134217728", 1 << 16, INT64_C(1) << 40, "bytes",
        "of all of them; of those of one API key, or address, half of it"),
    INT(max_attempts, "max-attempts", "3", 1, 100, "",
        "attempts at a request when workers fail before its first token"),
    INT(migration_limit, "migration-limit", "3", 0, 100, "",
        "times that a request goes on elsewhere when its worker fails later, not told to leave; "
        "0: it fails, and none is handed over"),
    CHOICE(prefill_policy, "prefill-policy", "least-loaded", POLICIES, "who runs a prompt"),
    INT(prefill_split, "prefill-split", "1", 1, BATON_MAX_PARTS, "workers",
        "that compute a long prompt together, at most, where others have nothing to do; 1: each "
        "prompt is computed by one"),
    INT(prefill_split_min_tokens, "prefill-split-min-tokens", "2048", 32, 1 << 20, "tokens",
        "not cached, from which a prompt is long enough for that"),
    CHOICE(decode_policy, "decode-policy", "least-loaded", POLICIES, "who makes the tokens"),
    BOOL(strict_class, "strict-class", "false",
         "a request fails rather than go on with a worker that may compute other bits"),
    BATON_PREFIX_CACHE_OPTION(struct gw_options, prefix_cache),
    INT(prefix_blocks, "prefix-blocks", "65536", 1, GW_PREFIX_MAX_BLOCKS, "blocks",
        "that each prefix-aware policy remembers, with the workers that were sent them"),
    INT(colocated_prefill_tokens, "colocated-prefill-tokens", "0", 0, 1 << 20, "tokens",
        "a prompt with at most so many not cached is run by the decode worker, if faster; 0: none"),
    CHOICE(speculation, "speculation", "none", "none|prompt_lookup|draft_model",
           "tokens guessed, from what the text repeats or by the decode worker's draft model; "
           "several are checked in one step"),
    INT(speculation_tokens, "speculation-tokens", "8", 1, BATON_MAX_DRAFTS, "tokens",
        "guessed at most for one step of a sequence"),
    REAL(timeout_s, "timeout-s", "300", 0, 86400, "s", "time of a request -> 504; 0: no limit"),
    REAL(head_timeout_s, "head-timeout-s", "10", 0.01, 3600, "s", "for a request's head -> 408"),
    REAL(body_timeout_s, "body-timeout-s", "30", 0.01, 3600, "s", "for a request's body -> 408"),
    REAL(idle_timeout_s, "idle-timeout-s", "75", 0.01, 86400, "s", "keep-alive without a request"),
    REAL(stall_timeout_s, "stall-timeout-s", "120", 0, 86400, "s",
         "a client that takes nothing of its response is cut off; 0: never"),
    REAL(slo_ttft_s, "slo-ttft-s", "0.2", 0, 86400, "s",
         "to the first token, of a request that counts as good in /metrics; 0: any"),
    REAL(slo_itl_s, "slo-itl-s", "0.05", 0, 86400, "s", "the same for its longest gap; 0: any"),
    TEXT(otlp_file, "otlp-file", "",
         "OpenTelemetry spans of requests and their stages, as lines of OTLP/JSON; none: no spans"),
    TEXT(otlp_endpoint, "otlp-endpoint", "",
         "http:// or https:// URL of a collector that the spans are sent to, as OTLP/HTTP with "
         "JSON; /v1/traces is added; none: they are not sent"),
    TEXT(otlp_headers_file, "otlp-headers-file", "",
         "file of headers for that endpoint, NAME=VALUE, such as a secret of its"),
    TEXT(otlp_cafile, "otlp-cafile", "",
         "PEM file of the authorities that its certificate may have; none: the system's"),
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
                                .summary = "HTTP in front, a fleet of prefill and decode workers "
                                           "behind",
                                .table = option_table,
                                .n_options = BATON_N_OF(option_table),
                                .options = &options,
                                .log = &options.log,
                                .run = run},
        argc, argv);
}
