/* The gateway's parts, wired to one libuv loop: start, run until told to stop, tear down.
 *
 *     RUNNING --SIGTERM--> DRAINING (no new requests) --none open or time up--> CLOSING --> return
 *
 * Ownership: owns every part.
 * Threading: one loop thread; NNG's threads only ring the loop's async handle.
 * Errors:    as its parts, with a readable reason.
 */
#ifndef BATON_GATEWAY_GATEWAY_H
#define BATON_GATEWAY_GATEWAY_H

#include <stdint.h>

#include "common/base/error.h"

struct gw_options {
    const char *model, *pack_dir, *host, *inbox, *id, *cluster_token, *log_level;
    const char *api_keys, *cors_origins, *chat_template;
    int prefill_policy, decode_policy; /* enum baton_routing_policy */
    int prefix_cache;                  /* 1: prompts may share what was computed for others */
    int64_t prefix_blocks, colocated_prefill_tokens;
    int64_t port, max_connections, max_head_bytes, max_body_bytes, max_prompt_tokens, max_batch;
    int64_t max_queued, max_queued_tokens, max_per_key, max_attempts;
    double max_wait_s, beat_s, silence_s, timeout_s, head_timeout_s, body_timeout_s, idle_timeout_s,
        stall_timeout_s, drain_s, slo_ttft_s, slo_itl_s;
};

enum baton_err gw_run(const struct gw_options *options, struct baton_why *why) BATON_MUST_CHECK;

#endif
