#include "gateway/dispatch/worker_messages.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "gateway/lifecycle/hand_over.h"
#include "gateway/lifecycle/hedge.h"
#include "gateway/request/commands.h"
#include "gateway/routing/split.h"

/* Tokens are acknowledged after 1/8 of the credit, or after ACK_EVERY_NS (dispatcher.c) if that
 * comes first. The worker so keeps 7/8 of its credit for the round trip. */
enum { ACKS_A_CREDIT = 8 };

static void handle_reserved(struct gw_dispatcher *dispatcher, struct gw_request *request,
                            const Baton__V1__Reserved *reserved)
{
    static const struct gw_failure unasked = {502, "worker_failed",
                                              "the worker reports cached blocks without hashes"};
    if (request->state != GW_RESERVING)
        return;
    /* The decode worker can only find blocks whose hashes Reserve carried. */
    const struct gw_prompt_hashes *hashes = request->attempt.hashes;
    if (reserved->n_cached_blocks > (hashes ? hashes->n : 0)) {
        gw_lifecycle_retry_or_fail(&dispatcher->lifecycle, request, &unasked);
        return;
    }
    gw_attempt_set_ticket(&request->attempt, reserved);
    gw_routing_reserved(&dispatcher->routing, request, reserved->n_cached_blocks);
}

static void handle_rejected(struct gw_dispatcher *dispatcher, struct gw_request *request,
                            const Baton__V1__Rejected *rejected)
{
    if (request->state != GW_RESERVING)
        return;
    struct gw_worker *decode = request->attempt.decode;
    gw_attempt_release(&request->attempt); /* first, because it clears the back-off set below */
    gw_worker_rejected(decode, request->params.priority);
    if (rejected->batch_full)
        dispatcher->core->metrics->n_batch_full++;
    else
        dispatcher->core->metrics->n_no_blocks++;
    /* A new attempt number, so that a late answer to this reservation is not taken for an answer to
     * the next one. */
    gw_attempt_begin(&request->attempt);
    gw_lifecycle_set_state(&dispatcher->lifecycle, request, GW_QUEUED,
                           rejected->batch_full ? "the batch is full" : "no free blocks");
}

static void handle_prompt_logprobs(struct gw_dispatcher *dispatcher, struct gw_request *request,
                                   const Baton__V1__PromptLogprobs *scores)
{
    static const struct gw_failure gap = {502, "worker_failed", "prompt logprobs were lost"};
    if (request->state != GW_PREFILLING || !request->params.prompt_logprobs)
        return;
    /* The prompt's first token has no logprob: the tokens scored so far are 1 to n_scored. */
    if (scores->first_index != request->attempt.n_scored + 1 ||
        scores->first_index + scores->n_logprobs > request->params.prompt.n) {
        gw_lifecycle_retry_or_fail(&dispatcher->lifecycle, request, &gap);
        return;
    }
    request->attempt.n_scored += scores->n_logprobs;
    request->writer->prompt_logprobs(request->choice, scores);
}

static void handle_prompt_progress(struct gw_request *request,
                                   const Baton__V1__PromptProgress *progress)
{
    if (request->state == GW_PREFILLING && request->params.prompt_progress &&
        progress->n_tokens < request->params.prompt.n)
        request->writer->prompt_progress(request->choice, progress);
}

/* The client's gap between two tokens that two attempts made. */
static void note_migration_gap(struct gw_metrics *metrics, struct gw_request *request, double gap_s)
{
    baton_hist_observe(&metrics->migration_gap, gap_s);
    request->migration.longest_gap_s = fmax(request->migration.longest_gap_s, gap_s);
}

static void note_resumed(struct gw_metrics *metrics, struct gw_request *request, int64_t now_ns)
{
    double gap_s = baton_seconds(now_ns - request->output.last_token_ns);
    baton_hist_observe(&metrics->itl, gap_s);
    request->output.longest_gap_s = fmax(request->output.longest_gap_s, gap_s);
    double migration_gap_s = gw_request_migration_gap_s(request, now_ns);
    note_migration_gap(metrics, request, migration_gap_s);
    request->migration.gap_s += migration_gap_s;
}

