#include "gateway/api/responses/writer.h"

#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "gateway/api/responses/items.h"
#include "gateway/api/responses/turn.h"
#include "gateway/http/sse.h"

static struct gw_turn *turn_of(const struct gw_completion *completion)
{
    return completion->options.own;
}

/* ---- the response object ---- */

/* The state of a response at one moment. */
struct progress {
    const char *status;
    const struct baton_buf *output; /* items with commas between; NULL: none yet */
    bool counts;                    /* the usage is known */
    const struct gw_error *error;   /* NULL: none */
};

static void put_usage(struct baton_json_out *out, const char *key,
                      const struct gw_completion *completion)
{
    const struct gw_totals *totals = &completion->totals;
    baton_json_open(out, key, '{');
    baton_json_put_uint(out, "input_tokens", totals->prompt_tokens);
    baton_json_open(out, "input_tokens_details", '{');
    baton_json_put_uint(out, "cached_tokens", totals->prompt_cached_tokens);
    baton_json_put_uint(out, "cache_write_tokens", 0); /* not counted */
    baton_json_close(out, '}');
    baton_json_put_uint(out, "output_tokens", totals->output_tokens);
    baton_json_open(out, "output_tokens_details", '{');
    baton_json_put_uint(out, "reasoning_tokens", totals->reasoning_tokens);
    baton_json_close(out, '}');
    baton_json_put_uint(out, "total_tokens", totals->prompt_tokens + totals->output_tokens);
    baton_json_close(out, '}');
}

/* "error" and "incomplete_details". */
static void put_reasons(struct baton_json_out *out, const struct progress *progress)
{
    if (progress->error) {
        baton_json_open(out, "error", '{');
        baton_json_put_string(out, "code", progress->error->code);
        baton_json_put_string(out, "message", progress->error->message);
        baton_json_close(out, '}');
    } else {
        baton_json_put_null(out, "error");
    }
    if (!strcmp(progress->status, "incomplete")) {
        baton_json_open(out, "incomplete_details", '{');
        baton_json_put_string(out, "reason", "max_output_tokens");
        baton_json_close(out, '}');
    } else {
        baton_json_put_null(out, "incomplete_details");
    }
}

static void put_conversation(struct baton_json_out *out, const char *id)
{
    if (!*id) {
        baton_json_put_null(out, "conversation");
        return;
    }
    baton_json_open(out, "conversation", '{');
    baton_json_put_string(out, "id", id);
    baton_json_close(out, '}');
}

static void put_settings(struct baton_json_out *out, const struct gw_turn *turn)
{
    baton_json_put_raw(out, NULL, baton_buf_text(&turn->echo), turn->echo.len);
    if (turn->max_output_tokens)
        baton_json_put_int(out, "max_output_tokens", turn->max_output_tokens);
    else
        baton_json_put_null(out, "max_output_tokens");
    put_conversation(out, turn->conversation_id);
    baton_json_put_bool(out, "store", turn->stores);
    baton_json_put_real(out, "temperature", turn->temperature);
    baton_json_put_real(out, "top_p", turn->top_p);
    baton_json_put_uint(out, "top_logprobs", turn->top_logprobs);
}

static void put_response(struct baton_json_out *out, const struct gw_completion *completion,
                         const struct progress *progress)
{
    char id[GW_ANSWER_ID_BYTES];
    baton_json_put_string(out, "id", gw_choice_id(&completion->choices[0], "resp", id));
    baton_json_put_string(out, "object", "response");
    baton_json_put_int(out, "created_at", completion->created_s);
    baton_json_put_string(out, "model", gw_completion_model(completion));
    baton_json_put_string(out, "status", progress->status);
    put_reasons(out, progress);
    baton_json_open(out, "output", '[');
    if (progress->output && progress->output->len)
        baton_json_put_raw(out, NULL, baton_buf_text(progress->output), progress->output->len);
    baton_json_close(out, ']');
    if (progress->counts)
        put_usage(out, "usage", completion);
    else
        baton_json_put_null(out, "usage");
    baton_json_put_null(out, "access_programs");
    put_settings(out, turn_of(completion));
}

