#include "gateway/api/call.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/clock.h"
#include "gateway/admission.h"
#include "gateway/http/sse.h"

enum { TEXT_MAX_BYTES = 64 << 20, EVENT_MAX_BYTES = 4 << 20 };

#define KEEP_ALIVE_NS (15 * BATON_SECOND)

BATON_LIST(call_list, struct gw_call, in_calls)

struct gw_calls {
    struct call_list list;
};

struct gw_calls *gw_calls_create(void)
{
    struct gw_calls *calls = calloc(1, sizeof *calls);
    if (calls)
        call_list_init(&calls->list);
    return calls;
}

static void end_call(struct gw_call *call)
{
    call_list_remove(&call->api->calls->list, call);
    for (int i = 0; i < call->n_choices; i++) {
        baton_buf_fini(&call->choices[i].text);
        baton_buf_fini(&call->choices[i].steps);
        baton_buf_fini(&call->choices[i].result);
        gw_logprobs_fini(&call->choices[i].logprobs);
    }
    free(call->choices);
    gw_prompts_fini(&call->prompts);
    baton_buf_fini(&call->event);
    free(call);
}

void gw_calls_destroy(struct gw_calls *calls)
{
    if (!calls)
        return;
    for (struct gw_call *call; (call = call_list_first(&calls->list));)
        end_call(call);
    free(calls);
}

