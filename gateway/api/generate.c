#include "gateway/api/generate.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "gateway/api/ask.h"
#include "gateway/api/reply.h"
#include "gateway/http/sse.h"
#include "gateway/http/status.h"

enum { TEXT_MAX_BYTES = 64 << 20, EVENT_MAX_BYTES = 1 << 20 };

#define KEEP_ALIVE_NS (15 * BATON_SECOND)

struct gw_call {
    struct baton_node in_calls;
    struct gw_api *api;
    struct gw_exchange *exchange;
    struct gw_request *request;
    bool streaming, begun; /* begun: the response head of a stream was sent */
    bool timeline;
    int64_t wrote_ns;
    struct baton_buf prompt, generated; /* text; generated only when not streaming */
    struct baton_buf event;             /* scratch */
};

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
    baton_buf_fini(&call->prompt);
    baton_buf_fini(&call->generated);
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

/* ---- what the request says ---- */

static void write_event(struct gw_call *call, const char *name, const char *data, size_t n)
{
    int64_t begin_ns = baton_now_ns();
    baton_buf_reset(&call->event);
    gw_sse_event(&call->event, name, data, n);
    gw_exchange_stream_write(call->exchange, call->event.data, call->event.len);
    call->wrote_ns = baton_now_ns();
    call->request->times.flush_ns += call->wrote_ns - begin_ns;
}

static void on_first(void *arg, struct gw_request *request)
{
    struct gw_call *call = arg;
    struct baton_buf meta;
    baton_buf_reset(&call->generated); /* an attempt before this one may have come further */
    if (!call->streaming)
        return;
    call->begun = true;
    gw_exchange_stream_begin(call->exchange, 200, "text/event-stream",
                             "Cache-Control: no-store\r\n");
    baton_buf_init(&meta, EVENT_MAX_BYTES);
    gw_reply_meta(&meta, request);
    write_event(call, "meta", meta.data, meta.len);
    baton_buf_fini(&meta);
}

static void on_text(void *arg, struct gw_request *request, const char *text, size_t n)
{
    struct gw_call *call = arg;
    (void)request;
    if (call->streaming)
        write_event(call, "token", text, n);
    else
        baton_buf_append(&call->generated, text, n);
}

static void finish_stream(struct gw_call *call, const struct gw_request *request)
{
    struct baton_buf summary;
    baton_buf_init(&summary, EVENT_MAX_BYTES);
    gw_reply_summary(&summary, request, call->timeline);
    write_event(call, "summary", summary.data, summary.len);
    gw_exchange_stream_end(call->exchange);
    baton_buf_fini(&summary);
}

static void finish_whole(struct gw_call *call, const struct gw_request *request)
{
    struct baton_buf body;
    baton_buf_init(&body, 4 * (size_t)TEXT_MAX_BYTES);
    gw_reply_whole(&body, call->api, request, &call->prompt, &call->generated, call->timeline);
    gw_api_json(call->exchange, 200, &body);
    baton_buf_fini(&body);
}

/* The exchange dies with the response; the call must not be found through it any more. */
static void on_finished(void *arg, struct gw_request *request)
{
    struct gw_call *call = arg;
    gw_exchange_set_data(call->exchange, NULL);
    if (call->streaming)
        finish_stream(call, request);
    else
        finish_whole(call, request);
    end_call(call);
}

static void on_failed(void *arg, struct gw_request *request, const struct gw_failure *failure)
{
    struct gw_call *call = arg;
    struct baton_buf error;
    (void)request;
    gw_exchange_set_data(call->exchange, NULL);
    if (call->begun) {
        baton_buf_init(&error, EVENT_MAX_BYTES);
        gw_error_body(&error, failure->status, failure->message, NULL, failure->code);
        write_event(call, "error", error.data, error.len);
        gw_exchange_stream_end(call->exchange);
        baton_buf_fini(&error);
    } else {
        gw_api_fail(call->exchange, failure->status, failure->message, NULL, failure->code);
    }
    end_call(call);
}

/* ---- the endpoints ---- */

