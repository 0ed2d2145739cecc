#include "gateway/api/completion/start.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "gateway/api/access/access.h"
#include "gateway/api/access/keys.h"
#include "gateway/api/answer.h"
#include "gateway/api/completion/explain.h"
#include "gateway/api/streams/streams.h"
#include "gateway/http/sse.h"
#include "gateway/request/stages.h"

#define KEEP_ALIVE_NS (15 * BATON_SECOND)

BATON_LIST(completion_list, struct gw_completion, in_completions)

enum { EVENT_MAX_BYTES = 4 << 20, USAGE_MAX_BYTES = 1024 };

struct gw_completions {
    struct completion_list others; /* those that are no streams, or not begun */
    struct completion_list begun;  /* streams, by when they were written to: the quietest first */
    struct baton_buf event; /* the one being written: one for all, so that none is allocated */
};

struct gw_completions *gw_completions_create(void)
{
    struct gw_completions *completions = calloc(1, sizeof *completions);
    if (!completions)
        return NULL;
    completion_list_init(&completions->others);
    completion_list_init(&completions->begun);
    baton_buf_init(&completions->event, EVENT_MAX_BYTES);
    return completions;
}

void gw_completion_options_fini(const struct gw_completion_options *options)
{
    baton_json_free(options->functions);
    if (options->free_kept)
        options->free_kept(options->kept);
}

static struct completion_list *list_of(const struct gw_completion *completion)
{
    struct gw_completions *completions = completion->api->completions;
    return completion->begun ? &completions->begun : &completions->others;
}

void gw_completions_add(struct gw_completion *completion)
{
    completion_list_push_back(&completion->api->completions->others, completion);
}

static void destroy(struct gw_completion *completion)
{
    gw_key_give(completion->key, gw_completion_n_at_once(completion));
    completion_list_remove(list_of(completion), completion);
    for (int i = 0; i < completion->n_choices; i++) {
        baton_buf_fini(&completion->choices[i].text);
        baton_buf_fini(&completion->choices[i].reasoning);
        baton_buf_fini(&completion->choices[i].steps);
        baton_buf_fini(&completion->choices[i].result);
        gw_logprobs_fini(&completion->choices[i].logprobs);
        gw_tool_calls_fini(&completion->choices[i].calls);
    }
    free(completion->choices);
    gw_prompts_fini(&completion->prompts);
    gw_completion_options_fini(&completion->options);
    gw_payers_put(&completion->payers);
    free(completion);
}

void gw_completions_destroy(struct gw_completions *completions)
{
    if (!completions)
        return;
    for (struct gw_completion *completion;
         (completion = completion_list_first(&completions->others)) ||
         (completion = completion_list_first(&completions->begun));)
        destroy(completion);
    baton_buf_fini(&completions->event);
    free(completions);
}

/* Ends the completion's remaining requests. From here on the client is told nothing. */
static void cancel_rest(struct gw_completion *completion, const char *reason)
{
    completion->over = true;
    for (int i = 0; i < completion->n_choices; i++) {
        struct gw_request *request = completion->choices[i].request;
        completion->choices[i].request = NULL;
        if (request && request->state == GW_TOKENIZING) /* never queued */
            gw_request_destroy(completion->api->requests, request);
        else if (request)
            gw_lifecycle_cancel(&completion->api->dispatcher->lifecycle, request, reason);
    }
}

void gw_completion_drop(struct gw_completion *completion, const char *reason)
{
    cancel_rest(completion, reason);
    destroy(completion);
}

/* What a choice made, and no access line told yet, is told in the exchange's. */
static void note_tokens(struct gw_choice *choice)
{
    struct gw_exchange *exchange = choice->completion->exchange;
    const struct gw_output *output = &choice->request->output;
    if (!exchange)
        return;
    struct gw_exchange_note *note = gw_exchange_note(exchange);
    bool came = output->first_ns >= gw_exchange_arrived_ns(exchange);
    note->output_tokens += output->tokens.n - choice->n_noted;
    choice->n_noted = output->tokens.n;
    if (came && (!note->first_ns || output->first_ns < note->first_ns))
        note->first_ns = output->first_ns;
}

