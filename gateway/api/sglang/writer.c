#include "gateway/api/sglang/writer.h"

#include "common/base/clock.h"

/* Writes why the text ended, as an object. */
static void put_finish(struct baton_json_out *out, const struct gw_request *request)
{
    const struct baton_text_stop *met = baton_text_stream_met(&request->output.text);
    const struct baton_tokens *tokens = &request->output.tokens;
    bool cut = request->output.finish == GW_FINISH_LENGTH;
    baton_json_open(out, "finish_reason", '{');
    baton_json_put_string(out, "type", cut ? "length" : "stop");
    if (cut)
        baton_json_put_uint(out, "length", tokens->n);
    else if (met)
        baton_json_put_text(out, "matched", met->text, met->n_bytes);
    else if (tokens->n)
        baton_json_put_uint(out, "matched", tokens->ids[tokens->n - 1]);
    baton_json_close(out, '}');
}

/* Writes the scored tokens of the output as [logprob, id, text]. */
static void put_logprobs(struct baton_json_out *out, const struct gw_choice *choice)
{
    const struct gw_logprobs *logprobs = &choice->logprobs;
    const struct baton_tokenizer *tokenizer = choice->completion->api->tokenizer;
    if (!choice->request->params.sampling.logprobs)
        return;
    baton_json_open(out, "output_token_logprobs", '[');
    for (size_t i = 0; i < logprobs->n_ready; i++) {
        const struct gw_logprob *self = &logprobs->entries[i].self;
        size_t n = 0;
        const char *bytes = baton_tokenizer_bytes(tokenizer, self->token, &n);
        baton_json_open(out, NULL, '[');
        baton_json_put_real(out, NULL, self->logprob);
        baton_json_put_uint(out, NULL, self->token);
        baton_json_put_text(out, NULL, bytes ? bytes : "", n);
        baton_json_close(out, ']');
    }
    baton_json_close(out, ']');
}

static void put_meta(struct baton_json_out *out, const struct gw_choice *choice, bool is_over)
{
    const struct gw_request *request = choice->request;
    char id[GW_ANSWER_ID_BYTES];
    baton_json_open(out, "meta_info", '{');
    baton_json_put_string(out, "id", gw_choice_id(choice, "gen", id));
    if (is_over)
        put_finish(out, request);
    else
        baton_json_put_null(out, "finish_reason");
    baton_json_put_uint(out, "prompt_tokens", request->params.prompt.n);
    baton_json_put_uint(out, "completion_tokens", request->output.tokens.n);
    baton_json_put_uint(out, "cached_tokens", gw_request_first_attempt(request)->cached_tokens);
    baton_json_put_string(out, "weight_version", "default");
    put_logprobs(out, choice);
    baton_json_put_real(out, "e2e_latency",
                        baton_seconds(baton_now_ns() - request->times.arrived_ns));
    baton_json_close(out, '}');
}

static void put_all(struct baton_json_out *out, struct gw_choice *choice, bool is_over)
{
    const struct baton_tokens *tokens = &choice->request->output.tokens;
    gw_choice_put_text(choice, out, "text", false);
    baton_json_open(out, "output_ids", '[');
    for (size_t i = 0; i < tokens->n; i++)
        baton_json_put_uint(out, NULL, tokens->ids[i]);
    baton_json_close(out, ']');
    put_meta(out, choice, is_over);
    gw_choice_put_steps(choice, out);
}

static void put_choice(struct gw_choice *choice, struct baton_json_out *out)
{
    put_all(out, choice, true);
}

static void write_event(struct gw_choice *choice, bool is_over)
{
    struct gw_event event;
    gw_event_open(&event, choice, NULL);
    if (choice->completion->n_choices > 1)
        baton_json_put_int(&event.out, "index", choice->index);
    put_all(&event.out, choice, is_over);
    gw_event_close(&event);
}

static void write_text(struct gw_choice *choice, const char *text, size_t n)
{
    baton_buf_append(&choice->text, text, n);
    write_event(choice, false);
}

static void write_end(struct gw_choice *choice)
{
    write_event(choice, true);
}

static void write_done(struct gw_completion *completion)
{
    static const char done[] = "[DONE]";
    gw_completion_write(completion, NULL, NULL, done, sizeof done - 1);
}

const struct gw_answer_writer gw_sglang_writer = {
    .text = write_text,
    .end = write_end,
    .end_stream = write_done,
    .put_choice = put_choice,
    .usage_names = {"prompt_tokens", "completion_tokens"},
};
