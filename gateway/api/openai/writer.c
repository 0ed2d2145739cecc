#include "gateway/api/openai/writer.h"

#include <stdio.h>

#include "common/base/array.h"
#include "gateway/api/completion/timings.h"
#include "gateway/api/openai/chat_body.h"
#include "gateway/api/openai/prompt_logprobs.h"
#include "gateway/api/openai/tools.h"

static const struct gw_openai_options *own_of(const struct gw_completion *completion)
{
    return completion->options.own;
}

static const char *finish_reason(const struct gw_choice *choice)
{
    const struct gw_completion *completion = choice->completion;
    const struct gw_request *request = choice->request;
    if (completion->options.no_output || request->output.finish == GW_FINISH_LENGTH)
        return "length";
    return !choice->calls.n                    ? "stop"
           : own_of(completion)->has_functions ? "function_call"
                                               : "tool_calls";
}

/* ---- parts of every answer ---- */

/* Equal for equal weights, or for equal configs if this host has no weights. */
static void put_fingerprint(struct baton_json_out *out, const struct baton_fingerprint *fingerprint)
{
    char text[24];
    const char *digest = *fingerprint->weights ? fingerprint->weights : fingerprint->config;
    (void)snprintf(text, sizeof text, "baton_%.12s", digest);
    baton_json_put_string(out, "system_fingerprint", text);
}

static void put_head(struct baton_json_out *out, const struct gw_completion *completion)
{
    bool chat = own_of(completion)->chat, streaming = completion->options.streaming;
    char id[GW_ANSWER_ID_BYTES];
    baton_json_put_string(out, "id",
                          gw_choice_id(&completion->choices[0], chat ? "chatcmpl" : "cmpl", id));
    baton_json_put_string(out, "object",
                          !chat       ? "text_completion"
                          : streaming ? "chat.completion.chunk"
                                      : "chat.completion");
    baton_json_put_int(out, "created", completion->created_s);
    baton_json_put_string(out, "model", gw_completion_model(completion));
    put_fingerprint(out, completion->api->fingerprint);
    baton_json_put_string(out, "service_tier", own_of(completion)->is_flex ? "flex" : "default");
}

/* Writes what ended the text beside the model's own end: a stop string, or the id of another token
 * that ends texts; null for neither. */
static void put_stop_reason(struct baton_json_out *out, const struct gw_choice *choice)
{
    const struct gw_request *request = choice->request;
    const struct baton_text_stop *met = baton_text_stream_met(&request->output.text);
    const struct baton_tokens *tokens = &request->output.tokens;
    const struct baton_model_facts *facts = choice->completion->api->facts;
    bool is_own = !tokens->n || request->output.finish == GW_FINISH_LENGTH;
    for (int i = 0; i < facts->n_eos && !is_own; i++)
        is_own = tokens->ids[tokens->n - 1] == (uint64_t)facts->eos_ids[i];
    if (met)
        baton_json_put_text(out, "stop_reason", met->text, met->n_bytes);
    else if (is_own)
        baton_json_put_null(out, "stop_reason");
    else
        baton_json_put_uint(out, "stop_reason", tokens->ids[tokens->n - 1]);
}

static void put_ids(struct baton_json_out *out, const char *key, const struct baton_tokens *tokens,
                    size_t from)
{
    baton_json_open(out, key, '[');
    for (size_t i = from; i < tokens->n; i++)
        baton_json_put_uint(out, NULL, tokens->ids[i]);
    baton_json_close(out, ']');
}

/* Writes vLLM's token_ids: those that no chunk has had yet; with the prompt's in a first chunk or a
 * whole answer. */
static void put_token_ids(struct baton_json_out *out, struct gw_choice *choice)
{
    struct gw_openai_sent *sent = choice->own;
    if (!own_of(choice->completion)->token_ids)
        return;
    if (!sent->has_prompt)
        put_ids(out, "prompt_token_ids", &choice->request->params.prompt, 0);
    put_ids(out, "token_ids", &choice->request->output.tokens, sent->n_ids);
    sent->n_ids = choice->request->output.tokens.n;
    sent->has_prompt = true;
}

