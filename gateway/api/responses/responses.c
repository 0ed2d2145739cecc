#include "gateway/api/responses/responses.h"

#include <stdio.h>
#include <string.h>

#include "common/base/array.h"
#include "gateway/api/answer.h"
#include "gateway/api/completion/builder.h"
#include "gateway/api/json_util.h"
#include "gateway/api/openai/messages.h"
#include "gateway/api/responses/input.h"
#include "gateway/api/responses/turn.h"
#include "gateway/api/responses/writer.h"
#include "gateway/api/streams/streams.h"

/* ---- POST ---- */

/* The translated body (input.c) keeps the field names that the client used. */
static const struct gw_alias aliases[] = {{"messages", "input"},
                                          {"response_format", "text"},
                                          {"reasoning_effort", "reasoning"},
                                          {"repetition_penalty", "repeat_penalty"}};
static const char *const off_at_minus_one[] = {"top_k", "seed", "max_output_tokens"};
static const struct gw_dialect dialect = {
    .aliases = aliases,
    .n_aliases = BATON_N_OF(aliases),
    .off_at_minus_one = off_at_minus_one,
    .n_off = BATON_N_OF(off_at_minus_one),
};

/* Fields that do not affect tokens, or that gw_turn_init has read. */
static const char *const without_effect[] = {"store",
                                             "previous_response_id",
                                             "conversation",
                                             "instructions",
                                             "metadata",
                                             "user",
                                             "prompt_cache_key",
                                             "prompt_cache_retention",
                                             "max_tool_calls",
                                             "safety_identifier",
                                             "stream_options",
                                             "parallel_tool_calls"};

static const char *const unsupported[] = {"prompt"};

static void read_include(struct gw_fields *fields, struct baton_sampling_params *sampling)
{
    const struct baton_json *include =
        gw_field_of(fields, "include", GW_IS_ARRAY, "an array of strings");
    bool wrong = false;
    for (size_t i = 0; i < baton_json_size(include) && !wrong; i++) {
        const struct baton_json *name = baton_json_at(include, i);
        wrong = !gw_json_is_string(name);
        if (baton_json_is(name, "message.output_text.logprobs"))
            sampling->logprobs = true;
    }
    if (wrong)
        gw_fields_fail(fields, "include", "invalid_type", "include: must be an array of strings");
}

/* Reads "truncation", after max_output_tokens. */
static void read_truncation(struct gw_completion_builder *builder, const struct gw_turn *turn)
{
    static const char *const words[] = {"disabled", "auto"};
    builder->prompts.shortening.wanted =
        gw_field_word(&builder->fields, "truncation", words, BATON_N_OF(words)) > 0;
    builder->prompts.shortening.n_answer = turn->max_output_tokens;
}

/* Reads "background", after stream. */
static void read_background(struct gw_completion_builder *builder, struct gw_turn *turn)
{
    struct gw_fields *fields = &builder->fields;
    bool keeps_streams = builder->api->streams->bounds.window_ns;
    gw_field_bool(fields, "background", &turn->is_background);
    builder->options.is_background = turn->is_background;
    if (turn->is_background && builder->options.streaming && !keeps_streams)
        gw_fields_fail(fields, "background", "invalid_value",
                       "background: not together with stream: true, because the gateway keeps no "
                       "streams (--resume-s 0)");
    if (turn->is_background && !turn->stores)
        gw_fields_fail(fields, "background", "invalid_value",
                       "background: the response must be stored, and store is false, or the "
                       "gateway stores none");
}

static void read_rest(struct gw_completion_builder *builder, struct gw_turn *turn)
{
    struct gw_fields *fields = &builder->fields;
    struct baton_sampling_params *sampling = &builder->params.shared.sampling;
    int64_t n_top = 0;
    gw_field_bool(fields, "stream", &builder->options.streaming);
    read_background(builder, turn);
    gw_field_int(fields, "max_output_tokens", 1, gw_builder_max_tokens(builder->api),
                 &turn->max_output_tokens);
    gw_field_int(fields, "top_logprobs", 0, BATON_MAX_LISTED, &n_top);
    read_include(fields, sampling);
    read_truncation(builder, turn);
    for (size_t i = 0; i < BATON_N_OF(without_effect); i++)
        (void)gw_field(fields, without_effect[i]);
    gw_params_read_tier(fields, &builder->params.shared.priority);
    gw_fields_refuse(fields, unsupported, BATON_N_OF(unsupported));
    sampling->logprobs |= n_top > 0;
    sampling->top_logprobs = turn->top_logprobs = (uint32_t)n_top;
    turn->temperature = sampling->temperature;
    turn->top_p = sampling->top_p;
}