static struct gw_call *begin_call(struct gw_api *api, struct gw_exchange *exchange, bool streaming)
{
    struct gw_call *call = calloc(1, sizeof *call);
    if (!call)
        return NULL;
    call->api = api;
    call->exchange = exchange;
    call->streaming = streaming;
    call->wrote_ns = baton_now_ns();
    baton_buf_init(&call->prompt, TEXT_MAX_BYTES);
    baton_buf_init(&call->generated, TEXT_MAX_BYTES);
    baton_buf_init(&call->event, 2 * (size_t)EVENT_MAX_BYTES);
    call_list_push_back(&api->calls->list, call);
    struct gw_sink sink = {.arg = call,
                           .first = on_first,
                           .text = on_text,
                           .finished = on_finished,
                           .failed = on_failed};
    call->request = gw_request_create(api->requests, &sink, gw_exchange_arrived_ns(exchange));
    if (call->request)
        return call;
    end_call(call);
    return NULL;
}

/* The prompt as text, for the answer's "text". */
static void keep_prompt(struct gw_call *call, const struct gw_ask_options *options)
{
    const struct baton_tokens *prompt = &call->request->ask.prompt;
    if (call->streaming)
        return;
    if (options->prompt_text) {
        baton_buf_append(&call->prompt, options->prompt_text, options->prompt_bytes);
        return;
    }
    for (size_t i = 0; i < prompt->n; i++) {
        size_t n;
        const char *bytes = baton_tokenizer_bytes(call->api->tokenizer, prompt->ids[i], &n);
        if (bytes)
            baton_buf_append(&call->prompt, bytes, n);
    }
}

static void drop_call(struct gw_call *call)
{
    gw_request_destroy(call->api->requests, call->request);
    end_call(call);
}

static void generate(struct gw_api *api, struct gw_exchange *exchange,
                     const struct baton_json *body, bool streaming)
{
    struct gw_fields fields = gw_fields(body);
    struct gw_ask_options options = {0};
    struct gw_failure failure;
    struct gw_call *call = begin_call(api, exchange, streaming);
    if (!call) {
        gw_api_fail(exchange, 503, "no memory for the request", NULL, "overloaded");
        return;
    }
    call->request->ask.streaming = streaming;
    if (!gw_ask_read(api, &fields, call->request, &options)) {
        api->metrics->outcomes[GW_OUTCOME_rejected]++;
        gw_api_refuse(exchange, &fields.problem);
        drop_call(call);
        return;
    }
    call->timeline = options.timeline;
    keep_prompt(call, &options);
    if (api->timeout_s > 0)
        call->request->deadline_ns =
            call->request->times.arrived_ns + (int64_t)(api->timeout_s * (double)BATON_SECOND);
    gw_exchange_set_data(exchange, call);
    if (!gw_router_submit(api->router, call->request, &failure)) {
        gw_exchange_set_data(exchange, NULL);
        gw_api_fail(exchange, failure.status, failure.message, NULL, failure.code);
        drop_call(call);
    }
}

void gw_generate(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *body)
{
    generate(api, exchange, body, false);
}

void gw_generate_stream(struct gw_api *api, struct gw_exchange *exchange,
                        const struct baton_json *body)
{
    generate(api, exchange, body, true);
}

/* ---- what the client does ---- */

static struct gw_call *find_call(const struct gw_api *api, const void *data)
{
    struct gw_call *call = call_list_first(&api->calls->list);
    while (call && call != data)
        call = call_list_next(&api->calls->list, call);
    return call;
}

bool gw_generate_gone(struct gw_api *api, void *data, const char *reason)
{
    struct gw_call *call = find_call(api, data);
    if (!call)
        return false;
    struct gw_request *request = call->request;
    end_call(call);
    gw_router_cancel(api->router, request, reason);
    return true;
}

void gw_generate_full(struct gw_api *api, void *data, bool full)
{
    struct gw_call *call = find_call(api, data);
    if (call)
        gw_router_pause(api->router, call->request, full);
}

void gw_generate_tick(struct gw_api *api, int64_t now_ns)
{
    for (struct gw_call *call = call_list_first(&api->calls->list), *next; call; call = next) {
        next = call_list_next(&api->calls->list, call);
        if (!call->begun || now_ns - call->wrote_ns < KEEP_ALIVE_NS)
            continue;
        baton_buf_reset(&call->event);
        gw_sse_comment(&call->event, "keep-alive");
        gw_exchange_stream_write(call->exchange, call->event.data, call->event.len);
        call->wrote_ns = now_ns;
    }
}
