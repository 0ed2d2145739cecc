#include "gateway/api/tgi/writer.h"

/* ---- tokens ---- */

static void put_id(struct baton_json_out *out, const struct baton_tokenizer *tokenizer, uint32_t id)
{
    size_t n = 0;
    const char *bytes = baton_tokenizer_bytes(tokenizer, id, &n);
    baton_json_put_uint(out, "id", id);
    baton_json_put_text(out, "text", bytes ? bytes : "", n);
}

/* Writes a token of the prompt. The first one has no logprob: NaN becomes null. */
static void put_scored(struct baton_json_out *out, const struct baton_tokenizer *tokenizer,
                       const struct gw_logprob *scored)
{
    baton_json_open(out, NULL, '{');
    put_id(out, tokenizer, scored->token);
    baton_json_put_real(out, "logprob", scored->logprob);
    baton_json_close(out, '}');
}

/* Writes the text that the entry's token added: whole characters, so a token that is only a part of
 * one has an empty text. */
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

/* Writes the most probable tokens at an entry's position, if they were requested. */
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
    gw_choice_put_text(choice, out, "generated_text", choice->completion->options.echo);
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

static void put_choice(struct gw_choice *choice, struct baton_json_out *out)
{
    const struct gw_tgi_options *own = choice->completion->options.own;
    put_full_text(out, choice);
    if (own->details)
        put_details(out, choice);
    gw_choice_put_steps(choice, out);
}

/* ---- events ---- */

static void put_last_details(struct baton_json_out *out, const struct gw_request *request)
{
    baton_json_open(out, "details", '{');
    put_finish(out, request);
    baton_json_put_uint(out, "input_length", request->params.prompt.n);
    baton_json_close(out, '}');
}

/* Writes the event of an entry. */
static void write_token(struct gw_choice *choice, size_t at, bool is_last)
{
    struct gw_event event;
    gw_event_open(&event, choice, NULL);
    baton_json_put_uint(&event.out, "index", at + 1);
    put_token(&event.out, "token", choice, at);
    put_top(&event.out, "top_tokens", choice, at);
    if (is_last) {
        put_full_text(&event.out, choice);
        put_last_details(&event.out, choice->request);
    } else {
        baton_json_put_null(&event.out, "generated_text");
        baton_json_put_null(&event.out, "details");
    }
    gw_choice_put_steps(choice, &event.out);
    gw_event_close(&event);
}

/* Writes the entries that are ready. The entry that ends the output by its length waits for
 * write_end, because the last token's event contains the end. */
static void write_tokens(struct gw_choice *choice, const char *text, size_t n_text)
{
    struct gw_logprobs *logprobs = &choice->logprobs;
    const struct gw_request *request = choice->request;
    bool is_whole = (int64_t)request->output.tokens.n >= request->params.max_new_tokens;
    size_t n = logprobs->n_ready;
    baton_buf_append(&choice->text, text, n_text);
    if (n && n == logprobs->n && is_whole)
        n--;
    for (; logprobs->n_taken < n; logprobs->n_taken++)
        write_token(choice, logprobs->n_taken, false);
}

/* The last event has a token and the end. After a stop string the last token's event may have been
 * sent already: it is then repeated with an empty text, so that clients do not add its text
 * twice. */
static void write_end(struct gw_choice *choice)
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

const struct gw_answer_writer gw_tgi_writer = {
    .options_bytes = sizeof(struct gw_tgi_options),
    .text = write_tokens,
    .end = write_end,
    .put_choice = put_choice,
    .usage_names = {"input_length", "generated_tokens"},
};

/* ---- errors ---- */

/* https://huggingface.co/docs/text-generation-inference/reference/api_reference */
static const char *type_of(int status)
{
    switch (status) {
    case 401:
    case 403:
        return "authentication";
    case 404:
        return "not_found";
    case 429:
    case 503:
        return "overloaded";
    default:
        return status >= 500 ? "generation" : "validation";
    }
}

static void put_error(struct baton_buf *out, const struct gw_error *error)
{
    struct baton_json_out json = baton_json_out(out);
    baton_json_open(&json, NULL, '{');
    baton_json_put_string(&json, "error", error->message);
    baton_json_put_string(&json, "error_type", type_of(error->status));
    gw_error_put_details(&json, error);
    baton_json_close(&json, '}');
}

static void mark(struct gw_exchange *exchange)
{
    gw_exchange_set_error_writer(exchange, put_error);
    gw_exchange_set_bad_request_status(exchange, 422);
}

const struct gw_error_shape gw_tgi_errors = {
    .name = "TgiError",
    .bad_request = "422",
    .schema =
        "{\"type\":\"object\",\"required\":[\"error\",\"error_type\"],\"properties\":{\"error\":{"
        "\"type\":\"string\"},\"error_type\":{\"type\":\"string\"}," GW_ERROR_DETAILS "}}",
    .mark = mark,
};