/* Ends what is left of the call's requests. From here on nothing is told. */
static void cancel_rest(struct gw_call *call, const char *reason)
{
    call->over = true;
    for (int i = 0; i < call->n_choices; i++) {
        struct gw_request *request = call->choices[i].request;
        call->choices[i].request = NULL;
        if (request && request->state == GW_TOKENIZING) /* never queued */
            gw_request_destroy(call->api->requests, request);
        else if (request)
            gw_router_cancel(call->api->router, request, reason);
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
    gw_logprobs_add_prompt(&choice->logprobs, &request->ask.prompt, scores);
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
    totals->run_tokens += request->ask.prompt.n;
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
    end_call(call);
}

static void on_failed(void *arg, struct gw_request *request, const struct gw_failure *failure)
{
    struct gw_choice *choice = arg;
    struct gw_call *call = choice->call;
    (void)request;
    choice->request = NULL; /* the router destroys it */
    if (call->over)
        return;
    gw_exchange_set_data(call->exchange, NULL);
    if (call->begun) {
        call->dialect->error(call, failure);
        gw_exchange_stream_end(call->exchange);
    } else {
        gw_api_fail(call->exchange, failure->status, failure->message, NULL, failure->code);
    }
    cancel_rest(call, "another generation of the call failed");
    end_call(call);
}

/* ---- the beginning ---- */

static struct gw_call *create_call(struct gw_api *api, struct gw_exchange *exchange,
                                   const struct gw_dialect *dialect,
                                   const struct gw_call_options *options, int n_choices)
{
    struct gw_call *call = calloc(1, sizeof *call);
    struct gw_choice *choices = calloc((size_t)n_choices, sizeof *choices);
    if (!call || !choices) {
        free(call);
        free(choices);
        return NULL;
    }
    call->api = api;
    call->exchange = exchange;
    call->dialect = dialect;
    call->options = *options;
    call->choices = choices;
    call->n_choices = n_choices;
    call->wrote_ns = baton_now_ns();
    call->created_s = (int64_t)time(NULL);
    baton_buf_init(&call->event, EVENT_MAX_BYTES);
    call_list_push_back(&api->calls->list, call);
    return call;
}

static void init_choices(struct gw_call *call, const struct gw_terms *terms)
{
    size_t result_max_bytes = GW_ANSWER_MAX_BYTES / (size_t)call->n_choices;
    for (int i = 0; i < call->n_choices; i++) {
        struct gw_choice *choice = &call->choices[i];
        choice->call = call;
        choice->index = i;
        choice->prompt = &call->prompts.items[i / call->options.n];
        baton_buf_init(&choice->text, TEXT_MAX_BYTES);
        baton_buf_init(&choice->steps, result_max_bytes);
        baton_buf_init(&choice->result, result_max_bytes);
        gw_logprobs_init(&choice->logprobs, (int)terms->ask.top_logprobs);
    }
}

static bool copy_tokens(struct baton_tokens *to, const struct baton_tokens *from)
{
    to->ids = malloc(from->n * sizeof *to->ids);
    if (!to->ids)
        return false;
    memcpy(to->ids, from->ids, from->n * sizeof *to->ids);
    to->n = to->cap = from->n;
    return true;
}

/* A request in state TOKENIZING; what it went through so far was the call's. */
static bool make_request(struct gw_choice *choice, const struct gw_terms *terms,
                         int64_t max_new_tokens)
{
    struct gw_call *call = choice->call;
    struct gw_api *api = call->api;
    int64_t arrived_ns = gw_exchange_arrived_ns(call->exchange);
    struct gw_sink sink = {.arg = choice,
                           .attempt = on_attempt,
                           .prompt = on_prompt,
                           .first = on_first,
                           .token = on_token,
                           .text = on_text,
                           .finished = on_finished,
                           .failed = on_failed};
    struct gw_request *request = gw_request_create(api->requests, &sink, arrived_ns);
    if (!request)
        return false;
    choice->request = request;
    request->times.parsed_ns = terms->parsed_ns;
    request->times.tokenized_ns = terms->tokenized_ns;
    gw_request_set_state(api->requests, request, GW_TOKENIZING, "");
    if (api->timeout_s > 0)
        request->deadline_ns = arrived_ns + (int64_t)(api->timeout_s * (double)BATON_SECOND);
    request->ask.max_new_tokens = max_new_tokens;
    if (!copy_tokens(&request->ask.prompt, &choice->prompt->tokens) ||
        !gw_terms_apply(terms, choice->index % call->options.n, request))
        return false;
    request->ask.streaming = call->options.streaming;
    return true;
}

static bool make_requests(struct gw_call *call, const struct gw_terms *terms,
                          const int64_t *lengths)
{
    for (int i = 0; i < call->n_choices; i++)
        if (!make_request(&call->choices[i], terms, lengths[i / call->options.n]))
            return false;
    call->id = call->choices[0].request->id;
    return true;
}

static void give_up(struct gw_call *call, const struct gw_failure *failure)
{
    gw_exchange_set_data(call->exchange, NULL);
    gw_api_fail(call->exchange, failure->status, failure->message, NULL, failure->code);
    cancel_rest(call, failure->code);
    end_call(call);
}

/* All or nothing. Placing a request fails none of the call's others: what makes one hopeless is
 * asked at its own submission, and workers are only lost between events. */
static void submit(struct gw_call *call)
{
    struct gw_api *api = call->api;
    struct gw_failure failure;
    gw_exchange_set_data(call->exchange, call);
    for (int i = 0; i < call->n_choices; i++) {
        struct gw_choice *choice = &call->choices[i];
        if (gw_admission_submit(api->router, choice->request, &failure))
            continue;
        gw_request_destroy(api->requests, choice->request);
        choice->request = NULL;
        give_up(call, &failure);
        return;
    }
}

void gw_call_start(struct gw_api *api, struct gw_exchange *exchange,
                   const struct gw_dialect *dialect, const struct gw_call_options *options,
                   const struct gw_terms *terms, struct gw_prompts *prompts, const int64_t *lengths)
{
    static const struct gw_failure no_memory = {503, "overloaded", "no memory for the request"};
    struct gw_call *call =
        create_call(api, exchange, dialect, options, (int)prompts->n * options->n);
    if (!call) {
        gw_api_fail(exchange, no_memory.status, no_memory.message, NULL, no_memory.code);
        return;
    }
    call->prompts = *prompts;
    *prompts = (struct gw_prompts){0};
    for (size_t i = 0; i < call->prompts.n; i++)
        call->totals.prompt_tokens += call->prompts.items[i].tokens.n;
    init_choices(call, terms);
    if (make_requests(call, terms, lengths))
        submit(call);
    else
        give_up(call, &no_memory);
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
    cancel_rest(call, reason);
    end_call(call);
    return true;
}

void gw_calls_full(struct gw_api *api, void *data, bool full)
{
    struct gw_call *call = find_call(api, data);
    for (int i = 0; call && i < call->n_choices; i++)
        if (call->choices[i].request)
            gw_router_pause(api->router, call->choices[i].request, full);
}

void gw_calls_tick(struct gw_api *api, int64_t now_ns)
{
    for (struct gw_call *call = call_list_first(&api->calls->list); call;
         call = call_list_next(&api->calls->list, call)) {
        if (!call->begun || now_ns - call->wrote_ns < KEEP_ALIVE_NS)
            continue;
        baton_buf_reset(&call->event);
        gw_sse_comment(&call->event, "keep-alive");
        gw_call_write(call, NULL, call->event.data, call->event.len);
    }
}
