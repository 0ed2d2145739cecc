#include "gateway/api/llamacpp/writer.h"

#include <stdio.h>
#include <string.h>

#include "gateway/api/completion/timings.h"

enum { NO_SLOT = -1 };

/* The writer's state of a choice. */
struct sent {
    size_t n_tokens;  /* output tokens whose ids were sent */
    bool has_newline; /* so far */
};

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

/* llama.cpp lists the biases that end a text: null is minus infinity. */
static void put_biases(struct baton_json_out *out, const struct gw_params *params,
                       const struct baton_model_facts *facts)
{
    baton_json_open(out, "logit_bias", '[');
    for (int i = 0; params->ignore_eos && i < facts->n_eos; i++) {
        baton_json_open(out, NULL, '{');
        baton_json_put_uint(out, "token", facts->eos_ids[i]);
        baton_json_put_null(out, "bias");
        baton_json_close(out, '}');
    }
    for (size_t i = 0; i < params->sampling.n_bias; i++) {
        baton_json_open(out, NULL, '{');
        baton_json_put_uint(out, "token", params->sampling.bias[i].id);
        baton_json_put_real(out, "bias", params->sampling.bias[i].bias);
        baton_json_close(out, '}');
    }
    baton_json_close(out, ']');
}

static void put_settings(struct baton_json_out *out, const struct gw_choice *choice)
{
    const struct gw_request *request = choice->request;
    const struct gw_params *params = &request->params;
    baton_json_open(out, "generation_settings", '{');
    baton_json_put_uint(out, "seed", params->sampling.seed);
    gw_llamacpp_put_sampling(out, &params->sampling);
    baton_json_put_int(out, "n_predict", params->max_new_tokens);
    baton_json_put_bool(out, "ignore_eos", params->ignore_eos);
    baton_json_put_bool(out, "stream", params->streaming);
    put_stops(out, &request->output.text);
    put_biases(out, params, choice->completion->api->facts);
    baton_json_put_real(out, "adaptive_target", -1); /* as llama.cpp tells that it is off */
    baton_json_put_real(out, "adaptive_decay", 0.9);
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
    const struct gw_llamacpp_options *own = options->own;
    const struct gw_request *request = choice->request;
    struct sent *sent = choice->own;
    size_t n_tokens = n_predicted(choice);
    bool has_ids = (options->streaming || own->return_tokens) && n_tokens;
    baton_json_put_int(out, "index", choice->index);
    baton_json_put_text(out, "content", text, n);
    put_tokens(out, &request->output.tokens, has_ids ? sent->n_tokens : request->output.tokens.n);
    sent->n_tokens = request->output.tokens.n;
    sent->has_newline |= n && memchr(text, '\n', n);
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

static void put_whole(struct gw_choice *choice, struct baton_json_out *out)
{
    const struct gw_llamacpp_options *own = choice->completion->options.own;
    const struct gw_request *request = choice->request;
    const struct baton_buf *prompt = &choice->prompt->text, *text = &choice->text;
    put_head(choice, out, baton_buf_text(text), text->len, true);
    baton_json_put_string(out, "model", gw_completion_model(choice->completion));
    put_settings(out, choice);
    baton_json_put_text(out, "prompt", baton_buf_text(prompt), prompt->len);
    baton_json_put_bool(out, "has_new_line", ((const struct sent *)choice->own)->has_newline);
    baton_json_put_bool(out, "truncated", own->was_cut);
    put_stop_type(out, request);
    baton_json_put_uint(out, "tokens_cached", gw_request_first_attempt(request)->cached_tokens);
    gw_timings_put_so_far(out, request);
}

/* Returns the member at a path whose names stand between slashes; NULL: there is none. */
static const struct baton_json *member_at(const struct baton_json *value, const char *path)
{
    char name[64];
    for (size_t n; value; path += n + 1) {
        n = strcspn(path, "/");
        (void)snprintf(name, sizeof name, "%.*s", (int)n, path);
        value = n < sizeof name ? baton_json_get(value, name) : NULL;
        if (!path[n])
            return value;
    }
    return NULL;
}

static void put_members(struct baton_json_out *out, const struct baton_buf *whole,
                        const struct baton_json *paths)
{
    struct baton_json *object = NULL;
    if (baton_json_parse(whole->data, whole->len, &object, NULL))
        out->buf->err = BATON_NO_MEMORY;
    for (size_t i = 0; object && i < baton_json_size(paths); i++) {
        const char *path = baton_json_string(baton_json_at(paths, i), NULL);
        const struct baton_json *member = member_at(object, path);
        if (member)
            baton_json_put_value(out, path, member);
    }
    baton_json_free(object);
}

/* The last event of a choice, or its whole answer. */
static void put_choice(struct gw_choice *choice, struct baton_json_out *out)
{
    const struct gw_llamacpp_options *own = choice->completion->options.own;
    struct baton_buf whole;
    if (!own->fields) {
        put_whole(choice, out);
        return;
    }
    baton_buf_init(&whole, out->buf->max_bytes);
    struct baton_json_out all = baton_json_out(&whole);
    baton_json_open(&all, NULL, '{');
    put_whole(choice, &all);
    baton_json_close(&all, '}');
    if (baton_buf_err(&whole))
        out->buf->err = baton_buf_err(&whole);
    else
        put_members(out, &whole, own->fields);
    baton_buf_fini(&whole);
}

static void fini_options(void *options)
{
    struct gw_llamacpp_options *own = options;
    baton_json_free(own->fields);
    own->fields = NULL;
}

/* ---- events ---- */

static void write_text(struct gw_choice *choice, const char *text, size_t n)
{
    struct gw_event event;
    gw_event_open(&event, choice, NULL);
    put_head(choice, &event.out, text, n, false);
    if (choice->completion->options.timings_per_token)
        gw_timings_put_so_far(&event.out, choice->request);
    gw_event_close(&event);
}

static void write_progress(struct gw_choice *choice, uint64_t n_tokens, uint64_t n_cached)
{
    struct gw_event event;
    gw_event_open(&event, choice, NULL);
    put_head(choice, &event.out, "", 0, false);
    gw_timings_put_progress(&event.out, choice->request, n_tokens, n_cached);
    gw_event_close(&event);
}

static void write_end(struct gw_choice *choice)
{
    struct gw_event event;
    gw_event_open(&event, choice, NULL);
    put_choice(choice, &event.out);
    gw_event_close(&event);
}

const struct gw_answer_writer gw_llamacpp_writer = {
    .options_bytes = sizeof(struct gw_llamacpp_options),
    .choice_bytes = sizeof(struct sent),
    .fini_options = fini_options,
    .progress = write_progress,
    .text = write_text,
    .end = write_end,
    .put_choice = put_choice,
    .usage_names = {"tokens_evaluated", "tokens_predicted"},
};

/* ---- errors ---- */

static void put_error(struct baton_buf *out, const struct gw_error *error)
{
    gw_error_put_typed(out, error, error->n_ctx ? "exceed_context_size_error" : NULL);
}

static void mark(struct gw_exchange *exchange)
{
    gw_exchange_set_error_writer(exchange, put_error);
}

const struct gw_error_shape gw_llamacpp_errors = {
    .name = "LlamacppError",
    .schema = "{\"type\":\"object\",\"required\":[\"error\"],\"properties\":{\"error\":{"
              "\"type\":\"object\",\"required\":[\"message\",\"type\",\"code\"],\"properties\":{"
              "\"type\":{\"type\":\"string\"}," GW_ERROR_MEMBERS "}}}}",
    .mark = mark,
};
