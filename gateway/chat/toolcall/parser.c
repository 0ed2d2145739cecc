#include "gateway/chat/toolcall/parser.h"

#include "common/base/array.h"
#include "gateway/chat/toolcall/call.h"

enum { HELD_MAX_BYTES = 64 << 20 };

static const struct baton_tool_format *format_of(const struct baton_tool_parser *parser)
{
    return parser->form.tools;
}

static bool has_channels(const struct baton_tool_parser *parser)
{
    const struct baton_answer_form *form = &parser->form;
    return (form->tools && form->tools->syntax == BATON_TOOL_CHANNELS) ||
           (form->reasoning && form->reasoning->has_channels);
}

static void init(struct baton_tool_parser *parser)
{
    const struct baton_answer_form *form = &parser->form;
    parser->trims = true;
    baton_buf_init(&parser->held, HELD_MAX_BYTES);
    baton_channel_parser_init(&parser->channels, form->reasoning, form->tools, form->functions);
    baton_reasoning_parser_init(&parser->reasoning, form->reasoning, form->opens_reasoning);
    if (!form->opens_call)
        return;
    /* The prompt's begin marker is parsed as if the model had written it. */
    baton_buf_puts(&parser->held, form->tools->begin);
    parser->n_opened = parser->held.len;
}

void baton_tool_parser_init(struct baton_tool_parser *parser, const struct baton_answer_form *form)
{
    *parser = (struct baton_tool_parser){.form = *form};
    init(parser);
}

void baton_tool_parser_fini(struct baton_tool_parser *parser)
{
    baton_channel_parser_fini(&parser->channels);
    baton_reasoning_parser_fini(&parser->reasoning);
    baton_call_free(&parser->call);
    baton_buf_fini(&parser->held);
}

void baton_tool_parser_restart(struct baton_tool_parser *parser)
{
    const struct baton_answer_form form = parser->form;
    baton_tool_parser_fini(parser);
    baton_tool_parser_init(parser, &form);
}

static void drop(struct baton_tool_parser *parser, size_t n)
{
    baton_buf_consume(&parser->held, n);
    parser->n_opened -= n < parser->n_opened ? n : parser->n_opened;
}

/* Shows the first n bytes, except those that belong to the prompt. */
static void show(struct baton_tool_parser *parser, size_t n, const struct baton_tool_sink *sink)
{
    if (n <= parser->n_opened) {
        drop(parser, n);
        return;
    }
    n -= parser->n_opened;
    drop(parser, parser->n_opened);
    parser->begun = true;
    parser->trims = parser->behind_call = false;
    sink->text(sink->user, parser->held.data, n);
    drop(parser, n);
}

/* ---- a call ---- */

/* Enters a call after n bytes of white space, which become text again if it is no call. */
static void enter_call(struct baton_tool_parser *parser, size_t n)
{
    parser->in_call = true;
    baton_call_init(&parser->call, n);
}

static enum baton_verdict scan(struct baton_tool_parser *parser)
{
    const struct baton_tool_format *format = format_of(parser);
    struct baton_call *call = &parser->call;
    if (!call->has_body) {
        enum baton_verdict met = baton_call_find_head(format, &parser->held, call);
        if (met != BATON_YES)
            return met;
    }
    switch (format->syntax) {
    case BATON_TOOL_TAGS:
        return baton_tag_call_scan(format, parser->form.functions, &parser->held, call);
    case BATON_TOOL_PYTHON:
        return baton_python_call_scan(format, &parser->held, call);
    case BATON_TOOL_GEMMA:
        return baton_gemma_call_scan(format, &parser->held, call);
    default:
        return baton_json_call_scan(format, &parser->held, call);
    }
}

