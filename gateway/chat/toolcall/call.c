#include "gateway/chat/toolcall/call.h"

bool baton_call_tell(const char *name, size_t n_name, const struct baton_json *arguments,
                     const struct baton_tool_sink *sink)
{
    struct baton_buf text;
    if (!name || !n_name || n_name > BATON_TOOL_NAME_MAX_BYTES ||
        (arguments && baton_json_kind(arguments) != BATON_JSON_OBJECT))
        return false;
    /* Escapes may lengthen the arguments, each byte to at most six. */
    baton_buf_init(&text, (size_t)BATON_TOOL_CALL_MAX_BYTES * 8);
    struct baton_json_out out = baton_json_out(&text);
    if (arguments)
        baton_json_put_value(&out, NULL, arguments);
    else
        baton_buf_append(&text, "{}", 2);
    sink->call(sink->user, name, n_name, baton_buf_text(&text), text.len);
    baton_buf_fini(&text);
    return true;
}

void baton_call_init(struct baton_call *call, size_t at)
{
    *call = (struct baton_call){.at = at, .scanned = at};
    baton_call_teller_init(&call->teller);
}

void baton_call_free(struct baton_call *call)
{
    baton_json_free(call->arguments);
    call->arguments = NULL;
    baton_call_teller_fini(&call->teller);
}

/* ---- the text before the body ---- */

/* Moves *at past text; NO when it is not there, or after too much white space. */
static enum baton_verdict pass(const struct baton_buf *held, size_t *at, const char *text)
{
    /* A marker that begins with a line break includes its white space. */
    size_t first = *text == '\n' ? *at : baton_skip_space(held, *at);
    enum baton_verdict met = baton_begins_with(held, first, text);
    if (first - *at > BATON_TOOL_SPACE_MAX_BYTES)
        return BATON_NO;
    if (met == BATON_YES)
        *at = first + strlen(text);
    return met;
}

/* Moves *at past text that may be missing. */
static enum baton_verdict pass_optional(const struct baton_buf *held, size_t *at, const char *text)
{
    enum baton_verdict met = text ? pass(held, at, text) : BATON_YES;
    return met == BATON_NO ? BATON_YES : met;
}

static bool is_of_name(char c, bool is_numbered)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.' || (is_numbered && c == ':');
}

static enum baton_verdict pass_word(const struct baton_buf *held, size_t *at, bool is_numbered)
{
    size_t first = *at;
    while (*at < held->len && is_of_name(held->data[*at], is_numbered))
        (*at)++;
    if (*at - first > BATON_TOOL_NAME_MAX_BYTES)
        return BATON_NO;
    return *at == held->len ? BATON_MORE : *at > first ? BATON_YES : BATON_NO;
}

/* Cuts "functions.f:0" to f. */
static void trim_name(const struct baton_tool_format *format, const struct baton_buf *held,
                      struct baton_call *call)
{
    const char *prefix = format->name_prefix, *name = held->data + call->name;
    size_t n_prefix = prefix ? strlen(prefix) : 0;
    if (prefix && call->n_name > n_prefix && !memcmp(name, prefix, n_prefix)) {
        call->name += n_prefix;
        call->n_name -= n_prefix;
    }
    const char *colon =
        format->is_numbered ? memrchr(held->data + call->name, ':', call->n_name) : NULL;
    if (colon)
        call->n_name = (size_t)(colon - (held->data + call->name));
}

/* Moves *at past an id, which may be missing, and its end. */
static enum baton_verdict pass_id(const struct baton_buf *held, size_t *at, const char *end)
{
    enum baton_verdict met = pass_word(held, at, false);
    return met == BATON_MORE ? met : pass(held, at, end);
}

static enum baton_verdict pass_name(const struct baton_tool_format *format,
                                    const struct baton_buf *held, struct baton_call *call,
                                    size_t *at)
{
    size_t first = baton_skip_space(held, *at);
    *at = first;
    enum baton_verdict met = format->id_end ? pass_id(held, at, format->id_end) : BATON_YES;
    if (met != BATON_YES)
        return met;
    call->name = first = *at;
    met = pass_word(held, at, format->is_numbered);
    call->n_name = *at - first;
    if (met == BATON_YES && format->id_mark) {
        met = pass(held, at, format->id_mark);
        met = met == BATON_YES ? pass_word(held, at, false) : met == BATON_NO ? BATON_YES : met;
    }
    if (met == BATON_YES && format->middle)
        met = pass(held, at, format->middle);
    if (met == BATON_YES)
        trim_name(format, held, call);
    return met == BATON_YES && !call->n_name ? BATON_NO : met;
}

/* Finds the head of a call. If it turns out to be no call, text before call->scanned is not
 * searched again. */
enum baton_verdict baton_call_find_head(const struct baton_tool_format *format,
                                        const struct baton_buf *held, struct baton_call *call)
{
    size_t at = call->at;
    bool has_name =
        format->middle || format->syntax == BATON_TOOL_TAGS || format->syntax == BATON_TOOL_GEMMA;
    enum baton_verdict met = pass_optional(held, &at, format->open);
    call->scanned = at;
    if (met == BATON_YES && format->begin)
        met = pass(held, &at, format->begin);
    if (met != BATON_YES)
        return met;
    call->scanned = at;
    if (has_name)
        met = pass_name(format, held, call, &at);
    call->has_body = met == BATON_YES;
    if (call->has_body)
        call->body = call->scanned = at;
    return met;
}
