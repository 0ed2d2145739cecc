#include "gateway/api/completion/completion_parts.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "gateway/api/access/access.h"
#include "gateway/api/access/keys.h"
#include "gateway/api/streams/streams.h"
#include "gateway/http/sse.h"

#define KEEP_ALIVE_NS (15 * BATON_SECOND)
/* Proxies and clients expect a first byte within a few seconds. A failure that is known before has
 * a status of its own. */
#define HEAD_NS (3 * BATON_SECOND / 2)

BATON_LIST(completion_list, struct gw_completion, in_completions)

struct gw_completions {
    struct completion_list others; /* completions without a stream */
    struct completion_list heads;  /* streams before their begin, the oldest first */
    struct completion_list begun;  /* streams by the time of their last write, the oldest first */
    struct baton_buf event;        /* scratch for the event being written, shared to save memory */
};

struct gw_completions *gw_completions_create(void)
{
    struct gw_completions *completions = calloc(1, sizeof *completions);
    if (!completions)
        return NULL;
    completion_list_init(&completions->others);
    completion_list_init(&completions->heads);
    completion_list_init(&completions->begun);
    baton_buf_init(&completions->event, GW_EVENT_MAX_BYTES);
    return completions;
}

void gw_completion_options_fini(const struct gw_completion_options *options,
                                const struct gw_answer_writer *writer)
{
    baton_json_free(options->functions);
    if (writer->fini_options)
        writer->fini_options(options->own);
}

static struct completion_list *list_of(const struct gw_completion *completion)
{
    struct gw_completions *completions = completion->api->completions;
    if (!completion->options.streaming)
        return &completions->others;
    return completion->begun ? &completions->begun : &completions->heads;
}

void gw_completions_add(struct gw_completion *completion)
{
    completion_list_push_back(list_of(completion), completion);
    completion->wrote_ns = baton_now_ns();
}

void gw_completion_destroy(struct gw_completion *completion)
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
    free(completion->choices[0].own); /* one block for all choices */
    free(completion->choices);
    gw_prompts_fini(&completion->prompts);
    gw_completion_options_fini(&completion->options, completion->writer);
    gw_payers_put(&completion->payers);
    free(completion);
}

void gw_completions_destroy(struct gw_completions *completions)
{
    if (!completions)
        return;
    for (struct gw_completion *completion;
         (completion = completion_list_first(&completions->others)) ||
         (completion = completion_list_first(&completions->heads)) ||
         (completion = completion_list_first(&completions->begun));)
        gw_completion_destroy(completion);
    baton_buf_fini(&completions->event);
    free(completions);
}

/* Ends the completion's remaining requests. From here on nothing is written to the client. */
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
    gw_completion_destroy(completion);
}

/* Adds the choice's new tokens to the exchange's access line. A resumed stream has several
 * exchanges, so each token must count in only one of their lines. */
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

void gw_choice_charge(struct gw_choice *choice)
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

void gw_completion_charge_rest(struct gw_completion *completion)
{
    for_each_unfinished(completion, gw_choice_charge);
}

/* ---- the stream ---- */

static void put_comment(struct baton_buf *out, const struct gw_completion *completion)
{
    (void)completion;
    gw_sse_comment(out, "keep-alive");
}

static const struct gw_stream_format server_sent_events = {
    .content_type = "text/event-stream", .put_event = gw_sse_event, .put_keep_alive = put_comment};

static const struct gw_stream_format *format_of(const struct gw_completion *completion)
{
    return completion->writer->format ? completion->writer->format : &server_sent_events;
}

static void on_attached(void *arg, struct gw_exchange *exchange)
{
    struct gw_completion *completion = arg;
    for_each_unfinished(completion, note_tokens); /* the tokens so far belong to the old exchange */
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
    const struct gw_error error = {.status = 503, .code = "stream_ended", .message = reason};
    completion->stream = NULL;
    if (completion->options.is_background)
        completion->writer->failed(completion, &error);
    gw_completion_gone(completion, reason);
}

static const struct gw_stream_source stream_source = {
    .attached = on_attached, .full = on_full, .abandoned = on_abandoned};

/* Opens a resumable stream if the client requests one. Only server-sent events can be resumed:
 * events of other formats have no ids. */
static void open_stream(struct gw_completion *completion)
{
    const struct gw_api *api = completion->api;
    struct gw_owner owner = gw_access_owner(api->access, completion->exchange);
    if (!strcmp(format_of(completion)->content_type, server_sent_events.content_type))
        completion->stream =
            gw_streams_open(api->streams, completion->exchange, &owner, &stream_source, completion);
}

