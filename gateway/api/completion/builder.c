#include "gateway/api/completion/builder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/clock.h"
#include "gateway/api/completion/form_structure.h"
#include "gateway/api/params/grammar.h"

void gw_builder_init(struct gw_completion_builder *builder, struct gw_api *api,
                     struct gw_exchange *exchange, const struct baton_json *body,
                     const struct gw_dialect *dialect)
{
    *builder = (struct gw_completion_builder){
        .api = api, .exchange = exchange, .fields = gw_fields(body), .options.n = 1};
    builder->fields.dialect = dialect;
    builder->fields.schema = api->schema;
}

int64_t gw_builder_max_tokens(const struct gw_api *api)
{
    return api->refuses_overlong ? api->facts->n_context_tokens : INT32_MAX;
}

void gw_builder_read_progress(struct gw_completion_builder *builder)
{
    bool wanted = false;
    gw_field_bool(&builder->fields, "return_progress", &wanted);
    builder->params.shared.prompt_progress = wanted && builder->options.streaming;
}

void gw_builder_end_fields(struct gw_completion_builder *builder)
{
    gw_answer_end_fields(&builder->fields, builder->exchange,
                         builder->is_strict || builder->api->refuses_unknown);
    builder->params.parsed_ns = baton_now_ns();
}

/* Adds the texts by which another turn begins, where a token alone does not tell. */
static void add_next_turns(struct gw_completion_params *params,
                           const struct baton_tool_format *tools)
{
    for (size_t i = 0; tools->open_ends_turn && i < BATON_N_OF(tools->next_turns) &&
                       params->n_stops < BATON_STOP_MAX;
         i++) {
        params->stops[params->n_stops] = tools->next_turns[i];
        params->stop_bytes[params->n_stops++] = strlen(tools->next_turns[i]);
    }
}

/* Adds the tokens with which the chat template ends the assistant's turn. */
static void add_chat_stops(const struct gw_api *api, struct gw_completion_params *params,
                           const struct gw_prompts *prompts)
{
    struct baton_sampling_params *sampling = &params->shared.sampling;
    const struct baton_tool_format *tools = prompts->n ? prompts->items[0].form.tools : NULL;
    if (params->shared.ignore_eos)
        return;
    sampling->n_stop_ids +=
        baton_chat_stop_ids(api->chat, api->tokenizer, tools,
                            sampling->stop_ids + sampling->n_stop_ids, GW_MAX_CHAT_STOP_IDS);
    if (tools)
        add_next_turns(params, tools);
}

void gw_builder_add_fim_stops(struct gw_completion_builder *builder)
{
    const struct baton_fim *fim = builder->api->fim;
    struct baton_sampling_params *sampling = &builder->params.shared.sampling;
    if (builder->params.shared.ignore_eos)
        return;
    for (int i = 0; i < fim->n_ends && sampling->n_stop_ids < BATON_MAX_STOP_IDS; i++)
        sampling->stop_ids[sampling->n_stop_ids++] = fim->ends[i];
}

void gw_builder_set_chat(struct gw_completion_builder *builder,
                         const struct baton_chat_input *input)
{
    builder->thinking = (struct gw_thinking_bound){.is_given = input->bounds_thinking,
                                                   .max_tokens = input->thinking_max,
                                                   .message = input->thinking_message};
    gw_prompts_read_chat(builder->api, &builder->fields, input, &builder->prompts);
    add_chat_stops(builder->api, &builder->params, &builder->prompts);
}

static void show_id(struct gw_params *params, uint32_t id)
{
    for (int i = 0; i < params->n_shown_ids; i++)
        if (params->shown_ids[i] == id)
            return;
    if (params->n_shown_ids < GW_MAX_SHOWN_IDS)
        params->shown_ids[params->n_shown_ids++] = id;
}

/* Shows the special tokens of a marker in the text, because the parser looks for markers there. */
static void show_marker(void *user, const char *marker)
{
    struct gw_completion_builder *builder = user;
    struct baton_tokenizer *tokenizer = builder->api->tokenizer;
    struct baton_tokens tokens = {0};
    struct baton_why why;
    const struct baton_span all = {.start = 0, .end = strlen(marker)};
    if (!baton_tokenizer_encode_spans(tokenizer, marker, strlen(marker), &all, 1, strlen(marker),
                                      &tokens, &why))
        for (size_t i = 0; i < tokens.n; i++)
            if (baton_tokenizer_is_special(tokenizer, tokens.ids[i]))
                show_id(&builder->params.shared, tokens.ids[i]);
    baton_tokens_fini(&tokens);
}

