#include "gateway/routing/routing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "gateway/lifecycle/hand_over.h"
#include "gateway/request/commands.h"
#include "gateway/routing/needs.h"
#include "gateway/routing/pair.h"
#include "gateway/routing/split.h"

/* The weight of the newest hand-off in the running mean. */
#define NEWEST_WEIGHT 0.2

enum baton_err gw_routing_init(struct gw_routing *routing, const struct gw_routing_options *options,
                               struct gw_lifecycle *lifecycle, const struct gw_fleet *fleet)
{
    *routing = (struct gw_routing){.options = *options, .lifecycle = lifecycle, .fleet = fleet};
    routing->candidates = calloc(GW_MAX_WORKERS, sizeof(struct gw_worker *));
    routing->prefill_views = calloc(GW_MAX_WORKERS, sizeof *routing->prefill_views);
    routing->decode_views = calloc(GW_MAX_WORKERS, sizeof *routing->decode_views);
    if (options->prefill == BATON_ROUTING_PREFIX_AWARE)
        routing->prefill_table = gw_prefix_table_create(options->prefix_blocks);
    if (options->decode == BATON_ROUTING_PREFIX_AWARE)
        routing->decode_table = gw_prefix_table_create(options->prefix_blocks);
    if (routing->candidates && routing->prefill_views && routing->decode_views &&
        (options->prefill != BATON_ROUTING_PREFIX_AWARE || routing->prefill_table) &&
        (options->decode != BATON_ROUTING_PREFIX_AWARE || routing->decode_table))
        return BATON_OK;
    gw_routing_fini(routing);
    return BATON_NO_MEMORY;
}

void gw_routing_fini(struct gw_routing *routing)
{
    free(routing->candidates);
    free(routing->prefill_views);
    free(routing->decode_views);
    gw_prefix_table_destroy(routing->prefill_table);
    gw_prefix_table_destroy(routing->decode_table);
    *routing = (struct gw_routing){.options = routing->options};
}

/* The places where the worker saves states of the prompt (engine/kv.h: baton_seq_save_states). */
static void note_ends(struct gw_prefix_table *table, const struct gw_request *request,
                      const struct gw_worker *worker, uint32_t block_tokens)
{
    const struct gw_prompt_hashes *hashes = request->attempt.hashes;
    const struct baton_chat_borders *borders = &request->params.borders;
    size_t interval = worker->state_interval / block_tokens;
    for (size_t end = interval; interval && end <= hashes->n; end += interval)
        gw_prefix_table_note_end(table, &hashes->list[end - 1], worker->tag);
    for (int i = 0; i < borders->n; i++) {
        size_t end = borders->at[i] / block_tokens;
        if (end && end <= hashes->n)
            gw_prefix_table_note_end(table, &hashes->list[end - 1], worker->tag);
    }
    if (hashes->n)
        gw_prefix_table_note_end(table, &hashes->list[hashes->n - 1], worker->tag);
}

static void note(struct gw_prefix_table *table, const struct gw_request *request,
                 const struct gw_worker *worker)
{
    const struct gw_prompt_hashes *hashes = request->attempt.hashes;
    if (table && hashes)
        gw_prefix_table_note(table, hashes->list, hashes->n, worker->tag);
}

static void note_prompt(const struct gw_routing *routing, const struct gw_request *request,
                        const struct gw_worker *worker)
{
    if (worker->state_interval && routing->prefill_table && request->attempt.hashes)
        note_ends(routing->prefill_table, request, worker, routing->fleet->terms.kv_block_tokens);
    else
        note(routing->prefill_table, request, worker);
}

void gw_routing_forget(struct gw_routing *routing, const struct gw_worker *worker)
{
    if (routing->prefill_table)
        gw_prefix_table_forget(routing->prefill_table, worker->tag);
    if (routing->decode_table)
        gw_prefix_table_forget(routing->decode_table, worker->tag);
    gw_cut_paths_forget(&routing->cut_paths, worker->tag);
}

/* ---- colocated prefill ---- */

static bool is_faster_colocated(const struct gw_routing *routing, const struct gw_request *request,
                                int64_t n_cached_tokens)
{
    const struct gw_worker *prefill = request->attempt.prefill, *decode = request->attempt.decode;
    struct gw_work there = gw_worker_load_now(&decode->load);
    bool is_running = there.n_requests > 1; /* this request has its reservation there already */
    /* The decode worker has answers, too, which the prefill worker would compute again. */
    int64_t n_matched = request->attempt.matched_tokens, n_more = n_cached_tokens - n_matched;
    return baton_routing_colocated_is_faster(&(struct baton_routing_colocated_view){
        .prompt_tokens = (int64_t)gw_request_input(request)->n - n_cached_tokens,
        .more_tokens = n_matched >= 0 && n_more > 0 ? n_more : 0,
        .colocated_queued_tokens = there.n_queued_tokens,
        .colocated_tokens_per_s = gw_worker_prompt_rate(decode),
        .step_s = is_running ? decode->status.last_step_s : 0,
        .queued_tokens = gw_worker_load_now(&prefill->load).n_queued_tokens,
        .tokens_per_s = gw_worker_prompt_rate(prefill),
        .handoff_s = routing->handoff_s});
}

