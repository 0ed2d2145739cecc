#include "gateway/api/ollama/writer.h"

#include <math.h>

#include "common/base/clock.h"
#include "gateway/api/answer.h"

enum { TIME_BYTES = 32 };

static bool is_chat(const struct gw_completion *completion)
{
    const struct gw_ollama_options *own = completion->options.own;
    return own->chat;
}

/* ---- parts of every answer ---- */

static void put_head(struct baton_json_out *out, const char *model)
{
    char now[TIME_BYTES];
    baton_wall_time(now, sizeof now);
    baton_json_put_string(out, "model", model);
    baton_json_put_string(out, "created_at", now);
}

/* The content of a line. */
struct piece {
    const char *text, *thinking;
    size_t n, n_thinking;          /* bytes of both; 0: none */
    const struct baton_buf *calls; /* JSON objects with commas between; NULL: none */
};

static const struct piece nothing = {.text = "", .thinking = ""};

static void put_thinking(struct baton_json_out *out, const struct piece *piece)
{
    if (piece->n_thinking)
        baton_json_put_text(out, "thinking", piece->thinking, piece->n_thinking);
}

static void put_piece(struct baton_json_out *out, bool chat, const struct piece *piece)
{
    if (!chat) {
        baton_json_put_text(out, "response", piece->text, piece->n);
        put_thinking(out, piece);
        return;
    }
    baton_json_open(out, "message", '{');
    baton_json_put_string(out, "role", "assistant");
    baton_json_put_text(out, "content", piece->text, piece->n);
    put_thinking(out, piece);
    if (piece->calls && piece->calls->len) {
        baton_json_open(out, "tool_calls", '[');
        baton_json_put_raw(out, NULL, baton_buf_text(piece->calls), piece->calls->len);
        baton_json_close(out, ']');
    }
    baton_json_close(out, '}');
}

static void put_call(struct baton_json_out *out, const struct gw_tool_call *call)
{
    baton_json_open(out, NULL, '{');
    baton_json_put_string(out, "id", call->id);
    baton_json_open(out, "function", '{');
    baton_json_put_int(out, "index", call->index);
    baton_json_put_text(out, "name", call->name, call->n_name);
    baton_json_put_raw(out, "arguments", call->arguments, call->n_arguments);
    baton_json_close(out, '}');
    baton_json_close(out, '}');
}

static void put_rest(struct gw_choice *choice, struct baton_json_out *out)
{
    if (choice->request->params.sampling.logprobs)
        gw_logprobs_put_entries(&choice->logprobs, out, "logprobs",
                                choice->completion->api->tokenizer);
    gw_choice_put_steps(choice, out);
}

/* Writes a duration in nanoseconds, at least 1, because clients divide by it. */
static void put_ns(struct baton_json_out *out, const char *key, double seconds)
{
    baton_json_put_uint(out, key, (uint64_t)fmax(1, seconds * 1e9));
}

static void put_counts(struct baton_json_out *out, const struct gw_totals *totals)
{
    put_ns(out, "total_duration", totals->e2el_s);
    put_ns(out, "load_duration", 0); /* the model is always loaded */
    baton_json_put_uint(out, "prompt_eval_count", totals->prompt_tokens);
    put_ns(out, "prompt_eval_duration", totals->prompt_s);
    baton_json_put_uint(out, "eval_count", totals->output_tokens);
    put_ns(out, "eval_duration", totals->output_s);
}

static void put_ids(struct baton_json_out *out, const struct baton_tokens *tokens)
{
    for (size_t i = 0; i < tokens->n; i++)
        baton_json_put_uint(out, NULL, tokens->ids[i]);
}

/* Writes the member by which the next request goes on: its field "context". */
static void put_context(struct baton_json_out *out, const struct gw_choice *choice)
{
    const struct gw_ollama_options *own = choice->completion->options.own;
    if (!own->has_context)
        return;
    baton_json_open(out, "context", '[');
    put_ids(out, &choice->request->params.prompt);
    put_ids(out, &choice->request->output.tokens);
    baton_json_close(out, ']');
}

/* Writes what the prompt lacks of the conversation; nothing if it is whole. */
static void put_dropped(struct baton_json_out *out, const struct gw_shortening *dropped)
{
    if (!dropped->n_messages && !dropped->n_tokens)
        return;
    baton_json_open(out, "dropped", '{');
    baton_json_put_uint(out, "messages", dropped->n_messages);
    baton_json_put_uint(out, "tokens", dropped->n_tokens);
    baton_json_close(out, '}');
}

