/* Routing chooses the workers of a request: a decode worker that reserves blocks, and the worker
 * that computes the prompt.
 *
 * Each role has its policy (common/policy/routing_policy.h), applied to the workers that are READY
 * and, for decode, have free blocks for prompt and output. Blocks are reserved before the prompt is
 * computed, so that no finished prompt waits for memory. A short prompt may be computed by the
 * decode worker itself (colocated prefill) when that is predicted to be faster.
 *
 * Workers of one numeric class are preferred: a prompt goes to a class that has decode workers, its
 * context stays there, and a migrated request continues in the class that made its last token. It
 * leaves that class when no worker there can serve it, unless classes are strict.
 *
 * needs.h says which workers could serve a request and why none can, pair.h chooses, split.h
 * divides a prompt; cut_paths.h and prefix_table.h remember facts about workers.
 *
 * Ownership: owns its tables of prefixes; borrows lifecycle and fleet.
 * Threading: loop thread.
 * Errors:    init: NO_MEMORY. A request that no worker could ever take fails through its writer.
 */
#ifndef BATON_GATEWAY_ROUTING_ROUTING_H
#define BATON_GATEWAY_ROUTING_ROUTING_H

#include "common/policy/routing_policy.h"
#include "gateway/fleet/fleet.h"
#include "gateway/lifecycle/lifecycle.h"
#include "gateway/routing/cut_paths.h"
#include "gateway/routing/prefix_table.h"

struct gw_routing_options {
    enum baton_routing_policy prefill, decode;
    size_t prefix_blocks;            /* hashes that each prefix-aware role remembers */
    int64_t split, split_min_tokens; /* workers that compute a prompt of so many tokens; 1: one */
    bool strict_class; /* tokens of a request come from one numeric class, or it fails */
    int64_t
        colocated_prefill_tokens; /* prompts up to here may be run by the decode worker; 0: none */
    const char *model; /* named where it lacks workers; NULL: the gateway has no other one */
};

struct gw_routing {
    struct gw_lifecycle *lifecycle;
    const struct gw_fleet *fleet;
    struct gw_routing_options options;
    struct gw_prefix_table *prefill_table, *decode_table; /* NULL: the role is not prefix-aware */
    struct gw_worker **candidates;                        /* [GW_MAX_WORKERS], scratch */
    struct baton_routing_prefill_view *prefill_views;     /* [GW_MAX_WORKERS], scratch */
    struct baton_routing_decode_view *decode_views;
    int64_t n_matched; /* tokens that the prefill worker chosen last has; -1: not known */
    uint64_t n_turns;
    uint32_t n_batch_turns; /* state of baton_priority_next (common/policy/priority.h) */
    struct gw_cut_paths cut_paths;
    double handoff_s;     /* mean time from first token to context received, over hand-offs */
    uint64_t n_colocated; /* prompts that decode workers ran */
    uint64_t n_split;     /* prompts that several prefill workers ran together */
};

/* Borrows both: they outlive it. */
enum baton_err gw_routing_init(struct gw_routing *routing, const struct gw_routing_options *options,
                               struct gw_lifecycle *lifecycle,
                               const struct gw_fleet *fleet) BATON_MUST_CHECK;
void gw_routing_fini(struct gw_routing *routing);

/* Routes queued requests as far as workers have capacity. Only the dispatcher's pump calls it; all
 * other code sets lifecycle->wants_pump. */
void gw_routing_route_queued(struct gw_routing *routing);

/* The decode worker reserved the blocks, and already has the prompt's first n_cached_blocks. Sends
 * the prompt to the worker that runs it. */
void gw_routing_reserved(struct gw_routing *routing, struct gw_request *request,
                         uint32_t n_cached_blocks);

/* Adds a hand-off to the mean: seconds from the first token at the gateway to the context at the
 * decode worker. */
void gw_routing_note_handoff(struct gw_routing *routing, double seconds);

/* Gives the requests that decode at draining workers receivers, as far as there is capacity. */
void gw_routing_hand_over(struct gw_routing *routing);

/* The worker died: removes it from the tables of prefixes. */
void gw_routing_forget(struct gw_routing *routing, const struct gw_worker *worker);

#endif