/* What a choice made is charged to its client as well. */
static void account_for(struct gw_choice *choice)
{
    gw_payers_charge_tokens(&choice->completion->payers, choice->request->output.tokens.n);
    note_tokens(choice);
}

static void for_each_unfinished(struct gw_completion *completion, void (*act)(struct gw_choice *))
{
    for (int i = 0; i < completion->n_choices; i++)
        if (completion->choices[i].request)
            act(&completion->choices[i]);
}

/* Charges the client for what the unfinished choices made; their requests are about to go. */
static void charge_rest(struct gw_completion *completion)
{
    for_each_unfinished(completion, account_for);
}

/* ---- what response writers share ---- */

void gw_choice_restart(struct gw_choice *choice)
{
    baton_buf_reset(&choice->text);
    baton_buf_reset(&choice->reasoning);
    baton_buf_reset(&choice->steps);
    gw_logprobs_reset(&choice->logprobs);
    gw_tool_calls_restart(&choice->calls);
    choice->part = GW_PART_NONE;
    choice->n_parts = 0;
}

void gw_choice_keep_token(struct gw_choice *choice, const struct gw_token *token)
{
    const struct gw_completion_options *options = &choice->completion->options;
    choice->calls.n_reasoning_tokens += gw_tool_calls_in_reasoning(&choice->calls);
    if (options->post_sampling_probs && token->decision)
        gw_logprobs_add_drawn(&choice->logprobs, token);
    else if (token->logprobs)
        gw_logprobs_add(&choice->logprobs, token);
    if (!token->decision || options->hides_steps)
        return;
    if (choice->steps.len)
        baton_buf_putc(&choice->steps, ',');
    gw_explain_step(&choice->steps, choice->completion->api, &choice->request->params, token);
}

void gw_choice_put_steps(struct gw_choice *choice, struct baton_json_out *out)
{
    if (!choice->request->params.sampling.explain || choice->completion->options.hides_steps)
        return;
    gw_explain_put_steps(out, &choice->steps);
    baton_buf_reset(&choice->steps);
}

void gw_choice_end_logprobs(struct gw_choice *choice)
{
    const struct gw_output *output = &choice->request->output;
    if (output->finish != GW_FINISH_STOP || !output->text.stopped)
        gw_logprobs_shown(&choice->logprobs, SIZE_MAX);
}

const char *gw_choice_id(const struct gw_choice *choice, const char *prefix,
                         char id[GW_ANSWER_ID_BYTES])
{
    char suffix[16] = "";
    if (choice->index)
        (void)snprintf(suffix, sizeof suffix, "-%d", choice->index);
    (void)snprintf(id, GW_ANSWER_ID_BYTES, "%s-%s%s", prefix, choice->completion->id, suffix);
    return id;
}

/* ---- the stream ---- */

static void put_comment(struct baton_buf *out, const struct gw_completion *completion)
{
    (void)completion;
    gw_sse_comment(out, "keep-alive");
}

const struct gw_stream_format gw_server_sent_events = {
    .content_type = "text/event-stream", .put_event = gw_sse_event, .put_keep_alive = put_comment};

static void on_attached(void *arg, struct gw_exchange *exchange)
{
    struct gw_completion *completion = arg;
    for_each_unfinished(completion, note_tokens); /* in the line of the exchange before */
    completion->exchange = exchange;
    if (exchange)
        gw_exchange_note(exchange)->model = completion->api->names->list[0];
}

static void on_full(void *arg, bool full)
{
    gw_completion_full(arg, full);
}

static void on_abandoned(void *arg, const char *reason)
{
    struct gw_completion *completion = arg;
    completion->stream = NULL;
    gw_completion_gone(completion, reason);
}

/* A stream that its client may go on with, if it asks for one: other formats have no ids. */
static void open_stream(struct gw_completion *completion)
{
    static const struct gw_stream_source source = {
        .attached = on_attached, .full = on_full, .abandoned = on_abandoned};
    const struct gw_api *api = completion->api;
    struct gw_owner owner = gw_access_owner(api->access, completion->exchange);
    if (!strcmp(completion->options.format->content_type, gw_server_sent_events.content_type))
        completion->stream =
            gw_streams_open(api->streams, completion->exchange, &owner, &source, completion);
}