/* Notes the numeric class of the worker that sends tokens. */
static void note_class(struct gw_dispatcher *dispatcher, struct gw_request *request,
                       const struct gw_worker *worker)
{
    if (worker && gw_request_note_class(request, worker))
        dispatcher->core->metrics->n_class_changes++;
}

/* How an attempt's prompt was computed, for a token or for an embedding. */
struct prompt_report {
    double queue_s, compute_s;
    uint32_t cached_tokens, disk_tokens, stateless_tokens;
};

/* The prompt is done: its token or its embedding has arrived. */
static void note_prompt(struct gw_dispatcher *dispatcher, struct gw_request *request,
                        const struct prompt_report *report, int64_t now_ns)
{
    struct gw_attempt *attempt = &request->attempt;
    int64_t n_computed = (int64_t)gw_request_input(request)->n - report->cached_tokens;
    note_class(dispatcher, request, attempt->prompt_at);
    /* The time of a prompt in parts is not the rate of any one worker: 0 skips the update. */
    gw_attempt_prompt_done(attempt, attempt->n_split ? 0 : n_computed, report->compute_s);
    gw_command_cancel_parts(request, attempt, "its part of the prompt is computed");
    gw_attempt_release_parts(attempt);
    attempt->first_token_ns = now_ns;
    attempt->prefill_queue_s = report->queue_s;
    attempt->prefill_compute_s = report->compute_s;
    attempt->cached_tokens = report->cached_tokens;
    attempt->disk_tokens = report->disk_tokens;
    attempt->stateless_tokens = report->stateless_tokens;
    if (!request->output.tokens.n)
        request->output.first_ns = now_ns;
    /* After a migration the new attempt was under way while the last token was handled. */
    gw_output_handle(&request->output, now_ns, request->output.last_token_ns);
    gw_arrivals_prompt(&dispatcher->lifecycle.arrivals, attempt->prefill ? (double)n_computed : 0,
                       now_ns);
}

static void note_first(struct gw_dispatcher *dispatcher, struct gw_request *request,
                       const Baton__V1__FirstToken *first)
{
    struct gw_metrics *metrics = dispatcher->core->metrics;
    int64_t now_ns = baton_now_ns();
    note_prompt(dispatcher, request,
                &(struct prompt_report){.queue_s = first->prefill_queue_s,
                                        .compute_s = first->prefill_compute_s,
                                        .cached_tokens = first->cached_tokens,
                                        .disk_tokens = first->disk_tokens,
                                        .stateless_tokens = first->stateless_tokens},
                now_ns);
    request->attempt.cold |= first->cold;
    if (request->output.tokens.n)
        note_resumed(metrics, request, now_ns);
    request->output.last_token_ns = now_ns;
    if (request->params.streaming)
        gw_lifecycle_count_ttft(&dispatcher->lifecycle, request);
    if (first->cold)
        baton_hist_observe(&metrics->cold_first_token, first->process_age_s);
    metrics->n_output_tokens++;
}

static bool are_of_the_model(const struct gw_dispatcher *dispatcher, const uint32_t *ids, size_t n)
{
    const struct baton_model_facts *facts = dispatcher->core->detokenizer.facts;
    for (size_t i = 0; i < n; i++)
        if (ids[i] >= (uint64_t)facts->n_vocab)
            return false;
    return true;
}

static const struct gw_failure unknown_token = {502, "worker_failed",
                                                "the worker sent a token that is not in the "
                                                "model's vocabulary"};
static const struct gw_failure false_end = {502, "worker_failed",
                                            "the reported end contradicts the tokens"};

/* NULL, or the contradiction between message and request. */
static const struct gw_failure *first_token_contradicts(const struct gw_dispatcher *dispatcher,
                                                        const struct gw_request *request,
                                                        const Baton__V1__FirstToken *first)
{
    static const struct gw_failure wrong = {
        502, "worker_failed", "the worker reports more cached tokens than the prompt has"};
    static const struct gw_failure unwanted = {502, "worker_failed",
                                               "the worker sent a token instead of an embedding"};
    if (request->params.pooling)
        return &unwanted;
    if ((uint64_t)first->cached_tokens + first->stateless_tokens > gw_request_input(request)->n)
        return &wrong;
    if (!are_of_the_model(dispatcher, &first->token, 1))
        return &unknown_token;
    if (first->stopped != baton_sampling_params_is_stop(&request->params.sampling, first->token))
        return &false_end;
    return NULL;
}

