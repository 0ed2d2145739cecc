#include "common/toolcall/parser.h"

#include <string.h>

#include "common/base/json.h"
#include "common/toolcall/bytes.h"

enum { HELD_MAX_BYTES = 64 << 20 };

/* What of a parser is about calls alone. */
static void init_calls(struct baton_tool_parser *parser, const struct baton_tool_format *format)
{
    const struct baton_reasoning_parser reasoning = parser->reasoning;
    *parser = (struct baton_tool_parser){.reasoning = reasoning, .format = format, .trims = true};
    baton_buf_init(&parser->held, HELD_MAX_BYTES);
}

void baton_tool_parser_init(struct baton_tool_parser *parser, const struct baton_answer_form *form)
{
    baton_reasoning_parser_init(&parser->reasoning, form->reasoning, form->opens_reasoning);
    init_calls(parser, form->tools);
}

void baton_tool_parser_fini(struct baton_tool_parser *parser)
{
    baton_reasoning_parser_fini(&parser->reasoning);
    baton_buf_fini(&parser->held);
}

void baton_tool_parser_restart(struct baton_tool_parser *parser)
{
    baton_reasoning_parser_restart(&parser->reasoning);
    baton_buf_fini(&parser->held);
    init_calls(parser, parser->format);
}

/* ---- bytes ---- */

static bool is_of_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
}

static void drop(struct baton_tool_parser *parser, size_t n)
{
    baton_buf_consume(&parser->held, n);
}

/* Shows the first n bytes. */
static void show(struct baton_tool_parser *parser, size_t n, const struct baton_tool_sink *sink)
{
    if (!n)
        return;
    parser->begun = true;
    parser->trims = false;
    sink->text(sink->user, parser->held.data, n);
    drop(parser, n);
}

/* ---- a call ---- */

/* Where the bytes behind its begin are. */
static size_t behind_begin(const struct baton_tool_parser *parser)
{
    return parser->call_at + (parser->format->begin ? strlen(parser->format->begin) : 0);
}

/* Behind n bytes of space, which are text again if it is no call. */
static void enter_call(struct baton_tool_parser *parser, size_t n)
{
    parser->in_call = true;
    parser->call_at = n;
    parser->scanned = behind_begin(parser);
    parser->value_begin = 0;
    parser->depth = 0;
    parser->in_string = parser->escaped = parser->value_ended = false;
}

/* Finds where the JSON begins. */
static enum baton_verdict find_value(struct baton_tool_parser *parser)
{
    const struct baton_buf *held = &parser->held;
    size_t at = behind_begin(parser);
    if (parser->format->middle) {
        size_t begin = at;
        while (at < held->len && is_of_name(held->data[at]))
            at++;
        if (at - begin > BATON_TOOL_NAME_MAX_BYTES)
            return BATON_NO;
        if (at == held->len)
            return BATON_MORE;
        enum baton_verdict met =
            at == begin ? BATON_NO : baton_begins_with(held, at, parser->format->middle);
        if (met != BATON_YES)
            return met;
        at += strlen(parser->format->middle);
    }
    at = baton_skip_space(held, at);
    if (at == held->len)
        return at > BATON_TOOL_SPACE_MAX_BYTES ? BATON_NO : BATON_MORE;
    if (held->data[at] != '{' && (held->data[at] != '[' || parser->format->middle))
        return BATON_NO;
    parser->value_begin = parser->scanned = at;
    return BATON_YES;
}

/* Counts brackets; what is between them is the JSON parser's to judge. */
static void scan_byte(struct baton_tool_parser *parser, char c)
{
    if (parser->in_string) {
        parser->in_string = parser->escaped || c != '"';
        parser->escaped = !parser->escaped && c == '\\';
    } else if (c == '"') {
        parser->in_string = true;
    } else if (c == '{' || c == '[') {
        parser->depth++;
    } else if (c == '}' || c == ']') {
        parser->value_ended = --parser->depth == 0;
    }
}

