#include "gateway/api/anthropic/messages.h"

#include "common/base/array.h"
#include "gateway/api/answer.h"
#include "gateway/api/anthropic/conversation.h"
#include "gateway/api/anthropic/thread.h"
#include "gateway/api/anthropic/writer.h"
#include "gateway/api/completion/builder.h"
#include "gateway/api/params/grammar.h"

enum { MAX_COUNTED_TOKENS = 1 << 20 };

static const struct gw_alias aliases[] = {{"stop", "stop_sequences"}};
static const struct gw_dialect dialect = {.aliases = aliases, .n_aliases = BATON_N_OF(aliases)};

/* Answers the body of a whole conversation, and takes ownership of its thread. */
static void answer(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *body,
                   struct gw_thread *thread)
{
    struct gw_completion_builder builder;
    struct gw_conversation conversation;
    int64_t max_tokens = 0;
    gw_builder_init(&builder, api, exchange, body, &dialect);
    builder.options.own = thread;
    builder.options.has_secret_id = thread->kept;
    gw_params_read_model(api, &builder.fields, &builder.params.shared.adapters);
    gw_params_read(api, &builder.fields, &builder.params);
    gw_field_bool(&builder.fields, "stream", &builder.options.streaming);
    gw_field_int(&builder.fields, "max_tokens", 1, gw_builder_max_tokens(api), &max_tokens);
    (void)gw_field(&builder.fields, "metadata");     /* no effect on tokens */
    (void)gw_field(&builder.fields, "service_tier"); /* no effect on tokens */
    gw_conversation_read(&builder.fields, &conversation);
    gw_grammar_hold_to_schema(&builder.fields, &builder.params.shared, "output_config",
                              conversation.schema);
    gw_builder_end_fields(&builder);
    gw_builder_set_chat(&builder, &conversation.input);
    gw_builder_extract_tools(&builder);
    gw_builder_extract_reasoning(&builder);
    gw_builder_constrain_tools(&builder, conversation.tools, &conversation.choice);
    gw_conversation_fini(&conversation);
    gw_builder_start(&builder, &gw_anthropic_writer, "max_tokens", max_tokens,
                     api->facts->n_context_tokens);
}

void gw_anthropic_messages(struct gw_api *api, struct gw_exchange *exchange,
                           const struct baton_json *body)
{
    struct gw_fields given = gw_fields(body);
    struct gw_thread thread;
    given.schema = api->schema;
    struct baton_json *whole = gw_thread_begin(&thread, api, exchange, &given);
    if (whole)
        answer(api, exchange, whole, &thread);
    else
        gw_completion_refuse(api, exchange, &given.problem);
    baton_json_free(whole);
}

static void answer_count(struct gw_exchange *exchange, size_t n)
{
    struct gw_answer answer;
    gw_answer_open(&answer);
    baton_json_put_uint(&answer.out, "input_tokens", n);
    gw_answer_close(&answer, exchange, 200);
}

/* Also counts conversations that are longer than the context: clients call this to find out. */
void gw_anthropic_count_tokens(struct gw_api *api, struct gw_exchange *exchange,
                               const struct baton_json *body)
{
    struct gw_completion_builder builder;
    struct gw_conversation conversation;
    struct baton_tokens tokens = {0};
    gw_builder_init(&builder, api, exchange, body, NULL);
    gw_params_read_model(api, &builder.fields, &builder.params.shared.adapters);
    gw_conversation_read(&builder.fields, &conversation);
    gw_builder_end_fields(&builder);
    if (gw_prompts_encode_chat(api, &builder.fields, &conversation.input, MAX_COUNTED_TOKENS,
                               &tokens, NULL))
        gw_answer_problem(exchange, &builder.fields.problem);
    else
        answer_count(exchange, tokens.n);
    baton_tokens_fini(&tokens);
    gw_conversation_fini(&conversation);
    gw_builder_fini(&builder);
}