static void handle_first_token(struct gw_dispatcher *dispatcher, struct gw_request *request,
                               const Baton__V1__FirstToken *first)
{
    if (request->state != GW_PREFILLING)
        return;
    const struct gw_failure *failure = first_token_contradicts(dispatcher, request, first);
    if (failure) {
        gw_lifecycle_retry_or_fail(&dispatcher->lifecycle, request, failure);
        return;
    }
    bool more = !first->stopped && gw_request_n_more(request) > 1;
    note_first(dispatcher, request, first);
    /* DecodeStart leaves before the first token goes to the client: it travels beside the KV cache,
     * and every delay here would delay the second token. */
    if (more && request->attempt.decode)
        gw_command_start(request, first->token);
    gw_hedge_settle(&dispatcher->lifecycle, request);
    gw_lifecycle_set_state(&dispatcher->lifecycle, request, GW_DECODING, "first token");
    if (!request->output.tokens.n)
        request->writer->first(request->choice);
    const struct gw_made_token made = {
        .id = first->token, .decision = first->decision, .logprobs = first->logprobs};
    if (gw_request_add_token(request, &dispatcher->core->detokenizer, &made)) {
        gw_lifecycle_finish(&dispatcher->lifecycle, request);
    } else if (!more && request->params.kv_cache) { /* naive mode ends with Finished instead */
        gw_request_end_output(request, &dispatcher->core->detokenizer, first->stopped);
        gw_lifecycle_finish(&dispatcher->lifecycle, request);
    } else {
        gw_output_handled(&request->output, baton_now_ns());
    }
}

/* NULL, or the contradiction between message and request. */
static const struct gw_failure *embedding_contradicts(const struct gw_dispatcher *dispatcher,
                                                      const struct gw_request *request,
                                                      const Baton__V1__Embedding *embedding)
{
    static const struct gw_failure cached = {
        502, "worker_failed", "the worker reports more cached tokens than the prompt has"};
    static const struct gw_failure width = {
        502, "worker_failed", "the worker sent an embedding of another width than the model's"};
    int64_t n_embd =
        request->params.asks ? GW_N_ANSWERS : dispatcher->core->detokenizer.facts->n_pooled;
    if (embedding->cached_tokens > request->params.prompt.n)
        return &cached;
    return n_embd && embedding->n_values != (uint64_t)n_embd ? &width : NULL;
}

static void handle_embedding(struct gw_dispatcher *dispatcher, struct gw_request *request,
                             const Baton__V1__Embedding *embedding)
{
    if (request->state != GW_PREFILLING || !request->params.pooling)
        return;
    const struct gw_failure *failure = embedding_contradicts(dispatcher, request, embedding);
    if (failure) {
        gw_lifecycle_retry_or_fail(&dispatcher->lifecycle, request, failure);
        return;
    }
    note_prompt(dispatcher, request,
                &(struct prompt_report){.queue_s = embedding->prefill_queue_s,
                                        .compute_s = embedding->prefill_compute_s,
                                        .cached_tokens = embedding->cached_tokens,
                                        .disk_tokens = embedding->disk_tokens},
                baton_now_ns());
    dispatcher->core->metrics->n_embeddings++;
    request->writer->embedding(request->choice, embedding->values, embedding->n_values);
    request->output.finish = GW_FINISH_EMBEDDING;
    gw_attempt_release(&request->attempt); /* its worker is done, so no Cancel is sent to it */
    gw_lifecycle_finish(&dispatcher->lifecycle, request);
}

