#include "gateway/api/tgi/writer.h"

enum { EVENT_MAX_BYTES = 4 << 20 };

/* ---- tokens ---- */

static void put_id(struct baton_json_out *out, const struct baton_tokenizer *tokenizer, uint32_t id)
{
    size_t n = 0;
    const char *bytes = baton_tokenizer_bytes(tokenizer, id, &n);
    baton_json_put_uint(out, "id", id);
    baton_json_put_text(out, "text", bytes ? bytes : "", n);
}

/* Not of a number, which a prompt's first token has, is null. */
static void put_scored(struct baton_json_out *out, const struct baton_tokenizer *tokenizer,
                       const struct gw_logprob *scored)
{
    baton_json_open(out, NULL, '{');
    put_id(out, tokenizer, scored->token);
    baton_json_put_real(out, "logprob", scored->logprob);
    baton_json_close(out, '}');
}

/* What the entry's token added to the text: whole characters, so that a token which is a part of
 * one has none. A special token has its name. */
static void put_text(struct baton_json_out *out, const struct gw_choice *choice, size_t at)
{
    const struct gw_logprobs *logprobs = &choice->logprobs;
    const struct gw_logprob_entry *entry = &logprobs->entries[at];
    size_t n = choice->text.len, begin = entry->begin_bytes < n ? entry->begin_bytes : n;
    size_t end = at + 1 < logprobs->n ? entry[1].begin_bytes : n;
    end = end < n ? end : n;
    baton_json_put_uint(out, "id", entry->self.token);
    baton_json_put_text(out, "text", baton_buf_text(&choice->text) + begin, end - begin);
}

static void put_token(struct baton_json_out *out, const char *key, const struct gw_choice *choice,
                      size_t at)
{
    const struct baton_tokenizer *tokenizer = choice->completion->api->tokenizer;
    const struct gw_logprob *self = &choice->logprobs.entries[at].self;
    bool special = baton_tokenizer_is_special(tokenizer, self->token);
    baton_json_open(out, key, '{');
    if (special)
        put_id(out, tokenizer, self->token);
    else
        put_text(out, choice, at);
    baton_json_put_real(out, "logprob", self->logprob);
    baton_json_put_bool(out, "special", special);
    baton_json_close(out, '}');
}

/* The most probable tokens in place of an entry's own; nothing where none were asked for. */
static void put_top(struct baton_json_out *out, const char *key, const struct gw_choice *choice,
                    size_t at)
{
    const struct baton_tokenizer *tokenizer = choice->completion->api->tokenizer;
    const struct gw_logprob *tops = gw_logprobs_tops(&choice->logprobs, at);
    if (!choice->request->params.sampling.top_logprobs)
        return;
    baton_json_open(out, key, '[');
    for (int i = 0; i < choice->logprobs.entries[at].n_top; i++) {
        baton_json_open(out, NULL, '{');
        put_id(out, tokenizer, tops[i].token);
        baton_json_put_real(out, "logprob", tops[i].logprob);
        baton_json_put_bool(out, "special", baton_tokenizer_is_special(tokenizer, tops[i].token));
        baton_json_close(out, '}');
    }
    baton_json_close(out, ']');
}

/* ---- the end ---- */

static void put_finish(struct baton_json_out *out, const struct gw_request *request)
{
    const struct baton_sampling_params *sampling = &request->params.sampling;
    baton_json_put_string(out, "finish_reason",
                          baton_text_stream_met(&request->output.text) ? "stop_sequence"
                          : request->output.finish == GW_FINISH_LENGTH ? "length"
                                                                       : "eos_token");
    baton_json_put_uint(out, "generated_tokens", request->output.tokens.n);
    if (sampling->temperature > 0)
        baton_json_put_uint(out, "seed", sampling->seed);
    else
        baton_json_put_null(out, "seed");
}

static void put_full_text(struct baton_json_out *out, const struct gw_choice *choice)
{
    const struct baton_buf *prompt = &choice->prompt->text, *text = &choice->text;
    struct baton_buf full;
    if (!choice->completion->options.echo) {
        baton_json_put_text(out, "generated_text", baton_buf_text(text), text->len);
        return;
    }
    baton_buf_init(&full, prompt->max_bytes + text->max_bytes);
    baton_buf_append(&full, baton_buf_text(prompt), prompt->len);
    baton_buf_append(&full, baton_buf_text(text), text->len);
    baton_json_put_text(out, "generated_text", baton_buf_text(&full), full.len);
    baton_buf_fini(&full);
}

/* ---- a whole answer ---- */

static void put_details(struct baton_json_out *out, struct gw_choice *choice)
{
    const struct gw_logprobs *logprobs = &choice->logprobs;
    size_t n_prompt = 0;
    while (n_prompt < logprobs->n && logprobs->entries[n_prompt].of_prompt)
        n_prompt++;
    baton_json_open(out, "details", '{');
    put_finish(out, choice->request);
    baton_json_open(out, "prefill", '[');
    for (size_t i = 0; i < n_prompt; i++)
        put_scored(out, choice->completion->api->tokenizer, &logprobs->entries[i].self);
    baton_json_close(out, ']');
    baton_json_open(out, "tokens", '[');
    for (size_t i = n_prompt; i < logprobs->n_ready; i++)
        put_token(out, NULL, choice, i);
    baton_json_close(out, ']');
    if (choice->request->params.sampling.top_logprobs) {
        baton_json_open(out, "top_tokens", '[');
        for (size_t i = n_prompt; i < logprobs->n_ready; i++)
            put_top(out, NULL, choice, i);
        baton_json_close(out, ']');
    }
    baton_json_close(out, '}');
}

