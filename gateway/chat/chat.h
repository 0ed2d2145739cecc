/* Chat templates: a conversation as the token ids that a model was trained on.
 *
 * A model brings its template as Jinja text (chat_template.jinja, or tokenizer_config.json's
 * chat_template); gateway/chat/jinja runs it within bounds. Templates for models without one are
 * built in. Only the template's own text may become special tokens; what users write is ordinary
 * text, whatever it spells.
 *
 *     messages, tools, ... (JSON) --values--> Jinja --text with spans--> tokenizer --> ids
 *
 * Ownership: a chat owns its templates and texts; tokens go to the caller's array.
 * Threading: immutable once created; encode uses the tokenizer's scratch.
 * Errors:    create: INVALID (a name or file that is no template), NO_MEMORY. encode: INVALID with
 *            a sentence for the client (what the template refuses, or where it fails), LIMIT,
 *            NO_MEMORY.
 */
#ifndef BATON_GATEWAY_CHAT_CHAT_H
#define BATON_GATEWAY_CHAT_CHAT_H

#include "common/base/json.h"
#include "engine/tokenizer/tokenizer.h"
#include "gateway/chat/toolcall/parser.h"

struct baton_chat;
struct baton_chat_template;

/* What a template is given. Whoever builds it has checked the fields that the API promises; the
 * JSON is borrowed. */
struct baton_chat_input {
    const struct baton_json *messages; /* array of {"role", "content", ...} with known roles */
    const struct baton_json *tools;    /* array, or NULL: none */
    const struct baton_json *documents;
    const struct baton_json *kwargs; /* object: more variables by their names; NULL: none */
    const char *reasoning_effort;    /* NULL: not said */
    bool no_generation_prompt;       /* the assistant's next turn is not opened */
    bool continues;                  /* the last message is not closed, to be continued */
};

/* override is "auto" (the model's own template), the name of a built-in one (chatml, llama2,
 * llama3, gemma, mistral-v1, mistral-v3, mistral-tekken, mistral-v7, zephyr, phi3, phi4), or a
 * file: a name with a / or one that ends in .jinja. A model without a template, or with one that
 * cannot be read, also has a chat: see baton_chat_problem. Takes bos and eos out of source. */
enum baton_err baton_chat_create(struct baton_chat_template *source, const char *override,
                                 struct baton_chat **chat, struct baton_why *why) BATON_MUST_CHECK;

/* NULL is fine. */
void baton_chat_close(struct baton_chat *chat);

/* Where the template comes from: "model", the name of a built-in one, "file", or "none". */
const char *baton_chat_source(const struct baton_chat *chat);

/* The form of calls that the template makes a model write, NULL: none that is known; whether it has
 * markers of reasoning. */
const char *baton_chat_tool_form(const struct baton_chat *chat);
bool baton_chat_has_reasoning(const struct baton_chat *chat);

/* NULL when conversations can be encoded, else a sentence that tells a client why not. */
const char *baton_chat_problem(const struct baton_chat *chat);

/* Appends the ids of the conversation. *form, which may be NULL, is how the answer is written:
 * calls of tools only if the input has some, which form borrows. */
enum baton_err baton_chat_encode(const struct baton_chat *chat, struct baton_tokenizer *tokenizer,
                                 const struct baton_chat_input *input, size_t max_tokens,
                                 struct baton_tokens *out, struct baton_answer_form *form,
                                 struct baton_why *why) BATON_MUST_CHECK;

/* The id that ends the assistant's turn, as far as the tokenizer knows it as a special token: the
 * one that the template writes right behind what the assistant said. Returns how many, at most max.
 */
size_t baton_chat_stop_ids(const struct baton_chat *chat, const struct baton_tokenizer *tokenizer,
                           uint32_t *ids, size_t max);

#endif