/* Hand-off time: the first inter-token gap minus decode queueing and the step itself. */
static void note_handoff(struct gw_dispatcher *dispatcher, const struct gw_request *request)
{
    const struct gw_attempt *attempt = &request->attempt;
    gw_cut_paths_arrived(&dispatcher->routing.cut_paths, attempt->prefill, attempt->decode);
    if (attempt->prefill)
        gw_routing_note_handoff(&dispatcher->routing,
                                baton_seconds(attempt->decode_began_ns - attempt->first_token_ns) -
                                    attempt->decode_times.decode_queue_s);
}

/* The first step after a hand-over: the time from the last token to it is the migration's. */
static void note_moved(struct gw_metrics *metrics, struct gw_request *request, int64_t now_ns)
{
    int64_t last_ns = request->output.last_token_ns;
    request->migration.gap_s += fmax(baton_seconds(request->attempt.decode_began_ns - last_ns), 0);
    if (!request->was_paused) /* a gap of a paused client is not the hand-over's */
        note_migration_gap(metrics, request, baton_seconds(now_ns - last_ns));
}

/* began_ns: the begin of the attempt's first step. */
static void handle_began(struct gw_dispatcher *dispatcher, struct gw_request *request,
                         const Baton__V1__DecodeBegan *began, int64_t began_ns, int64_t now_ns)
{
    const struct gw_attempt *attempt = &request->attempt;
    gw_attempt_decode_begins(&request->attempt, began, began_ns);
    if (dispatcher->core->feed && began)
        gw_feed_handoff(dispatcher->core->feed, request);
    if (attempt->is_moved)
        note_moved(dispatcher->core->metrics, request, now_ns);
    if (!began || attempt->is_moved)
        return;
    gw_handoff_stats_note(&dispatcher->core->metrics->handoff_stats, &attempt->handoff);
    note_handoff(dispatcher, request);
    gw_attempt_release_prefill(&request->attempt); /* the decode worker has the whole context */
}

/* NULL, or the contradiction between message and request. It breaks the attempt, so that a client
 * never gets a wrong token. */
static const struct gw_failure *tokens_contradict(const struct gw_dispatcher *dispatcher,
                                                  const struct gw_request *request,
                                                  const Baton__V1__Tokens *tokens)
{
    static const struct gw_failure gap = {502, "worker_failed", "tokens were lost on the way"};
    static const struct gw_failure excess = {502, "worker_failed",
                                             "the worker sent more tokens than were requested"};
    if (tokens->first_index != request->output.tokens.n)
        return &gap;
    /* Also a memory bound: gw_output_push expects memory, reserved for max_new_tokens. */
    if (request->output.tokens.n + tokens->n_tokens > (uint64_t)request->params.max_new_tokens)
        return &excess;
    return are_of_the_model(dispatcher, tokens->tokens, tokens->n_tokens) ? NULL : &unknown_token;
}

/* Returns how many of the tokens were compared with a draft. */
static size_t note_drafts(struct gw_metrics *metrics, struct gw_request *request,
                          const Baton__V1__StepEvent *event)
{
    struct gw_output *output = &request->output;
    uint64_t n_accepted = output->n_accepted;
    size_t n = gw_output_note_drafts(output, event->drafts, event->n_drafts, event->tokens->tokens,
                                     event->tokens->n_tokens);
    metrics->n_drafted[request->params.speculation.mode] += event->n_drafts;
    metrics->n_accepted[request->params.speculation.mode] += output->n_accepted - n_accepted;
    return n;
}

