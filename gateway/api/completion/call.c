#include "gateway/api/completion/call_parts.h"

#include <stdlib.h>

#include "common/base/clock.h"
#include "gateway/api/access/keys.h"
#include "gateway/http/sse.h"
#include "gateway/http/status.h"

#define KEEP_ALIVE_NS (15 * BATON_SECOND)

BATON_LIST(call_list, struct gw_call, in_calls)

enum { EVENT_MAX_BYTES = 4 << 20 };

struct gw_calls {
    struct call_list list;
    struct baton_buf event;
};

struct gw_calls *gw_calls_create(void)
{
    struct gw_calls *calls = calloc(1, sizeof *calls);
    if (!calls)
        return NULL;
    call_list_init(&calls->list);
    baton_buf_init(&calls->event, EVENT_MAX_BYTES);
    return calls;
}

struct baton_buf *gw_calls_event(struct gw_calls *calls)
{
    baton_buf_reset(&calls->event);
    return &calls->event;
}

void gw_call_list(struct gw_call *call)
{
    call_list_push_back(&call->api->calls->list, call);
}

void gw_call_destroy(struct gw_call *call)
{
    gw_key_give(call->key, (size_t)call->n_choices);
    call_list_remove(&call->api->calls->list, call);
    for (int i = 0; i < call->n_choices; i++) {
        baton_buf_fini(&call->choices[i].text);
        baton_buf_fini(&call->choices[i].steps);
        baton_buf_fini(&call->choices[i].result);
        gw_logprobs_fini(&call->choices[i].logprobs);
    }
    free(call->choices);
    gw_prompts_fini(&call->prompts);
    free(call);
}

void gw_calls_destroy(struct gw_calls *calls)
{
    if (!calls)
        return;
    for (struct gw_call *call; (call = call_list_first(&calls->list));)
        gw_call_destroy(call);
    baton_buf_fini(&calls->event);
    free(calls);
}

void gw_call_cancel_rest(struct gw_call *call, const char *reason)
{
    call->over = true;
    for (int i = 0; i < call->n_choices; i++) {
        struct gw_request *request = call->choices[i].request;
        call->choices[i].request = NULL;
        if (request && request->state == GW_TOKENIZING) /* never queued */
            gw_request_destroy(call->api->requests, request);
        else if (request)
            gw_dispatcher_cancel(call->api->dispatcher, request, reason);
    }
}

/* ---- what the requests say ---- */

void gw_call_write(struct gw_call *call, struct gw_choice *choice, const char *bytes, size_t n)
{
    int64_t begin_ns = baton_now_ns();
    gw_exchange_stream_write(call->exchange, bytes, n);
    call->wrote_ns = baton_now_ns();
    if (choice && choice->request)
        choice->request->times.flush_ns += call->wrote_ns - begin_ns;
}

static void on_attempt(void *arg, struct gw_request *request)
{
    struct gw_choice *choice = arg;
    (void)request;
    baton_buf_reset(&choice->text);
    baton_buf_reset(&choice->steps);
    gw_logprobs_reset(&choice->logprobs);
}

static void on_prompt(void *arg, struct gw_request *request,
                      const Baton__V1__PromptLogprobs *scores)
{
    struct gw_choice *choice = arg;
    gw_logprobs_add_prompt(&choice->logprobs, &request->params.prompt, scores);
}

static void on_first(void *arg, struct gw_request *request)
{
    struct gw_choice *choice = arg;
    struct gw_call *call = choice->call;
    (void)request;
    if (call->options.streaming && !call->begun)
        gw_exchange_stream_begin(call->exchange, 200, "text/event-stream",
                                 "Cache-Control: no-store\r\n");
    call->begun = call->options.streaming;
    call->dialect->first(choice);
}

static void on_token(void *arg, struct gw_request *request, const struct gw_token *token)
{
    struct gw_choice *choice = arg;
    (void)request;
    if (token->logprobs && !token->silent && !choice->call->options.no_output)
        gw_logprobs_add(&choice->logprobs, token);
    choice->call->dialect->token(choice, token);
}

static void on_text(void *arg, struct gw_request *request, const char *text, size_t n)
{
    struct gw_choice *choice = arg;
    gw_logprobs_shown(&choice->logprobs, request->shown_bytes);
    if (!choice->call->options.streaming)
        baton_buf_append(&choice->text, text, n);
    choice->call->dialect->text(choice, text, n);
}

static void add_totals(struct gw_totals *totals, const struct gw_request *request)
{
    totals->run_tokens += request->params.prompt.n;
    totals->cached_tokens += request->cached_tokens;
    totals->output_tokens += request->n_output;
    totals->prompt_s += request->times.prefill_compute_s;
    totals->output_s += gw_request_e2el_s(request) - gw_request_ttft_s(request);
    for (int i = 0; i < BATON_N_STAGES; i++) {
        struct gw_stage_span span;
        if (gw_request_stage(request, (enum baton_stage)i, &span))
            totals->stages_s[i] += span.duration_s;
    }
}