/* ---- events ---- */

static void write_progress(const struct gw_completion *completion, const char *name,
                           const char *status)
{
    const struct progress begun = {.status = status};
    struct gw_turn_event event;
    gw_turn_event_begin(&event, turn_of(completion), name);
    baton_json_open(&event.out, "response", '{');
    put_response(&event.out, completion, &begun);
    baton_json_close(&event.out, '}');
    gw_turn_event_end(&event, turn_of(completion));
}

/* Ends the stream of which an event is too large, or has no memory: clients would miss it. */
static void put_error_event(const struct gw_completion *completion)
{
    struct gw_turn *turn = turn_of(completion);
    const struct gw_error error = {
        .status = 500, .code = "internal_error", .message = "the answer is too large"};
    struct baton_buf data;
    baton_buf_reset(&turn->events);
    baton_buf_init(&data, GW_ANSWER_MAX_BYTES);
    completion->put_error(&data, &error);
    gw_sse_event(&turn->events, "error", data.data, data.len);
    baton_buf_fini(&data);
    turn->has_failed = true;
}

static void flush(struct gw_choice *choice)
{
    struct gw_turn *turn = turn_of(choice->completion);
    bool had_failed = turn->has_failed;
    if (!had_failed && baton_buf_err(&turn->events))
        put_error_event(choice->completion);
    if (!had_failed)
        gw_completion_send(choice->completion, choice, &turn->events);
    baton_buf_reset(&turn->events);
}

static void put_failure(struct baton_buf *data, const struct gw_completion *completion,
                        const struct gw_error *error)
{
    const struct progress failed = {.status = "failed", .counts = true, .error = error};
    struct baton_json_out out = baton_json_out(data);
    baton_json_open(&out, NULL, '{');
    baton_json_put_string(&out, "type", "response.failed");
    baton_json_put_uint(&out, "sequence_number", turn_of(completion)->n_events++);
    baton_json_open(&out, "response", '{');
    put_response(&out, completion, &failed);
    baton_json_close(&out, '}');
    baton_json_close(&out, '}');
}

static void write_begin(struct gw_choice *choice)
{
    bool is_background = turn_of(choice->completion)->is_background;
    write_progress(choice->completion, "response.created",
                   is_background ? "queued" : "in_progress");
    if (is_background)
        write_progress(choice->completion, "response.queued", "queued");
    write_progress(choice->completion, "response.in_progress", "in_progress");
    flush(choice);
}

/* Sends the events of a piece, of which there may be several, in one write. */
static void flush_some(struct gw_choice *choice)
{
    if (turn_of(choice->completion)->events.len)
        flush(choice);
}

static void put_whole(struct gw_choice *choice, struct baton_json_out *out)
{
    const struct baton_buf *items = &turn_of(choice->completion)->items;
    const struct progress progress = {
        .status = gw_response_status(choice), .output = items, .counts = true};
    put_response(out, choice->completion, &progress);
    if (baton_buf_err(items))
        choice->result.err = baton_buf_err(items);
}

static void put_choice(struct gw_choice *choice, struct baton_json_out *out)
{
    put_whole(choice, out);
    gw_choice_put_steps(choice, out);
}

static void write_end(struct gw_choice *choice)
{
    bool cut = choice->request->output.finish == GW_FINISH_LENGTH;
    struct gw_turn *turn = turn_of(choice->completion);
    const struct baton_buf *result = &choice->result; /* not a local one: store() may need it */
    struct baton_json_out out = baton_json_out(&choice->result);
    struct gw_turn_event event;
    baton_json_open(&out, NULL, '{');
    put_whole(choice, &out);
    baton_json_close(&out, '}');
    gw_turn_event_begin(&event, turn, cut ? "response.incomplete" : "response.completed");
    baton_json_put_raw(&event.out, "response", baton_buf_text(result), result->len);
    gw_turn_event_end(&event, turn);
    flush(choice);
}