static void put_whole(struct gw_choice *choice)
{
    struct baton_json_out out = baton_json_out(&choice->result);
    baton_json_open(&out, NULL, '{');
    put_full_text(&out, choice);
    if (choice->completion->options.details)
        put_details(&out, choice);
    gw_choice_put_steps(choice, &out);
    baton_json_close(&out, '}');
}

/* ---- events ---- */

static void put_last_details(struct baton_json_out *out, const struct gw_request *request)
{
    baton_json_open(out, "details", '{');
    put_finish(out, request);
    baton_json_put_uint(out, "input_length", request->params.prompt.n);
    baton_json_close(out, '}');
}

/* The event of an entry. */
static void write_token(struct gw_choice *choice, size_t at, bool is_last)
{
    struct baton_buf event;
    baton_buf_init(&event, EVENT_MAX_BYTES);
    struct baton_json_out out = baton_json_out(&event);
    baton_json_open(&out, NULL, '{');
    baton_json_put_uint(&out, "index", at + 1);
    put_token(&out, "token", choice, at);
    put_top(&out, "top_tokens", choice, at);
    if (is_last) {
        put_full_text(&out, choice);
        put_last_details(&out, choice->request);
    } else {
        baton_json_put_null(&out, "generated_text");
        baton_json_put_null(&out, "details");
    }
    gw_choice_put_steps(choice, &out);
    baton_json_close(&out, '}');
    gw_completion_write(choice->completion, choice, NULL, event.data, event.len);
    baton_buf_fini(&event);
}

/* Tells the entries that are ready. The one that ends the output by its length waits for the end,
 * which goes with the last token. */
static void tell_tokens(struct gw_choice *choice)
{
    struct gw_logprobs *logprobs = &choice->logprobs;
    const struct gw_request *request = choice->request;
    bool is_whole = (int64_t)request->output.tokens.n >= request->params.max_new_tokens;
    size_t n = logprobs->n_ready;
    if (n && n == logprobs->n && is_whole)
        n--;
    for (; logprobs->n_taken < n; logprobs->n_taken++)
        write_token(choice, logprobs->n_taken, false);
}

/* Of an output that a stop string ends, the last token may have been told already: its text goes
 * with the first event. */
static void tell_end(struct gw_choice *choice)
{
    struct gw_logprobs *logprobs = &choice->logprobs;
    size_t n =
        logprobs->n_ready == logprobs->n && logprobs->n ? logprobs->n - 1 : logprobs->n_ready;
    for (; logprobs->n_taken < n; logprobs->n_taken++)
        write_token(choice, logprobs->n_taken, false);
    if (logprobs->n && logprobs->n_taken == logprobs->n)
        logprobs->entries[logprobs->n - 1].begin_bytes = choice->text.len;
    if (logprobs->n)
        write_token(choice, logprobs->n - 1, true);
}

/* ---- the response writer ---- */

static void on_prompt_logprobs(struct gw_choice *choice, const Baton__V1__PromptLogprobs *logprobs)
{
    gw_logprobs_add_prompt(&choice->logprobs, &choice->request->params.prompt, logprobs);
}

static void on_first(struct gw_choice *choice)
{
    gw_completion_begin(choice->completion);
}

static void on_token(struct gw_choice *choice, const struct gw_token *token)
{
    gw_choice_keep_token(choice, token);
}

static void on_text(struct gw_choice *choice, const char *text, size_t n)
{
    baton_buf_append(&choice->text, text, n);
    gw_logprobs_shown(&choice->logprobs, choice->request->output.shown_bytes);
    if (choice->completion->options.streaming)
        tell_tokens(choice);
}

static void end(struct gw_completion *completion)
{
    if (completion->options.batch && !completion->options.streaming)
        gw_completion_answer_all(completion);
    else
        gw_completion_answer_one(completion);
}

static void on_finish(struct gw_choice *choice)
{
    gw_choice_end_logprobs(choice);
    gw_choice_count(choice);
    if (choice->completion->options.streaming)
        tell_end(choice);
    else
        put_whole(choice);
    gw_choice_close(choice, end);
}

static void put_error_usage(struct baton_buf *buf, const struct gw_completion *completion)
{
    struct baton_json_out out = baton_json_out(buf);
    baton_json_open(&out, NULL, '{');
    baton_json_put_uint(&out, "input_length", completion->totals.prompt_tokens);
    baton_json_put_uint(&out, "generated_tokens", completion->totals.output_tokens);
    baton_json_close(&out, '}');
}

static void on_fail(struct gw_choice *choice, const struct gw_failure *failure)
{
    gw_choice_fail(choice, failure, put_error_usage, NULL);
}

const struct gw_response_writer gw_tgi_writer = {.restart = gw_choice_restart,
                                                 .prompt_logprobs = on_prompt_logprobs,
                                                 .first = on_first,
                                                 .token = on_token,
                                                 .text = on_text,
                                                 .finish = on_finish,
                                                 .fail = on_fail};
