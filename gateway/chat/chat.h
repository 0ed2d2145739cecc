/* Chat templates: they turn a conversation into the token ids that a model was trained on.
 *
 * A model has its template as Jinja text (chat_template.jinja, or chat_template of
 * tokenizer_config.json); gateway/chat/jinja runs it within bounds. Templates for models without
 * one are built in. Only the template's own text may become special tokens; users' text is ordinary
 * text, whatever it spells.
 *
 *     messages, tools, ... (JSON) --values--> Jinja --text with spans--> tokenizer --> ids
 *
 * Ownership: a chat owns its templates and texts; tokens go to the caller's array.
 * Threading: immutable once created; encode uses the tokenizer's scratch.
 * Errors:    create: INVALID (a name or file that is not a template), NO_MEMORY. encode: INVALID
 *            with a sentence for the client (the template's refusal, or the place of its failure),
 *            LIMIT, NO_MEMORY.
 */
#ifndef BATON_GATEWAY_CHAT_CHAT_H
#define BATON_GATEWAY_CHAT_CHAT_H

#include "common/base/json.h"
#include "engine/tokenizer/tokenizer.h"
#include "gateway/chat/toolcall/parser.h"

struct baton_chat;
struct baton_chat_template;

/* The input of a template. Its caller has checked the fields that the API promises; the JSON is
 * borrowed. */
struct baton_chat_input {
    const struct baton_json *messages; /* array of {"role", "content", ...} with known roles */
    const struct baton_json *tools;    /* array, or NULL: none */
    const struct baton_json *documents;
    const struct baton_json *kwargs; /* object: more variables by name; NULL: none */
    const char *reasoning_effort;    /* NULL: not given */
    enum { BATON_THINKING_ANY, BATON_THINKING_OFF, BATON_THINKING_ON } thinking; /* the wish */
    bool bounds_thinking; /* to the tokens of thinking_max; templates do not see them */
    uint32_t thinking_max;
    const char *thinking_message; /* ends reasoning that is cut off; NULL: none */
    bool no_generation_prompt;    /* does not open the assistant's next turn */
    bool continues;               /* leaves the last message open, to be continued */
};

/* Creates a chat. override is "auto" (the model's own template), the name of a built-in one
 * (chatml, llama2, llama3, gemma, mistral-v1, mistral-v3, mistral-tekken, mistral-v7, zephyr, phi3,
 * phi4), or a file: a name with a / or the ending .jinja. A model without a readable template also
 * has a chat: see baton_chat_problem. Takes ownership of bos and eos from source. */
enum baton_err baton_chat_create(struct baton_chat_template *source, const char *override,
                                 struct baton_chat **chat, struct baton_why *why) BATON_MUST_CHECK;

/* NULL is fine. */
void baton_chat_close(struct baton_chat *chat);

/* Returns the source of the template: "model", the name of a built-in one, "file", or "none". */
const char *baton_chat_source(const struct baton_chat *chat);

/* Returns the template's source; "" without one. */
const char *baton_chat_template_text(const struct baton_chat *chat);

/* tool_form returns the form of tool calls in the template, NULL without one; has_reasoning
 * is true when the template has reasoning markers. */
const char *baton_chat_tool_form(const struct baton_chat *chat);
bool baton_chat_has_reasoning(const struct baton_chat *chat);

/* Writes what the template can write of conversations, without and with tools; null without one. */
void baton_chat_put_abilities(const struct baton_chat *chat, struct baton_json_out *out,
                              const char *key);

/* Returns NULL when conversations can be encoded, otherwise the reason as a sentence for a
 * client. */
const char *baton_chat_problem(const struct baton_chat *chat);

/* Where later prompts may part from a conversation's: ascending positions among its tokens. */
enum { BATON_CHAT_MAX_BORDERS = 4 };
struct baton_chat_borders {
    uint32_t at[BATON_CHAT_MAX_BORDERS];
    int n;
};

/* Appends the ids of the conversation. *form, which may be NULL, receives the form of the answer;
 * it expects tool calls only if the input has tools, which form borrows. *borders (NULL: not
 * wanted) costs up to four more runs of the template. */
enum baton_err baton_chat_encode(const struct baton_chat *chat, struct baton_tokenizer *tokenizer,
                                 const struct baton_chat_input *input, size_t max_tokens,
                                 struct baton_tokens *out, struct baton_answer_form *form,
                                 struct baton_chat_borders *borders,
                                 struct baton_why *why) BATON_MUST_CHECK;

/* Writes the id that ends the assistant's turn: the special token that the template writes right
 * after the assistant's text. Returns the number of ids, at most max; 0 when it is not a special
 * token, or when calls of the offered tools' form (NULL: none are offered) begin with it.
 */
size_t baton_chat_stop_ids(const struct baton_chat *chat, const struct baton_tokenizer *tokenizer,
                           const struct baton_tool_format *tools, uint32_t *ids, size_t max);

#endif
