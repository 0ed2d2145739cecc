#include "gateway/routing/routing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "gateway/lifecycle/hand_over.h"
#include "gateway/request/commands.h"

static const struct gw_failure no_prefill = {503, "no_worker",
                                             "no prefill worker is ready; try again shortly"};
static const struct gw_failure no_decode = {503, "no_worker",
                                            "no decode worker is ready; try again shortly"};
static const struct gw_failure no_path = {
    503, "no_worker", "no prefill worker reaches a decode worker; try again shortly"};
static const struct gw_failure no_class = {
    503, "no_worker",
    "no numeric class has a prefill and a decode worker (--strict-class); try again shortly"};
static const struct gw_failure no_class_left = {
    503, "no_worker", "no worker of its numeric class is left (--strict-class)"};
static const struct gw_failure no_memory = {
    400, "context_length_exceeded",
    "prompt and output are more tokens than any worker's KV cache holds"};

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

/* ---- what is known of a prompt ---- */

/* The prefix matches of one prompt in one table, by the numeric class of its blocks: looked up
 * where they are asked for. */
struct matches {
    const struct gw_prefix_table *table; /* NULL: none */
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
    found->n = gw_prefix_table_match(matches->table, hashes->list, hashes->n, found->of);
    found->is_known = true;
}

/* Of blocks that this class computed, at the worker, whatever its own class is. */
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

static void note(struct gw_prefix_table *table, const struct gw_request *request,
                 const struct gw_worker *worker)
{
    const struct gw_prompt_hashes *hashes = request->attempt.hashes;
    if (table && hashes)
        gw_prefix_table_note(table, hashes->list, hashes->n, worker->tag);
}

void gw_routing_forget(struct gw_routing *routing, const struct gw_worker *worker)
{
    if (routing->prefill_table)
        gw_prefix_table_forget(routing->prefill_table, worker->tag);
    if (routing->decode_table)
        gw_prefix_table_forget(routing->decode_table, worker->tag);
    gw_cut_paths_forget(&routing->cut_paths, worker->tag);
}

/* ---- paths between workers ---- */

void gw_routing_path_cut(struct gw_routing *routing, const struct gw_worker *from,
                         const struct gw_worker *to)
{
    if (!from || !to)
        return;
    int64_t now_ns = baton_now_ns();
    bool is_news = !gw_cut_paths_has(&routing->cut_paths, from->tag, to->tag, now_ns);
    int64_t avoid_ns = gw_cut_paths_note(&routing->cut_paths, from->tag, to->tag, now_ns);
    if (is_news)
        baton_log(BATON_LOG_WARN, "path_cut", BATON_S("from", from->id), BATON_S("to", to->id),
                  BATON_F("avoided_s", baton_seconds(avoid_ns)));
}

void gw_routing_path_works(struct gw_routing *routing, const struct gw_worker *from,
                           const struct gw_worker *to)
{
    if (from && to && gw_cut_paths_mend(&routing->cut_paths, from->tag, to->tag))
        baton_log(BATON_LOG_INFO, "path_mended", BATON_S("from", from->id), BATON_S("to", to->id));
}

static bool reaches(const struct gw_routing *routing, const struct gw_worker *prefill,
                    const struct gw_worker *decode)
{
    return !routing->cut_paths.n ||
           !gw_cut_paths_has(&routing->cut_paths, prefill->tag, decode->tag, baton_now_ns());
}

/* Whether a prefill worker reaches any decode worker that is ready. */
static bool reaches_any(const struct gw_routing *routing, const struct gw_worker *prefill)
{
    const struct gw_fleet *fleet = routing->fleet;
    if (!routing->cut_paths.n)
        return true;
    for (struct gw_worker *worker = gw_worker_list_first(&fleet->workers); worker;
         worker = gw_worker_list_next(&fleet->workers, worker))
        if (worker->role == BATON__V1__ROLE__ROLE_DECODE && worker->state == GW_WORKER_READY &&
            reaches(routing, prefill, worker))
            return true;
    return false;
}

/* ---- choice ---- */

static bool is_backlogged(const struct gw_worker *worker)
{
    return baton_routing_is_backlogged(gw_worker_load_now(&worker->load).n_requests,
                                       gw_worker_wait_s(worker));
}

