#include "gateway/api/llamacpp/writer.h"

#include "gateway/api/answer.h"
#include "gateway/api/completion/timings.h"

enum { EVENT_MAX_BYTES = 4 << 20, NO_SLOT = -1 };

/* ---- parts of every answer ---- */

static void put_filter(struct baton_json_out *out, const struct baton_sampling_field *field,
                       const struct baton_sampling_params *sampling)
{
    double value = baton_sampling_field_get(field, sampling);
    if (field->type == BATON_PARAM_COUNT)
        baton_json_put_uint(out, field->name, (uint64_t)value);
    else
        baton_json_put_real(out, field->name, value);
}

void gw_llamacpp_put_sampling(struct baton_json_out *out,
                              const struct baton_sampling_params *sampling)
{
    baton_json_put_real(out, "temperature", sampling->temperature);
    for (int i = 0; i < BATON_N_FILTERS; i++)
        put_filter(out, baton_filter_field(i), sampling);
    baton_json_put_real(out, "repeat_penalty", sampling->repetition_penalty);
    baton_json_put_real(out, "presence_penalty", sampling->presence_penalty);
    baton_json_put_real(out, "frequency_penalty", sampling->frequency_penalty);
    baton_json_put_uint(out, "n_probs", sampling->top_logprobs);
}

static void put_stops(struct baton_json_out *out, const struct baton_text_stream *text)
{
    baton_json_open(out, "stop", '[');
    for (int i = 0; i < text->n_stops; i++)
        baton_json_put_text(out, NULL, text->stops[i].text, text->stops[i].n_bytes);
    baton_json_close(out, ']');
}

static void put_settings(struct baton_json_out *out, const struct gw_request *request)
{
    const struct gw_params *params = &request->params;
    baton_json_open(out, "generation_settings", '{');
    baton_json_put_uint(out, "seed", params->sampling.seed);
    gw_llamacpp_put_sampling(out, &params->sampling);
    baton_json_put_int(out, "n_predict", params->max_new_tokens);
    baton_json_put_bool(out, "ignore_eos", params->ignore_eos);
    baton_json_put_bool(out, "stream", params->streaming);
    put_stops(out, &request->output.text);
    baton_json_close(out, '}');
}

static void put_tokens(struct baton_json_out *out, const struct baton_tokens *tokens, size_t from)
{
    baton_json_open(out, "tokens", '[');
    for (size_t i = from; i < tokens->n; i++)
        baton_json_put_uint(out, NULL, tokens->ids[i]);
    baton_json_close(out, ']');
}

static size_t n_predicted(const struct gw_choice *choice)
{
    return choice->completion->options.no_output ? 0 : choice->request->output.tokens.n;
}

static void put_head(struct gw_choice *choice, struct baton_json_out *out, const char *text,
                     size_t n, bool stop)
{
    const struct gw_completion_options *options = &choice->completion->options;
    const struct gw_request *request = choice->request;
    size_t n_tokens = n_predicted(choice);
    bool tells = (options->streaming || options->return_tokens) && n_tokens;
    baton_json_put_int(out, "index", choice->index);
    baton_json_put_text(out, "content", text, n);
    put_tokens(out, &request->output.tokens, tells ? choice->n_told : request->output.tokens.n);
    choice->n_told = request->output.tokens.n;
    baton_json_put_bool(out, "stop", stop);
    baton_json_put_int(out, "id_slot", NO_SLOT);
    baton_json_put_uint(out, "tokens_predicted", n_tokens);
    baton_json_put_uint(out, "tokens_evaluated", request->params.prompt.n);
    if (options->post_sampling_probs)
        gw_logprobs_put_drawn(&choice->logprobs, out, "completion_probabilities",
                              choice->completion->api->tokenizer);
    else if (request->params.sampling.logprobs)
        gw_logprobs_put_identified(&choice->logprobs, out, "completion_probabilities",
                                   choice->completion->api->tokenizer);
    gw_choice_put_steps(choice, out);
}

static void put_stop_type(struct baton_json_out *out, const struct gw_request *request)
{
    const struct baton_text_stop *met = baton_text_stream_met(&request->output.text);
    baton_json_put_string(out, "stop_type",
                          met                                          ? "word"
                          : request->output.finish == GW_FINISH_LENGTH ? "limit"
                                                                       : "eos");
    baton_json_put_text(out, "stopping_word", met ? met->text : "", met ? met->n_bytes : 0);
}