/* The last line, or the whole answer. */
static void put_end(struct baton_json_out *out, struct gw_choice *choice, const struct piece *piece)
{
    const struct gw_completion *completion = choice->completion;
    bool cut = choice->request->output.finish == GW_FINISH_LENGTH;
    put_head(out, gw_completion_model(completion));
    put_piece(out, is_chat(completion), piece);
    baton_json_put_bool(out, "done", true);
    baton_json_put_string(out, "done_reason", cut ? "length" : "stop");
    put_context(out, choice);
    put_counts(out, &completion->totals);
    put_dropped(out, &completion->prompts.shortening);
    put_rest(choice, out);
}

/* ---- lines ---- */

static void put_unfinished(struct baton_json_out *out, const struct gw_completion *completion,
                           const struct piece *piece)
{
    put_head(out, gw_completion_model(completion));
    put_piece(out, is_chat(completion), piece);
    baton_json_put_bool(out, "done", false);
}

static void write_line(struct gw_choice *choice, const struct piece *piece)
{
    struct gw_event line;
    gw_event_open(&line, choice, NULL);
    put_unfinished(&line.out, choice->completion, piece);
    put_rest(choice, &line.out);
    gw_event_close(&line);
}

static void write_end(struct gw_choice *choice)
{
    struct gw_event line;
    gw_event_open(&line, choice, NULL);
    put_end(&line.out, choice, &nothing);
    gw_event_close(&line);
}

static void put_line(struct baton_buf *out, const char *name, const char *data, size_t n)
{
    (void)name;
    baton_buf_append(out, data, n);
    baton_buf_putc(out, '\n');
}

static void put_empty_line(struct baton_buf *out, const struct gw_completion *completion)
{
    struct baton_json_out json = baton_json_out(out);
    baton_json_open(&json, NULL, '{');
    put_unfinished(&json, completion, &nothing);
    baton_json_close(&json, '}');
    baton_buf_putc(out, '\n');
}

const struct gw_stream_format gw_ollama_format = {.content_type = "application/x-ndjson",
                                                  .put_event = put_line,
                                                  .put_keep_alive = put_empty_line};

/* ---- pieces of an answer ---- */

static void write_text(struct gw_choice *choice, const char *text, size_t n)
{
    if (choice->part == GW_PART_REASONING)
        write_line(choice, &(struct piece){.text = "", .thinking = text, .n_thinking = n});
    else
        write_line(choice, &(struct piece){.text = text, .n = n});
}

static void on_call(struct gw_choice *choice, const struct gw_tool_call *call)
{
    struct baton_buf *calls = &choice->calls.json;
    struct baton_json_out out = gw_choice_calls_out(choice);
    put_call(&out, call);
    if (!choice->completion->options.streaming)
        return;
    write_line(choice, &(struct piece){.text = "", .calls = calls});
    baton_buf_reset(calls);
}

static void put_choice(struct gw_choice *choice, struct baton_json_out *out)
{
    put_end(out, choice,
            &(struct piece){.text = baton_buf_text(&choice->text),
                            .n = choice->text.len,
                            .thinking = baton_buf_text(&choice->reasoning),
                            .n_thinking = choice->reasoning.len,
                            .calls = &choice->calls.json});
}

const struct gw_answer_writer gw_ollama_writer = {
    .format = &gw_ollama_format,
    .options_bytes = sizeof(struct gw_ollama_options),
    .text = write_text,
    .call = on_call,
    .end = write_end,
    .put_choice = put_choice,
    .usage_names = {"prompt_eval_count", "eval_count"},
};

/* ---- answers without text ---- */

void gw_ollama_answer_load(const struct gw_api *api, struct gw_exchange *exchange, bool chat,
                           bool unloads)
{
    struct gw_answer answer;
    gw_answer_open(&answer);
    put_head(&answer.out, api->names->list[0]);
    put_piece(&answer.out, chat, &nothing);
    baton_json_put_bool(&answer.out, "done", true);
    baton_json_put_string(&answer.out, "done_reason", unloads ? "unload" : "load");
    gw_answer_close(&answer, exchange, 200);
}

/* ---- errors ---- */

static void put_error(struct baton_buf *out, const struct gw_error *error)
{
    struct baton_json_out json = baton_json_out(out);
    baton_json_open(&json, NULL, '{');
    baton_json_put_string(&json, "error", error->message);
    gw_error_put_details(&json, error);
    baton_json_close(&json, '}');
}

static void mark(struct gw_exchange *exchange)
{
    gw_exchange_set_error_writer(exchange, put_error);
}

const struct gw_error_shape gw_ollama_errors = {
    .name = "OllamaError",
    .schema = "{\"type\":\"object\",\"required\":[\"error\"],\"properties\":{\"error\":{"
              "\"type\":\"string\"}," GW_ERROR_DETAILS "}}",
    .mark = mark,
};