/* sample_s: how long the worker sampled after the step; 0: step_s includes it. */
static void handle_tokens(struct gw_dispatcher *dispatcher, struct gw_request *request,
                          const Baton__V1__StepEvent *event, double sample_s)
{
    const Baton__V1__Tokens *tokens = event->tokens;
    int64_t now_ns = baton_now_ns();
    if (request->state != GW_DECODING)
        return;
    const struct gw_failure *failure = tokens_contradict(dispatcher, request, tokens);
    if (failure) {
        gw_lifecycle_retry_or_fail(&dispatcher->lifecycle, request, failure);
        return;
    }
    note_class(dispatcher, request,
               request->attempt.decode ? request->attempt.decode : request->attempt.prefill);
    /* The message is sent at the end of the step. Its durations lead back to the step's begin
     * without a comparison of two hosts' clocks. */
    double ago_s = tokens->step_s + sample_s;
    int64_t began_ns = now_ns - (int64_t)(ago_s * (double)BATON_SECOND);
    /* Before its first step the worker was busy with the context, from the last token on. */
    gw_output_handle(&request->output, now_ns,
                     request->attempt.decode_began ? began_ns : request->output.last_token_ns);
    if (!request->attempt.decode_began)
        handle_began(dispatcher, request, tokens->began, began_ns, now_ns);
    /* Tokens of one message share its gap, so that the sum of the gaps is the time that passed. */
    double gap_s = baton_seconds(now_ns - request->output.last_token_ns);
    for (size_t i = 0; i < tokens->n_tokens; i++)
        baton_hist_observe(&dispatcher->core->metrics->itl, gap_s / (double)tokens->n_tokens);
    request->output.longest_gap_s = fmax(request->output.longest_gap_s, gap_s);
    request->output.last_token_ns = now_ns;
    request->attempt.decode_times.decode_s += tokens->step_s;
    request->attempt.decode_times.sample_s += sample_s;
    dispatcher->core->metrics->n_output_tokens += tokens->n_tokens;
    gw_throughput_made(&dispatcher->lifecycle.throughput, tokens->n_tokens, now_ns);
    size_t n_drafts = note_drafts(dispatcher->core->metrics, request, event);
    for (size_t i = 0; i < tokens->n_tokens; i++) {
        const struct gw_made_token made = {
            .id = tokens->tokens[i],
            .decision = tokens->n_decisions ? tokens->decisions[i] : NULL,
            .logprobs = tokens->n_logprobs ? tokens->logprobs[i] : NULL,
            .draft = i < n_drafts ? &event->drafts[i] : NULL};
        if (gw_request_add_token(request, &dispatcher->core->detokenizer, &made)) {
            gw_lifecycle_finish(&dispatcher->lifecycle, request);
            return;
        }
    }
    if (request->output.tokens.n - request->attempt.acked_index >=
            gw_command_credit(request) / ACKS_A_CREDIT &&
        !request->paused)
        gw_lifecycle_ack(request, now_ns);
    gw_output_handled(&request->output, baton_now_ns());
}

/* Checks the end, because a text that ends too soon looks complete to its client. */
static const struct gw_failure *finished_contradicts(const struct gw_request *request,
                                                     const Baton__V1__Finished *finished)
{
    static const struct gw_failure lost = {502, "worker_failed", "tokens were lost on the way"};
    const struct baton_tokens *made = &request->output.tokens;
    if (!made->n || finished->n_tokens != made->n)
        return &lost;
    bool is_stopped = finished->reason == BATON__V1__FINISHED__REASON__STOP_TOKEN;
    bool is_right = is_stopped ? baton_sampling_params_is_stop(&request->params.sampling,
                                                               made->ids[made->n - 1])
                               : made->n == (uint64_t)request->params.max_new_tokens;
    return is_right ? NULL : &false_end;
}

static void handle_finished(struct gw_dispatcher *dispatcher, struct gw_request *request,
                            const Baton__V1__Finished *finished)
{
    if (request->state != GW_DECODING)
        return;
    const struct gw_failure *failure = finished_contradicts(request, finished);
    if (failure) {
        gw_lifecycle_retry_or_fail(&dispatcher->lifecycle, request, failure);
        return;
    }
    bool stopped = finished->reason == BATON__V1__FINISHED__REASON__STOP_TOKEN;
    int64_t now_ns = baton_now_ns();
    gw_output_handle(&request->output, now_ns, now_ns);
    request->attempt.decode_times.decode_s = finished->decode_s; /* the worker's sum, exact */
    gw_request_end_output(request, &dispatcher->core->detokenizer, stopped);
    gw_attempt_release(&request->attempt); /* both workers are done, so no Cancel is sent */
    gw_lifecycle_finish(&dispatcher->lifecycle, request);
}

