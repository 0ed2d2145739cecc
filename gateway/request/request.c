#include "gateway/request/request.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/random.h"

static const char *const state_names[] = {
#define X(name) #name,
    GW_STATES(X)
#undef X
};

#define TO(state) (1u << GW_##state)

/* The edges of the drawing in request.h. */
static const unsigned edges[GW_N_STATES] = {
    [GW_READING] = TO(TOKENIZING) | TO(FAILED) | TO(CANCELING),
    [GW_TOKENIZING] = TO(QUEUED) | TO(FAILED) | TO(CANCELING),
    [GW_QUEUED] =
        TO(RESERVING) | TO(PREFILLING) | TO(DECODING) | TO(PREEMPTED) | TO(FAILED) | TO(CANCELING),
    [GW_RESERVING] = TO(PREFILLING) | TO(DECODING) | TO(QUEUED) | TO(FAILED) | TO(CANCELING),
    [GW_PREFILLING] = TO(DECODING) | TO(DONE) | TO(QUEUED) | TO(FAILED) | TO(CANCELING),
    [GW_DECODING] = TO(DONE) | TO(QUEUED) | TO(PREEMPTED) | TO(FAILED) | TO(CANCELING),
    [GW_PREEMPTED] = TO(QUEUED) | TO(FAILED) | TO(CANCELING),
};

const char *gw_state_name(enum gw_state state)
{
    return state_names[state];
}

void gw_requests_init(struct gw_requests *requests)
{
    for (int i = 0; i < GW_N_STATES; i++)
        gw_request_list_init(&requests->by_state[i]);
    for (int i = 0; i < BATON_N_PRIORITIES; i++)
        gw_request_queue_init(&requests->queued[i]);
}

/* Random, because clients see their ids: a counter would reveal how many requests others send. */
static uint64_t fresh_id(const struct gw_requests *requests)
{
    uint64_t id = baton_random_id();
    while (gw_request_find(requests, id))
        id = baton_random_id();
    return id;
}

struct gw_request *gw_request_create(struct gw_requests *requests,
                                     const struct gw_response_writer *writer,
                                     struct gw_choice *choice, int64_t arrived_ns)
{
    struct gw_request *request = calloc(1, sizeof *request);
    if (!request)
        return NULL;
    request->id = fresh_id(requests);
    request->arrival = ++requests->n_arrived;
    gw_attempt_begin(&request->attempt);
    gw_output_init(&request->output);
    request->writer = writer;
    request->choice = choice;
    request->times.arrived_ns = request->state_ns = request->queued_ns = arrived_ns;
    gw_request_list_push_back(&requests->by_state[GW_READING], request);
    gw_request_table_put(&requests->by_id, request, request->id);
    return request;
}

void gw_request_set_id(struct gw_requests *requests, struct gw_request *request, uint64_t id)
{
    if (!id || gw_request_find(requests, id))
        return;
    gw_request_table_remove(&requests->by_id, request);
    request->id = id;
    gw_request_table_put(&requests->by_id, request, request->id);
}

static void leave_state(struct gw_requests *requests, struct gw_request *request)
{
    struct gw_request_list *list = &requests->by_state[request->state];
    if (requests->checked_next == request)
        requests->checked_next = gw_request_list_next(list, request);
    gw_request_list_remove(list, request);
    if (request->state == GW_QUEUED)
        gw_request_queue_remove(&requests->queued[request->params.priority], request);
}

void gw_request_destroy(struct gw_requests *requests, struct gw_request *request)
{
    leave_state(requests, request);
    gw_request_table_remove(&requests->by_id, request);
    baton_tokens_fini(&request->params.prompt);
    baton_sampling_params_fini(&request->params.sampling);
    gw_prompt_hashes_fini(request);
    gw_migration_fini(&request->migration);
    free(request->doubted);
    free(request->broke);
    gw_output_fini(&request->output);
    free(request);
}

struct gw_request *gw_request_find(const struct gw_requests *requests, uint64_t id)
{
    return gw_request_table_first(&requests->by_id, id);
}

/* Puts a request that returns to the queue before requests that arrived after it. The walk from the
 * front is short: the request is among the earliest. */
static void queue_again(struct gw_requests *requests, struct gw_request *request)
{
    struct gw_request_list *all = &requests->by_state[GW_QUEUED];
    struct gw_request_queue *own = &requests->queued[request->params.priority];
    struct gw_request *later = gw_request_list_first(all);
    while (later && later->arrival < request->arrival)
        later = gw_request_list_next(all, later);
    gw_request_list_insert_before(all, request, later);
    later = gw_request_queue_first(own);
    while (later && later->arrival < request->arrival)
        later = gw_request_queue_next(own, later);
    gw_request_queue_insert_before(own, request, later);
}

static void join_state(struct gw_requests *requests, struct gw_request *request,
                       enum gw_state state)
{
    if (state == GW_QUEUED && request->state == GW_PREEMPTED)
        request->arrival = ++requests->n_arrived; /* so that others get the blocks in between */
    else if (state == GW_QUEUED && request->state != GW_TOKENIZING) {
        queue_again(requests, request);
        return;
    }
    gw_request_list_push_back(&requests->by_state[state], request);
    if (state == GW_QUEUED)
        gw_request_queue_push_back(&requests->queued[request->params.priority], request);
}