/* Finds where the JSON ends; each byte is looked at once. */
static enum baton_verdict find_value_end(struct baton_tool_parser *parser)
{
    const struct baton_buf *held = &parser->held;
    while (!parser->value_ended && parser->scanned < held->len)
        scan_byte(parser, held->data[parser->scanned++]);
    if (parser->value_ended)
        return BATON_YES;
    return held->len > BATON_TOOL_CALL_MAX_BYTES ? BATON_NO : BATON_MORE;
}

/* Whether what follows the JSON ends a call, and where. */
static enum baton_verdict find_end(struct baton_tool_parser *parser, bool is_over, size_t *at)
{
    const struct baton_buf *held = &parser->held;
    const char *end = parser->format->end;
    *at = parser->scanned;
    if (parser->format->begin && !end)
        return BATON_YES;
    size_t next = baton_skip_space(held, *at);
    if (next - *at > BATON_TOOL_SPACE_MAX_BYTES || (!end && next < held->len))
        return BATON_NO;
    if (is_over && next == held->len) { /* the end was the token that ends the turn */
        *at = next;
        return BATON_YES;
    }
    enum baton_verdict met = end ? baton_begins_with(held, next, end) : BATON_MORE;
    *at = next + (met == BATON_YES ? strlen(end) : 0);
    return met;
}

static bool is_call(const struct baton_tool_format *format, const struct baton_json *value)
{
    size_t n = 0;
    const char *name =
        format->middle ? NULL : baton_json_string(baton_json_get(value, format->name_key), &n);
    const struct baton_json *arguments =
        format->middle ? value : baton_json_get(value, format->arguments_key);
    /* Where a call is all of the text, any object would do as a call without arguments. */
    return (format->middle || (name && n && n <= BATON_TOOL_NAME_MAX_BYTES)) &&
           (baton_json_kind(arguments) == BATON_JSON_OBJECT || (!arguments && format->begin));
}

static void tell_call(const struct baton_tool_parser *parser, const struct baton_json *value,
                      const struct baton_tool_sink *sink)
{
    const struct baton_tool_format *format = parser->format;
    const char *name = parser->held.data + behind_begin(parser);
    size_t n_name = 0;
    struct baton_buf arguments;
    while (format->middle && is_of_name(name[n_name]))
        n_name++;
    if (!format->middle)
        name = baton_json_string(baton_json_get(value, format->name_key), &n_name);
    const struct baton_json *given =
        format->middle ? value : baton_json_get(value, format->arguments_key);
    baton_buf_init(&arguments, (size_t)BATON_TOOL_CALL_MAX_BYTES * 8);
    struct baton_json_out out = baton_json_out(&arguments);
    if (given)
        baton_json_put_value(&out, NULL, given);
    else
        baton_buf_append(&arguments, "{}", 2);
    sink->call(sink->user, name, n_name, baton_buf_text(&arguments), arguments.len);
    baton_buf_fini(&arguments);
}

static bool take_calls(struct baton_tool_parser *parser, const struct baton_tool_sink *sink)
{
    struct baton_json *value;
    struct baton_why why;
    if (baton_json_parse(parser->held.data + parser->value_begin,
                         parser->scanned - parser->value_begin, &value, &why))
        return false;
    bool is_list = baton_json_kind(value) == BATON_JSON_ARRAY;
    size_t n = is_list ? baton_json_size(value) : 1;
    bool are_calls = n > 0;
    for (size_t i = 0; i < n && are_calls; i++)
        are_calls = is_call(parser->format, is_list ? baton_json_at(value, i) : value);
    for (size_t i = 0; i < n && are_calls; i++)
        tell_call(parser, is_list ? baton_json_at(value, i) : value, sink);
    baton_json_free(value);
    return are_calls;
}

