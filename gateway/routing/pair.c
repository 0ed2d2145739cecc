#include "gateway/routing/pair.h"

#include "gateway/request/commands.h"
#include "gateway/routing/needs.h"

/* ---- prefix matches of a prompt ---- */

/* The prefix matches of one prompt in one table, by the numeric class of its blocks. Hashing a
 * prompt is expensive, so a class is looked up only when a candidate needs it. */
struct matches {
    const struct gw_prefix_table *table; /* NULL: none */
    bool are_ends;                       /* it has the ends where states are saved */
    struct gw_request *request;
    uint32_t block_tokens;
    struct found {
        bool is_known;
        size_t n;
        struct gw_prefix_match of[GW_PREFIX_TAGS];
    } found[GW_MAX_CLASSES];
};

static void look_up(struct matches *matches, const struct gw_numeric_class *numeric_class)
{
    const struct gw_prompt_hashes *hashes =
        gw_prompt_hashes_get(matches->request, numeric_class, matches->block_tokens);
    struct found *found = &matches->found[numeric_class->index];
    found->n = (matches->are_ends ? gw_prefix_table_match_ends : gw_prefix_table_match)(
        matches->table, hashes->list, hashes->n, found->of);
    found->is_known = true;
}

/* Tokens of the prompt that the worker has cached, in blocks that this class computed. The worker
 * may be of another class: it received the blocks by a hand-off. */
static int64_t matched_tokens(struct matches *matches, const struct gw_numeric_class *numeric_class,
                              const struct gw_worker *worker)
{
    const struct found *found = &matches->found[numeric_class->index];
    if (!matches->table)
        return 0;
    if (!found->is_known)
        look_up(matches, numeric_class);
    for (size_t i = 0; i < found->n; i++)
        if (found->of[i].tag == worker->tag)
            return (int64_t)found->of[i].n_blocks * matches->block_tokens;
    return 0;
}

/* ---- one worker ---- */

/* A batch request sees twice the backlog: the other half of it is left to interactive requests. */
static bool is_backlogged(const struct gw_worker *worker, enum baton_priority priority)
{
    int counts = priority == BATON_PRIORITY_BATCH ? 2 : 1;
    return baton_routing_is_backlogged(counts * gw_worker_load_now(&worker->load).n_requests,
                                       counts * gw_worker_wait_s(worker));
}

/* is_handed_off: the context is sent to a decode worker, which must be within reach. */
static struct gw_worker *choose_prefill(struct gw_routing *routing, struct gw_request *request,
                                        bool is_handed_off, gw_class_set classes)
{
    const struct gw_fleet *fleet = routing->fleet;
    struct matches matches = {.table = routing->prefill_table,
                              .request = request,
                              .block_tokens = fleet->terms.kv_block_tokens};
    size_t n = 0;
    for (struct gw_worker *worker = gw_worker_list_first(&fleet->workers); worker;
         worker = gw_worker_list_next(&fleet->workers, worker)) {
        if (worker->role != BATON__V1__ROLE__ROLE_PREFILL || !gw_worker_is_there(worker) ||
            !(gw_class_set_of(worker->numeric_class) & classes) ||
            is_backlogged(worker, request->params.priority) ||
            !gw_needs_fit(routing, worker, request) ||
            (is_handed_off && !gw_cut_paths_reach_any(&routing->cut_paths, routing->fleet, worker)))
            continue;
        matches.are_ends = worker->state_interval > 0; /* all workers have the same model */
        routing->candidates[n] = worker;
        routing->prefill_views[n++] = (struct baton_routing_prefill_view){
            .queued_tokens = gw_worker_load_now(&worker->load).n_queued_tokens,
            .matched_tokens = matched_tokens(&matches, worker->numeric_class, worker),
            .tokens_per_s = gw_worker_prompt_rate(worker),
            .turn = worker->turn};
    }
    if (!n)
        return NULL;
    size_t chosen =
        (size_t)baton_routing_prefill(routing->options.prefill, routing->prefill_views, n);
    routing->n_matched = matches.table ? routing->prefill_views[chosen].matched_tokens : -1;
    return routing->candidates[chosen];
}