/* ---- the stored response ---- */

/* The answer as a message in the form of chats, or NULL. */
static struct baton_json *message_of(const struct gw_choice *choice)
{
    const struct gw_turn *turn = turn_of(choice->completion);
    const struct baton_buf *text = &choice->text, *reasoning = &choice->reasoning;
    struct baton_json *message = baton_json_new_object();
    bool made =
        baton_json_set(message, "role", baton_json_new_string("assistant")) &&
        baton_json_set(message, "content", baton_json_new_text(baton_buf_text(text), text->len)) &&
        !turn->lost_call;
    if (turn->calls)
        made = made && baton_json_set(message, "tool_calls", baton_json_share(turn->calls));
    if (reasoning->len)
        made =
            made && baton_json_set(message, "reasoning_content",
                                   baton_json_new_text(baton_buf_text(reasoning), reasoning->len));
    if (made)
        return message;
    baton_json_free(message);
    return NULL;
}

/* ---- responses in the background ---- */

/* Writes the response object of a completion that is not over, or failed. */
static void put_unfinished(struct baton_buf *body, const struct gw_completion *completion,
                           const char *status, const struct gw_error *error)
{
    const struct progress progress = {.status = status, .counts = error != NULL, .error = error};
    struct baton_json_out out = baton_json_out(body);
    baton_json_open(&out, NULL, '{');
    put_response(&out, completion, &progress);
    baton_json_close(&out, '}');
}

/* Stores what there is of the response; without its conversation, because it has no answer. */
static bool store_unfinished(const struct gw_completion *completion, const struct baton_buf *body)
{
    char id[GW_ANSWER_ID_BYTES];
    return !baton_buf_err(body) &&
           !gw_response_store_put(completion->api->responses, &turn_of(completion)->owner,
                                  gw_choice_id(&completion->choices[0], "resp", id), body,
                                  baton_json_new_array(), baton_now_ns());
}

static void refuse_stream(struct gw_completion *completion)
{
    struct gw_exchange *exchange = completion->exchange;
    char id[GW_ANSWER_ID_BYTES];
    (void)gw_response_store_remove(completion->api->responses, &turn_of(completion)->owner,
                                   gw_choice_id(&completion->choices[0], "resp", id));
    gw_completion_detach(completion);
    gw_completion_cancel(completion, "its stream cannot be kept");
    gw_answer_error(exchange, 503, "overloaded",
                    "background: the memory for streams that are kept is used up; ask without "
                    "stream: true");
}

/* Answers the client of a response in the background at once. If its place in the store cannot be
 * had, the client waits for the answer. */
static void accepted(struct gw_completion *completion)
{
    struct gw_exchange *exchange = completion->exchange;
    struct baton_buf body;
    if (!turn_of(completion)->is_background)
        return;
    baton_buf_init(&body, GW_ANSWER_MAX_BYTES);
    put_unfinished(&body, completion, "queued", NULL);
    bool is_stored = store_unfinished(completion, &body);
    if (completion->options.streaming) {
        if (!is_stored || !gw_completion_begin_lasting(completion))
            refuse_stream(completion);
    } else if (is_stored) {
        gw_completion_detach(completion);
        gw_answer_json(exchange, 200, &body);
    }
    baton_buf_fini(&body);
}

static void failed(struct gw_completion *completion, const struct gw_error *error)
{
    struct baton_buf body;
    baton_buf_init(&body, GW_ANSWER_MAX_BYTES);
    put_unfinished(&body, completion, "failed", error);
    (void)store_unfinished(completion, &body); /* else it stays queued until its age ends it */
    baton_buf_fini(&body);
}

/* OpenAI has no event of its own for a canceled response. */
static void write_canceled(struct gw_completion *completion, const struct baton_buf *body)
{
    struct gw_turn_event event;
    gw_turn_event_begin(&event, turn_of(completion), "response.incomplete");
    baton_json_put_raw(&event.out, "response", baton_buf_text(body), body->len);
    gw_turn_event_end(&event, turn_of(completion));
    flush(&completion->choices[0]);
}