/* It is the one that was quiet the shortest. */
static void note_written(struct gw_completion *completion)
{
    completion_list_remove(list_of(completion), completion);
    completion_list_push_back(list_of(completion), completion);
    completion->wrote_ns = baton_now_ns();
}

void gw_completion_begin(struct gw_completion *completion)
{
    if (!completion->options.streaming || completion->begun)
        return;
    open_stream(completion);
    gw_exchange_stream_begin(completion->exchange, 200, completion->options.format->content_type,
                             "Cache-Control: no-store\r\n");
    completion_list_remove(list_of(completion), completion);
    completion->begun = true;
    completion_list_push_back(list_of(completion), completion);
    completion->wrote_ns = baton_now_ns();
}

void gw_completion_end_stream(struct gw_completion *completion)
{
    struct gw_stream *stream = completion->stream;
    completion->stream = NULL;
    if (stream)
        gw_stream_end(stream);
    else
        gw_exchange_stream_end(completion->exchange);
}

/* The exchange is not to lead to the completion any more; that of a stream leads to the stream. */
static void leave_exchange(struct gw_completion *completion)
{
    if (!completion->stream)
        gw_exchange_set_data(completion->exchange, NULL);
}

void gw_completion_write(struct gw_completion *completion, struct gw_choice *choice,
                         const char *name, const char *data, size_t n)
{
    struct baton_buf *event = &completion->api->completions->event;
    baton_buf_reset(event);
    completion->options.format->put_event(event, name, data, n);
    gw_completion_send(completion, choice, event);
}

void gw_completion_send(struct gw_completion *completion, struct gw_choice *choice,
                        const struct baton_buf *events)
{
    int64_t begin_ns = baton_now_ns(); /* after they were built, which is not the flush */
    if (completion->stream)
        gw_stream_write(completion->stream, events->data, events->len);
    else
        gw_exchange_stream_write(completion->exchange, events->data, events->len);
    note_written(completion);
    if (choice && choice->request)
        choice->request->output.flush_ns += completion->wrote_ns - begin_ns;
}

void gw_choice_count(struct gw_choice *choice)
{
    const struct gw_request *request = choice->request;
    struct gw_totals *totals = &choice->completion->totals;
    struct gw_stage_span spans[BATON_N_STAGES];
    account_for(choice);
    totals->run_tokens += request->params.prompt.n;
    totals->cached_tokens += gw_request_first_attempt(request)->cached_tokens;
    totals->disk_tokens += gw_request_first_attempt(request)->disk_tokens;
    totals->output_tokens += request->output.tokens.n;
    totals->reasoning_tokens += choice->calls.n_reasoning_tokens;
    totals->prompt_s += gw_request_first_attempt(request)->prefill_compute_s;
    totals->output_s += gw_request_e2el_s(request) - gw_request_ttft_s(request);
    totals->e2el_s += gw_request_e2el_s(request);
    gw_request_stages(request, spans);
    for (int i = 0; i < BATON_N_STAGES; i++)
        totals->stages_s[i] += spans[i].duration_s;
    totals->migrations += request->migration.n;
    totals->hand_overs += request->migration.n_hand_overs;
    totals->drafted_tokens += request->output.n_drafted;
    totals->accepted_tokens += request->output.n_accepted;
    totals->migration_gap_s = fmax(totals->migration_gap_s, request->migration.longest_gap_s);
    totals->class_changed |= request->class_changed;
    totals->priority = request->params.priority;
    choice->completion->n_over++;
}

void gw_choice_close(struct gw_choice *choice, void (*end)(struct gw_completion *completion))
{
    struct gw_completion *completion = choice->completion;
    choice->request = NULL;
    if (completion->n_over < completion->n_choices) {
        gw_completion_queue_next(completion);
        return;
    }
    leave_exchange(completion); /* `end` ends it */
    end(completion);
    destroy(completion);
}

void gw_completion_answer_one(struct gw_completion *completion)
{
    if (completion->options.streaming)
        gw_completion_end_stream(completion);
    else
        gw_answer_json(completion->exchange, 200, &completion->choices[0].result);
}

