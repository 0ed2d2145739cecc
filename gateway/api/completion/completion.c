#include "gateway/api/completion/parts.h"

#include <stdlib.h>

#include "common/base/clock.h"
#include "gateway/api/access/keys.h"
#include "gateway/api/answer.h"
#include "gateway/http/sse.h"
#include "gateway/http/status.h"

#define KEEP_ALIVE_NS (15 * BATON_SECOND)

BATON_LIST(completion_list, struct gw_completion, in_completions)

enum { EVENT_MAX_BYTES = 4 << 20, USAGE_MAX_BYTES = 1024 };

struct gw_completions {
    struct completion_list list;
    struct baton_buf event;
};

struct gw_completions *gw_completions_create(void)
{
    struct gw_completions *completions = calloc(1, sizeof *completions);
    if (!completions)
        return NULL;
    completion_list_init(&completions->list);
    baton_buf_init(&completions->event, EVENT_MAX_BYTES);
    return completions;
}

struct baton_buf *gw_completions_event(struct gw_completions *completions)
{
    baton_buf_reset(&completions->event);
    return &completions->event;
}

void gw_completion_list(struct gw_completion *completion)
{
    completion_list_push_back(&completion->api->completions->list, completion);
}

void gw_completion_destroy(struct gw_completion *completion)
{
    gw_key_give(completion->key, (size_t)completion->n_choices);
    completion_list_remove(&completion->api->completions->list, completion);
    for (int i = 0; i < completion->n_choices; i++) {
        baton_buf_fini(&completion->choices[i].text);
        baton_buf_fini(&completion->choices[i].steps);
        baton_buf_fini(&completion->choices[i].result);
        gw_logprobs_fini(&completion->choices[i].logprobs);
    }
    free(completion->choices);
    gw_prompts_fini(&completion->prompts);
    free(completion);
}

void gw_completions_destroy(struct gw_completions *completions)
{
    if (!completions)
        return;
    for (struct gw_completion *completion;
         (completion = completion_list_first(&completions->list));)
        gw_completion_destroy(completion);
    baton_buf_fini(&completions->event);
    free(completions);
}

void gw_completion_cancel_rest(struct gw_completion *completion, const char *reason)
{
    completion->over = true;
    for (int i = 0; i < completion->n_choices; i++) {
        struct gw_request *request = completion->choices[i].request;
        completion->choices[i].request = NULL;
        if (request && request->state == GW_TOKENIZING) /* never queued */
            gw_request_destroy(completion->api->requests, request);
        else if (request)
            gw_dispatcher_cancel(completion->api->dispatcher, request, reason);
    }
}

/* ---- what the requests say ---- */

void gw_completion_write(struct gw_completion *completion, struct gw_choice *choice,
                         const char *bytes, size_t n)
{
    int64_t begin_ns = baton_now_ns();
    gw_exchange_stream_write(completion->exchange, bytes, n);
    completion->wrote_ns = baton_now_ns();
    if (choice && choice->request)
        choice->request->times.flush_ns += completion->wrote_ns - begin_ns;
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
    struct gw_completion *completion = choice->completion;
    (void)request;
    if (completion->options.streaming && !completion->begun)
        gw_exchange_stream_begin(completion->exchange, 200, "text/event-stream",
                                 "Cache-Control: no-store\r\n");
    completion->begun = completion->options.streaming;
    completion->dialect->first(choice);
}

static void on_token(void *arg, struct gw_request *request, const struct gw_token *token)
{
    struct gw_choice *choice = arg;
    (void)request;
    if (token->logprobs && !token->silent && !choice->completion->options.no_output)
        gw_logprobs_add(&choice->logprobs, token);
    choice->completion->dialect->token(choice, token);
}