void gw_response_cancel(struct gw_completion *completion)
{
    struct baton_buf body;
    baton_buf_init(&body, GW_ANSWER_MAX_BYTES);
    put_unfinished(&body, completion, "cancelled", NULL);
    (void)store_unfinished(completion, &body);
    if (completion->stream)
        write_canceled(completion, &body);
    gw_completion_cancel(completion, "canceled by its client");
    baton_buf_fini(&body);
}

/* ---- the end ---- */

static void log_not_stored(const struct gw_choice *choice, enum baton_err err)
{
    if (err)
        baton_log(BATON_LOG_WARN, "response_not_stored",
                  BATON_REQUEST(choice->request->id, choice->request->tag),
                  BATON_S("reason", baton_err_text(err)));
}

/* Adds the output's items to those of the input. */
static bool add_output(struct gw_turn *turn)
{
    struct baton_buf text;
    struct baton_json *items = NULL;
    baton_buf_init(&text, GW_ANSWER_MAX_BYTES);
    baton_buf_puts(&text, "[");
    baton_buf_append(&text, baton_buf_text(&turn->items), turn->items.len);
    baton_buf_puts(&text, "]");
    bool made = !baton_buf_err(&text) && !baton_json_parse(text.data, text.len, &items, NULL);
    for (size_t i = 0; made && i < baton_json_size(items); i++)
        made = baton_json_push(turn->new_items, baton_json_share(baton_json_at(items, i)));
    baton_json_free(items);
    baton_buf_fini(&text);
    return made;
}

/* Adds the input and the output to the conversation, unless that was deleted meanwhile. */
static void add_to_conversation(const struct gw_choice *choice)
{
    struct gw_turn *turn = turn_of(choice->completion);
    const struct gw_conversation conversation = {choice->completion->api->responses, &turn->owner,
                                                 turn->conversation_id};
    if (!*turn->conversation_id)
        return;
    enum baton_err err =
        add_output(turn) ? gw_conversation_add(&conversation, turn->new_items) : BATON_NO_MEMORY;
    log_not_stored(choice, err == BATON_NOT_FOUND ? BATON_OK : err);
}

/* Stores the response for previous_response_id and GET /v1/responses/{id}. */
static void store(struct gw_choice *choice)
{
    struct gw_turn *turn = turn_of(choice->completion);
    char id[GW_ANSWER_ID_BYTES];
    enum baton_err err = BATON_NO_MEMORY;
    if (baton_buf_err(&choice->result))
        return;
    add_to_conversation(choice);
    if (!turn->stores)
        return;
    struct baton_json *message = message_of(choice);
    bool made = message && baton_json_push(turn->conversation, message);
    if (made) {
        err = gw_response_store_put(choice->completion->api->responses, &turn->owner,
                                    gw_choice_id(choice, "resp", id), &choice->result,
                                    turn->conversation, baton_now_ns());
        turn->conversation = NULL;
    }
    log_not_stored(choice, err);
}

static void restart(struct gw_choice *choice)
{
    gw_turn_restart(turn_of(choice->completion));
}

const struct gw_answer_writer gw_responses_writer = {
    .options_bytes = sizeof(struct gw_turn),
    .fini_options = gw_turn_fini,
    .restart = restart,
    .begin = write_begin,
    .begins_early = true,
    .text = gw_response_write_text,
    .call = gw_response_add_call,
    .wants_whole = gw_response_wants_whole,
    .tells_cut_calls = true,
    .call_begin = gw_response_begin_call,
    .call_more = gw_response_write_arguments,
    .call_end = gw_response_end_call,
    .open_part = gw_response_open_item,
    .close_part = gw_response_close_item,
    .flush = flush_some,
    .end = write_end,
    .put_choice = put_choice,
    .accepted = accepted,
    .failed = failed,
    .done = store,
    .put_usage = put_usage,
    .put_failure = put_failure,
    .error_event = "response.failed",
};