/* The last event of a choice, or its whole answer. */
static void put_end(struct gw_choice *choice, struct baton_buf *buf, const char *text, size_t n)
{
    const struct gw_completion *completion = choice->completion;
    const struct gw_request *request = choice->request;
    const struct baton_buf *prompt = &choice->prompt->text;
    struct baton_json_out out = baton_json_out(buf);
    baton_json_open(&out, NULL, '{');
    put_head(choice, &out, text, n, true);
    baton_json_put_string(&out, "model", completion->api->names->list[0]);
    put_settings(&out, request);
    baton_json_put_text(&out, "prompt", baton_buf_text(prompt), prompt->len);
    baton_json_put_bool(&out, "truncated", false);
    put_stop_type(&out, request);
    baton_json_put_uint(&out, "tokens_cached", gw_request_first_attempt(request)->cached_tokens);
    gw_timings_put_so_far(&out, request);
    baton_json_close(&out, '}');
}

/* ---- the response writer ---- */

static void write_piece(struct gw_choice *choice, const char *text, size_t n)
{
    struct baton_buf event;
    baton_buf_init(&event, EVENT_MAX_BYTES);
    struct baton_json_out out = baton_json_out(&event);
    baton_json_open(&out, NULL, '{');
    put_head(choice, &out, text, n, false);
    if (choice->completion->options.timings_per_token)
        gw_timings_put_so_far(&out, choice->request);
    baton_json_close(&out, '}');
    gw_completion_write(choice->completion, choice, NULL, event.data, event.len);
    baton_buf_fini(&event);
}

static void on_restart(struct gw_choice *choice)
{
    gw_choice_restart(choice);
    choice->n_told = 0;
}

static void write_progress(struct gw_choice *choice, uint64_t n_tokens, uint64_t cached_tokens)
{
    struct baton_buf event;
    baton_buf_init(&event, EVENT_MAX_BYTES);
    struct baton_json_out out = baton_json_out(&event);
    baton_json_open(&out, NULL, '{');
    put_head(choice, &out, "", 0, false);
    gw_timings_put_progress(&out, choice->request, n_tokens, cached_tokens);
    baton_json_close(&out, '}');
    gw_completion_write(choice->completion, choice, NULL, event.data, event.len);
    baton_buf_fini(&event);
}

static void on_prompt_progress(struct gw_choice *choice, const Baton__V1__PromptProgress *progress)
{
    gw_completion_begin(choice->completion);
    write_progress(choice, progress->n_tokens, progress->cached_tokens);
}

static void on_first(struct gw_choice *choice)
{
    const struct gw_params *params = &choice->request->params;
    gw_completion_begin(choice->completion);
    if (params->prompt_progress)
        write_progress(choice, params->prompt.n,
                       gw_request_first_attempt(choice->request)->cached_tokens);
}

static void on_token(struct gw_choice *choice, const struct gw_token *token)
{
    if (!choice->completion->options.no_output)
        gw_choice_keep_token(choice, token);
}

static void on_text(struct gw_choice *choice, const char *text, size_t n)
{
    gw_logprobs_shown(&choice->logprobs, choice->request->output.shown_bytes);
    if (choice->completion->options.no_output)
        return;
    if (choice->completion->options.streaming)
        write_piece(choice, text, n);
    else
        baton_buf_append(&choice->text, text, n);
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
    struct gw_completion *completion = choice->completion;
    gw_choice_end_logprobs(choice);
    gw_choice_count(choice);
    put_end(choice, &choice->result, baton_buf_text(&choice->text), choice->text.len);
    if (completion->options.streaming)
        gw_completion_write(completion, choice, NULL, choice->result.data, choice->result.len);
    gw_choice_close(choice, end);
}

static void put_error_usage(struct baton_buf *buf, const struct gw_completion *completion)
{
    struct baton_json_out out = baton_json_out(buf);
    baton_json_open(&out, NULL, '{');
    baton_json_put_uint(&out, "tokens_evaluated", completion->totals.prompt_tokens);
    baton_json_put_uint(&out, "tokens_predicted", completion->totals.output_tokens);
    baton_json_close(&out, '}');
}

static void on_fail(struct gw_choice *choice, const struct gw_failure *failure)
{
    gw_choice_fail(choice, failure, put_error_usage, NULL);
}

const struct gw_response_writer gw_llamacpp_writer = {.restart = on_restart,
                                                      .prompt_progress = on_prompt_progress,
                                                      .first = on_first,
                                                      .token = on_token,
                                                      .text = on_text,
                                                      .finish = on_finish,
                                                      .fail = on_fail};
