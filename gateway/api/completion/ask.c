#include "gateway/api/completion/ask.h"

#include <string.h>

#include <stdlib.h>

#include "common/base/clock.h"

void gw_ask_init(struct gw_ask *ask, struct gw_api *api, struct gw_exchange *exchange,
                 const struct baton_json *body, const struct gw_dialect *dialect)
{
    *ask = (struct gw_ask){
        .api = api, .exchange = exchange, .fields = gw_fields(body), .options.n = 1};
    ask->fields.dialect = dialect;
    ask->fields.schema = api->schema;
}

int64_t gw_ask_most_tokens(const struct gw_api *api)
{
    return api->refuses_overlong ? api->facts->n_context_tokens : INT32_MAX;
}

void gw_ask_read_progress(struct gw_ask *ask)
{
    bool wanted = false;
    gw_field_bool(&ask->fields, "return_progress", &wanted);
    ask->params.shared.prompt_progress = wanted && ask->options.streaming;
}

/* Ignored fields are told, so that nobody wonders why one has no effect. */
static void tell_ignored(const struct gw_fields *fields, struct gw_exchange *exchange)
{
    char list[512];
    if (!fields->failed && gw_fields_list_unknown(fields, list, sizeof list))
        (void)!gw_exchange_add_header(exchange, "x-baton-ignored", list); /* or it is not told */
}

void gw_ask_end_fields(struct gw_ask *ask)
{
    if (ask->api->refuses_unknown)
        gw_fields_refuse_unknown(&ask->fields);
    else
        tell_ignored(&ask->fields, ask->exchange);
    ask->params.parsed_ns = baton_now_ns();
}

/* The assistant's turn ends where its template says so. */
static void add_chat_stops(const struct gw_api *api, struct gw_params *params)
{
    struct baton_sampling_params *sampling = &params->sampling;
    if (!params->ignore_eos)
        sampling->n_stop_ids +=
            baton_chat_stop_ids(api->chat, api->tokenizer,
                                sampling->stop_ids + sampling->n_stop_ids, GW_MAX_CHAT_STOP_IDS);
}

void gw_ask_take_chat(struct gw_ask *ask, const struct baton_chat_input *input)
{
    add_chat_stops(ask->api, &ask->params.shared);
    gw_prompts_read_chat(ask->api, &ask->fields, input, &ask->prompts);
}

static void show_id(struct gw_params *params, uint32_t id)
{
    for (int i = 0; i < params->n_shown_ids; i++)
        if (params->shown_ids[i] == id)
            return;
    if (params->n_shown_ids < GW_MAX_SHOWN_IDS)
        params->shown_ids[params->n_shown_ids++] = id;
}

/* Special tokens of markers are shown, or the parser would not see them. */
static void show_marker(void *user, const char *marker)
{
    struct gw_ask *ask = user;
    struct baton_tokenizer *tokenizer = ask->api->tokenizer;
    struct baton_tokens tokens = {0};
    struct baton_why why;
    const struct baton_span all = {.start = 0, .end = strlen(marker)};
    if (!baton_tokenizer_encode_spans(tokenizer, marker, strlen(marker), &all, 1, strlen(marker),
                                      &tokens, &why))
        for (size_t i = 0; i < tokens.n; i++)
            if (baton_tokenizer_is_special(tokenizer, tokens.ids[i]))
                show_id(&ask->params.shared, tokens.ids[i]);
    baton_tokens_fini(&tokens);
}

void gw_ask_take_tools(struct gw_ask *ask)
{
    struct baton_answer_form *form = &ask->options.form;
    const struct baton_answer_form *of_prompt = ask->prompts.n ? &ask->prompts.items[0].form : NULL;
    if (!of_prompt || !of_prompt->tools)
        return;
    form->tools = of_prompt->tools;
    form->opens_call = of_prompt->opens_call;
    ask->options.functions = baton_json_share(of_prompt->functions);
    form->functions = ask->options.functions;
    baton_tool_format_markers(form->tools, show_marker, ask);
}

void gw_ask_take_reasoning(struct gw_ask *ask)
{
    struct baton_answer_form *form = &ask->options.form;
    const struct baton_answer_form *of_prompt = ask->prompts.n ? &ask->prompts.items[0].form : NULL;
    bool is_json = ask->params.shared.sampling.grammar.kind == BATON_GRAMMAR_JSON_SCHEMA;
    /* A schema begins with the answer: the model cannot end the reasoning that its prompt opens. */
    if (!of_prompt || !of_prompt->reasoning || (of_prompt->opens_reasoning && is_json))
        return;
    form->reasoning = of_prompt->reasoning;
    form->opens_reasoning = of_prompt->opens_reasoning;
    baton_reasoning_format_markers(form->reasoning, show_marker, ask);
}

/* The number of choices is known once the prompts are. */
static void check_choices(struct gw_ask *ask)
{
    size_t n = ask->prompts.n;
    if ((int64_t)n * ask->options.n > ask->api->max_batch)
        gw_fields_fail(&ask->fields, "n", "out_of_range",
                       "n: %zu prompts x %d are more than the %lld choices that are allowed", n,
                       ask->options.n, (long long)ask->api->max_batch);
}

void gw_ask_start(struct gw_ask *ask, const struct gw_answer_writer *writer,
                  const char *length_name, int64_t wanted, int64_t fallback)
{
    struct gw_fields *fields = &ask->fields;
    int64_t *lengths = NULL;
    if (wanted &&
        !ask->api->refuses_overlong) { /* a fallback is cut to what the context has left */
        fallback = wanted;
        wanted = 0;
    }
    ask->params.tokenized_ns = baton_now_ns();
    if (!fields->failed)
        check_choices(ask);
    if (!fields->failed)
        lengths =
            gw_prompts_lengths(ask->api, fields, &ask->prompts, length_name, wanted, fallback);
    if (fields->failed) {
        gw_completion_refuse(ask->api, ask->exchange, &fields->problem);
        gw_completion_options_fini(&ask->options, writer);
    } else {
        gw_completion_start(ask->api, ask->exchange, writer, &ask->options, &ask->params,
                            &ask->prompts, lengths);
    }
    ask->options.functions = NULL; /* it is freed, or the completion's */
    free(lengths);
    gw_ask_fini(ask);
}

void gw_ask_fini(struct gw_ask *ask)
{
    gw_prompts_fini(&ask->prompts);
    gw_params_fini(&ask->params);
    baton_json_free(ask->options.functions);
}