/* What a failing call made so far. */
static void add_unfinished(struct gw_call *call)
{
    for (int i = 0; i < call->n_choices; i++)
        if (call->choices[i].request)
            call->totals.output_tokens += call->choices[i].request->n_output;
}

void gw_call_put_error(struct baton_buf *out, const struct gw_call *call,
                       const struct gw_failure *failure)
{
    struct baton_json_out json = baton_json_out(out);
    gw_error_open(&json, failure->status, failure->message, NULL, failure->code);
    if (failure->status == 504)
        call->dialect->usage(&json, call);
    gw_error_close(&json);
}

static void answer_failure(struct gw_call *call, const struct gw_failure *failure)
{
    struct baton_buf body;
    baton_buf_init(&body, GW_ERROR_MAX_BYTES);
    gw_call_put_error(&body, call, failure);
    gw_exchange_respond(call->exchange, failure->status, "application/json",
                        gw_status_hints(failure->status), baton_buf_text(&body), body.len);
    baton_buf_fini(&body);
}

/* The exchange dies with the response; the call must not be found through it any more. */
static void on_finished(void *arg, struct gw_request *request)
{
    struct gw_choice *choice = arg;
    struct gw_call *call = choice->call;
    if (request->finish != GW_FINISH_STOP || !request->text.stopped)
        gw_logprobs_shown(&choice->logprobs, SIZE_MAX);
    add_totals(&call->totals, request);
    call->dialect->finish(choice);
    choice->request = NULL;
    if (++call->n_over < call->n_choices)
        return;
    gw_exchange_set_data(call->exchange, NULL);
    call->dialect->end(call);
    gw_call_destroy(call);
}

static void on_failed(void *arg, struct gw_request *request, const struct gw_failure *failure)
{
    struct gw_choice *choice = arg;
    struct gw_call *call = choice->call;
    (void)request;
    if (!call->over)
        add_unfinished(call);
    choice->request = NULL; /* the router destroys it */
    if (call->over)
        return;
    gw_exchange_set_data(call->exchange, NULL);
    if (call->begun) {
        call->dialect->error(call, failure);
        gw_exchange_stream_end(call->exchange);
    } else {
        answer_failure(call, failure);
    }
    gw_call_cancel_rest(call, "another generation of the call failed");
    gw_call_destroy(call);
}

struct gw_sink gw_call_sink(struct gw_choice *choice)
{
    return (struct gw_sink){.arg = choice,
                            .attempt = on_attempt,
                            .prompt = on_prompt,
                            .first = on_first,
                            .token = on_token,
                            .text = on_text,
                            .finished = on_finished,
                            .failed = on_failed};
}

void gw_call_put_results(struct gw_call *call, const char *key, struct baton_json_out *out)
{
    baton_json_open(out, key, '[');
    for (int i = 0; i < call->n_choices; i++) {
        const struct baton_buf *result = &call->choices[i].result;
        baton_json_put_raw(out, NULL, baton_buf_text(result), result->len);
        if (baton_buf_err(result))
            out->buf->err = baton_buf_err(result);
    }
    baton_json_close(out, ']');
}

void gw_call_refuse(struct gw_api *api, struct gw_exchange *exchange,
                    const struct gw_problem *problem)
{
    api->metrics->outcomes[GW_OUTCOME_rejected]++;
    gw_api_refuse(exchange, problem);
}

/* ---- what the client does ---- */

static struct gw_call *find_call(const struct gw_api *api, const void *data)
{
    struct gw_call *call = call_list_first(&api->calls->list);
    while (call && call != data)
        call = call_list_next(&api->calls->list, call);
    return call;
}

bool gw_calls_gone(struct gw_api *api, void *data, const char *reason)
{
    struct gw_call *call = find_call(api, data);
    if (!call)
        return false;
    gw_call_cancel_rest(call, reason);
    gw_call_destroy(call);
    return true;
}

void gw_calls_full(struct gw_api *api, void *data, bool full)
{
    struct gw_call *call = find_call(api, data);
    for (int i = 0; call && i < call->n_choices; i++)
        if (call->choices[i].request)
            gw_dispatcher_pause(api->dispatcher, call->choices[i].request, full);
}

void gw_calls_tick(struct gw_api *api, int64_t now_ns)
{
    for (struct gw_call *call = call_list_first(&api->calls->list); call;
         call = call_list_next(&api->calls->list, call)) {
        if (!call->begun || now_ns - call->wrote_ns < KEEP_ALIVE_NS)
            continue;
        struct baton_buf *event = gw_calls_event(call->api->calls);
        gw_sse_comment(event, "keep-alive");
        gw_call_write(call, NULL, event->data, event->len);
    }
}