/* Whether the worker's KV cache, when it is empty, holds the request: its context in a decode
 * worker; in a prefill worker its prompt, in naive mode with the output. */
static bool holds(const struct gw_routing *routing, const struct gw_worker *worker,
                  const struct gw_request *request)
{
    bool is_prompt = worker->role == BATON__V1__ROLE__ROLE_PREFILL && request->params.kv_cache;
    int64_t n_new = is_prompt ? 1 : gw_request_n_more(request);
    return gw_attempt_n_blocks(gw_request_input(request)->n, n_new,
                               routing->fleet->terms.kv_block_tokens) <=
           (int64_t)worker->status.kv_blocks_total;
}

/* Whether a worker of the role in one of the classes, even if all of it were free, could take the
 * request. */
static bool has_worker_for(const struct gw_routing *routing, Baton__V1__Role role,
                           const struct gw_request *request, gw_class_set classes)
{
    const struct gw_fleet *fleet = routing->fleet;
    for (struct gw_worker *worker = gw_worker_list_first(&fleet->workers); worker;
         worker = gw_worker_list_next(&fleet->workers, worker))
        if (worker->role == role && gw_class_set_of(worker->numeric_class) & classes &&
            holds(routing, worker, request) &&
            (worker->state == GW_WORKER_READY || worker->state == GW_WORKER_SUSPECT))
            return true;
    return false;
}

/* Where the request may go. One that has tokens stays in the class that made the last of them:
 * while that class can take it, and for good when classes are strict. A decode worker can run the
 * prompt as well. */
static gw_class_set classes_for(const struct gw_routing *routing, const struct gw_request *request)
{
    if (!gw_request_n_resumed(request))
        return gw_any_class;
    gw_class_set own =
        gw_class_set_of(gw_numeric_classes_find(&routing->fleet->classes, &request->numeric_class));
    bool is_last = !request->params.kv_cache || gw_request_n_more(request) == 1;
    bool can_stay =
        (request->params.kv_cache &&
         has_worker_for(routing, BATON__V1__ROLE__ROLE_DECODE, request, own)) ||
        (is_last && has_worker_for(routing, BATON__V1__ROLE__ROLE_PREFILL, request, own));
    return can_stay || routing->options.strict_class ? own : gw_any_class;
}

/* is_handed_off: the context goes on to a decode worker, which must be within reach. */
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
            !(gw_class_set_of(worker->numeric_class) & classes) || is_backlogged(worker) ||
            !holds(routing, worker, request) || (is_handed_off && !reaches_any(routing, worker)))
            continue;
        routing->candidates[n] = worker;
        routing->prefill_views[n++] = (struct baton_routing_prefill_view){
            .queued_tokens = gw_worker_load_now(&worker->load).n_queued_tokens,
            .matched_tokens = matched_tokens(&matches, worker->numeric_class, worker),
            .tokens_per_s = gw_worker_prompt_rate(worker),
            .turn = worker->turn};
    }
    if (!n)
        return NULL;
    return routing
        ->candidates[baton_routing_prefill(routing->options.prefill, routing->prefill_views, n)];
}

/* Whether the worker may get a Reserve now. A worker that has just rejected one gets them one at a
 * time, so that a full queue does not cause a burst of rejections. */
static bool may_ask(const struct gw_routing *routing, const struct gw_worker *worker)
{
    struct gw_request_list *reserving = gw_lifecycle_list(routing->lifecycle, GW_RESERVING);
    if (worker->backing_off || !worker->recently_rejected)
        return !worker->backing_off;
    struct gw_request *asked = gw_request_list_first(reserving);
    while (asked && asked->attempt.decode != worker)
        asked = gw_request_list_next(reserving, asked);
    return !asked;
}

static int64_t n_blocks(const struct gw_routing *routing, const struct gw_request *request)
{
    return gw_attempt_n_blocks(gw_request_input(request)->n, gw_request_n_more(request),
                               routing->fleet->terms.kv_block_tokens);
}

/* Whether a context that the sender has may go to the worker. NULL: there is no sender. */
static bool may_send(const struct gw_routing *routing, const struct gw_worker *sender,
                     const struct gw_worker *worker)
{
    if (!sender)
        return true;
    bool is_hand_over = sender->role == BATON__V1__ROLE__ROLE_DECODE;
    return reaches(routing, sender, worker) && (!is_hand_over || worker->hands_over);
}

