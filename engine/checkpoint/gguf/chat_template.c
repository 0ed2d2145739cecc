#include "engine/checkpoint/gguf/chat_template.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/utf8.h"
#include "engine/checkpoint/gguf/ids.h"

enum { TEMPLATE_MAX_BYTES = 4 << 20 };

static enum baton_err copy(struct baton_gguf_text text, char **to, struct baton_why *why)
{
    char *made = malloc(text.n + 1);
    if (!made)
        return baton_fail(why, BATON_NO_MEMORY, "out of memory");
    memcpy(made, text.bytes, text.n);
    made[text.n] = 0;
    *to = made;
    return BATON_OK;
}

static enum baton_err read_template(const struct baton_gguf *gguf, const char *key, char **jinja,
                                    size_t *n, struct baton_why *why)
{
    const struct baton_gguf_value *value = baton_gguf_find(gguf, key);
    struct baton_gguf_text text;
    if (!value)
        return BATON_OK;
    if (!baton_gguf_text(value, &text) || !baton_utf8_valid(text.bytes, text.n))
        return baton_fail(why, BATON_INVALID, "%s must be a text in UTF-8", key);
    if (text.n > TEMPLATE_MAX_BYTES)
        return baton_fail(why, BATON_LIMIT, "%s: %zu bytes, more than %d", key, text.n,
                          TEMPLATE_MAX_BYTES);
    *n = text.n;
    return copy(text, jinja, why);
}

/* Copies the text of a token; without an id there is none. */
static enum baton_err read_token(const struct baton_gguf *gguf, int64_t id, char **to,
                                 struct baton_why *why)
{
    struct baton_gguf_text text = baton_gguf_token(gguf, id);
    if (!text.n || !baton_utf8_valid(text.bytes, text.n))
        return BATON_OK;
    return copy(text, to, why);
}

enum baton_err baton_gguf_chat_template_read(const struct baton_gguf *gguf,
                                             struct baton_chat_template *source,
                                             struct baton_why *why)
{
    struct baton_gguf_ids ids;
    enum baton_err err = baton_gguf_ids_read(gguf, &ids, why);
    if (!err)
        err = read_template(gguf, "tokenizer.chat_template", &source->jinja, &source->n_jinja, why);
    if (!err)
        err = read_template(gguf, "tokenizer.chat_template.tool_use", &source->tools_jinja,
                            &source->n_tools_jinja, why);
    if (!err)
        err = read_token(gguf, ids.bos, &source->bos, why);
    return err ? err : read_token(gguf, ids.eos, &source->eos, why);
}