/* True: the call is over, one way or the other. */
static bool step_call(struct baton_tool_parser *parser, bool is_over,
                      const struct baton_tool_sink *sink)
{
    size_t at = 0;
    /* Without a begin it began with the bracket. */
    bool is_found = parser->value_begin || !parser->format->begin;
    enum baton_verdict met = is_found ? BATON_YES : find_value(parser);
    met = met == BATON_YES ? find_value_end(parser) : met;
    met = met == BATON_YES ? find_end(parser, is_over, &at) : met;
    if (met == BATON_MORE && !is_over)
        return false;
    parser->in_call = false;
    if (met == BATON_YES && take_calls(parser, sink)) {
        drop(parser, at);
        parser->trims = true;
    } else { /* not looked at once more, so that no text costs more than its length */
        bool is_cut = met == BATON_MORE || !parser->format->begin;
        show(parser, is_cut ? parser->held.len : parser->scanned, sink);
    }
    return true;
}

/* ---- text ---- */

/* Whether the first n bytes are dropped, if a call follows. */
static bool may_be_dropped(const struct baton_tool_parser *parser, size_t n)
{
    return parser->trims && n <= BATON_TOOL_SPACE_MAX_BYTES &&
           baton_skip_space(&parser->held, 0) >= n;
}

/* True: a call begins here. */
static bool step_text(struct baton_tool_parser *parser, bool is_over,
                      const struct baton_tool_sink *sink)
{
    struct baton_buf *held = &parser->held;
    const char *begin = parser->format->begin;
    if (!begin) {
        size_t first = baton_skip_space(held, 0);
        if (!parser->begun && first < held->len && held->data[first] == '{') {
            enter_call(parser, first);
            return true;
        }
        if (parser->begun || is_over || first < held->len || first > BATON_TOOL_SPACE_MAX_BYTES)
            show(parser, held->len, sink);
        return false;
    }
    const char *met = memmem(held->data, held->len, begin, strlen(begin));
    if (met) {
        size_t n = (size_t)(met - held->data), n_kept = may_be_dropped(parser, n) ? n : 0;
        show(parser, n - n_kept, sink);
        enter_call(parser, n_kept);
        return true;
    }
    size_t n = held->len - (is_over ? 0 : baton_n_maybe_begin(held, begin));
    if (!may_be_dropped(parser, n))
        show(parser, n, sink);
    return false;
}

static void run(struct baton_tool_parser *parser, bool is_over, const struct baton_tool_sink *sink)
{
    bool goes_on = true;
    while (goes_on && parser->held.len)
        goes_on =
            parser->in_call ? step_call(parser, is_over, sink) : step_text(parser, is_over, sink);
}

/* ---- behind the reasoning ---- */

struct rest {
    struct baton_tool_parser *parser;
    const struct baton_tool_sink *sink;
};

static void pass_reasoning(void *user, const char *text, size_t n)
{
    const struct rest *rest = user;
    rest->sink->reasoning(rest->sink->user, text, n);
}

static void take_rest(void *user, const char *text, size_t n)
{
    const struct rest *rest = user;
    if (!rest->parser->format) {
        rest->sink->text(rest->sink->user, text, n);
        return;
    }
    baton_buf_append(&rest->parser->held, text, n);
    run(rest->parser, false, rest->sink);
}

void baton_tool_parser_push(struct baton_tool_parser *parser, const char *text, size_t n,
                            const struct baton_tool_sink *sink)
{
    struct rest rest = {parser, sink};
    baton_reasoning_parser_push(&parser->reasoning, text, n,
                                &(struct baton_reasoning_sink){
                                    .user = &rest, .reasoning = pass_reasoning, .rest = take_rest});
}

bool baton_tool_parser_in_reasoning(const struct baton_tool_parser *parser)
{
    return parser->reasoning.state == BATON_REASONING_FIRST ||
           parser->reasoning.state == BATON_REASONING_INSIDE;
}

void baton_tool_parser_end(struct baton_tool_parser *parser, const struct baton_tool_sink *sink)
{
    struct rest rest = {parser, sink};
    baton_reasoning_parser_end(&parser->reasoning,
                               &(struct baton_reasoning_sink){
                                   .user = &rest, .reasoning = pass_reasoning, .rest = take_rest});
    if (!parser->format)
        return;
    run(parser, true, sink);
    /* Space behind a call is dropped, a text of space alone is not. */
    if (parser->held.len && !parser->begun && parser->trims)
        show(parser, parser->held.len, sink);
    baton_buf_reset(&parser->held);
}