/* Reports speculation under OpenAI's names for predicted outputs. */
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
    baton_json_put_uint(out, "cached_tokens", totals->prompt_cached_tokens);
    baton_json_put_uint(out, "disk_tokens", totals->disk_tokens);
    baton_json_put_uint(out, "cache_write_tokens", 0); /* not counted */
    baton_json_close(out, '}');
    put_output_details(out, totals);
    baton_json_close(out, '}');
}

static void put_logprobs(struct baton_json_out *out, struct gw_choice *choice)
{
    const struct gw_completion *completion = choice->completion;
    struct gw_logprobs *logprobs = &choice->logprobs;
    size_t n_prompt = completion->options.echo ? 0 : gw_prompt_logprobs_n(logprobs);
    if (logprobs->n_taken < n_prompt) /* those of the prompt have a member of their own */
        logprobs->n_taken = n_prompt;
    bool wanted = choice->request->params.sampling.logprobs;
    if (!wanted || (completion->options.streaming && logprobs->n_taken == logprobs->n_ready))
        baton_json_put_null(out, "logprobs");
    else if (own_of(completion)->chat)
        gw_logprobs_put_chat(logprobs, out, completion->api->tokenizer);
    else
        gw_logprobs_put_completion(logprobs, out, completion->api->tokenizer, choice->echo_chars);
}

/* ---- chunks ---- */

/* Writes the choice's calls that no chunk has had yet. */
static void put_calls(struct baton_json_out *out, const struct gw_choice *choice)
{
    const struct gw_openai_sent *sent = choice->own;
    const struct baton_buf *json = &choice->calls.json;
    size_t n = json->len ? sent->n_function : 0;
    if (n)
        baton_json_put_raw(out, "function_call", baton_buf_text(json), n);
    n += n > 0; /* the comma between it and further calls, of which the older form has none */
    if (json->len <= n)
        return;
    baton_json_open(out, "tool_calls", '[');
    baton_json_put_raw(out, NULL, baton_buf_text(json) + n, json->len - n);
    baton_json_close(out, ']');
}

/* Whether the call is to a custom tool, whose input is text. */
static bool is_custom(const struct gw_choice *choice, const struct gw_tool_call *call)
{
    return gw_chat_body_is_custom(own_of(choice->completion)->tools, call->name, call->n_name);
}

static bool is_function_call(const struct gw_choice *choice, const struct gw_tool_call *call)
{
    return own_of(choice->completion)->has_functions && !call->index;
}

static void put_function(struct baton_json_out *out, const char *key,
                         const struct gw_tool_call *call, bool has_name)
{
    baton_json_open(out, key, '{');
    if (has_name)
        baton_json_put_text(out, "name", call->name, call->n_name);
    baton_json_put_text(out, "arguments", call->arguments, call->n_arguments);
    baton_json_close(out, '}');
}

static void put_tool_call(struct baton_json_out *out, const struct gw_choice *choice,
                          const struct gw_tool_call *call, bool is_first)
{
    const char *type = is_custom(choice, call) ? "custom" : "function";
    baton_json_open(out, NULL, '{');
    if (choice->completion->options.streaming) /* OpenAI may send a call in several chunks */
        baton_json_put_int(out, "index", call->index);
    if (is_first) {
        baton_json_put_string(out, "id", call->id);
        baton_json_put_string(out, "type", type);
    }
    if (!is_custom(choice, call)) {
        put_function(out, type, call, is_first);
    } else {
        baton_json_open(out, type, '{');
        baton_json_put_text(out, "name", call->name, call->n_name);
        gw_tools_put_input(out, "input", call);
        baton_json_close(out, '}');
    }
    baton_json_close(out, '}');
}

/* Adds a piece of a call, or a whole one, to those that are to be written. */
static void add_call(struct gw_choice *choice, const struct gw_tool_call *call, bool is_first)
{
    struct gw_openai_sent *sent = choice->own;
    struct baton_json_out out = gw_choice_calls_out(choice);
    bool is_function = is_function_call(choice, call);
    if (is_function)
        put_function(&out, NULL, call, is_first);
    else
        put_tool_call(&out, choice, call, is_first);
    if (is_function || choice->completion->options.streaming)
        sent->n_function = is_function ? choice->calls.json.len : 0;
}

/* The content of a chunk; text NULL: none. */
struct piece {
    bool role, is_reasoning;
    const char *text;
    size_t n;
    const uint64_t *progress; /* [2] tokens of the prompt that are computed, cached; NULL: none */
};

