#include "gateway/api/responses/writer.h"

#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "gateway/api/answer.h"
#include "gateway/api/responses/items.h"
#include "gateway/api/responses/turn.h"
#include "gateway/http/sse.h"

static struct gw_turn *turn_of(const struct gw_completion *completion)
{
    return completion->options.kept;
}

/* ---- the response object ---- */

/* How far a response is. */
struct progress {
    const char *status;
    const struct baton_buf *output; /* its items with commas between; NULL: none yet */
    bool counts;                    /* usage is known */
    const struct gw_error *error;   /* NULL: none */
};

static void put_usage(struct baton_json_out *out, const char *key, const struct gw_totals *totals)
{
    baton_json_open(out, key, '{');
    baton_json_put_uint(out, "input_tokens", totals->prompt_tokens);
    baton_json_open(out, "input_tokens_details", '{');
    baton_json_put_uint(out, "cached_tokens", totals->cached_tokens);
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

static void put_settings(struct baton_json_out *out, const struct gw_turn *turn)
{
    baton_json_put_raw(out, NULL, baton_buf_text(&turn->echo), turn->echo.len);
    if (turn->max_output_tokens)
        baton_json_put_int(out, "max_output_tokens", turn->max_output_tokens);
    else
        baton_json_put_null(out, "max_output_tokens");
    baton_json_put_bool(out, "store", turn->stores);
    baton_json_put_real(out, "temperature", turn->temperature);
    baton_json_put_real(out, "top_p", turn->top_p);
    baton_json_put_uint(out, "top_logprobs", turn->top_logprobs);
}

/* Leaves the object open. */
static void open_response(struct baton_json_out *out, const char *key,
                          const struct gw_completion *completion, const struct progress *progress)
{
    char id[GW_ANSWER_ID_BYTES];
    baton_json_open(out, key, '{');
    baton_json_put_string(out, "id", gw_choice_id(&completion->choices[0], "resp", id));
    baton_json_put_string(out, "object", "response");
    baton_json_put_int(out, "created_at", completion->created_s);
    baton_json_put_string(out, "model", completion->api->names->list[0]);
    baton_json_put_string(out, "status", progress->status);
    put_reasons(out, progress);
    baton_json_open(out, "output", '[');
    if (progress->output && progress->output->len)
        baton_json_put_raw(out, NULL, baton_buf_text(progress->output), progress->output->len);
    baton_json_close(out, ']');
    if (progress->counts)
        put_usage(out, "usage", &completion->totals);
    else
        baton_json_put_null(out, "usage");
    put_settings(out, turn_of(completion));
}

/* ---- events ---- */

static void write_progress(const struct gw_completion *completion, const char *name)
{
    static const struct progress begun = {.status = "in_progress"};
    struct gw_turn_event event;
    gw_turn_event_begin(&event, turn_of(completion), name);
    open_response(&event.out, "response", completion, &begun);
    baton_json_close(&event.out, '}');
    gw_turn_event_end(&event, turn_of(completion));
}

static void write_end(const struct gw_choice *choice, const char *name)
{
    struct gw_turn *turn = turn_of(choice->completion);
    const struct baton_buf *result = &choice->result;
    struct gw_turn_event event;
    gw_turn_event_begin(&event, turn, name);
    baton_json_put_raw(&event.out, "response", baton_buf_text(result), result->len);
    gw_turn_event_end(&event, turn);
}

static void flush(struct gw_choice *choice)
{
    struct gw_turn *turn = turn_of(choice->completion);
    if (baton_buf_err(&turn->events)) {
        const struct gw_error error = {
            .status = 500, .code = "internal_error", .message = "the answer is too large"};
        baton_buf_reset(&turn->events);
        struct baton_buf data;
        baton_buf_init(&data, GW_ANSWER_MAX_BYTES);
        choice->completion->put_error(&data, &error);
        gw_sse_event(&turn->events, "error", data.data, data.len);
        baton_buf_fini(&data);
    }
    gw_completion_send(choice->completion, choice, &turn->events);
    baton_buf_reset(&turn->events);
}

static void put_comment(struct baton_buf *out, const struct gw_completion *completion)
{
    (void)completion;
    gw_sse_comment(out, "keep-alive");
}

static void put_failure(struct baton_buf *data, const struct gw_completion *completion,
                        const struct gw_error *error)
{
    const struct progress failed = {.status = "failed", .counts = true, .error = error};
    struct baton_json_out out = baton_json_out(data);
    baton_json_open(&out, NULL, '{');
    baton_json_put_string(&out, "type", "response.failed");
    baton_json_put_uint(&out, "sequence_number", turn_of(completion)->n_events++);
    open_response(&out, "response", completion, &failed);
    baton_json_close(&out, '}');
    baton_json_close(&out, '}');
}

const struct gw_stream_format gw_responses_format = {.content_type = "text/event-stream",
                                                     .put_event = gw_sse_event,
                                                     .put_keep_alive = put_comment,
                                                     .put_failure = put_failure};

/* ---- the response writer ---- */

static void on_first(struct gw_choice *choice)
{
    gw_completion_begin(choice->completion);
    if (!choice->completion->options.streaming)
        return;
    write_progress(choice->completion, "response.created");
    write_progress(choice->completion, "response.in_progress");
    flush(choice);
}

static void on_text(struct gw_choice *choice, const char *text, size_t n)
{
    struct gw_turn *turn = turn_of(choice->completion);
    turn->n_logprobs_shown = choice->logprobs.n_ready;
    gw_logprobs_shown(&choice->logprobs, choice->request->output.shown_bytes);
    gw_tool_calls_push(choice, &choice->calls, text, n, &gw_response_parts);
    if (turn->events.len)
        flush(choice);
}

static void keep_response(struct gw_choice *choice, const char *status)
{
    const struct baton_buf *items = &turn_of(choice->completion)->items;
    const struct progress progress = {.status = status, .output = items, .counts = true};
    struct baton_json_out out = baton_json_out(&choice->result);
    open_response(&out, NULL, choice->completion, &progress);
    if (!choice->completion->options.streaming)
        gw_choice_put_steps(choice, &out);
    baton_json_close(&out, '}');
    if (baton_buf_err(items))
        choice->result.err = baton_buf_err(items);
}

/* The answer in the words of chats, or NULL. */
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

/* For previous_response_id and GET /v1/responses/{id}. */
static void store(struct gw_choice *choice)
{
    struct gw_turn *turn = turn_of(choice->completion);
    char id[GW_ANSWER_ID_BYTES];
    enum baton_err err = BATON_NO_MEMORY;
    if (!turn->stores || baton_buf_err(&choice->result))
        return;
    struct baton_json *message = message_of(choice);
    bool made = message && baton_json_push(turn->conversation, message);
    if (made) {
        err = gw_response_store_put(choice->completion->api->responses, &turn->owner,
                                    gw_choice_id(choice, "resp", id), &choice->result,
                                    turn->conversation, baton_now_ns());
        turn->conversation = NULL;
    }
    if (err)
        baton_log(BATON_LOG_WARN, "response_not_stored",
                  BATON_REQUEST(choice->request->id, choice->request->tag),
                  BATON_S("reason", baton_err_text(err)));
}

static void on_finish(struct gw_choice *choice)
{
    bool cut = choice->request->output.finish == GW_FINISH_LENGTH;
    const char *status = cut ? "incomplete" : "completed";
    struct gw_turn *turn = turn_of(choice->completion);
    turn->n_logprobs_shown = choice->logprobs.n_ready;
    gw_choice_end_logprobs(choice);
    gw_tool_calls_end(choice, &choice->calls, &gw_response_parts);
    gw_choice_count(choice);
    gw_response_items_end(choice, status);
    keep_response(choice, status);
    if (choice->completion->options.streaming) {
        write_end(choice, cut ? "response.incomplete" : "response.completed");
        flush(choice);
    }
    store(choice);
    gw_choice_close(choice, gw_completion_answer_one);
}

static void on_restart(struct gw_choice *choice)
{
    gw_choice_restart(choice);
    gw_turn_restart(turn_of(choice->completion));
}

static void put_error_usage(struct baton_buf *buf, const struct gw_completion *completion)
{
    struct baton_json_out out = baton_json_out(buf);
    put_usage(&out, NULL, &completion->totals);
}

static void on_fail(struct gw_choice *choice, const struct gw_failure *failure)
{
    gw_choice_fail(choice, failure, put_error_usage, "response.failed");
}

const struct gw_response_writer gw_responses_writer = {.restart = on_restart,
                                                       .first = on_first,
                                                       .token = gw_choice_keep_token,
                                                       .text = on_text,
                                                       .finish = on_finish,
                                                       .fail = on_fail};