static void handle_failed(struct gw_dispatcher *dispatcher, struct gw_request *request,
                          const struct gw_worker *worker, const Baton__V1__Failed *failed)
{
    char message[BATON_MAX_TEXT_BYTES + 128];
    bool is_deadline = failed->code == BATON__V1__FAILED__CODE__DEADLINE;
    (void)snprintf(message, sizeof message, "worker %s: %s", worker->id, failed->message);
    struct gw_failure failure = {is_deadline ? 504 : 502,
                                 is_deadline ? "deadline_exceeded" : "worker_failed", message};
    /* A helper of a split prompt sends to prefill workers: its failure is not the decode path's. */
    bool is_helper = worker != request->attempt.prefill && worker != request->attempt.decode;
    if (failed->code == BATON__V1__FAILED__CODE__UNREACHABLE && !is_helper)
        gw_cut_paths_report(&dispatcher->routing.cut_paths, request->attempt.prefill,
                            request->attempt.decode);
    if (is_deadline || failed->code == BATON__V1__FAILED__CODE__INVALID)
        gw_lifecycle_fail(&dispatcher->lifecycle, request,
                          &failure); /* another worker would say the same */
    else
        gw_lifecycle_retry_or_fail(&dispatcher->lifecycle, request, &failure);
}

/* Handles a message of a worker that computes a part of the prompt. */
static void handle_of_part(struct gw_dispatcher *dispatcher, const struct gw_worker *worker,
                           struct gw_request *request, const baton_envelope *envelope)
{
    static const struct gw_failure false_answer = {502, "worker_failed",
                                                   "the worker of a part contradicts the prompt"};
    switch (envelope->body_case) {
    case BATON__V1__ENVELOPE__BODY_RESERVED:
        if (!gw_split_reserved(&dispatcher->routing, request, worker, envelope->reserved))
            gw_lifecycle_retry_or_fail(&dispatcher->lifecycle, request, &false_answer);
        break;
    case BATON__V1__ENVELOPE__BODY_REJECTED:
        gw_split_give_up(&dispatcher->routing, request, worker);
        break;
    case BATON__V1__ENVELOPE__BODY_FAILED:
        handle_failed(dispatcher, request, worker, envelope->failed);
        break;
    default: /* only the first part reports on the prompt */
        break;
    }
}

/* Whether the message is about a part of the prompt. The first part's worker also sends messages
 * about the whole prompt; only its Reserved and Rejected concern the part. */
static bool is_of_part(struct gw_request *request, const struct gw_worker *worker,
                       const baton_envelope *envelope)
{
    const struct gw_prompt_part *part = gw_attempt_part(&request->attempt, worker);
    return part && request->state == GW_PREFILLING &&
           (worker != request->attempt.prefill ||
            envelope->body_case == BATON__V1__ENVELOPE__BODY_RESERVED ||
            envelope->body_case == BATON__V1__ENVELOPE__BODY_REJECTED);
}

/* NULL when the request is over, the attempt is an earlier one, or the worker does not serve it. */
static struct gw_request *find(struct gw_dispatcher *dispatcher, const struct gw_worker *worker,
                               uint64_t id, uint32_t attempt)
{
    struct gw_request *request = gw_request_find(dispatcher->core->requests, id);
    if (request && attempt && request->doubted && request->doubted->number == attempt &&
        request->doubted->decode == worker) /* the suspect is back before the newer attempt */
        gw_hedge_revert(&dispatcher->lifecycle, request);
    bool concerns =
        request && request->attempt.number == attempt && gw_attempt_uses(&request->attempt, worker);
    return concerns ? request : NULL;
}

static void handle_step(struct gw_dispatcher *dispatcher, struct gw_worker *worker,
                        const Baton__V1__StepEvents *step)
{
    worker->now.n_steps++;
    for (size_t i = 0; i < step->n_events; i++) {
        const Baton__V1__StepEvent *event = step->events[i];
        worker->now.n_tokens += event->tokens ? event->tokens->n_tokens : 0;
        struct gw_request *request = find(dispatcher, worker, event->request_id, event->attempt);
        if (request && event->tokens)
            handle_tokens(dispatcher, request, event, step->sample_s);
        /* Look the request up again: its tokens may have ended it, for example by a stop string. */
        request = find(dispatcher, worker, event->request_id, event->attempt);
        if (request && event->finished)
            handle_finished(dispatcher, request, event->finished);
    }
}

