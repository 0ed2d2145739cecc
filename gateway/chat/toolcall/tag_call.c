/* Parses calls whose arguments are between tags. */
#include <stdint.h>
#include <stdio.h>

#include "gateway/chat/toolcall/call.h"

/* ---- values ---- */

const struct baton_json *baton_function_of(const struct baton_json *functions, const char *name,
                                           size_t n)
{
    for (size_t i = 0; i < baton_json_size(functions); i++) {
        const struct baton_json *function = baton_json_get(baton_json_at(functions, i), "function");
        size_t n_other = 0;
        const char *other = baton_json_string(baton_json_get(function, "name"), &n_other);
        if (other && n == n_other && !memcmp(name, other, n))
            return function;
    }
    return NULL;
}

static bool are_strings(const struct baton_json *array)
{
    size_t n = baton_json_size(array);
    for (size_t i = 0; i < n; i++)
        if (baton_json_kind(baton_json_at(array, i)) != BATON_JSON_STRING)
            return false;
    return n > 0;
}

/* True when the schema plainly allows only a string. */
static bool means_string(const struct baton_json *schema)
{
    return baton_json_is(baton_json_get(schema, "type"), "string") ||
           are_strings(baton_json_get(schema, "enum")) ||
           baton_json_kind(baton_json_get(schema, "const")) == BATON_JSON_STRING;
}

/* Returns a value. Its text is a string unless it is JSON of another type, or a Python literal:
 * templates that print values with str write these. NULL for bytes that are not text. */
static struct baton_json *value_of(const struct baton_json *schema, bool is_string,
                                   const char *text, size_t n)
{
    struct baton_json *value = NULL;
    struct baton_why why;
    is_string = is_string || means_string(schema);
    if (!is_string && baton_json_parse(text, n, &value, &why))
        value = schema ? baton_python_literal(text, n) : NULL;
    if (value && baton_json_kind(value) != BATON_JSON_STRING)
        return value;
    baton_json_free(value);
    return baton_json_new_text(text, n);
}

static void drop_pad(const char *pad, const char **text, size_t *n)
{
    size_t n_pad = strlen(pad);
    if (n_pad && *n >= n_pad && !memcmp(*text, pad, n_pad)) {
        *text += n_pad;
        *n -= n_pad;
    }
    if (n_pad && *n >= n_pad && !memcmp(*text + *n - n_pad, pad, n_pad))
        *n -= n_pad;
}

/* Adds an argument. False when the key or the value is not text. */
static bool add_argument(const struct baton_tool_format *format, const struct baton_json *functions,
                         const struct baton_buf *held, struct baton_call *call, size_t value_end)
{
    char key[BATON_TOOL_NAME_MAX_BYTES + 1];
    const char *text = held->data + call->value;
    size_t n = value_end - call->value;
    const struct baton_json *function =
        baton_function_of(functions, held->data + call->name, call->n_name);
    memcpy(key, held->data + call->key, call->n_key);
    key[call->n_key] = 0;
    drop_pad(format->tags.pad, &text, &n);
    const struct baton_json *schema =
        baton_json_get(baton_json_get(baton_json_get(function, "parameters"), "properties"), key);
    struct baton_json *value =
        strlen(key) == call->n_key ? value_of(schema, call->is_string, text, n) : NULL;
    return value && baton_json_set(call->arguments, key, value);
}

/* ---- tags ---- */

/* Checks whether the next argument or the end of the call follows white space. */
static enum baton_verdict find_next(const struct baton_tool_format *format,
                                    const struct baton_buf *held, size_t *at, bool *is_end)
{
    size_t first = baton_skip_space(held, *at);
    enum baton_verdict key = baton_begins_with(held, first, format->tags.key_begin);
    enum baton_verdict end = baton_begins_with(held, first, format->end);
    if (first - *at > BATON_TOOL_SPACE_MAX_BYTES)
        return BATON_NO;
    /* The end may begin as a key does. */
    if (end == BATON_MORE && key == BATON_YES)
        return BATON_MORE;
    if (key == BATON_YES || end == BATON_YES) {
        *at = first;
        *is_end = end == BATON_YES;
        return BATON_YES;
    }
    return key == BATON_MORE || end == BATON_MORE ? BATON_MORE : BATON_NO;
}

static enum baton_verdict step_next(const struct baton_tool_format *format,
                                    const struct baton_buf *held, struct baton_call *call)
{
    enum baton_verdict met = find_next(format, held, &call->scanned, &call->is_whole);
    if (met == BATON_YES && !call->is_whole) {
        call->scanned += strlen(format->tags.key_begin);
        call->key = call->scanned;
        call->state = BATON_CALL_KEY;
    }
    return met;
}