static int64_t n_free_blocks(const struct gw_worker *worker)
{
    return (int64_t)worker->status.kv_blocks_total - gw_worker_load_now(&worker->load).n_blocks;
}

static bool may_decode(const struct gw_routing *routing, const struct gw_worker *worker,
                       int64_t n_wanted)
{
    return worker->role == BATON__V1__ROLE__ROLE_DECODE && gw_worker_is_there(worker) &&
           n_free_blocks(worker) >= n_wanted && may_ask(routing, worker);
}

/* The classes in which a decode worker has capacity for the request now. */
static gw_class_set classes_with_room(const struct gw_routing *routing,
                                      const struct gw_request *request)
{
    const struct gw_fleet *fleet = routing->fleet;
    int64_t n_wanted = n_blocks(routing, request);
    gw_class_set set = GW_NO_CLASS;
    for (struct gw_worker *worker = gw_worker_list_first(&fleet->workers); worker;
         worker = gw_worker_list_next(&fleet->workers, worker))
        if (!(gw_class_set_of(worker->numeric_class) & set) &&
            may_decode(routing, worker, n_wanted))
            set |= gw_class_set_of(worker->numeric_class);
    return set;
}

/* sender: who will send the context, if anybody. */
static struct gw_worker *choose_decode(struct gw_routing *routing, struct gw_request *request,
                                       const struct gw_worker *sender, gw_class_set classes)
{
    const struct gw_fleet *fleet = routing->fleet;
    struct matches matches = {.table = routing->decode_table,
                              .request = request,
                              .block_tokens = fleet->terms.kv_block_tokens};
    int64_t n_wanted = n_blocks(routing, request);
    size_t n = 0;
    for (struct gw_worker *worker = gw_worker_list_first(&fleet->workers); worker;
         worker = gw_worker_list_next(&fleet->workers, worker)) {
        const struct gw_worker *computes = sender ? sender : worker;
        if (!(gw_class_set_of(worker->numeric_class) & classes) ||
            !may_decode(routing, worker, n_wanted) || !may_send(routing, sender, worker))
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

/* ---- colocated prefill ---- */

static bool may_colocate(const struct gw_routing *routing, const struct gw_request *request,
                         int64_t n_cached_tokens)
{
    const struct gw_params *params = &request->params;
    bool resumes = gw_request_n_resumed(request) > 0;
    if (!params->kv_cache || (params->prompt_logprobs && !resumes))
        return false;
    /* A stream that has begun may go on where it can, if no prefill worker is left for it. */
    if (resumes && !has_worker_for(routing, BATON__V1__ROLE__ROLE_PREFILL, request,
                                   classes_for(routing, request)))
        return true;
    return (int64_t)gw_request_input(request)->n - n_cached_tokens <=
           routing->options.colocated_prefill_tokens;
}

static bool is_faster_colocated(const struct gw_routing *routing, const struct gw_request *request,
                                int64_t n_cached_tokens)
{
    const struct gw_worker *prefill = request->attempt.prefill, *decode = request->attempt.decode;
    struct gw_work there = gw_worker_load_now(&decode->load);
    bool is_running = there.n_requests > 1; /* besides this one */
    return baton_routing_colocated_is_faster(&(struct baton_routing_colocated_view){
        .prompt_tokens = (int64_t)gw_request_input(request)->n - n_cached_tokens,
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
    /* Blocks that are reserved under the hashes of one class are not computed by another. */
    if (prefill && decode && prefill->numeric_class != decode->numeric_class)
        return false;
    /* Decided after Reserved, because only then is it known how much of the prompt is cached. */
    if (!decode || !may_colocate(routing, request, n_cached_tokens))
        return false;
    return !prefill || is_faster_colocated(routing, request, n_cached_tokens);
}

void gw_routing_note_handoff(struct gw_routing *routing, double seconds)
{
    double *mean = &routing->handoff_s;
    seconds = seconds > 0 ? seconds : 0; /* a difference of two clocks' durations may be < 0 */
    *mean = *mean > 0 ? *mean + NEWEST_WEIGHT * (seconds - *mean) : seconds;
}

/* ---- routing ---- */

static void run_prompt(struct gw_routing *routing, struct gw_request *request)
{
    gw_attempt_prompt_begins(&request->attempt, gw_request_input(request)->n, baton_now_ns());
    if (request->attempt.prefill)
        note(routing->prefill_table, request, request->attempt.prefill);
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
    if (request->attempt.decode->recently_rejected)
        routing->lifecycle->wants_pump = true; /* the worker may get the next Reserve now */
}

/* Whether there is no prefill worker and the decode worker may run this prompt. */
static bool must_colocate(const struct gw_routing *routing, const struct gw_request *request)
{
    Baton__V1__Role role = BATON__V1__ROLE__ROLE_PREFILL;
    bool has_prefill = gw_request_n_resumed(request)
                           ? has_worker_for(routing, role, request, classes_for(routing, request))
                           : gw_fleet_serves(routing->fleet, role) != GW_NO_CLASS;
    return !has_prefill && may_colocate(routing, request, 0);
}

/* A decode worker is needed only when more than one token is wanted, or when it must run the
 * prompt itself. */
static bool wants_decode(const struct gw_routing *routing, const struct gw_request *request)
{
    return request->params.kv_cache &&
           (gw_request_n_more(request) > 1 || must_colocate(routing, request));
}

/* Who computes the prompt, NULL: the decode worker; and who decodes, NULL: nobody needs to. */
struct pair {
    struct gw_worker *prefill, *decode;
};

static bool choose_inside(struct gw_routing *routing, struct gw_request *request,
                          gw_class_set classes, struct pair *pair)
{
    pair->prefill =
        choose_prefill(routing, request, true, classes & classes_with_room(routing, request));
    pair->decode = pair->prefill ? choose_decode(routing, request, pair->prefill,
                                                 gw_class_set_of(pair->prefill->numeric_class))
                                 : NULL;
    return pair->decode;
}

static bool choose_alone(struct gw_routing *routing, struct gw_request *request,
                         gw_class_set classes, struct pair *pair)
{
    gw_class_set room = classes & classes_with_room(routing, request);
    *pair = (struct pair){0};
    if (may_colocate(routing, request, 0) && !choose_prefill(routing, request, true, room))
        pair->decode = choose_decode(routing, request, NULL, room);
    return pair->decode;
}

/* Two classes work together where one of the two has nobody else to work with. */
static bool choose_mixed(struct gw_routing *routing, struct gw_request *request, struct pair *pair)
{
    gw_class_set prefills = gw_fleet_serves(routing->fleet, BATON__V1__ROLE__ROLE_PREFILL);
    gw_class_set decodes = gw_fleet_serves(routing->fleet, BATON__V1__ROLE__ROLE_DECODE);
    bool may_be_any = classes_with_room(routing, request) & decodes & ~prefills;
    pair->decode = NULL;
    pair->prefill =
        choose_prefill(routing, request, true, may_be_any ? gw_any_class : prefills & ~decodes);
    if (pair->prefill) {
        bool is_single = gw_class_set_of(pair->prefill->numeric_class) & ~decodes;
        pair->decode = choose_decode(routing, request, pair->prefill,
                                     is_single ? gw_any_class : decodes & ~prefills);
    }
    return pair->decode;
}

/* False when the request must wait for capacity. */
static bool choose(struct gw_routing *routing, struct gw_request *request, struct pair *pair)
{
    gw_class_set classes = classes_for(routing, request);
    if (!wants_decode(routing, request)) {
        *pair = (struct pair){.prefill = choose_prefill(routing, request, false, classes)};
        return pair->prefill;
    }
    return choose_inside(routing, request, classes, pair) ||
           choose_alone(routing, request, classes, pair) ||
           (classes == gw_any_class && !routing->options.strict_class &&
            choose_mixed(routing, request, pair));
}

/* False when the request must wait for capacity. */
static bool route(struct gw_routing *routing, struct gw_request *request)
{
    struct pair pair;
    if (!choose(routing, request, &pair))
        return false;
    const struct gw_worker *computes = pair.prefill ? pair.prefill : pair.decode;
    request->attempt.hashes = gw_prompt_hashes_get(request, computes->numeric_class,
                                                   routing->fleet->terms.kv_block_tokens);
    /* The prompt runs only after Reserved, but both workers are assigned now: should_colocate
     * compares them then. */
    if (pair.prefill)
        gw_attempt_assign_prefill(&request->attempt, pair.prefill, ++routing->n_turns);
    if (!pair.decode) {
        run_prompt(routing, request);
        return true;
    }
    gw_attempt_assign_decode(&request->attempt, pair.decode, ++routing->n_turns,
                             n_blocks(routing, request));
    gw_lifecycle_set_state(routing->lifecycle, request, GW_RESERVING, pair.decode->id);
    gw_command_reserve(request);
    return true;
}

static bool is_doubtful(const struct gw_worker *worker)
{
    return worker && worker->state != GW_WORKER_READY && worker->state != GW_WORKER_DRAINING;
}

/* Those of the blocks that the context began with. NULL: several classes computed it, so that no
 * hash stands for all of it. */
static const struct gw_prompt_hashes *context_hashes(const struct gw_routing *routing,
                                                     struct gw_request *request)
{
    const struct gw_numeric_class *own = request->attempt.decode->numeric_class;
    bool is_of_one = !request->class_changed && !strcmp(request->numeric_class.hex, own->name.hex);
    return is_of_one ? gw_prompt_hashes_get(request, own, routing->fleet->terms.kv_block_tokens)
                     : NULL;
}

/* A sequence moves inside its numeric class. Without another worker there it ends where it is, or
 * goes on elsewhere when the drain is over. */
static void hand_over(struct gw_routing *routing, struct gw_request *request)
{
    const struct gw_worker *sender = request->attempt.decode;
    struct gw_worker *receiver = NULL;
    if (is_doubtful(request->successor.decode))
        gw_hand_over_drop(request, "the receiving worker does not answer");
    if (gw_hand_over_is_due(routing->lifecycle, request))
        receiver = choose_decode(routing, request, sender, gw_class_set_of(sender->numeric_class));
    if (receiver)
        gw_hand_over_begin(request, receiver, context_hashes(routing, request), ++routing->n_turns,
                           n_blocks(routing, request));
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

/* The role that the request needs and that has no worker in the classes where it may go. */
static Baton__V1__Role missing_role(const struct gw_routing *routing,
                                    const struct gw_request *request)
{
    gw_class_set classes = classes_for(routing, request);
    if (!(gw_fleet_serves(routing->fleet, BATON__V1__ROLE__ROLE_PREFILL) & classes) &&
        !must_colocate(routing, request))
        return BATON__V1__ROLE__ROLE_PREFILL;
    if (wants_decode(routing, request) &&
        !(gw_fleet_serves(routing->fleet, BATON__V1__ROLE__ROLE_DECODE) & classes))
        return BATON__V1__ROLE__ROLE_DECODE;
    return BATON__V1__ROLE__ROLE_UNSPECIFIED;
}

/* Whether both roles are there, but in no class together, and classes are strict. */
static bool is_divided(const struct gw_routing *routing, const struct gw_request *request)
{
    return routing->options.strict_class && wants_decode(routing, request) &&
           !may_colocate(routing, request, 0) &&
           !(gw_fleet_serves(routing->fleet, BATON__V1__ROLE__ROLE_PREFILL) &
             gw_fleet_serves(routing->fleet, BATON__V1__ROLE__ROLE_DECODE) &
             classes_for(routing, request));
}

/* Whether workers of both roles are ready, but none of one reaches any of the other. */
static bool is_cut_off(const struct gw_routing *routing, const struct gw_request *request)
{
    const struct gw_fleet *fleet = routing->fleet;
    bool any = false;
    if (!routing->cut_paths.n || !wants_decode(routing, request) ||
        may_colocate(routing, request, 0))
        return false;
    for (struct gw_worker *worker = gw_worker_list_first(&fleet->workers); worker;
         worker = gw_worker_list_next(&fleet->workers, worker)) {
        if (worker->role != BATON__V1__ROLE__ROLE_PREFILL || worker->state != GW_WORKER_READY)
            continue;
        if (reaches_any(routing, worker))
            return false;
        any = true;
    }
    return any && gw_fleet_n(fleet, BATON__V1__ROLE__ROLE_DECODE, GW_WORKER_READY);
}

bool gw_routing_awaits_worker(const struct gw_routing *routing, const struct gw_request *request)
{
    int64_t now_ns = baton_now_ns();
    Baton__V1__Role role = missing_role(routing, request);
    gw_class_set classes = classes_for(routing, request);
    if (role)
        return classes == gw_any_class ? gw_fleet_awaits(routing->fleet, role, now_ns)
                                       : gw_fleet_expects(routing->fleet, role, now_ns) & classes;
    return is_divided(routing, request) &&
           gw_fleet_expects(routing->fleet, BATON__V1__ROLE__ROLE_PREFILL, now_ns) &
               gw_fleet_expects(routing->fleet, BATON__V1__ROLE__ROLE_DECODE, now_ns) & classes;
}

static const struct gw_failure *absent(const struct gw_routing *routing,
                                       const struct gw_request *request, Baton__V1__Role missing)
{
    if (classes_for(routing, request) != gw_any_class)
        return &no_class_left;
    return missing == BATON__V1__ROLE__ROLE_PREFILL  ? &no_prefill
           : missing == BATON__V1__ROLE__ROLE_DECODE ? &no_decode
                                                     : &no_class;
}

static bool hears_any(const struct gw_routing *routing, Baton__V1__Role role, int64_t now_ns)
{
    const struct gw_fleet *fleet = routing->fleet;
    for (struct gw_worker *worker = gw_worker_list_first(&fleet->workers); worker;
         worker = gw_worker_list_next(&fleet->workers, worker))
        if (worker->role == role && worker->state == GW_WORKER_READY &&
            gw_fleet_hears(fleet, worker, now_ns))
            return true;
    return false;
}

bool gw_routing_may_move(const struct gw_routing *routing, const struct gw_request *request,
                         int64_t now_ns)
{
    return (must_colocate(routing, request) ||
            hears_any(routing, BATON__V1__ROLE__ROLE_PREFILL, now_ns)) &&
           (!wants_decode(routing, request) ||
            hears_any(routing, BATON__V1__ROLE__ROLE_DECODE, now_ns));
}

const struct gw_failure *gw_routing_unservable(const struct gw_routing *routing,
                                               const struct gw_request *request)
{
    Baton__V1__Role missing = missing_role(routing, request);
    gw_class_set classes = classes_for(routing, request);
    if (!missing && is_cut_off(routing, request))
        return &no_path;
    if (missing || is_divided(routing, request))
        return gw_routing_awaits_worker(routing, request) ? NULL
                                                          : absent(routing, request, missing);
    if ((!must_colocate(routing, request) &&
         !has_worker_for(routing, BATON__V1__ROLE__ROLE_PREFILL, request, classes)) ||
        (wants_decode(routing, request) &&
         !has_worker_for(routing, BATON__V1__ROLE__ROLE_DECODE, request, classes)))
        return &no_memory;
    return NULL;
}

/* The client of a stream that has begun is told first why it broke. */
static void fail(struct gw_routing *routing, struct gw_request *request,
                 const struct gw_failure *failure)
{
    char message[GW_MAX_BREAK_BYTES + 128];
    (void)snprintf(message, sizeof message, "%s, and it cannot go on elsewhere: %s",
                   request->migration.reason, failure->message);
    gw_lifecycle_fail(routing->lifecycle, request,
                      request->migration.n ? &(struct gw_failure){502, "worker_failed", message}
                                           : failure);
}

/* First come, first served. No request overtakes one that no worker has capacity for; otherwise a
 * large request would wait for ever. The loop restarts at the first request each time, because
 * failing one request may end others of the same completion. */
void gw_routing_route_queued(struct gw_routing *routing)
{
    struct gw_request_list *queued = gw_lifecycle_list(routing->lifecycle, GW_QUEUED);
    bool is_routed = true;
    for (struct gw_request *request; is_routed && (request = gw_request_list_first(queued));) {
        const struct gw_failure *failure = gw_routing_unservable(routing, request);
        if (failure)
            fail(routing, request, failure);
        else
            is_routed = route(routing, request);
    }
}