static bool should_colocate(const struct gw_routing *routing, const struct gw_request *request)
{
    int64_t n_cached_tokens =
        (int64_t)request->attempt.n_cached_blocks * routing->fleet->terms.kv_block_tokens;
    const struct gw_worker *prefill = request->attempt.prefill, *decode = request->attempt.decode;
    /* The blocks are reserved under the prefill worker's class: another class would store other
     * bits under the same hashes. */
    if (prefill && decode && prefill->numeric_class != decode->numeric_class)
        return false;
    /* Only Reserved says how much of the prompt is cached, so the decision comes after it. */
    if (!decode || request->attempt.is_delivered ||
        !gw_needs_may_colocate(routing, request, n_cached_tokens))
        return false;
    return !prefill || is_faster_colocated(routing, request, n_cached_tokens);
}

void gw_routing_note_handoff(struct gw_routing *routing, double seconds)
{
    double *mean = &routing->handoff_s;
    /* Two processes measured the durations in this difference, so it may be negative. */
    seconds = seconds > 0 ? seconds : 0;
    *mean = *mean > 0 ? *mean + NEWEST_WEIGHT * (seconds - *mean) : seconds;
}

/* ---- routing ---- */

static void run_prompt(struct gw_routing *routing, struct gw_request *request)
{
    gw_attempt_prompt_begins(&request->attempt, gw_request_input(request)->n, baton_now_ns());
    gw_split_choose(routing, request);
    if (request->attempt.prefill)
        note_prompt(routing, request, request->attempt.prefill);
    gw_lifecycle_set_state(routing->lifecycle, request, GW_PREFILLING,
                           request->attempt.prompt_at->id);
    gw_command_prefill(request);
}

void gw_routing_reserved(struct gw_routing *routing, struct gw_request *request,
                         uint32_t n_cached_blocks)
{
    request->attempt.n_cached_blocks = n_cached_blocks;
    note(routing->decode_table, request, request->attempt.decode);
    if (should_colocate(routing, request)) {
        gw_attempt_colocate(&request->attempt);
        routing->n_colocated++;
    }
    run_prompt(routing, request);
    if (request->attempt.decode->recently_rejected[request->params.priority])
        routing->lifecycle->wants_pump = true; /* the worker may get the next Reserve now */
}

/* Reserves when the request leaves the queue, because many requests may wait in it. After this no
 * token can fail for lack of memory; without memory the request waits. */
static bool reserve_output(struct gw_request *request)
{
    size_t n_wanted = (size_t)request->params.max_new_tokens, n = request->output.tokens.n;
    return n >= n_wanted || !gw_output_reserve(&request->output, n_wanted - n);
}

/* False when the request must wait for capacity. */
static bool route(struct gw_routing *routing, struct gw_request *request)
{
    struct gw_pair pair;
    if (!gw_pair_choose(routing, request, &pair) || !reserve_output(request))
        return false;
    const struct gw_worker *computes = pair.prefill ? pair.prefill : pair.decode;
    request->attempt.hashes = gw_prompt_hashes_get(request, computes->numeric_class,
                                                   routing->fleet->terms.kv_block_tokens);
    /* The prompt runs only after Reserved, but both workers are assigned now: should_colocate
     * compares them then, and other requests must see their load meanwhile. */
    if (pair.prefill)
        gw_attempt_assign_prefill(&request->attempt, pair.prefill, ++routing->n_turns);
    request->attempt.matched_tokens = pair.matched_tokens;
    if (!pair.decode) {
        run_prompt(routing, request);
        return true;
    }
    /* Even if the decode worker had all tokens but the last. */
    request->attempt.is_delivered =
        pair.prefill &&
        !gw_needs_may_colocate(routing, request, (int64_t)gw_request_input(request)->n - 1);
    gw_attempt_assign_decode(&request->attempt, pair.decode, ++routing->n_turns,
                             gw_needs_n_blocks(routing, request));
    gw_lifecycle_set_state(routing->lifecycle, request, GW_RESERVING, pair.decode->id);
    gw_command_reserve(request);
    return true;
}

static bool is_doubtful(const struct gw_worker *worker)
{
    return worker && worker->state != GW_WORKER_READY && worker->state != GW_WORKER_DRAINING;
}