static void put_delta(struct baton_json_out *out, const struct gw_choice *choice,
                      const struct piece *piece)
{
    if (!own_of(choice->completion)->chat) {
        baton_json_put_text(out, "text", piece->text ? piece->text : "", piece->n);
        return;
    }
    baton_json_open(out, "delta", '{');
    if (piece->role)
        baton_json_put_string(out, "role", "assistant");
    if (piece->text)
        baton_json_put_text(out, piece->is_reasoning ? "reasoning_content" : "content", piece->text,
                            piece->n);
    if (piece->text && piece->is_reasoning) /* vLLM's name */
        baton_json_put_text(out, "reasoning", piece->text, piece->n);
    put_calls(out, choice);
    baton_json_close(out, '}');
}

/* Writes vLLM's usage of a chunk: of the choices that are over, and of this one. */
static void put_usage_so_far(struct baton_json_out *out, const struct gw_choice *choice)
{
    const struct gw_totals *totals = &choice->completion->totals;
    bool is_counted = choice->completion->n_over == choice->completion->n_choices;
    uint64_t n_prompt = totals->prompt_tokens;
    uint64_t n = totals->output_tokens + (is_counted ? 0 : choice->request->output.tokens.n);
    baton_json_open(out, "usage", '{');
    baton_json_put_uint(out, "prompt_tokens", n_prompt);
    baton_json_put_uint(out, "completion_tokens", n);
    baton_json_put_uint(out, "total_tokens", n_prompt + n);
    baton_json_close(out, '}');
}

/* One chunk about one choice. */
static void write_chunk(struct gw_choice *choice, const struct piece *piece, const char *finish)
{
    struct gw_completion *completion = choice->completion;
    bool last =
        finish && completion->n_over == completion->n_choices && !own_of(completion)->include_usage;
    struct gw_event chunk;
    gw_event_open(&chunk, choice, NULL);
    put_head(&chunk.out, completion);
    baton_json_open(&chunk.out, "choices", '[');
    baton_json_open(&chunk.out, NULL, '{');
    baton_json_put_int(&chunk.out, "index", choice->index);
    put_delta(&chunk.out, choice, piece);
    put_logprobs(&chunk.out, choice);
    put_token_ids(&chunk.out, choice);
    if (finish)
        baton_json_put_string(&chunk.out, "finish_reason", finish);
    else
        baton_json_put_null(&chunk.out, "finish_reason");
    if (finish)
        put_stop_reason(&chunk.out, choice);
    gw_choice_put_steps(choice, &chunk.out);
    baton_json_close(&chunk.out, '}');
    baton_json_close(&chunk.out, ']');
    if (own_of(completion)->each_usage)
        put_usage_so_far(&chunk.out, choice);
    else if (own_of(completion)->include_usage)
        baton_json_put_null(&chunk.out, "usage");
    if (piece->progress)
        gw_timings_put_progress(&chunk.out, choice->request, piece->progress[0],
                                piece->progress[1]);
    if (last)
        gw_timings_put(&chunk.out, &completion->totals);
    else if (piece->text && completion->options.timings_per_token)
        gw_timings_put_so_far(&chunk.out, choice->request);
    gw_event_close(&chunk);
}

static void write_usage(struct gw_completion *completion)
{
    struct gw_event chunk;
    gw_event_open(&chunk, &completion->choices[0], NULL);
    put_head(&chunk.out, completion);
    baton_json_open(&chunk.out, "choices", '[');
    baton_json_close(&chunk.out, ']');
    put_usage(&chunk.out, "usage", completion);
    gw_timings_put(&chunk.out, &completion->totals);
    gw_event_close(&chunk);
}

/* ---- whole answers ---- */

static void put_message(struct baton_json_out *out, const struct gw_choice *choice)
{
    baton_json_open(out, "message", '{');
    baton_json_put_string(out, "role", "assistant");
    static const char *const names[] = {"reasoning_content", "reasoning"}; /* llama.cpp's, vLLM's */
    for (size_t i = 0; i < BATON_N_OF(names) && choice->reasoning.len; i++)
        baton_json_put_text(out, names[i], baton_buf_text(&choice->reasoning),
                            choice->reasoning.len);
    if (!choice->text.len && choice->calls.n)
        baton_json_put_null(out, "content");
    else
        baton_json_put_text(out, "content", baton_buf_text(&choice->text), choice->text.len);
    baton_json_put_null(out, "refusal");
    baton_json_open(out, "annotations", '[');
    baton_json_close(out, ']');
    put_calls(out, choice);
    baton_json_close(out, '}');
}

