#include "gateway/api/openai/writer.h"

#include <stdio.h>

#include "common/base/utf8.h"
#include "gateway/api/answer.h"
#include "gateway/api/completion/timings.h"

enum { CHUNK_MAX_BYTES = 4 << 20 };

static const char *finish_reason(const struct gw_choice *choice)
{
    const struct gw_completion *completion = choice->completion;
    const struct gw_request *request = choice->request;
    if (completion->options.no_output || request->output.finish == GW_FINISH_LENGTH)
        return "length";
    return choice->calls.n ? "tool_calls" : "stop";
}

/* ---- parts of every answer ---- */

/* Equal for equal weights, or for equal configs when this host has no weights. */
static void put_fingerprint(struct baton_json_out *out, const struct baton_fingerprint *fingerprint)
{
    char text[24];
    const char *digest = *fingerprint->weights ? fingerprint->weights : fingerprint->config;
    (void)snprintf(text, sizeof text, "fp_%.12s", digest);
    baton_json_put_string(out, "system_fingerprint", text);
}

static void put_head(struct baton_json_out *out, const struct gw_completion *completion)
{
    bool chat = completion->options.chat, streaming = completion->options.streaming;
    char id[GW_ANSWER_ID_BYTES];
    baton_json_put_string(out, "id",
                          gw_choice_id(&completion->choices[0], chat ? "chatcmpl" : "cmpl", id));
    baton_json_put_string(out, "object",
                          !chat       ? "text_completion"
                          : streaming ? "chat.completion.chunk"
                                      : "chat.completion");
    baton_json_put_int(out, "created", completion->created_s);
    baton_json_put_string(out, "model", completion->api->names->list[0]);
    put_fingerprint(out, completion->api->fingerprint);
}

/* Among them OpenAI's names for what speculation guessed right and wrong. */
static void put_output_details(struct baton_json_out *out, const struct gw_totals *totals)
{
    baton_json_open(out, "completion_tokens_details", '{');
    baton_json_put_uint(out, "reasoning_tokens", totals->reasoning_tokens);
    baton_json_put_uint(out, "accepted_prediction_tokens", totals->accepted_tokens);
    baton_json_put_uint(out, "rejected_prediction_tokens",
                        totals->drafted_tokens - totals->accepted_tokens);
    baton_json_close(out, '}');
}

static void put_usage(struct baton_json_out *out, const char *key,
                      const struct gw_completion *completion)
{
    const struct gw_totals *totals = &completion->totals;
    uint64_t n_output = completion->options.no_output ? 0 : totals->output_tokens;
    baton_json_open(out, key, '{');
    baton_json_put_uint(out, "prompt_tokens", totals->prompt_tokens);
    baton_json_put_uint(out, "completion_tokens", n_output);
    baton_json_put_uint(out, "total_tokens", totals->prompt_tokens + n_output);
    baton_json_open(out, "prompt_tokens_details", '{');
    baton_json_put_uint(out, "cached_tokens", totals->cached_tokens);
    baton_json_put_uint(out, "disk_tokens", totals->disk_tokens);
    baton_json_close(out, '}');
    put_output_details(out, totals);
    baton_json_close(out, '}');
}

static void put_logprobs(struct baton_json_out *out, struct gw_choice *choice)
{
    const struct gw_completion *completion = choice->completion;
    struct gw_logprobs *logprobs = &choice->logprobs;
    bool wanted = choice->request->params.sampling.logprobs;
    if (!wanted || (completion->options.streaming && logprobs->n_taken == logprobs->n_ready))
        baton_json_put_null(out, "logprobs");
    else if (completion->options.chat)
        gw_logprobs_put_chat(logprobs, out, completion->api->tokenizer);
    else
        gw_logprobs_put_completion(logprobs, out, completion->api->tokenizer, choice->echo_chars);
}

/* ---- chunks ---- */

/* Those of the choice that are not told yet. */
static void put_calls(struct baton_json_out *out, const struct gw_choice *choice)
{
    const struct baton_buf *json = &choice->calls.json;
    if (!json->len)
        return;
    baton_json_open(out, "tool_calls", '[');
    baton_json_put_raw(out, NULL, baton_buf_text(json), json->len);
    baton_json_close(out, ']');
}

/* index: chunks number the calls, for they may come in parts. */
static void put_call(struct baton_json_out *out, const struct gw_tool_call *call, bool index)
{
    baton_json_open(out, NULL, '{');
    if (index)
        baton_json_put_int(out, "index", call->index);
    baton_json_put_string(out, "id", call->id);
    baton_json_put_string(out, "type", "function");
    baton_json_open(out, "function", '{');
    baton_json_put_text(out, "name", call->name, call->n_name);
    baton_json_put_text(out, "arguments", call->arguments, call->n_arguments);
    baton_json_close(out, '}');
    baton_json_close(out, '}');
}

/* What a chunk says; text NULL: none. */
struct piece {
    bool role, is_reasoning;
    const char *text;
    size_t n;
    const Baton__V1__PromptProgress *progress; /* of the prompt; NULL: none */
};

