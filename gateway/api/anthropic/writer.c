#include "gateway/api/anthropic/writer.h"

#include <string.h>

#include "gateway/api/anthropic/thread.h"
#include "gateway/http/sse.h"

/* ---- parts of every answer ---- */

/* Anthropic's input_tokens do not include the cached ones. */
static void put_usage(struct baton_json_out *out, const char *key, uint64_t n_prompt,
                      uint64_t n_cached, uint64_t n_output)
{
    baton_json_open(out, key, '{');
    baton_json_put_uint(out, "input_tokens", n_prompt - n_cached);
    baton_json_put_uint(out, "cache_creation_input_tokens", 0);
    baton_json_put_uint(out, "cache_read_input_tokens", n_cached);
    baton_json_put_uint(out, "output_tokens", n_output);
    baton_json_close(out, '}');
}

static void put_totals(struct baton_json_out *out, const char *key,
                       const struct gw_completion *completion)
{
    const struct gw_totals *totals = &completion->totals;
    put_usage(out, key, totals->prompt_tokens, totals->prompt_cached_tokens, totals->output_tokens);
}

static void put_head(struct baton_json_out *out, const struct gw_choice *choice)
{
    char id[GW_ANSWER_ID_BYTES];
    baton_json_put_string(out, "id", gw_choice_id(choice, "msg", id));
    baton_json_put_string(out, "type", "message");
    baton_json_put_string(out, "role", "assistant");
    baton_json_put_string(out, "model", gw_completion_model(choice->completion));
}

static const char *stop_reason(const struct gw_choice *choice, const struct baton_text_stop *met)
{
    if (met)
        return "stop_sequence";
    if (choice->request->output.finish == GW_FINISH_LENGTH)
        return "max_tokens";
    return choice->calls.n ? "tool_use" : "end_turn";
}

/* "stop_reason" and "stop_sequence". */
static void put_stop(struct baton_json_out *out, const struct gw_choice *choice)
{
    const struct baton_text_stop *met = baton_text_stream_met(&choice->request->output.text);
    baton_json_put_string(out, "stop_reason", stop_reason(choice, met));
    if (met)
        baton_json_put_text(out, "stop_sequence", met->text, met->n_bytes);
    else
        baton_json_put_null(out, "stop_sequence");
}

/* Writes a block of text or of reasoning. Baton signs no reasoning, but clients require the member
 * "signature". */
static void put_block(struct baton_json_out *out, const char *key, enum gw_part part,
                      const char *text, size_t n)
{
    bool thinks = part == GW_PART_REASONING;
    baton_json_open(out, key, '{');
    baton_json_put_string(out, "type", thinks ? "thinking" : "text");
    baton_json_put_text(out, thinks ? "thinking" : "text", text, n);
    if (thinks)
        baton_json_put_string(out, "signature", "");
    baton_json_close(out, '}');
}

/* input: a JSON object as text. */
static void put_call(struct baton_json_out *out, const char *key, const struct gw_tool_call *call,
                     const char *input, size_t n_input)
{
    baton_json_open(out, key, '{');
    baton_json_put_string(out, "type", "tool_use");
    baton_json_put_string(out, "id", call->id);
    baton_json_put_text(out, "name", call->name, call->n_name);
    baton_json_put_raw(out, "input", input, n_input);
    baton_json_close(out, '}');
}

/* ---- events ---- */

static void begin(struct gw_event *event, struct gw_choice *choice, const char *name)
{
    gw_event_open(event, choice, name);
    baton_json_put_string(&event->out, "type", name);
}

static void write_message_start(struct gw_choice *choice)
{
    struct gw_event event;
    begin(&event, choice, "message_start");
    baton_json_open(&event.out, "message", '{');
    put_head(&event.out, choice);
    baton_json_open(&event.out, "content", '[');
    baton_json_close(&event.out, ']');
    baton_json_put_null(&event.out, "stop_reason");
    baton_json_put_null(&event.out, "stop_sequence");
    put_usage(&event.out, "usage", choice->completion->totals.prompt_tokens,
              gw_request_first_attempt(choice->request)->cached_tokens, 0);
    baton_json_close(&event.out, '}');
    gw_event_close(&event);
}

/* call: a tool call; NULL: the open block. */
static void write_block_start(struct gw_choice *choice, const struct gw_tool_call *call)
{
    struct gw_event event;
    begin(&event, choice, "content_block_start");
    baton_json_put_int(&event.out, "index", choice->n_parts - 1);
    if (call)
        put_call(&event.out, "content_block", call, "{}", 2);
    else
        put_block(&event.out, "content_block", choice->part, "", 0);
    gw_event_close(&event);
}

