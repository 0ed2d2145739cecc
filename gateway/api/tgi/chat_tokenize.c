#include "common/base/utf8.h"
#include "gateway/api/answer.h"
#include "gateway/api/completion/builder.h"
#include "gateway/api/openai/messages.h"
#include "gateway/api/tgi/generate.h"

enum { TEXT_MAX_BYTES = 256 << 20 };

/* Writes the tokens, each with its text and place in the prompt, in characters, and the prompt. */
static void put_tokens(struct baton_json_out *out, const struct baton_tokenizer *tokenizer,
                       const struct baton_tokens *tokens)
{
    struct baton_buf text;
    size_t n_chars = 0;
    baton_buf_init(&text, TEXT_MAX_BYTES);
    baton_json_open(out, "tokenize_response", '[');
    for (size_t i = 0; i < tokens->n; i++) {
        size_t n = 0;
        const char *bytes = baton_tokenizer_bytes(tokenizer, tokens->ids[i], &n);
        baton_buf_append(&text, bytes ? bytes : "", n);
        baton_json_open(out, NULL, '{');
        baton_json_put_uint(out, "id", tokens->ids[i]);
        baton_json_put_text(out, "text", bytes ? bytes : "", n);
        baton_json_put_uint(out, "start", n_chars);
        n_chars += baton_utf8_count(bytes ? bytes : "", n);
        baton_json_put_uint(out, "stop", n_chars);
        baton_json_close(out, '}');
    }
    baton_json_close(out, ']');
    baton_json_put_text(out, "templated_text", baton_buf_text(&text), text.len);
    baton_buf_fini(&text);
}

void gw_tgi_chat_tokenize(struct gw_api *api, struct gw_exchange *exchange,
                          const struct baton_json *body)
{
    struct gw_completion_builder builder;
    struct baton_chat_input input = {0};
    struct gw_tool_choice choice; /* has no effect on the prompt */
    struct baton_tokens tokens = {0};
    struct gw_answer answer;
    gw_builder_init(&builder, api, exchange, body, NULL);
    gw_params_read_model(api, &builder.fields);
    gw_messages_read(&builder.fields, &input, &choice);
    gw_builder_end_fields(&builder);
    if (gw_prompts_encode_chat(api, &builder.fields, &input, SIZE_MAX, &tokens, NULL)) {
        gw_answer_problem(exchange, &builder.fields.problem);
    } else {
        gw_answer_open(&answer);
        put_tokens(&answer.out, api->tokenizer, &tokens);
        gw_answer_close(&answer, exchange, 200);
    }
    baton_tokens_fini(&tokens);
    gw_builder_fini(&builder);
}