static void put_delta(struct baton_json_out *out, const struct gw_choice *choice,
                      const struct piece *piece)
{
    if (!choice->completion->options.chat) {
        baton_json_put_text(out, "text", piece->text ? piece->text : "", piece->n);
        return;
    }
    baton_json_open(out, "delta", '{');
    if (piece->role)
        baton_json_put_string(out, "role", "assistant");
    if (piece->text)
        baton_json_put_text(out, piece->is_reasoning ? "reasoning_content" : "content", piece->text,
                            piece->n);
    put_calls(out, choice);
    baton_json_close(out, '}');
}

/* One chunk about one choice. */
static void write_chunk(struct gw_choice *choice, const struct piece *piece, const char *finish)
{
    struct gw_completion *completion = choice->completion;
    bool last =
        finish && completion->n_over == completion->n_choices && !completion->options.include_usage;
    struct baton_buf chunk;
    baton_buf_init(&chunk, CHUNK_MAX_BYTES);
    struct baton_json_out out = baton_json_out(&chunk);
    baton_json_open(&out, NULL, '{');
    put_head(&out, completion);
    baton_json_open(&out, "choices", '[');
    baton_json_open(&out, NULL, '{');
    baton_json_put_int(&out, "index", choice->index);
    put_delta(&out, choice, piece);
    put_logprobs(&out, choice);
    if (finish)
        baton_json_put_string(&out, "finish_reason", finish);
    else
        baton_json_put_null(&out, "finish_reason");
    gw_choice_put_steps(choice, &out);
    baton_json_close(&out, '}');
    baton_json_close(&out, ']');
    if (completion->options.include_usage)
        baton_json_put_null(&out, "usage");
    if (piece->progress)
        gw_timings_put_progress(&out, choice->request, piece->progress->n_tokens,
                                piece->progress->cached_tokens);
    if (last)
        gw_timings_put(&out, &completion->totals);
    else if (piece->text && completion->options.timings_per_token)
        gw_timings_put_so_far(&out, choice->request);
    baton_json_close(&out, '}');
    gw_completion_write(completion, choice, NULL, chunk.data, chunk.len);
    baton_buf_fini(&chunk);
}

static void write_usage(struct gw_completion *completion)
{
    struct baton_buf chunk;
    baton_buf_init(&chunk, CHUNK_MAX_BYTES);
    struct baton_json_out out = baton_json_out(&chunk);
    baton_json_open(&out, NULL, '{');
    put_head(&out, completion);
    baton_json_open(&out, "choices", '[');
    baton_json_close(&out, ']');
    put_usage(&out, "usage", completion);
    gw_timings_put(&out, &completion->totals);
    baton_json_close(&out, '}');
    gw_completion_write(completion, NULL, NULL, chunk.data, chunk.len);
    baton_buf_fini(&chunk);
}

/* ---- whole answers ---- */

static void put_message(struct baton_json_out *out, const struct gw_choice *choice)
{
    baton_json_open(out, "message", '{');
    baton_json_put_string(out, "role", "assistant");
    if (choice->reasoning.len)
        baton_json_put_text(out, "reasoning_content", baton_buf_text(&choice->reasoning),
                            choice->reasoning.len);
    if (!choice->text.len && choice->calls.n)
        baton_json_put_null(out, "content");
    else
        baton_json_put_text(out, "content", baton_buf_text(&choice->text), choice->text.len);
    baton_json_put_null(out, "refusal");
    put_calls(out, choice);
    baton_json_close(out, '}');
}

static void put_text(struct baton_json_out *out, const struct gw_choice *choice)
{
    const struct baton_buf *prompt = &choice->prompt->text, *generated = &choice->text;
    struct baton_buf text;
    baton_buf_init(&text, prompt->max_bytes + generated->max_bytes);
    if (choice->completion->options.echo)
        baton_buf_append(&text, baton_buf_text(prompt), prompt->len);
    if (!choice->completion->options.no_output)
        baton_buf_append(&text, baton_buf_text(generated), generated->len);
    baton_json_put_text(out, "text", baton_buf_text(&text), text.len);
    baton_buf_fini(&text);
}

static void keep_choice(struct gw_choice *choice)
{
    const struct gw_completion *completion = choice->completion;
    struct baton_json_out out = baton_json_out(&choice->result);
    baton_json_open(&out, NULL, '{');
    baton_json_put_int(&out, "index", choice->index);
    if (completion->options.chat)
        put_message(&out, choice);
    else
        put_text(&out, choice);
    put_logprobs(&out, choice);
    baton_json_put_string(&out, "finish_reason", finish_reason(choice));
    gw_choice_put_steps(choice, &out);
    baton_json_close(&out, '}');
}