/* Handles a message about an attempt that is not yet the request's. */
static void handle_of_successor(struct gw_dispatcher *dispatcher, struct gw_request *request,
                                const baton_envelope *envelope)
{
    switch (envelope->body_case) {
    case BATON__V1__ENVELOPE__BODY_RESERVED:
        gw_hand_over_reserved(&dispatcher->lifecycle, request, envelope->reserved);
        break;
    case BATON__V1__ENVELOPE__BODY_REJECTED:
        gw_hand_over_rejected(request);
        break;
    case BATON__V1__ENVELOPE__BODY_FAILED:
        if (envelope->failed->code == BATON__V1__FAILED__CODE__UNREACHABLE)
            gw_cut_paths_report(&dispatcher->routing.cut_paths, request->attempt.decode,
                                request->successor.decode);
        gw_hand_over_broke(&dispatcher->lifecycle, request, envelope->failed->message);
        break;
    default: /* nothing else is valid before the hand-over is done */
        break;
    }
}

static void handle_of_request(struct gw_dispatcher *dispatcher, const struct gw_worker *worker,
                              struct gw_request *request, const baton_envelope *envelope)
{
    static struct baton_log_limit unexpected;
    switch (envelope->body_case) {
    case BATON__V1__ENVELOPE__BODY_RESERVED:
        handle_reserved(dispatcher, request, envelope->reserved);
        break;
    case BATON__V1__ENVELOPE__BODY_REJECTED:
        handle_rejected(dispatcher, request, envelope->rejected);
        break;
    case BATON__V1__ENVELOPE__BODY_PROMPT_LOGPROBS:
        handle_prompt_logprobs(dispatcher, request, envelope->prompt_logprobs);
        break;
    case BATON__V1__ENVELOPE__BODY_PROMPT_PROGRESS:
        handle_prompt_progress(request, envelope->prompt_progress);
        break;
    case BATON__V1__ENVELOPE__BODY_FIRST_TOKEN:
        handle_first_token(dispatcher, request, envelope->first_token);
        break;
    case BATON__V1__ENVELOPE__BODY_EMBEDDING:
        handle_embedding(dispatcher, request, envelope->embedding);
        break;
    case BATON__V1__ENVELOPE__BODY_TOKENS:
        handle_tokens(dispatcher, request, &(Baton__V1__StepEvent){.tokens = envelope->tokens}, 0);
        break;
    case BATON__V1__ENVELOPE__BODY_FINISHED:
        handle_finished(dispatcher, request, envelope->finished);
        break;
    case BATON__V1__ENVELOPE__BODY_HANDED_OVER:
        gw_hand_over_done(&dispatcher->lifecycle, request, envelope->handed_over);
        break;
    case BATON__V1__ENVELOPE__BODY_FAILED:
        handle_failed(dispatcher, request, worker, envelope->failed);
        break;
    default:
        baton_log_limited(&unexpected, BATON_LOG_WARN, "unexpected_message",
                          BATON_S("worker", worker->id),
                          BATON_S("message", baton_envelope_kind(envelope)));
        break;
    }
}

void gw_worker_messages_handle(struct gw_dispatcher *dispatcher, struct gw_worker *worker,
                               const baton_envelope *envelope)
{
    if (envelope->body_case == BATON__V1__ENVELOPE__BODY_STEP_EVENTS) {
        handle_step(dispatcher, worker, envelope->step_events);
        return;
    }
    struct gw_request *request = gw_request_find(dispatcher->core->requests, envelope->request_id);
    if (request && gw_hand_over_concerns(request, worker, envelope->attempt)) {
        handle_of_successor(dispatcher, request, envelope);
        return;
    }
    request = find(dispatcher, worker, envelope->request_id, envelope->attempt);
    if (request && is_of_part(request, worker, envelope))
        handle_of_part(dispatcher, worker, request, envelope);
    else if (request)
        handle_of_request(dispatcher, worker, request, envelope);
}
