#include "gateway/api/anthropic/messages.h"

#include "common/base/array.h"
#include "gateway/api/answer.h"
#include "gateway/api/anthropic/conversation.h"
#include "gateway/api/anthropic/writer.h"
#include "gateway/api/completion/ask.h"
#include "gateway/api/params/grammar.h"

enum { MAX_COUNTED_TOKENS = 1 << 20 };

static const struct gw_alias aliases[] = {{"stop", "stop_sequences"}};
static const struct gw_dialect dialect = {.aliases = aliases, .n_aliases = BATON_N_OF(aliases)};

void gw_anthropic_messages(struct gw_api *api, struct gw_exchange *exchange,
                           const struct baton_json *body)
{
    struct gw_ask ask;
    struct gw_conversation conversation;
    int64_t max_tokens = 0;
    gw_ask_init(&ask, api, exchange, body, &dialect);
    gw_params_read_model(api, &ask.fields);
    gw_params_read(api, &ask.fields, &ask.params);
    gw_field_bool(&ask.fields, "stream", &ask.options.streaming);
    gw_field_int(&ask.fields, "max_tokens", 1, gw_ask_most_tokens(api), &max_tokens);
    (void)gw_field(&ask.fields, "metadata");     /* these two choose no token */
    (void)gw_field(&ask.fields, "service_tier"); /* either */
    gw_conversation_read(&ask.fields, &conversation);
    gw_grammar_hold_to_schema(&ask.fields, &ask.params.shared, "output_config",
                              conversation.schema);
    gw_ask_end_fields(&ask);
    gw_ask_take_chat(&ask, &conversation.input);
    gw_ask_take_tools(&ask);
    gw_ask_take_reasoning(&ask);
    gw_ask_hold_to_tools(&ask, conversation.tools, &conversation.choice);
    gw_conversation_fini(&conversation);
    gw_ask_start(&ask, &gw_anthropic_writer, "max_tokens", max_tokens,
                 api->facts->n_context_tokens);
}

static void answer_count(struct gw_exchange *exchange, size_t n)
{
    struct gw_answer answer;
    gw_answer_open(&answer);
    baton_json_put_uint(&answer.out, "input_tokens", n);
    gw_answer_close(&answer, exchange, 200);
}

/* Counts conversations that are longer than the context too: that is what clients ask for. */
void gw_anthropic_count_tokens(struct gw_api *api, struct gw_exchange *exchange,
                               const struct baton_json *body)
{
    struct gw_ask ask;
    struct gw_conversation conversation;
    struct baton_tokens tokens = {0};
    gw_ask_init(&ask, api, exchange, body, NULL);
    gw_params_read_model(api, &ask.fields);
    gw_conversation_read(&ask.fields, &conversation);
    gw_ask_end_fields(&ask);
    if (gw_prompts_encode_chat(api, &ask.fields, &conversation.input, MAX_COUNTED_TOKENS, &tokens,
                               NULL))
        gw_answer_problem(exchange, &ask.fields.problem);
    else
        answer_count(exchange, tokens.n);
    baton_tokens_fini(&tokens);
    gw_conversation_fini(&conversation);
    gw_ask_fini(&ask);
}