static void answer(struct gw_completion *completion)
{
    struct gw_answer answer;
    gw_answer_open(&answer);
    put_head(&answer.out, completion);
    gw_completion_put_results(completion, "choices", &answer.out);
    put_usage(&answer.out, "usage", completion);
    gw_timings_put(&answer.out, &completion->totals);
    gw_answer_close(&answer, completion->exchange, 200);
}

/* ---- the response writer ---- */

static void on_prompt_logprobs(struct gw_choice *choice, const Baton__V1__PromptLogprobs *logprobs)
{
    gw_logprobs_add_prompt(&choice->logprobs, &choice->request->params.prompt, logprobs);
}

static void on_prompt_progress(struct gw_choice *choice, const Baton__V1__PromptProgress *progress)
{
    gw_completion_begin(choice->completion);
    write_chunk(choice, &(struct piece){.progress = progress}, NULL);
}

/* The first token came, so all of the prompt is computed. */
static void tell_whole_prompt(struct gw_choice *choice)
{
    Baton__V1__PromptProgress progress = BATON__V1__PROMPT_PROGRESS__INIT;
    progress.n_tokens = (uint32_t)choice->request->params.prompt.n;
    progress.cached_tokens = gw_request_first_attempt(choice->request)->cached_tokens;
    write_chunk(choice, &(struct piece){.progress = &progress}, NULL);
}

static void on_first(struct gw_choice *choice)
{
    const struct gw_completion_options *options = &choice->completion->options;
    const struct baton_buf *prompt = &choice->prompt->text;
    choice->echo_chars = options->echo ? baton_utf8_count(baton_buf_text(prompt), prompt->len) : 0;
    gw_completion_begin(choice->completion);
    if (!options->streaming)
        return;
    if (choice->request->params.prompt_progress)
        tell_whole_prompt(choice);
    if (options->chat)
        write_chunk(choice, &(struct piece){.role = true, .text = ""}, NULL);
    else if (options->echo)
        write_chunk(choice, &(struct piece){.text = baton_buf_text(prompt), .n = prompt->len},
                    NULL);
}

static void on_token(struct gw_choice *choice, const struct gw_token *token)
{
    if (!choice->completion->options.no_output)
        gw_choice_keep_token(choice, token);
}

/* What is left beside reasoning and calls. */
static void on_content(struct gw_choice *choice, const char *text, size_t n)
{
    if (!choice->completion->options.streaming)
        baton_buf_append(&choice->text, text, n);
    else if (!choice->completion->options.no_output)
        write_chunk(choice, &(struct piece){.text = text, .n = n}, NULL);
}

static void on_reasoning(struct gw_choice *choice, const char *text, size_t n)
{
    if (choice->completion->options.streaming)
        write_chunk(choice, &(struct piece){.is_reasoning = true, .text = text, .n = n}, NULL);
    else
        baton_buf_append(&choice->reasoning, text, n);
}

static void on_call(struct gw_choice *choice, const struct gw_tool_call *call)
{
    struct baton_json_out out = baton_json_out(&choice->calls.json);
    bool streaming = choice->completion->options.streaming;
    out.comma = choice->calls.json.len > 0;
    put_call(&out, call, streaming);
    if (!streaming)
        return;
    write_chunk(choice, &(struct piece){0}, NULL);
    baton_buf_reset(&choice->calls.json);
}

static const struct gw_parts parts = {
    .text = on_content, .reasoning = on_reasoning, .call = on_call};

static void on_text(struct gw_choice *choice, const char *text, size_t n)
{
    gw_logprobs_shown(&choice->logprobs, choice->request->output.shown_bytes);
    gw_tool_calls_push(choice, &choice->calls, text, n, &parts);
}

static void end(struct gw_completion *completion)
{
    static const char done[] = "[DONE]";
    if (!completion->options.streaming) {
        answer(completion);
        return;
    }
    if (completion->options.include_usage)
        write_usage(completion);
    gw_completion_write(completion, NULL, NULL, done, sizeof done - 1);
    gw_completion_end_stream(completion);
}

static void on_finish(struct gw_choice *choice)
{
    gw_choice_end_logprobs(choice);
    gw_tool_calls_end(choice, &choice->calls, &parts);
    gw_choice_count(choice);
    if (choice->completion->options.streaming)
        write_chunk(choice, &(struct piece){0}, finish_reason(choice));
    else
        keep_choice(choice);
    gw_choice_close(choice, end);
}

static void put_error_usage(struct baton_buf *buf, const struct gw_completion *completion)
{
    struct baton_json_out out = baton_json_out(buf);
    put_usage(&out, NULL, completion);
}

static void on_fail(struct gw_choice *choice, const struct gw_failure *failure)
{
    gw_choice_fail(choice, failure, put_error_usage, NULL);
}

const struct gw_response_writer gw_openai_writer = {.restart = gw_choice_restart,
                                                    .prompt_logprobs = on_prompt_logprobs,
                                                    .prompt_progress = on_prompt_progress,
                                                    .first = on_first,
                                                    .token = on_token,
                                                    .text = on_text,
                                                    .finish = on_finish,
                                                    .fail = on_fail};