/* The hashes of the blocks that the context began with. NULL if several classes computed it: no
 * hash then identifies its bits. */
static const struct gw_prompt_hashes *context_hashes(const struct gw_routing *routing,
                                                     struct gw_request *request)
{
    const struct gw_numeric_class *own = request->attempt.decode->numeric_class;
    bool is_of_one = !request->class_changed && !strcmp(request->numeric_class.hex, own->name.hex);
    return is_of_one ? gw_prompt_hashes_get(request, own, routing->fleet->terms.kv_block_tokens)
                     : NULL;
}

/* A sequence moves inside its numeric class only: a KV cache of another class would change its
 * tokens. Without a receiver it finishes where it is, or migrates when the drain time is over. */
static void hand_over(struct gw_routing *routing, struct gw_request *request)
{
    const struct gw_worker *sender = request->attempt.decode;
    struct gw_worker *receiver = NULL;
    /* First, because a hand-over is due only without a successor: a new receiver is then chosen in
     * the same tick. */
    if (is_doubtful(request->successor.decode))
        gw_hand_over_drop(request, "the receiving worker does not answer");
    if (gw_hand_over_is_due(routing->lifecycle, request))
        receiver =
            gw_pair_choose_decode(routing, request, sender, gw_class_set_of(sender->numeric_class));
    if (receiver)
        gw_hand_over_begin(request, receiver, context_hashes(routing, request), ++routing->n_turns,
                           gw_needs_n_blocks(routing, request));
}

void gw_routing_hand_over(struct gw_routing *routing)
{
    struct gw_request_list *list = gw_lifecycle_list(routing->lifecycle, GW_DECODING);
    if (!gw_fleet_n(routing->fleet, BATON__V1__ROLE__ROLE_DECODE, GW_WORKER_DRAINING))
        return;
    for (struct gw_request *request = gw_request_list_first(list); request;
         request = gw_request_list_next(list, request))
        hand_over(routing, request);
}

/* A client whose request broke gets the cause first, and then why no worker can take it. */
static void fail(struct gw_routing *routing, struct gw_request *request,
                 const struct gw_failure *failure)
{
    char message[GW_MAX_BREAK_BYTES + GW_OVERFLOW_WORDS_BYTES + 64];
    struct gw_failure told = *failure;
    bool has_begun = request->migration.n > 0;
    const char *cause = has_begun ? request->migration.past->reason : request->broke;
    if (has_begun)
        told = (struct gw_failure){502, "worker_failed", message};
    else if (cause && failure->status >= 500)
        told.message = message;
    (void)snprintf(message, sizeof message, "%.*s, and no other worker can %s it: %s",
                   GW_MAX_BREAK_BYTES - 1, cause ? cause : "", has_begun ? "continue" : "take",
                   failure->message);
    gw_lifecycle_fail(routing->lifecycle, request, &told);
}

/* Routes or fails the first request of the class. False if the queue is empty, or if the request
 * must wait for capacity. */
static bool route_first(struct gw_routing *routing, enum baton_priority priority)
{
    const struct gw_requests *requests = routing->lifecycle->core->requests;
    struct gw_request *request = gw_request_queue_first(&requests->queued[priority]);
    const struct gw_failure *failure = request ? gw_needs_unmet(routing, request) : NULL;
    bool batch_waits = requests->queued[BATON_PRIORITY_BATCH].n > 0;
    struct gw_needs_words words;
    if (failure)
        fail(routing, request, gw_needs_tell(routing, request, failure, &words));
    else if (!request || !route(routing, request))
        return false;
    else
        baton_priority_take(&routing->n_batch_turns, priority, batch_waits);
    return true;
}

/* First come, first served in each class, and the classes in turns. A request never overtakes
 * another one of its class; otherwise small requests would starve a large one. */
static bool route_next(struct gw_routing *routing)
{
    const struct gw_requests *requests = routing->lifecycle->core->requests;
    size_t n_interactive = requests->queued[BATON_PRIORITY_INTERACTIVE].n;
    size_t n_batch = requests->queued[BATON_PRIORITY_BATCH].n;
    enum baton_priority next =
        baton_priority_next(routing->n_batch_turns, n_interactive > 0, n_batch > 0);
    if (route_first(routing, next))
        return true;
    return next == BATON_PRIORITY_BATCH && routing->n_batch_turns < BATON_BATCH_PATIENCE &&
           route_first(routing, BATON_PRIORITY_INTERACTIVE);
}

/* Reads the queues again each time, because failing one request may end others of the same
 * completion. */
void gw_routing_route_queued(struct gw_routing *routing)
{
    while (route_next(routing))
        ;
}