void gw_builder_extract_tools(struct gw_completion_builder *builder)
{
    struct baton_answer_form *form = &builder->options.form;
    const struct baton_answer_form *of_prompt =
        builder->prompts.n ? &builder->prompts.items[0].form : NULL;
    if (!of_prompt || !of_prompt->tools)
        return;
    form->tools = of_prompt->tools;
    form->opens_call = of_prompt->opens_call;
    builder->options.functions = baton_json_share(of_prompt->functions);
    form->functions = builder->options.functions;
    baton_tool_format_markers(form->tools, show_marker, builder);
}

void gw_builder_extract_reasoning(struct gw_completion_builder *builder)
{
    struct baton_answer_form *form = &builder->options.form;
    const struct baton_answer_form *of_prompt =
        builder->prompts.n ? &builder->prompts.items[0].form : NULL;
    if (!of_prompt || !of_prompt->reasoning)
        return;
    form->reasoning = of_prompt->reasoning;
    form->opens_reasoning = of_prompt->opens_reasoning;
    form->skips_reasoning = of_prompt->skips_reasoning;
    form->is_continued = of_prompt->is_continued;
    baton_reasoning_format_markers(form->reasoning, show_marker, builder);
}

/* Lets the form of the output begin behind the reasoning. */
static void hold_behind_reasoning(struct gw_completion_builder *builder)
{
    const struct baton_grammar_text *text = &builder->params.shared.sampling.grammar;
    struct baton_buf buf;
    if (!gw_form_structure_is_needed(&builder->options.form, text->kind, builder->params.bad_words))
        return;
    baton_buf_init(&buf, (size_t)BATON_GRAMMAR_MAX_BYTES);
    struct baton_json_out out = baton_json_out(&buf);
    if (gw_form_structure_put(&out, &builder->options.form, text, builder->params.bad_words))
        gw_fields_fail(&builder->fields, "response_format", "out_of_range",
                       "the form of the output is longer than %d bytes behind reasoning",
                       BATON_GRAMMAR_MAX_BYTES);
    else
        gw_grammar_hold_to_structure(&builder->fields, &builder->params.shared, &buf);
    baton_buf_fini(&buf);
}

/* Checks the number of choices, which is known once the prompts are. */
static void check_choices(struct gw_completion_builder *builder)
{
    size_t n = builder->prompts.n;
    if ((int64_t)n * builder->options.n > builder->api->max_batch)
        gw_fields_fail(&builder->fields, "n", "out_of_range",
                       "n: %zu prompts x %d are more than the %lld choices that are allowed", n,
                       builder->options.n, (long long)builder->api->max_batch);
}

/* Tells in a header what the prompts lack, because few clients compare counts of tokens. */
void gw_builder_tell_dropped(const struct gw_completion_builder *builder)
{
    const struct gw_shortening *dropped = &builder->prompts.shortening;
    char text[64];
    if (!dropped->n_messages && !dropped->n_tokens)
        return;
    (void)snprintf(text, sizeof text, "messages=%zu, tokens=%zu", dropped->n_messages,
                   dropped->n_tokens);
    (void)!gw_exchange_add_header(builder->exchange, "x-baton-dropped", text);
}

void gw_builder_start(struct gw_completion_builder *builder, const struct gw_answer_writer *writer,
                      const char *length_name, int64_t wanted, int64_t fallback)
{
    struct gw_fields *fields = &builder->fields;
    int64_t *lengths = NULL;
    bool refuses_overlong = builder->is_strict || builder->api->refuses_overlong;
    if (wanted && !refuses_overlong) { /* unlike `wanted`, a fallback is cut to the context */
        fallback = wanted;
        wanted = 0;
    }
    builder->params.tokenized_ns = baton_now_ns();
    if (!fields->failed)
        hold_behind_reasoning(builder);
    if (!fields->failed && builder->prompts.n)
        gw_thinking_bound_set(&builder->thinking, builder->api->tokenizer,
                              &builder->prompts.items[0].form, fields,
                              &builder->params.shared.sampling);
    if (!fields->failed)
        check_choices(builder);
    if (!fields->failed)
        lengths = gw_prompts_lengths(builder->api, fields, &builder->prompts, length_name, wanted,
                                     fallback);
    if (fields->failed) {
        gw_completion_refuse(builder->api, builder->exchange, &fields->problem);
        gw_completion_options_fini(&builder->options, writer);
    } else {
        gw_builder_tell_dropped(builder);
        gw_completion_start(builder->api, builder->exchange, writer, &builder->options,
                            &builder->params, &builder->prompts, lengths);
    }
    builder->options.functions = NULL; /* freed above, or owned by the completion */
    free(lengths);
    gw_builder_fini(builder);
}

void gw_builder_fini(struct gw_completion_builder *builder)
{
    gw_prompts_fini(&builder->prompts);
    gw_params_fini(&builder->params);
    baton_json_free(builder->options.functions);
}
