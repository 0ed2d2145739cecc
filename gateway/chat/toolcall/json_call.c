/* Parses calls in JSON. */
#include "gateway/chat/toolcall/call.h"

/* Counts brackets; the JSON parser checks the text between them. */
static void scan_byte(struct baton_call *call, char c)
{
    if (call->in_string) {
        call->in_string = call->escaped || c != '"';
        call->escaped = !call->escaped && c == '\\';
    } else if (c == '"') {
        call->in_string = true;
    } else if (c == '{' || c == '[') {
        call->depth++;
    } else if (c == '}' || c == ']') {
        call->is_whole = --call->depth == 0;
    }
}

static enum baton_verdict find_value(const struct baton_tool_format *format,
                                     const struct baton_buf *held, struct baton_call *call)
{
    size_t at = baton_skip_space(held, call->body);
    if (at == held->len)
        return at - call->body > BATON_TOOL_SPACE_MAX_BYTES ? BATON_NO : BATON_MORE;
    if (held->data[at] != '{' && (held->data[at] != '[' || format->middle))
        return BATON_NO;
    call->value = call->scanned = at;
    call->has_value = true;
    return BATON_YES;
}

enum baton_verdict baton_json_call_scan(const struct baton_tool_format *format,
                                        const struct baton_buf *held, struct baton_call *call)
{
    enum baton_verdict met = call->has_value ? BATON_YES : find_value(format, held, call);
    if (met != BATON_YES)
        return met;
    while (!call->is_whole && call->scanned < held->len)
        scan_byte(call, held->data[call->scanned++]);
    if (call->is_whole)
        return BATON_YES;
    return held->len > BATON_TOOL_CALL_MAX_BYTES ? BATON_NO : BATON_MORE;
}

static const struct baton_json *arguments_of(const struct baton_tool_format *format,
                                             const struct baton_json *value)
{
    return format->name_is_key ? baton_json_member(baton_json_first(value))
                               : baton_json_get(value, format->arguments_key);
}

/* Returns the name; NULL when the value has none. */
static const char *named(const struct baton_tool_format *format, const struct baton_json *value,
                         size_t *n)
{
    if (!format->name_is_key)
        return baton_json_string(baton_json_get(value, format->name_key), n);
    const char *name = baton_json_kind(value) == BATON_JSON_OBJECT && baton_json_size(value) == 1
                           ? baton_json_key(baton_json_first(value))
                           : NULL;
    *n = name ? strlen(name) : 0;
    return name;
}

static bool is_call(const struct baton_tool_format *format, const struct baton_json *value)
{
    size_t n = 0;
    const char *name = named(format, value, &n);
    const struct baton_json *arguments = name ? arguments_of(format, value) : NULL;
    /* Any object would match a call without arguments, where a call is the whole text. */
    return name && n && n <= BATON_TOOL_NAME_MAX_BYTES &&
           (baton_json_kind(arguments) == BATON_JSON_OBJECT || (!arguments && format->begin));
}

static void emit(const struct baton_tool_format *format, const struct baton_json *value,
                 const struct baton_tool_sink *sink)
{
    size_t n = 0;
    const char *name = named(format, value, &n);
    (void)baton_call_tell(name, n, arguments_of(format, value), sink);
}

/* Passes on the value's named calls: one, or a list of them. */
static bool take_named(const struct baton_tool_format *format, const struct baton_json *value,
                       size_t n_told, const struct baton_tool_sink *sink)
{
    bool is_list = baton_json_kind(value) == BATON_JSON_ARRAY;
    size_t n = is_list ? baton_json_size(value) : 1;
    /* All are checked first: text that is partly calls must stay whole. */
    for (size_t i = 0; i < n; i++)
        if (!is_call(format, is_list ? baton_json_at(value, i) : value))
            return false;
    for (size_t i = n_told; i < n; i++)
        emit(format, is_list ? baton_json_at(value, i) : value, sink);
    return n > 0;
}

bool baton_json_call_take(const struct baton_tool_format *format, const struct baton_buf *held,
                          const struct baton_call *call, const struct baton_tool_sink *sink)
{
    struct baton_json *value;
    struct baton_why why;
    if (format->middle && call->teller.n_told)
        return true;
    if (baton_json_parse(held->data + call->value, call->scanned - call->value, &value, &why))
        return false;
    bool is_taken = format->middle
                        ? baton_call_tell(held->data + call->name, call->n_name, value, sink)
                        : take_named(format, value, (size_t)call->teller.n_told, sink);
    baton_json_free(value);
    return is_taken;
}