/* Finds the end of a call after its body. */
static enum baton_verdict find_end(struct baton_tool_parser *parser, bool is_over, size_t *at)
{
    const struct baton_buf *held = &parser->held;
    const char *end = format_of(parser)->end;
    *at = parser->call.scanned;
    /* The JSON's last bracket ended the call. */
    if (format_of(parser)->begin && !end)
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

static bool take_calls(const struct baton_tool_parser *parser, const struct baton_tool_sink *sink)
{
    const struct baton_tool_format *format = format_of(parser);
    switch (format->syntax) {
    case BATON_TOOL_TAGS:
        return baton_tag_call_take(&parser->held, &parser->call, sink);
    case BATON_TOOL_PYTHON:
        return baton_python_call_take(format, &parser->held, &parser->call, sink);
    case BATON_TOOL_GEMMA:
        return baton_gemma_call_take(&parser->held, &parser->call, sink);
    default:
        return baton_json_call_take(format, &parser->held, &parser->call, sink);
    }
}

static void tell_early(struct baton_tool_parser *parser, bool is_over,
                       const struct baton_tool_sink *sink)
{
    const struct baton_tool_format *format = format_of(parser);
    const struct baton_buf *held = &parser->held;
    struct baton_call *call = &parser->call;
    /* A name that is a key looks like any other key until its object ends. */
    if (sink->call_begin && format->syntax == BATON_TOOL_PYTHON && call->has_value)
        baton_python_call_tell(parser->form.functions, held, call, sink);
    if (sink->call_begin && format->syntax == BATON_TOOL_GEMMA && call->has_value)
        baton_gemma_call_tell(format, parser->form.functions, held, call, is_over, sink);
    if (sink->call_begin && format->syntax == BATON_TOOL_TAGS && call->has_body)
        baton_tag_call_tell(format, parser->form.functions, held, call, false, sink);
    if (!sink->call_begin || format->syntax != BATON_TOOL_JSON || !call->has_value ||
        format->name_is_key)
        return;
    if (format->middle)
        baton_call_teller_push(&call->teller, parser->form.functions, held->data + call->name,
                               call->n_name, held, call->value, sink);
    else
        baton_call_teller_push_named(&call->teller, format, parser->form.functions, held,
                                     call->value, sink);
}

/* Ends a call that was told early; at is its end, if it has one. The rest of one that turned out to
 * be none is text, and so is what a list in Python has behind its complete calls. */
static void end_told(struct baton_tool_parser *parser, enum baton_verdict met, size_t at,
                     const struct baton_tool_sink *sink)
{
    if (format_of(parser)->syntax == BATON_TOOL_TAGS && parser->call.teller.is_telling)
        baton_tag_call_tell(format_of(parser), parser->form.functions, &parser->held, &parser->call,
                            true, sink);
    bool is_cut = parser->call.teller.is_telling && met == BATON_MORE;
    baton_call_teller_end(&parser->call.teller, sink);
    bool is_taken = met == BATON_YES && take_calls(parser, sink);
    if (format_of(parser)->syntax == BATON_TOOL_PYTHON && !is_taken && !is_cut)
        drop(parser, baton_python_call_told(&parser->held, &parser->call));
    else
        drop(parser, met == BATON_YES    ? at
                     : met == BATON_MORE ? parser->held.len
                                         : parser->call.scanned);
    parser->trims = parser->behind_call = true;
}

/* Whether an open marker that also ends turns stands here, and no call behind it. */
static bool ends_turn(const struct baton_tool_parser *parser, enum baton_verdict met)
{
    const struct baton_tool_format *format = format_of(parser);
    size_t at = parser->call.at;
    return format->open_ends_turn && !parser->call.has_body &&
           baton_begins_with(&parser->held, at, format->open) == BATON_YES &&
           (met == BATON_NO || parser->held.len == at + strlen(format->open));
}

/* Returns true when the call is over, parsed or not. */
static bool step_call(struct baton_tool_parser *parser, bool is_over,
                      const struct baton_tool_sink *sink)
{
    size_t at = 0;
    enum baton_verdict met = scan(parser);
    tell_early(parser, is_over, sink);
    met = met == BATON_YES ? find_end(parser, is_over, &at) : met;
    if (met == BATON_MORE && !is_over)
        return false;
    parser->in_call = false;
    if (parser->call.teller.n_told) {
        end_told(parser, met, at, sink);
    } else if (met == BATON_YES && take_calls(parser, sink)) {
        drop(parser, at);
        parser->trims = parser->behind_call = true;
    } else if (ends_turn(parser, met)) {
        baton_buf_reset(&parser->held);
        parser->has_ended = true;
    } else { /* not parsed again, so that no text costs more than its length */
        bool is_cut = met == BATON_MORE || !format_of(parser)->begin;
        show(parser, is_cut ? parser->held.len : parser->call.scanned, sink);
    }
    baton_call_free(&parser->call);
    return true;
}

/* ---- text ---- */

/* True when the first n bytes are dropped if a call follows. */
static bool may_be_dropped(const struct baton_tool_parser *parser, size_t n)
{
    return parser->trims && n <= BATON_TOOL_SPACE_MAX_BYTES &&
           baton_skip_space(&parser->held, 0) >= n;
}

/* Returns true when a call begins here; it is then the whole text. */
static bool step_whole_text(struct baton_tool_parser *parser, bool is_over,
                            const struct baton_tool_sink *sink)
{
    const struct baton_tool_format *format = format_of(parser);
    struct baton_buf *held = &parser->held;
    const char bracket[] = {format->syntax == BATON_TOOL_PYTHON ? '[' : '{', 0};
    size_t first = baton_skip_space(held, 0);
    enum baton_verdict call = baton_begins_with(held, first, bracket);
    enum baton_verdict open =
        format->open ? baton_begins_with(held, first, format->open) : BATON_NO;
    if (!parser->begun && (call == BATON_YES || open == BATON_YES)) {
        enter_call(parser, first);
        return true;
    }
    bool may_call = call == BATON_MORE || open == BATON_MORE;
    if (parser->begun || is_over || !may_call || first > BATON_TOOL_SPACE_MAX_BYTES)
        show(parser, held->len, sink);
    return false;
}

/* Drops the close marker after calls; MORE: it may be arriving. */
static enum baton_verdict drop_close(struct baton_tool_parser *parser)
{
    const char *close = format_of(parser)->close;
    if (!close || !parser->behind_call)
        return BATON_NO;
    size_t first = baton_skip_space(&parser->held, 0);
    if (first > BATON_TOOL_SPACE_MAX_BYTES)
        return BATON_NO;
    enum baton_verdict met = baton_begins_with(&parser->held, first, close);
    if (met == BATON_YES)
        drop(parser, first + strlen(close));
    return met;
}

/* Finds the first of the marks in the held bytes; NULL when there is none. *n_maybe: how many bytes
 * at the end may begin one. */
static const char *find_mark(const struct baton_buf *held, const char *const *marks, size_t n,
                             const char **mark, size_t *n_maybe)
{
    const char *first = NULL;
    *n_maybe = 0;
    for (size_t i = 0; i < n; i++) {
        const char *met =
            marks[i] ? memmem(held->data, held->len, marks[i], strlen(marks[i])) : NULL;
        size_t maybe = marks[i] ? baton_n_maybe_begin(held, marks[i]) : 0;
        *n_maybe = maybe > *n_maybe ? maybe : *n_maybe;
        if (met && (!first || met < first)) {
            first = met;
            *mark = marks[i];
        }
    }
    return first;
}

/* Returns true when there is more to parse. */
static bool step_text(struct baton_tool_parser *parser, bool is_over,
                      const struct baton_tool_sink *sink)
{
    const struct baton_tool_format *format = format_of(parser);
    struct baton_buf *held = &parser->held;
    /* The mark of text precedes the mark of calls, which is its prefix. */
    const char *const marks[] = {format->text_begin, format->open, format->begin};
    const char *mark = NULL;
    size_t n_maybe;
    enum baton_verdict closed = drop_close(parser);
    if (closed == BATON_YES || (closed == BATON_MORE && !is_over))
        return closed == BATON_YES;
    const char *met = find_mark(held, marks, BATON_N_OF(marks), &mark, &n_maybe);
    if (met) {
        size_t n = (size_t)(met - held->data), n_kept = may_be_dropped(parser, n) ? n : 0;
        /* ">>>al" may continue as ">>>all", which announces text. */
        if (format->text_begin && mark == format->begin && !is_over &&
            baton_begins_with(held, n, format->text_begin) == BATON_MORE)
            return false;
        show(parser, n - n_kept, sink);
        if (mark == format->text_begin)
            drop(parser, n_kept + strlen(mark));
        else
            enter_call(parser, n_kept);
        return true;
    }
    size_t n = held->len - (is_over ? 0 : n_maybe);
    if (!may_be_dropped(parser, n))
        show(parser, n, sink);
    return false;
}

static void run(struct baton_tool_parser *parser, bool is_over, const struct baton_tool_sink *sink)
{
    bool goes_on = true;
    while (goes_on && parser->held.len)
        goes_on = parser->in_call            ? step_call(parser, is_over, sink)
                  : format_of(parser)->begin ? step_text(parser, is_over, sink)
                                             : step_whole_text(parser, is_over, sink);
}

/* ---- after the reasoning ---- */

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
    if (!rest->parser->form.tools) {
        rest->sink->text(rest->sink->user, text, n);
        return;
    }
    if (rest->parser->has_ended)
        return;
    baton_buf_append(&rest->parser->held, text, n);
    run(rest->parser, false, rest->sink);
}

