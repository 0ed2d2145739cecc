/* Elements of a structure, written to the open array; private to gateway/chat/toolcall.
 *
 * Ownership: everything is borrowed.
 * Threading: pure.
 * Errors:    in the JSON's buffer.
 */
#ifndef BATON_GATEWAY_CHAT_TOOLCALL_STRUCTURE_ELEMENTS_H
#define BATON_GATEWAY_CHAT_TOOLCALL_STRUCTURE_ELEMENTS_H

#include <string.h>

#include "common/base/json.h"

static inline void open_format(struct baton_json_out *out, const char *key, const char *type)
{
    baton_json_open(out, key, '{');
    baton_json_put_string(out, "type", type);
}

static inline void open_list(struct baton_json_out *out, const char *type, const char *list)
{
    open_format(out, NULL, type);
    baton_json_open(out, list, '[');
}

static inline void close_list(struct baton_json_out *out)
{
    baton_json_close(out, ']');
    baton_json_close(out, '}');
}

static inline void put_one(struct baton_json_out *out, const char *type, const char *key,
                           const char *text, size_t n)
{
    if (!n)
        return;
    open_format(out, NULL, type);
    baton_json_put_text(out, key, text, n);
    baton_json_close(out, '}');
}

static inline void put_text(struct baton_json_out *out, const char *text)
{
    put_one(out, "const_string", "value", text, strlen(text));
}

static inline void put_regex(struct baton_json_out *out, const char *pattern)
{
    put_one(out, "regex", "pattern", pattern, strlen(pattern));
}

/* Returns the length of the token in brackets at the start of the text; 0 when there is none. If
 * the vocabulary has no such token, the structure accepts it as text. */
static inline size_t token_at(const char *text)
{
    static const char minimax[] = "]<]minimax[>["; /* one token, whose brackets are no pair */
    if (!strncmp(text, minimax, sizeof minimax - 1))
        return sizeof minimax - 1;
    const char *end = *text == '<' ? strchr(text, '>') : *text == '[' ? strchr(text, ']') : NULL;
    return end ? (size_t)(end - text) + 1 : 0;
}

static inline void put_marker(struct baton_json_out *out, const char *marker)
{
    size_t n_text = 0;
    for (; marker && marker[n_text];) {
        size_t n_token = token_at(marker + n_text);
        if (!n_token) {
            n_text++;
            continue;
        }
        put_one(out, "const_string", "value", marker, n_text);
        put_one(out, "token", "token", marker + n_text, n_token);
        marker += n_text + n_token;
        n_text = 0;
    }
    put_one(out, "const_string", "value", marker, n_text);
}

/* Allows the white space of templates. */
static inline void put_space(struct baton_json_out *out)
{
    put_regex(out, "\\n?");
}

static inline void put_text_until(struct baton_json_out *out, const char *excluded)
{
    open_list(out, "any_text", "excludes");
    if (excluded)
        baton_json_put_string(out, NULL, excluded);
    close_list(out);
}

/* Makes the elements between open_maybe and close_maybe optional. */
static inline void open_maybe(struct baton_json_out *out)
{
    open_format(out, NULL, "repeat");
    baton_json_put_int(out, "min", 0);
    baton_json_put_int(out, "max", 1);
    open_format(out, "content", "sequence");
    baton_json_open(out, "elements", '[');
}

static inline void close_maybe(struct baton_json_out *out)
{
    close_list(out);
    baton_json_close(out, '}');
}

static inline void put_schema(struct baton_json_out *out, const struct baton_json *schema)
{
    open_format(out, NULL, "json_schema");
    baton_json_put_value(out, "json_schema", schema);
    baton_json_close(out, '}');
}

#endif