static void write_ping(struct gw_choice *choice)
{
    struct gw_event event;
    begin(&event, choice, "ping");
    gw_event_close(&event);
}

/* key: the member for the text. */
static void write_delta(struct gw_choice *choice, const char *type, const char *key,
                        const char *text, size_t n)
{
    struct gw_event event;
    begin(&event, choice, "content_block_delta");
    baton_json_put_int(&event.out, "index", choice->n_parts - 1);
    baton_json_open(&event.out, "delta", '{');
    baton_json_put_string(&event.out, "type", type);
    baton_json_put_text(&event.out, key, text, n);
    baton_json_close(&event.out, '}');
    gw_choice_put_steps(choice, &event.out);
    gw_event_close(&event);
}

static void write_block_stop(struct gw_choice *choice)
{
    struct gw_event event;
    begin(&event, choice, "content_block_stop");
    baton_json_put_int(&event.out, "index", choice->n_parts - 1);
    gw_event_close(&event);
}

static void write_message_delta(struct gw_choice *choice)
{
    struct gw_event event;
    begin(&event, choice, "message_delta");
    baton_json_open(&event.out, "delta", '{');
    put_stop(&event.out, choice);
    baton_json_close(&event.out, '}');
    put_totals(&event.out, "usage", choice->completion);
    gw_choice_put_steps(choice, &event.out);
    gw_event_close(&event);
}

static void write_message_stop(struct gw_choice *choice)
{
    struct gw_event event;
    begin(&event, choice, "message_stop");
    gw_event_close(&event);
}

static void put_ping(struct baton_buf *out, const struct gw_completion *completion)
{
    static const char data[] = "{\"type\":\"ping\"}";
    (void)completion;
    gw_sse_event(out, "ping", data, sizeof data - 1);
}

const struct gw_stream_format gw_anthropic_format = {
    .content_type = "text/event-stream", .put_event = gw_sse_event, .put_keep_alive = put_ping};

/* ---- whole answers ---- */

static void put_choice(struct gw_choice *choice, struct baton_json_out *out)
{
    const struct baton_buf *blocks = &choice->calls.json;
    put_head(out, choice);
    baton_json_open(out, "content", '[');
    baton_json_put_raw(out, NULL, baton_buf_text(blocks), blocks->len);
    baton_json_close(out, ']');
    put_stop(out, choice);
    put_totals(out, "usage", choice->completion);
    gw_choice_put_steps(choice, out);
}

/* ---- blocks, which a whole answer keeps in calls.json, and a thread too ---- */

static struct gw_thread *thread_of(const struct gw_choice *choice)
{
    struct gw_thread *thread = choice->completion->options.own;
    return thread->kept ? thread : NULL;
}

static struct baton_json_out blocks_of(struct gw_thread *thread)
{
    struct baton_json_out out = baton_json_out(&thread->blocks);
    out.comma = thread->blocks.len > 0;
    return out;
}

static void keep_call(const struct gw_choice *choice, const struct gw_tool_call *call)
{
    struct gw_thread *thread = thread_of(choice);
    if (!thread)
        return;
    struct baton_json_out out = blocks_of(thread);
    /* The client has to send a call that is cut off as text, or not at all. */
    if (!call->is_cut)
        put_call(&out, NULL, call, call->arguments, call->n_arguments);
}

static void keep_block(const struct gw_choice *choice)
{
    struct gw_thread *thread = thread_of(choice);
    if (!thread)
        return;
    bool thinks = choice->part == GW_PART_REASONING;
    const struct baton_buf *text = choice->completion->options.streaming ? &thread->text
                                   : thinks                              ? &choice->reasoning
                                                                         : &choice->text;
    struct baton_json_out out = blocks_of(thread);
    put_block(&out, NULL, choice->part, baton_buf_text(text), text->len);
    baton_buf_reset(&thread->text);
}

static void open_block(struct gw_choice *choice)
{
    if (choice->completion->options.streaming)
        write_block_start(choice, NULL);
}

static void close_block(struct gw_choice *choice, bool is_last)
{
    bool thinks = choice->part == GW_PART_REASONING;
    struct baton_buf *text = thinks ? &choice->reasoning : &choice->text;
    (void)is_last;
    keep_block(choice);
    if (choice->completion->options.streaming) {
        if (thinks)
            write_delta(choice, "signature_delta", "signature", "", 0);
        write_block_stop(choice);
    } else {
        struct baton_json_out out = gw_choice_calls_out(choice);
        put_block(&out, NULL, choice->part, baton_buf_text(text), text->len);
        baton_buf_reset(text);
    }
}