/* Answers the body that was made of the given fields, and takes ownership of the turn. */
static void respond(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *body,
                    const struct gw_fields *given, struct gw_turn *turn)
{
    struct gw_completion_builder builder;
    struct baton_chat_input input = {0};
    struct gw_tool_choice choice;
    gw_builder_init(&builder, api, exchange, body, &dialect);
    gw_fields_leave_out_too(&builder.fields, given);
    builder.options.own = turn;
    builder.options.has_secret_id = true;
    gw_params_read_model(api, &builder.fields, &builder.params.shared.adapters);
    gw_params_read(api, &builder.fields, &builder.params);
    gw_messages_read(&builder.fields, &input, &choice);
    choice.schema = "parameters";
    read_rest(&builder, turn);
    gw_builder_end_fields(&builder);
    gw_builder_set_chat(&builder, &input);
    gw_builder_extract_tools(&builder);
    gw_builder_extract_reasoning(&builder);
    gw_builder_constrain_tools(&builder, input.tools, &choice);
    gw_builder_start(&builder, &gw_responses_writer, "max_output_tokens", turn->max_output_tokens,
                     api->facts->n_context_tokens);
}

/* ---- POST input_tokens ---- */

/* Counts the tokens of the prompt of the body that was made of the given fields. */
static void count(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *body,
                  const struct gw_fields *given, struct gw_turn *turn)
{
    struct gw_completion_builder builder;
    struct baton_chat_input input = {0};
    struct gw_tool_choice choice;
    struct baton_tokens tokens = {0};
    struct gw_answer answer;
    gw_builder_init(&builder, api, exchange, body, &dialect);
    gw_fields_leave_out_too(&builder.fields, given);
    gw_params_read_model(api, &builder.fields, &builder.params.shared.adapters);
    gw_params_read(api, &builder.fields, &builder.params);
    gw_messages_read(&builder.fields, &input, &choice);
    read_rest(&builder, turn);
    gw_builder_end_fields(&builder);
    if (gw_prompts_encode_chat(api, &builder.fields, &input, SIZE_MAX, &tokens, NULL)) {
        gw_answer_problem(exchange, &builder.fields.problem);
    } else {
        gw_answer_open(&answer);
        baton_json_put_string(&answer.out, "object", "response.input_tokens");
        baton_json_put_uint(&answer.out, "input_tokens", tokens.n);
        gw_answer_close(&answer, exchange, 200);
    }
    baton_tokens_fini(&tokens);
    gw_builder_fini(&builder);
    gw_turn_fini(turn);
}

/* ---- both ---- */

static void run(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *body,
                void (*act)(struct gw_api *api, struct gw_exchange *exchange,
                            const struct baton_json *body, const struct gw_fields *given,
                            struct gw_turn *turn))
{
    struct gw_fields fields = gw_fields(body);
    fields.schema = api->schema;
    struct gw_turn turn;
    gw_turn_init(&turn, api, exchange, &fields);
    struct baton_json *made = gw_responses_body(&fields, turn.conversation, !api->refuses_unknown);
    if (made || api->schema) { /* a schema records both readers, also without a valid body */
        act(api, exchange, made ? made : body, &fields, &turn);
    } else {
        gw_completion_refuse(api, exchange, &fields.problem);
        gw_turn_fini(&turn);
    }
    baton_json_free(made);
}

void gw_responses(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *body)
{
    run(api, exchange, body, respond);
}

void gw_responses_input_tokens(struct gw_api *api, struct gw_exchange *exchange,
                               const struct baton_json *body)
{
    run(api, exchange, body, count);
}