/* Whether the worker may get a Reserve now. A worker that has just rejected one gets them one at a
 * time, so that a full queue does not cause a burst of rejections. */
static bool may_reserve(const struct gw_routing *routing, const struct gw_worker *worker,
                        enum baton_priority priority)
{
    struct gw_request_list *reserving = gw_lifecycle_list(routing->lifecycle, GW_RESERVING);
    if (worker->backing_off[priority] || !worker->recently_rejected[priority])
        return !worker->backing_off[priority];
    struct gw_request *reserved = gw_request_list_first(reserving);
    while (reserved && reserved->attempt.decode != worker)
        reserved = gw_request_list_next(reserving, reserved);
    return !reserved;
}

/* Whether the sender, NULL if there is none, can send its context to the worker. */
static bool may_send(const struct gw_routing *routing, const struct gw_worker *sender,
                     const struct gw_worker *worker)
{
    if (!sender)
        return true;
    bool is_hand_over = sender->role == BATON__V1__ROLE__ROLE_DECODE;
    return gw_cut_paths_reach(&routing->cut_paths, sender, worker) &&
           (!is_hand_over || worker->hands_over);
}

static int64_t n_free_blocks(const struct gw_worker *worker)
{
    return (int64_t)worker->status.kv_blocks_total - gw_worker_load_now(&worker->load).n_blocks;
}

/* Blocks come back only at a request's end, so an interactive request could wait for a whole batch
 * request. Batch requests therefore leave some blocks free, except on an idle worker. */
bool gw_pair_has_blocks(const struct gw_worker *worker, const struct gw_request *request,
                        int64_t n_wanted)
{
    int64_t n_free = n_free_blocks(worker);
    if (request->params.priority == BATON_PRIORITY_BATCH &&
        gw_worker_load_now(&worker->load).n_requests)
        n_free -= baton_batch_spare((int64_t)worker->status.kv_blocks_total);
    return n_free >= n_wanted;
}

static bool may_decode(const struct gw_routing *routing, const struct gw_worker *worker,
                       const struct gw_request *request, int64_t n_wanted)
{
    return worker->role == BATON__V1__ROLE__ROLE_DECODE && gw_worker_is_there(worker) &&
           gw_adapters_have(&worker->adapters, &request->params.adapters) &&
           gw_pair_has_blocks(worker, request, n_wanted) &&
           may_reserve(routing, worker, request->params.priority);
}

/* The classes in which a decode worker has capacity for the request now. */
static gw_class_set classes_with_capacity(const struct gw_routing *routing,
                                          const struct gw_request *request)
{
    const struct gw_fleet *fleet = routing->fleet;
    int64_t n_wanted = gw_needs_n_blocks(routing, request);
    gw_class_set set = GW_NO_CLASS;
    for (struct gw_worker *worker = gw_worker_list_first(&fleet->workers); worker;
         worker = gw_worker_list_next(&fleet->workers, worker))
        if (!(gw_class_set_of(worker->numeric_class) & set) &&
            may_decode(routing, worker, request, n_wanted))
            set |= gw_class_set_of(worker->numeric_class);
    return set;
}