static enum baton_verdict step_key(const struct baton_tool_format *format,
                                   const struct baton_buf *held, struct baton_call *call)
{
    const char *end = format->tags.key_end, *from = held->data + call->key;
    const char *met = memmem(from, held->len - call->key, end, strlen(end));
    call->n_key = met ? (size_t)(met - from) : held->len - call->key;
    if (call->n_key > BATON_TOOL_NAME_MAX_BYTES || (met && !call->n_key))
        return BATON_NO;
    if (!met)
        return BATON_MORE;
    call->value = call->scanned = call->key + call->n_key + strlen(end);
    call->state = format->tags.value_begin ? BATON_CALL_VALUE_BEGIN : BATON_CALL_VALUE;
    return BATON_YES;
}

static enum baton_verdict step_value_begin(const struct baton_tool_format *format,
                                           const struct baton_buf *held, struct baton_call *call)
{
    const char *begin = format->tags.value_begin;
    size_t first = baton_skip_space(held, call->scanned);
    const char *string_begin = format->tags.string_begin;
    enum baton_verdict met = baton_begins_with(held, first, begin);
    enum baton_verdict string =
        string_begin ? baton_begins_with(held, first, string_begin) : BATON_NO;
    if (first - call->scanned > BATON_TOOL_SPACE_MAX_BYTES)
        return BATON_NO;
    if (met != BATON_YES && string != BATON_YES)
        return met == BATON_MORE || string == BATON_MORE ? BATON_MORE : BATON_NO;
    call->is_string = string == BATON_YES;
    call->value = call->scanned = first + strlen(call->is_string ? string_begin : begin);
    call->state = BATON_CALL_VALUE;
    return BATON_YES;
}

/* Writes the tag that ends the value. */
static void put_value_end(const struct baton_tool_format *format, const struct baton_buf *held,
                          const struct baton_call *call, char *end, size_t size)
{
    if (format->tags.ends_by_key)
        (void)snprintf(end, size, "%s%.*s>", format->tags.value_end, (int)call->n_key,
                       held->data + call->key);
    else
        (void)snprintf(end, size, "%s", format->tags.value_end);
}

/* A value ends where its tag is followed by the next argument or the end of the call; otherwise the
 * tag is part of the value. */
static enum baton_verdict step_value(const struct baton_tool_format *format,
                                     const struct baton_json *functions,
                                     const struct baton_buf *held, struct baton_call *call)
{
    char end[BATON_TOOL_NAME_MAX_BYTES + 64];
    put_value_end(format, held, call, end, sizeof end);
    size_t n_end = strlen(end);
    for (;;) {
        bool is_end = false;
        const char *met = memmem(held->data + call->scanned, held->len - call->scanned, end, n_end);
        if (!met) {
            /* The tag may be split between pieces. */
            if (held->len - call->scanned >= n_end)
                call->scanned = held->len - n_end + 1;
            return held->len > BATON_TOOL_CALL_MAX_BYTES ? BATON_NO : BATON_MORE;
        }
        call->scanned = (size_t)(met - held->data);
        size_t next = call->scanned + n_end;
        enum baton_verdict follows = find_next(format, held, &next, &is_end);
        if (follows == BATON_MORE)
            return BATON_MORE;
        if (follows == BATON_YES) {
            if (!add_argument(format, functions, held, call, call->scanned))
                return BATON_NO;
            call->scanned += n_end;
            call->state = BATON_CALL_NEXT;
            return BATON_YES;
        }
        /* It only looked like the end: search on behind its first byte. */
        call->scanned++;
    }
}

enum baton_verdict baton_tag_call_scan(const struct baton_tool_format *format,
                                       const struct baton_json *functions,
                                       const struct baton_buf *held, struct baton_call *call)
{
    enum baton_verdict met = BATON_YES;
    if (!call->arguments && !(call->arguments = baton_json_new_object()))
        return BATON_NO;
    while (met == BATON_YES && !call->is_whole) {
        switch (call->state) {
        case BATON_CALL_NEXT:
            met = step_next(format, held, call);
            break;
        case BATON_CALL_KEY:
            met = step_key(format, held, call);
            break;
        case BATON_CALL_VALUE_BEGIN:
            met = step_value_begin(format, held, call);
            break;
        case BATON_CALL_VALUE:
            met = step_value(format, functions, held, call);
            break;
        }
    }
    return met;
}

/* ---- telling ---- */

/* Appends a text as it stands in a JSON string, without the quotes. */
static void put_inside(struct baton_buf *out, const char *text, size_t n)
{
    struct baton_buf quoted;
    baton_buf_init(&quoted, 6 * n + 2);
    struct baton_json_out json = baton_json_out(&quoted);
    baton_json_put_text(&json, NULL, text, n);
    if (quoted.len > 2)
        baton_buf_append(out, quoted.data + 1, quoted.len - 2);
    baton_buf_fini(&quoted);
}

/* Appends the key of the next member. */
static void put_key(struct baton_call_teller *teller, const char *key, size_t n)
{
    baton_buf_puts(&teller->piece, teller->n_members++ ? ",\"" : "{\"");
    put_inside(&teller->piece, key, n);
    baton_buf_puts(&teller->piece, "\":");
}