static void on_text(void *arg, struct gw_request *request, const char *text, size_t n)
{
    struct gw_choice *choice = arg;
    gw_logprobs_shown(&choice->logprobs, request->shown_bytes);
    if (!choice->completion->options.streaming)
        baton_buf_append(&choice->text, text, n);
    choice->completion->dialect->text(choice, text, n);
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

/* What a failing completion made so far. */
static void add_unfinished(struct gw_completion *completion)
{
    for (int i = 0; i < completion->n_choices; i++)
        if (completion->choices[i].request)
            completion->totals.output_tokens += completion->choices[i].request->n_output;
}

/* Of a completion whose time is up the client is told how far it came. */
static void fail(struct gw_completion *completion, const struct gw_failure *failure)
{
    struct gw_error error = {
        .status = failure->status, .code = failure->code, .message = failure->message};
    struct baton_buf usage;
    baton_buf_init(&usage, USAGE_MAX_BYTES);
    if (failure->status == 504) {
        completion->dialect->usage(&usage, completion);
        error.usage = &usage;
    }
    if (completion->begun) {
        completion->dialect->error(completion, &error);
        gw_exchange_stream_end(completion->exchange);
    } else {
        gw_exchange_respond_error(completion->exchange, &error);
    }
    baton_buf_fini(&usage);
}

/* The exchange dies with the response; the completion must not be found through it any more. */
static void on_finished(void *arg, struct gw_request *request)
{
    struct gw_choice *choice = arg;
    struct gw_completion *completion = choice->completion;
    if (request->finish != GW_FINISH_STOP || !request->text.stopped)
        gw_logprobs_shown(&choice->logprobs, SIZE_MAX);
    add_totals(&completion->totals, request);
    completion->dialect->finish(choice);
    choice->request = NULL;
    if (++completion->n_over < completion->n_choices)
        return;
    gw_exchange_set_data(completion->exchange, NULL);
    completion->dialect->end(completion);
    gw_completion_destroy(completion);
}

static void on_failed(void *arg, struct gw_request *request, const struct gw_failure *failure)
{
    struct gw_choice *choice = arg;
    struct gw_completion *completion = choice->completion;
    (void)request;
    if (!completion->over)
        add_unfinished(completion);
    choice->request = NULL; /* the router destroys it */
    if (completion->over)
        return;
    gw_exchange_set_data(completion->exchange, NULL);
    fail(completion, failure);
    gw_completion_cancel_rest(completion, "another generation of the completion failed");
    gw_completion_destroy(completion);
}

struct gw_sink gw_completion_sink(struct gw_choice *choice)
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

void gw_completion_put_results(struct gw_completion *completion, const char *key,
                               struct baton_json_out *out)
{
    baton_json_open(out, key, '[');
    for (int i = 0; i < completion->n_choices; i++) {
        const struct baton_buf *result = &completion->choices[i].result;
        baton_json_put_raw(out, NULL, baton_buf_text(result), result->len);
        if (baton_buf_err(result))
            out->buf->err = baton_buf_err(result);
    }
    baton_json_close(out, ']');
}

void gw_completion_refuse(struct gw_api *api, struct gw_exchange *exchange,
                          const struct gw_problem *problem)
{
    api->metrics->outcomes[GW_OUTCOME_rejected]++;
    gw_answer_problem(exchange, problem);
}

/* ---- what the client does ---- */

static struct gw_completion *find_completion(const struct gw_api *api, const void *data)
{
    struct gw_completion *completion = completion_list_first(&api->completions->list);
    while (completion && completion != data)
        completion = completion_list_next(&api->completions->list, completion);
    return completion;
}

bool gw_completions_gone(struct gw_api *api, void *data, const char *reason)
{
    struct gw_completion *completion = find_completion(api, data);
    if (!completion)
        return false;
    gw_completion_cancel_rest(completion, reason);
    gw_completion_destroy(completion);
    return true;
}

void gw_completions_full(struct gw_api *api, void *data, bool full)
{
    struct gw_completion *completion = find_completion(api, data);
    for (int i = 0; completion && i < completion->n_choices; i++)
        if (completion->choices[i].request)
            gw_dispatcher_pause(api->dispatcher, completion->choices[i].request, full);
}

void gw_completions_tick(struct gw_api *api, int64_t now_ns)
{
    for (struct gw_completion *completion = completion_list_first(&api->completions->list);
         completion; completion = completion_list_next(&api->completions->list, completion)) {
        if (!completion->begun || now_ns - completion->wrote_ns < KEEP_ALIVE_NS)
            continue;
        struct baton_buf *event = gw_completions_event(completion->api->completions);
        gw_sse_comment(event, "keep-alive");
        gw_completion_write(completion, NULL, event->data, event->len);
    }
}