struct gw_worker *gw_pair_choose_decode(struct gw_routing *routing, struct gw_request *request,
                                        const struct gw_worker *sender, gw_class_set classes)
{
    const struct gw_fleet *fleet = routing->fleet;
    struct matches matches = {.table = routing->decode_table,
                              .request = request,
                              .block_tokens = fleet->terms.kv_block_tokens};
    int64_t n_wanted = gw_needs_n_blocks(routing, request);
    size_t n = 0;
    for (struct gw_worker *worker = gw_worker_list_first(&fleet->workers); worker;
         worker = gw_worker_list_next(&fleet->workers, worker)) {
        /* Blocks are stored under the hashes of the class that computes the prompt. */
        const struct gw_worker *computes = sender ? sender : worker;
        if (!(gw_class_set_of(worker->numeric_class) & classes) ||
            !may_decode(routing, worker, request, n_wanted) || !may_send(routing, sender, worker))
            continue;
        routing->candidates[n] = worker;
        routing->decode_views[n++] = (struct baton_routing_decode_view){
            .n_requests = gw_worker_load_now(&worker->load).n_requests,
            .n_free_blocks = n_free_blocks(worker),
            .matched_tokens = matched_tokens(&matches, computes->numeric_class, worker),
            .step_s = worker->status.last_step_s,
            .turn = worker->turn};
    }
    if (!n)
        return NULL;
    return routing
        ->candidates[baton_routing_decode(routing->options.decode, routing->decode_views, n)];
}

/* ---- two workers ---- */

/* A pair of one class. The prefill worker is chosen first, among the classes whose decode workers
 * have capacity: otherwise it could be of a class whose decode workers are full. */
static bool choose_inside(struct gw_routing *routing, struct gw_request *request,
                          gw_class_set classes, struct gw_pair *pair)
{
    pair->prefill =
        choose_prefill(routing, request, true, classes & classes_with_capacity(routing, request));
    pair->decode = pair->prefill
                       ? gw_pair_choose_decode(routing, request, pair->prefill,
                                               gw_class_set_of(pair->prefill->numeric_class))
                       : NULL;
    return pair->decode;
}

/* A decode worker that runs the prompt itself, if no prefill worker of a class with decode capacity
 * is free. With one, gw_routing_reserved decides later which of the two is faster. */
static bool choose_alone(struct gw_routing *routing, struct gw_request *request,
                         gw_class_set classes, struct gw_pair *pair)
{
    gw_class_set room = classes & classes_with_capacity(routing, request);
    *pair = (struct gw_pair){0};
    if (gw_needs_may_colocate(routing, request, 0) && !choose_prefill(routing, request, true, room))
        pair->decode = gw_pair_choose_decode(routing, request, NULL, room);
    return pair->decode;
}

/* Mixes two classes only if one of them has no worker of the other role: a class that is complete
 * keeps its workers for requests that stay inside it. */
static bool choose_mixed(struct gw_routing *routing, struct gw_request *request,
                         struct gw_pair *pair)
{
    gw_class_set prefills = gw_fleet_serves(routing->fleet, BATON__V1__ROLE__ROLE_PREFILL);
    gw_class_set decodes = gw_fleet_serves(routing->fleet, BATON__V1__ROLE__ROLE_DECODE);
    bool may_be_any = classes_with_capacity(routing, request) & decodes & ~prefills;
    pair->decode = NULL;
    pair->prefill =
        choose_prefill(routing, request, true, may_be_any ? gw_any_class : prefills & ~decodes);
    if (pair->prefill) {
        bool is_single = gw_class_set_of(pair->prefill->numeric_class) & ~decodes;
        pair->decode = gw_pair_choose_decode(routing, request, pair->prefill,
                                             is_single ? gw_any_class : decodes & ~prefills);
    }
    return pair->decode;
}

bool gw_pair_choose(struct gw_routing *routing, struct gw_request *request, struct gw_pair *pair)
{
    gw_class_set classes = gw_needs_classes(routing, request);
    if (!gw_needs_decode(routing, request)) {
        *pair = (struct gw_pair){.prefill = choose_prefill(routing, request, false, classes)};
        return pair->prefill;
    }
    bool is_chosen = choose_inside(routing, request, classes, pair) ||
                     choose_alone(routing, request, classes, pair) ||
                     (classes == gw_any_class && !routing->options.strict_class &&
                      choose_mixed(routing, request, pair));
    pair->matched_tokens = routing->n_matched;
    return is_chosen;
}