/* Moves the completion to the end of its list, which is ordered by the last write. */
static void note_written(struct gw_completion *completion)
{
    completion_list_remove(list_of(completion), completion);
    completion_list_push_back(list_of(completion), completion);
    completion->wrote_ns = baton_now_ns();
}

static void begin(struct gw_completion *completion)
{
    gw_exchange_stream_begin(completion->exchange, 200, format_of(completion)->content_type,
                             GW_STREAM_HEADERS);
    completion_list_remove(list_of(completion), completion);
    completion->begun = true;
    completion_list_push_back(list_of(completion), completion);
    completion->wrote_ns = baton_now_ns();
}

void gw_completion_begin(struct gw_completion *completion)
{
    if (!completion->options.streaming || completion->begun)
        return;
    open_stream(completion);
    begin(completion);
}

bool gw_completion_begin_lasting(struct gw_completion *completion)
{
    const struct gw_api *api = completion->api;
    struct gw_owner owner = gw_access_owner(api->access, completion->exchange);
    completion->stream = gw_streams_open_lasting(api->streams, completion->exchange, &owner,
                                                 completion->id, &stream_source, completion);
    if (!completion->stream)
        return false;
    begin(completion);
    gw_choice_begin(&completion->choices[0]);
    return true;
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

void gw_completion_leave_exchange(struct gw_completion *completion)
{
    if (!completion->stream && completion->exchange)
        gw_exchange_set_data(completion->exchange, NULL);
}

void gw_completion_detach(struct gw_completion *completion)
{
    gw_completion_leave_exchange(completion);
    completion->exchange = NULL;
}

static struct gw_completion *find(const struct completion_list *list, const char *id)
{
    struct gw_completion *completion = completion_list_first(list);
    while (completion && (!completion->options.is_background || strcmp(completion->id, id) != 0))
        completion = completion_list_next(list, completion);
    return completion;
}

struct gw_completion *gw_completions_find(const struct gw_completions *completions, const char *id)
{
    struct gw_completion *completion = find(&completions->others, id);
    return completion ? completion : find(&completions->begun, id);
}

void gw_completion_write(struct gw_completion *completion, struct gw_choice *choice,
                         const char *name, const char *data, size_t n)
{
    struct baton_buf *event = &completion->api->completions->event;
    baton_buf_reset(event);
    format_of(completion)->put_event(event, name, data, n);
    gw_completion_send(completion, choice, event);
}

void gw_completion_send(struct gw_completion *completion, struct gw_choice *choice,
                        const struct baton_buf *events)
{
    int64_t begin_ns = baton_now_ns(); /* building the events belongs to the stage "format" */
    if (completion->stream)
        gw_stream_write(completion->stream, events->data, events->len);
    else
        gw_exchange_stream_write(completion->exchange, events->data, events->len);
    note_written(completion);
    /* Before the first token there are no stages of output yet. */
    if (choice && choice->request && choice->request->output.first_ns)
        choice->request->output.flush_ns += completion->wrote_ns - begin_ns;
}

/* ---- events of the client ---- */

void gw_completion_gone(struct gw_completion *completion, const char *reason)
{
    gw_completion_charge_rest(completion);
    gw_completion_drop(completion, reason);
}

void gw_completion_cancel(struct gw_completion *completion, const char *reason)
{
    gw_completion_charge_rest(completion); /* while there is an exchange, whose line counts it */
    if (completion->stream)
        gw_completion_end_stream(completion);
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

/* Sends the head and a first message of a stream whose first token takes long. */
static void send_head(struct gw_completion *completion)
{
    struct baton_buf *event = &completion->api->completions->event;
    gw_completion_begin(completion);
    if (completion->writer->begins_early) {
        gw_choice_begin(&completion->choices[0]);
        return;
    }
    baton_buf_reset(event);
    format_of(completion)->put_keep_alive(event, completion);
    keep_alive(completion, event);
}

void gw_completions_tick(struct gw_completions *completions, int64_t now_ns)
{
    struct gw_completion *completion;
    while ((completion = completion_list_first(&completions->heads)) &&
           now_ns - completion->wrote_ns >= HEAD_NS)
        send_head(completion);
    while ((completion = completion_list_first(&completions->begun)) &&
           now_ns - completion->wrote_ns >= KEEP_ALIVE_NS) {
        baton_buf_reset(&completions->event);
        format_of(completion)->put_keep_alive(&completions->event, completion);
        keep_alive(completion, &completions->event);
    }
}