static struct baton_reasoning_sink behind(struct rest *rest)
{
    return (struct baton_reasoning_sink){
        .user = rest, .reasoning = pass_reasoning, .rest = take_rest};
}

void baton_tool_parser_push(struct baton_tool_parser *parser, const char *text, size_t n,
                            const struct baton_tool_sink *sink)
{
    struct rest rest = {parser, sink};
    const struct baton_reasoning_sink reasoning_sink = behind(&rest);
    if (has_channels(parser))
        baton_channel_parser_push(&parser->channels, text, n, sink);
    else
        baton_reasoning_parser_push(&parser->reasoning, text, n, &reasoning_sink);
}

bool baton_tool_parser_in_reasoning(const struct baton_tool_parser *parser)
{
    if (has_channels(parser))
        return parser->channels.state == BATON_CHANNEL_REASONING;
    return parser->reasoning.state == BATON_REASONING_FIRST ||
           parser->reasoning.state == BATON_REASONING_INSIDE;
}

void baton_tool_parser_end(struct baton_tool_parser *parser, const struct baton_tool_sink *sink)
{
    struct rest rest = {parser, sink};
    const struct baton_reasoning_sink reasoning_sink = behind(&rest);
    /* Channels order reasoning, text and calls themselves. */
    if (has_channels(parser)) {
        baton_channel_parser_end(&parser->channels, sink);
        return;
    }
    baton_reasoning_parser_end(&parser->reasoning, &reasoning_sink);
    if (!parser->form.tools)
        return;
    run(parser, true, sink);
    /* White space after a call is dropped; a text of white space alone is not. */
    if (parser->held.len && !parser->begun && parser->trims)
        show(parser, parser->held.len, sink);
    baton_buf_reset(&parser->held);
}