void gw_completion_answer_all(struct gw_completion *completion)
{
    struct baton_buf body;
    baton_buf_init(&body, GW_ANSWER_MAX_BYTES);
    struct baton_json_out out = baton_json_out(&body);
    gw_completion_put_results(completion, NULL, &out);
    gw_answer_json(completion->exchange, 200, &body);
    baton_buf_fini(&body);
}

/* Adds the tokens that the unfinished choices of a failing completion made. */
static void add_unfinished(struct gw_completion *completion)
{
    for (int i = 0; i < completion->n_choices; i++)
        if (completion->choices[i].request)
            completion->totals.output_tokens += completion->choices[i].request->output.tokens.n;
}

static void tell_error(struct gw_completion *completion, const struct gw_error *error,
                       const char *event_name)
{
    struct baton_buf data;
    if (!completion->begun) {
        gw_exchange_respond_error(completion->exchange, error);
        return;
    }
    baton_buf_init(&data, EVENT_MAX_BYTES);
    if (completion->options.format->put_failure)
        completion->options.format->put_failure(&data, completion, error);
    else
        completion->put_error(&data, error);
    gw_completion_write(completion, NULL, event_name, data.data, data.len);
    gw_completion_end_stream(completion);
    baton_buf_fini(&data);
}

void gw_choice_fail(struct gw_choice *choice, const struct gw_failure *failure,
                    void (*put_usage)(struct baton_buf *out,
                                      const struct gw_completion *completion),
                    const char *event_name)
{
    struct gw_completion *completion = choice->completion;
    struct gw_error error = {
        .status = failure->status, .code = failure->code, .message = failure->message};
    struct baton_buf usage;
    if (!completion->over) { /* before the choice loses its request, whose tokens count as well */
        add_unfinished(completion);
        charge_rest(completion);
    }
    choice->request = NULL; /* the lifecycle destroys the request */
    if (completion->over)   /* the client was told already */
        return;
    leave_exchange(completion);
    baton_buf_init(&usage, USAGE_MAX_BYTES);
    if (error.status == 504) { /* the client's time was up: say how far the completion came */
        put_usage(&usage, completion);
        error.usage = &usage;
    }
    tell_error(completion, &error, event_name);
    baton_buf_fini(&usage);
    /* One HTTP status cannot report two results: the first failed choice ends the others. */
    gw_completion_drop(completion, "another choice of the completion failed");
}

void gw_completion_put_results(struct gw_completion *completion, const char *key,
                               struct baton_json_out *out)
{
    baton_json_open(out, key, '[');
    for (int i = 0; i < completion->n_choices; i++) {
        const struct baton_buf *result = &completion->choices[i].result;
        baton_json_put_raw(out, NULL, baton_buf_text(result), result->len);
        if (baton_buf_err(result)) /* a cut result would make the whole answer invalid JSON */
            out->buf->err = baton_buf_err(result);
    }
    baton_json_close(out, ']');
}

/* ---- what the client does ---- */

void gw_completion_gone(struct gw_completion *completion, const char *reason)
{
    charge_rest(completion);
    gw_completion_drop(completion, reason);
}

void gw_completion_full(struct gw_completion *completion, bool full)
{
    for (int i = 0; i < completion->n_choices; i++)
        if (completion->choices[i].request)
            gw_lifecycle_pause(&completion->api->dispatcher->lifecycle,
                               completion->choices[i].request, full);
}

static void keep_alive(struct gw_completion *completion, const struct baton_buf *text)
{
    if (completion->stream)
        gw_stream_keep_alive(completion->stream, text->data, text->len);
    else
        gw_exchange_stream_write(completion->exchange, text->data, text->len);
    note_written(completion);
}

void gw_completions_tick(struct gw_completions *completions, int64_t now_ns)
{
    for (struct gw_completion *completion;
         (completion = completion_list_first(&completions->begun)) &&
         now_ns - completion->wrote_ns >= KEEP_ALIVE_NS;) {
        baton_buf_reset(&completions->event);
        completion->options.format->put_keep_alive(&completions->event, completion);
        keep_alive(completion, &completions->event);
    }
}