static void put_choice(struct gw_choice *choice, struct baton_json_out *out)
{
    const struct gw_completion *completion = choice->completion;
    baton_json_put_int(out, "index", choice->index);
    if (own_of(completion)->chat)
        put_message(out, choice);
    else
        gw_choice_put_text(choice, out, "text", completion->options.echo);
    if (own_of(completion)->prompt_logprobs && !own_of(completion)->chat)
        gw_prompt_logprobs_put(out, choice);
    put_logprobs(out, choice);
    put_token_ids(out, choice);
    baton_json_put_string(out, "finish_reason", finish_reason(choice));
    put_stop_reason(out, choice);
    gw_choice_put_steps(choice, out);
}

static void put_answer(struct gw_completion *completion, struct baton_json_out *out)
{
    put_head(out, completion);
    gw_completion_put_results(completion, "choices", out);
    if (own_of(completion)->prompt_logprobs && own_of(completion)->chat)
        gw_prompt_logprobs_put(out, &completion->choices[0]);
    put_usage(out, "usage", completion);
    gw_timings_put(out, &completion->totals);
}

/* ---- pieces of an answer ---- */

static void write_progress(struct gw_choice *choice, uint64_t n_tokens, uint64_t n_cached)
{
    const uint64_t progress[] = {n_tokens, n_cached};
    write_chunk(choice, &(struct piece){.progress = progress}, NULL);
}

static void write_begin(struct gw_choice *choice)
{
    const struct baton_buf *prompt = &choice->prompt->text;
    if (own_of(choice->completion)->chat)
        write_chunk(choice, &(struct piece){.role = true, .text = ""}, NULL);
    else if (choice->completion->options.echo)
        write_chunk(choice, &(struct piece){.text = baton_buf_text(prompt), .n = prompt->len},
                    NULL);
}

static void write_text(struct gw_choice *choice, const char *text, size_t n)
{
    const struct piece piece = {
        .is_reasoning = choice->part == GW_PART_REASONING, .text = text, .n = n};
    write_chunk(choice, &piece, NULL);
}

static void write_pieces(struct gw_choice *choice)
{
    write_chunk(choice, &(struct piece){0}, NULL);
    baton_buf_reset(&choice->calls.json);
}

static void on_call(struct gw_choice *choice, const struct gw_tool_call *call)
{
    add_call(choice, call, true);
    if (choice->completion->options.streaming)
        write_pieces(choice);
}

static void write_call_begin(struct gw_choice *choice, const struct gw_tool_call *call)
{
    add_call(choice, call, true);
    write_pieces(choice);
}

static void write_call_more(struct gw_choice *choice, const struct gw_tool_call *call)
{
    add_call(choice, call, false);
    write_pieces(choice);
}

static void fini_options(void *own)
{
    struct gw_openai_options *options = own;
    baton_json_free(options->tools);
}

static void write_end(struct gw_choice *choice)
{
    write_chunk(choice, &(struct piece){0}, finish_reason(choice));
}

static void write_done(struct gw_completion *completion)
{
    static const char done[] = "[DONE]";
    if (own_of(completion)->include_usage)
        write_usage(completion);
    gw_completion_write(completion, NULL, NULL, done, sizeof done - 1);
}

const struct gw_answer_writer gw_openai_writer = {
    .options_bytes = sizeof(struct gw_openai_options),
    .choice_bytes = sizeof(struct gw_openai_sent),
    .begin = write_begin,
    .progress = write_progress,
    .text = write_text,
    .call = on_call,
    .wants_whole = is_custom,
    .tells_cut_calls = true,
    .fini_options = fini_options,
    .call_begin = write_call_begin,
    .call_more = write_call_more,
    .end = write_end,
    .end_stream = write_done,
    .put_choice = put_choice,
    .put_answer = put_answer,
    .put_usage = put_usage,
};