static void write_text(struct gw_choice *choice, const char *text, size_t n)
{
    bool thinks = choice->part == GW_PART_REASONING;
    struct gw_thread *thread = thread_of(choice);
    if (thread)
        baton_buf_append(&thread->text, text, n);
    write_delta(choice, thinks ? "thinking_delta" : "text_delta", thinks ? "thinking" : "text",
                text, n);
}

static void write_call_more(struct gw_choice *choice, const struct gw_tool_call *call)
{
    write_delta(choice, "input_json_delta", "partial_json", call->arguments, call->n_arguments);
}

static void write_call_end(struct gw_choice *choice, const struct gw_tool_call *call)
{
    keep_call(choice, call);
    write_block_stop(choice);
}

static void on_call(struct gw_choice *choice, const struct gw_tool_call *call)
{
    keep_call(choice, call);
    if (choice->completion->options.streaming) {
        write_block_start(choice, call);
        write_call_more(choice, call);
        write_block_stop(choice);
    } else {
        struct baton_json_out out = gw_choice_calls_out(choice);
        put_call(&out, NULL, call, call->arguments, call->n_arguments);
    }
}

static void write_begin(struct gw_choice *choice)
{
    write_message_start(choice);
    write_ping(choice);
}

static void on_done(struct gw_choice *choice)
{
    gw_thread_keep(choice);
}

static void write_end(struct gw_choice *choice)
{
    write_message_delta(choice);
    write_message_stop(choice);
}

const struct gw_answer_writer gw_anthropic_writer = {
    .format = &gw_anthropic_format,
    .options_bytes = sizeof(struct gw_thread),
    .fini_options = gw_thread_fini,
    .restart = gw_thread_restart,
    .done = on_done,
    .begin = write_begin,
    .begins_early = true,
    .text = write_text,
    .call = on_call,
    .call_begin = write_block_start,
    .call_more = write_call_more,
    .call_end = write_call_end,
    .open_part = open_block,
    .close_part = close_block,
    .end = write_end,
    .put_choice = put_choice,
    .put_usage = put_totals,
    .error_event = "error",
};

/* ---- errors ---- */

/* https://docs.anthropic.com/en/api/errors */
static const char *type_of(int status)
{
    switch (status) {
    case 401:
        return "authentication_error";
    case 403:
        return "permission_error";
    case 404:
        return "not_found_error";
    case 413:
        return "request_too_large";
    case 429:
        return "rate_limit_error";
    case 503:
        return "overloaded_error";
    case 504:
        return "timeout_error";
    default:
        return status >= 500 ? "api_error" : "invalid_request_error";
    }
}

/* Writes what Anthropic's SDK reads of an error about threads. */
static void put_details(struct baton_json_out *out, const char *code)
{
    baton_json_open(out, "details", '{');
    baton_json_put_string(out, "error_code", code);
    if (!strcmp(code, "thread_unsupported_request")) {
        baton_json_open(out, "unsupported", '[');
        baton_json_put_string(out, NULL, "thread");
        baton_json_close(out, ']');
    }
    baton_json_close(out, '}');
}

static void put_error(struct baton_buf *out, const struct gw_error *error)
{
    struct baton_json_out json = baton_json_out(out);
    baton_json_open(&json, NULL, '{');
    baton_json_put_string(&json, "type", "error");
    baton_json_open(&json, "error", '{');
    baton_json_put_string(&json, "type", type_of(error->status));
    baton_json_put_string(&json, "message", error->message);
    gw_error_put_details(&json, error);
    if (!strncmp(error->code, "thread_", strlen("thread_")))
        put_details(&json, error->code);
    baton_json_close(&json, '}');
    baton_json_close(&json, '}');
}

static void mark(struct gw_exchange *exchange)
{
    gw_exchange_set_error_writer(exchange, put_error);
    /* Optional for clients, so a header that does not fit is no failure. */
    (void)!gw_exchange_add_header(exchange, "request-id", gw_exchange_id(exchange));
}

const struct gw_error_shape gw_anthropic_errors = {
    .name = "AnthropicError",
    .schema =
        "{\"type\":\"object\",\"required\":[\"type\",\"error\"],\"properties\":{\"type\":{"
        "\"const\":\"error\"},\"error\":{\"type\":\"object\",\"required\":[\"type\",\"message\"],"
        "\"properties\":{\"type\":{\"type\":\"string\"}," GW_ERROR_MEMBERS "}}}}",
    .mark = mark,
};
