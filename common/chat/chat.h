/* Chat templates: a conversation as the token ids that a model was trained on.
 *
 * A model brings its template as Jinja text (chat_template.jinja, or tokenizer_config.json's
 * chat_template). We run no Jinja: the text is recognised as one of the known families, which are
 * written out in C, and a conversation of plain messages then reads as that Jinja would write it,
 * with add_generation_prompt: its BOS, its default system text, its trimming, its refusals. Only
 * the template's own text may become special tokens; what users write is ordinary text, whatever it
 * spells.
 *
 * Ownership: a chat owns its texts; tokens go to the caller's array.
 * Threading: immutable once created; encode uses the tokenizer's scratch.
 * Errors:    create: INVALID (an override that is no family), NO_MEMORY. encode: INVALID with a
 *            sentence for the client (roles in an order that the template refuses), LIMIT,
 *            NO_MEMORY.
 */
#ifndef BATON_CHAT_CHAT_H
#define BATON_CHAT_CHAT_H

#include "common/tokenizer/tokenizer.h"

struct baton_chat;
struct baton_chat_template;

enum baton_role { BATON_ROLE_SYSTEM, BATON_ROLE_USER, BATON_ROLE_ASSISTANT };

struct baton_chat_message {
    enum baton_role role;
    const char *content; /* UTF-8, may hold U+0000 */
    size_t n_bytes;
};

/* override is "auto" (the model's own template), or a family's name: chatml, llama2, llama3, gemma,
 * mistral-v1, mistral-v3, mistral-tekken, mistral-v7, zephyr, phi3, phi4. A model without a
 * template, or with one of no known family, also has a chat: see baton_chat_problem. Takes bos and
 * eos out of source. */
enum baton_err baton_chat_create(struct baton_chat_template *source, const char *override,
                                 struct baton_chat **chat, struct baton_why *why) BATON_MUST_CHECK;

/* For a caller that wants nothing else of the model at model_path. Errors besides create's: those
 * of baton_chat_template_read. */
enum baton_err baton_chat_open(const char *model_path, const char *override,
                               struct baton_chat **chat, struct baton_why *why) BATON_MUST_CHECK;
/* NULL is fine. */
void baton_chat_close(struct baton_chat *chat);

/* "chatml", "llama2", ..., "none", "unknown". */
const char *baton_chat_family(const struct baton_chat *chat);

/* NULL when conversations can be encoded, else a sentence that tells a client why not. */
const char *baton_chat_problem(const struct baton_chat *chat);

/* Appends the ids of the conversation, ready for the assistant's next turn. */
enum baton_err baton_chat_encode(const struct baton_chat *chat, struct baton_tokenizer *tokenizer,
                                 const struct baton_chat_message *messages, size_t n_messages,
                                 size_t max_tokens, struct baton_tokens *out,
                                 struct baton_why *why) BATON_MUST_CHECK;

/* The ids that end the assistant's turn in this family, as far as the tokenizer knows them as
 * special tokens. Returns how many, at most max. */
size_t baton_chat_stop_ids(const struct baton_chat *chat, const struct baton_tokenizer *tokenizer,
                           uint32_t *ids, size_t max);

#endif