/* Appends what the teller lacks of a complete argument. */
static void put_member(struct baton_call_teller *teller, const char *key,
                       const struct baton_json *value)
{
    size_t n = 0;
    const char *text = baton_json_string(value, &n);
    if (teller->is_value_open) {
        put_inside(&teller->piece, text + teller->n_value, n - teller->n_value);
        baton_buf_putc(&teller->piece, '"');
    } else {
        put_key(teller, key, strlen(key));
        struct baton_json_out out = baton_json_out(&teller->piece);
        baton_json_put_value(&out, NULL, value);
    }
    teller->is_value_open = false;
    teller->n_value = 0;
}

static void put_complete(struct baton_call *call)
{
    struct baton_call_teller *teller = &call->teller;
    size_t i = 0, n_told = teller->n_members - teller->is_value_open;
    for (void *it = baton_json_first(call->arguments); it;
         it = baton_json_next(call->arguments, it))
        if (i++ >= n_told)
            put_member(teller, baton_json_key(it), baton_json_member(it));
}

/* Whether the value that arrives is a string, whatever follows, and its key is new. */
static bool is_open_string(const struct baton_json *functions, const struct baton_buf *held,
                           const struct baton_call *call)
{
    char key[BATON_TOOL_NAME_MAX_BYTES + 1];
    const struct baton_json *function =
        baton_function_of(functions, held->data + call->name, call->n_name);
    if (call->state != BATON_CALL_VALUE)
        return false;
    memcpy(key, held->data + call->key, call->n_key);
    key[call->n_key] = 0;
    const struct baton_json *schema =
        baton_json_get(baton_json_get(baton_json_get(function, "parameters"), "properties"), key);
    return strlen(key) == call->n_key && !baton_json_get(call->arguments, key) &&
           (call->is_string || means_string(schema));
}

/* Returns the end of the bytes that belong to the value for certain, in whole characters. */
static size_t certain_end(const struct baton_tool_format *format, const struct baton_buf *held,
                          const struct baton_call *call, bool is_over)
{
    char tag[BATON_TOOL_NAME_MAX_BYTES + 64];
    size_t n_pad = strlen(format->tags.pad), end = call->scanned;
    put_value_end(format, held, call, tag, sizeof tag);
    bool has_tag = baton_begins_with(held, end, tag) == BATON_YES;
    if (is_over && !has_tag) /* a tag that is cut off is none of the value's text */
        return held->len - baton_n_maybe_begin(held, tag);
    if (is_over && memcmp(held->data + end - n_pad, format->tags.pad, n_pad) != 0)
        return end;
    end -= n_pad < end ? n_pad : end;
    while (end > call->value && end < held->len && ((uint8_t)held->data[end] & 0xc0) == 0x80)
        end--;
    return end;
}

static void put_open_string(const struct baton_tool_format *format, const struct baton_buf *held,
                            struct baton_call *call, bool is_over)
{
    struct baton_call_teller *teller = &call->teller;
    size_t n_pad = strlen(format->tags.pad), begin = call->value;
    size_t end = certain_end(format, held, call, is_over);
    if (n_pad && held->len - begin >= n_pad && !memcmp(held->data + begin, format->tags.pad, n_pad))
        begin += n_pad;
    if (end <= begin + teller->n_value)
        return;
    if (!teller->is_value_open) {
        put_key(teller, held->data + call->key, call->n_key);
        baton_buf_putc(&teller->piece, '"');
        teller->is_value_open = true;
    }
    put_inside(&teller->piece, held->data + begin + teller->n_value, end - begin - teller->n_value);
    teller->n_value = end - begin;
}

void baton_tag_call_tell(const struct baton_tool_format *format, const struct baton_json *functions,
                         const struct baton_buf *held, struct baton_call *call, bool is_over,
                         const struct baton_tool_sink *sink)
{
    struct baton_call_teller *teller = &call->teller;
    bool has_key = call->state == BATON_CALL_VALUE_BEGIN || call->state == BATON_CALL_VALUE ||
                   baton_json_size(call->arguments) || call->is_whole;
    bool was_told = teller->n_told && !teller->is_telling;
    if (teller->is_off || was_told || !has_key)
        return;
    if (!teller->is_telling &&
        (is_over ||
         !baton_call_teller_begin(teller, functions, held->data + call->name, call->n_name, sink)))
        return;
    put_complete(call);
    if (is_open_string(functions, held, call))
        put_open_string(format, held, call, is_over);
    if (call->is_whole)
        baton_buf_puts(&teller->piece, teller->n_members ? "}" : "{}");
    if (call->is_whole)
        baton_call_teller_finish(teller, sink);
    else
        baton_call_teller_flush(teller, sink);
}

bool baton_tag_call_take(const struct baton_buf *held, const struct baton_call *call,
                         const struct baton_tool_sink *sink)
{
    if (call->teller.n_told)
        return true;
    return baton_call_tell(held->data + call->name, call->n_name, call->arguments, sink);
}
