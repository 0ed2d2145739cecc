#include "gateway/routing/split.h"

#include <string.h>

#include "gateway/request/commands.h"
#include "gateway/routing/needs.h"

/* ---- the workers ---- */

/* prompt_logprobs and pooling read the final state of every position, which only an undivided
 * prompt has on one worker. A request that failed once may have failed because of its parts, so its
 * next attempt is undivided. */
static bool may_split(const struct gw_routing *routing, const struct gw_request *request)
{
    const struct gw_params *params = &request->params;
    return routing->options.split > 1 && params->kv_cache && !params->pooling &&
           !params->prompt_logprobs && !request->n_failures && !request->migration.n &&
           request->attempt.prefill && request->attempt.prompt_at == request->attempt.prefill &&
           *request->attempt.prefill->bulk_url &&
           (int64_t)gw_request_input(request)->n >= routing->options.split_min_tokens;
}

/* Whether the worker can help now. Only an idle worker can: splitting saves no work, so on a busy
 * worker it would speed up one prompt at the cost of others. */
static bool may_help(const struct gw_routing *routing, const struct gw_request *request,
                     const struct gw_worker *worker)
{
    const struct gw_worker *first = request->attempt.prefill;
    struct gw_work work = gw_worker_load_now(&worker->load);
    return worker != first && worker->role == BATON__V1__ROLE__ROLE_PREFILL && *worker->bulk_url &&
           worker->numeric_class == first->numeric_class && gw_worker_is_there(worker) &&
           !worker->n_active && !work.n_queued_tokens && !work.n_requests &&
           gw_needs_fit(routing, worker, request) &&
           gw_cut_paths_reach(&routing->cut_paths, first, worker) &&
           gw_cut_paths_reach(&routing->cut_paths, worker, first);
}

void gw_split_choose(struct gw_routing *routing, struct gw_request *request)
{
    struct gw_attempt *attempt = &request->attempt;
    if (!may_split(routing, request))
        return;
    for (struct gw_worker *worker = gw_worker_list_first(&routing->fleet->workers);
         worker && attempt->n_parts < routing->options.split;
         worker = gw_worker_list_next(&routing->fleet->workers, worker)) {
        if (!may_help(routing, request, worker))
            continue;
        if (!attempt->n_parts)
            gw_attempt_add_part(attempt, attempt->prefill, routing->n_turns);
        gw_attempt_add_part(attempt, worker, ++routing->n_turns);
    }
}

/* ---- the stripes ---- */

/* Blocks of a stripe: as many as fit into one step of every worker, so that a stripe never waits
 * for a second step. 0: a step is smaller than a block. */
static uint32_t stripe_blocks(const struct gw_routing *routing, const struct gw_attempt *attempt)
{
    uint32_t n_rows = UINT32_MAX;
    for (uint32_t i = 0; i < attempt->n_parts; i++) {
        uint32_t n = attempt->parts[i].worker->status.step_max_rows;
        n_rows = n && n < n_rows ? n : n_rows;
    }
    return n_rows == UINT32_MAX ? 0 : n_rows / routing->fleet->terms.kv_block_tokens;
}

/* False: there is too little to divide. The order is rotated so that the last stripe falls to the
 * first part, which samples the first token. */
static bool divide(const struct gw_routing *routing, const struct gw_request *request,
                   struct gw_split *split)
{
    const struct gw_attempt *attempt = &request->attempt;
    uint32_t block_tokens = routing->fleet->terms.kv_block_tokens;
    uint32_t n_tokens = (uint32_t)gw_request_input(request)->n;
    *split = (struct gw_split){.n_parts = attempt->n_parts,
                               .stripe_blocks = stripe_blocks(routing, attempt)};
    /* The stripes begin after the longest cached prefix of any part, which sends it to the
     * others. */
    for (uint32_t i = 0; i < attempt->n_parts; i++) {
        if (attempt->parts[i].n_cached_blocks <= split->first_block)
            continue;
        split->first_block = attempt->parts[i].n_cached_blocks;
        split->holder = i;
    }
    int64_t n_left = (int64_t)n_tokens - (int64_t)split->first_block * block_tokens;
    if (!split->stripe_blocks || n_left < routing->options.split_min_tokens)
        return false;
    uint32_t stripe_tokens = split->stripe_blocks * block_tokens;
    uint32_t n_stripes = (uint32_t)((n_left + stripe_tokens - 1) / stripe_tokens);
    for (uint32_t i = 0; i < split->n_parts; i++)
        split->order[(n_stripes - 1 + i) % split->n_parts] = i;
    return split->n_parts > 1 && n_stripes >= split->n_parts;
}

/* The first part has its blocks, and continues without the others. */
static void go_alone(struct gw_request *request, const char *reason)
{
    gw_command_cancel_parts(request, &request->attempt, reason);
    gw_command_start_part(request, 0, &(struct gw_split){0});
    gw_attempt_release_parts(&request->attempt);
}

static void start(struct gw_routing *routing, struct gw_request *request)
{
    struct gw_split split;
    struct gw_attempt *attempt = &request->attempt;
    if (!divide(routing, request, &split)) {
        go_alone(request, "too little of the prompt is left to divide");
        return;
    }
    for (uint32_t i = 0; i < attempt->n_parts; i++)
        gw_command_start_part(request, i, &split);
    attempt->n_split = attempt->n_parts;
    routing->n_split++;
}

static bool all_answered(const struct gw_attempt *attempt)
{
    for (uint32_t i = 0; i < attempt->n_parts; i++)
        if (!attempt->parts[i].answered)
            return false;
    return true;
}

bool gw_split_reserved(struct gw_routing *routing, struct gw_request *request,
                       const struct gw_worker *worker, const Baton__V1__Reserved *reserved)
{
    struct gw_prompt_part *part = gw_attempt_part(&request->attempt, worker);
    uint32_t block_tokens = routing->fleet->terms.kv_block_tokens;
    if (!part || part->answered)
        return true;
    /* At least the last token must be computed, because its logits give the first output token. */
    if ((uint64_t)reserved->n_cached_blocks * block_tokens >= gw_request_input(request)->n)
        return false;
    part->answered = true;
    part->n_cached_blocks = reserved->n_cached_blocks;
    memcpy(part->ticket.bytes, reserved->ticket.data, sizeof part->ticket.bytes);
    if (all_answered(&request->attempt))
        start(routing, request);
    return true;
}

void gw_split_give_up(struct gw_routing *routing, struct gw_request *request,
                      const struct gw_worker *worker)
{
    static const char reason[] = "a part of the prompt has no blocks";
    struct gw_attempt *attempt = &request->attempt;
    if (attempt->n_split || !gw_attempt_part(attempt, worker))
        return;
    gw_command_cancel_parts(request, attempt, reason);
    gw_attempt_release_parts(attempt);
    if (worker == attempt->prefill) { /* sent without parts, the prompt waits there for blocks */
        gw_command_prefill(request);
        return;
    }
    attempt->n_parts = 1; /* keeps the first part, whose answer may still be on its way */
    if (attempt->parts[0].answered)
        start(routing, request);
}