void gw_request_set_state(struct gw_requests *requests, struct gw_request *request,
                          enum gw_state state, const char *reason)
{
    enum gw_state from = request->state;
    int64_t now_ns = baton_now_ns();
    if (!(edges[from] & 1u << state)) {
        baton_log(BATON_LOG_ERROR, "impossible_edge", BATON_REQUEST(request->id, request->tag),
                  BATON_S("from", state_names[from]), BATON_S("to", state_names[state]));
        abort();
    }
    leave_state(requests, request);
    join_state(requests, request, state);
    request->state = state;
    baton_log(BATON_LOG_DEBUG, "state", BATON_REQUEST(request->id, request->tag),
              BATON_I("attempt", request->attempt.number), BATON_S("from", state_names[from]),
              BATON_S("to", state_names[state]), BATON_S("reason", reason),
              BATON_F("after_s", baton_seconds(now_ns - request->state_ns)));
    request->state_ns = now_ns;
    if (state == GW_QUEUED && from != GW_RESERVING)
        request->queued_ns = now_ns;
}

/* ---- output ---- */

static bool is_eos(const struct baton_model_facts *facts, uint32_t token)
{
    for (int i = 0; i < facts->n_eos; i++)
        if (facts->eos_ids[i] == token)
            return true;
    return false;
}

static void show(struct gw_request *request)
{
    struct baton_buf *text = &request->output.showable;
    if (text->len) {
        gw_output_note_shown(&request->output);
        request->writer->text(request->choice, text->data, text->len);
    }
    baton_buf_reset(text);
}

/* Special tokens have no text, so a prompt of them alone leaves the output at a text's start. */
static bool prompt_has_text(const struct gw_request *request,
                            const struct gw_detokenizer *detokenizer)
{
    const struct baton_tokens *prompt = &request->params.prompt;
    for (size_t i = 0; i < prompt->n; i++)
        if (!baton_tokenizer_is_special(detokenizer->tokenizer, prompt->ids[i]))
            return true;
    return false;
}

static bool is_shown(const struct gw_params *params, uint32_t id)
{
    for (int i = 0; i < params->n_shown_ids; i++)
        if (params->shown_ids[i] == id)
            return true;
    return false;
}

/* True when the output has taken its time and has just ended a line. */
static bool is_over_time(const struct gw_request *request)
{
    const struct gw_output *output = &request->output;
    int64_t ms = request->params.max_output_ms;
    return ms && output->showable.len && output->first_ns &&
           memchr(output->showable.data, '\n', output->showable.len) &&
           baton_now_ns() - output->first_ns > ms * 1000000;
}

bool gw_request_add_token(struct gw_request *request, const struct gw_detokenizer *detokenizer,
                          const struct gw_made_token *made)
{
    struct gw_output *output = &request->output;
    bool silent = baton_sampling_params_is_stop(&request->params.sampling, made->id) ||
                  (baton_tokenizer_is_special(detokenizer->tokenizer, made->id) &&
                   !is_shown(&request->params, made->id));
    if (!output->tokens.n)
        gw_output_begin(output, detokenizer->tokenizer, !prompt_has_text(request, detokenizer));
    struct gw_token token = gw_output_push(output, made->id, silent);
    token.decision = made->decision;
    token.logprobs = made->logprobs;
    token.draft = made->draft;
    request->writer->token(request->choice, &token);
    if (is_over_time(request)) {
        gw_output_end(output);
        output->text.stopped = true;
    }
    show(request);
    if (output->text.stopped)
        output->finish = baton_text_stream_met(&output->text) ? GW_FINISH_STOP : GW_FINISH_LENGTH;
    return output->text.stopped;
}

void gw_request_end_output(struct gw_request *request, const struct gw_detokenizer *detokenizer,
                           bool stopped)
{
    struct gw_output *output = &request->output;
    if (output->finish)
        return;
    gw_output_end(output);
    show(request);
    if (!stopped)
        output->finish = GW_FINISH_LENGTH;
    else
        output->finish = is_eos(detokenizer->facts, output->tokens.ids[output->tokens.n - 1])
                             ? GW_FINISH_EOS
                             : GW_FINISH_STOP;
}

void gw_request_restart(struct gw_request *request)
{
    gw_attempt_begin(&request->attempt);
    gw_output_restart(&request->output);
    request->writer->restart(request->choice);
}

bool gw_request_note_class(struct gw_request *request, const struct gw_worker *worker)
{
    const struct baton_numeric_class *next = &worker->numeric_class->name;
    bool has_tokens = request->output.tokens.n > 0;
    bool is_other = has_tokens && strcmp(request->numeric_class.hex, next->hex) != 0;
    request->class_changed = has_tokens && (request->class_changed || is_other);
    request->numeric_class = *next;
    return is_other;
}

/* ---- times ---- */

double gw_request_ttft_s(const struct gw_request *request)
{
    return baton_seconds(request->output.first_ns - request->times.arrived_ns);
}

double gw_request_e2el_s(const struct gw_request *request)
{
    return baton_seconds(request->times.end_ns - request->times.arrived_ns);
}

static double per_gap(const struct gw_request *request, int64_t end_ns)
{
    if (request->output.tokens.n < 2)
        return NAN;
    return baton_seconds(end_ns - request->output.first_ns) /
           (double)(request->output.tokens.n - 1);
}

double gw_request_tpot_s(const struct gw_request *request)
{
    return per_gap(request, request->times.end_ns);
}

double gw_request_mean_itl_s(const struct gw_request *request)
{
    return per_gap(request, request->output.last_token_ns);
}
