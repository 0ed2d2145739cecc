#include "gateway/chat/toolcall/reasoning.h"

#include <string.h>

#include "common/base/array.h"
#include "gateway/chat/toolcall/bytes.h"

enum { HELD_MAX_BYTES = 64 << 20 };

/* ---- formats ---- */

/* The first that fits counts. */
const struct baton_reasoning_format baton_reasoning_formats[] = {
    {.name = "harmony",
     .begin = "<|channel|>analysis<|message|>",
     .end = "<|end|>",
     .has_channels = true},
    {.name = "command-r7b", .begin = "<|START_THINKING|>", .end = "<|END_THINKING|>"},
    {.name = "gemma4", .begin = "<|channel>thought", .end = "<channel|>"},
    {.name = "magistral", .begin = "[THINK]", .end = "[/THINK]"},
    {.name = "seed", .begin = "<seed:think>", .end = "</seed:think>"},
    {.name = "minimax-m3", .begin = "<mm:think>", .end = "</mm:think>"},
    {.name = "hunyuan3",
     .begin = "<think:opensource>",
     .end = "</think:opensource>",
     .mark = "<think{}>"},
    {.name = "solar-open",
     .begin = "<|think|>",
     .end = "<|end|><|begin|>assistant",
     .mark = "<|begin|>assistant<|think|>"},
    {.name = "think", .begin = "<think>", .end = "</think>", .behind = "\n\n"},
};

const size_t baton_n_reasoning_formats = BATON_N_OF(baton_reasoning_formats);

const struct baton_reasoning_format *baton_reasoning_format_of(const char *source, size_t n)
{
    for (size_t i = 0; i < baton_n_reasoning_formats; i++) {
        const struct baton_reasoning_format *format = &baton_reasoning_formats[i];
        bool fits = format->mark
                        ? baton_bytes_have(source, n, format->mark)
                        : baton_bytes_have(source, n, format->begin) ||
                              (!format->has_channels && baton_bytes_have(source, n, format->end));
        if (fits)
            return format;
    }
    return NULL;
}

void baton_reasoning_format_markers(const struct baton_reasoning_format *format,
                                    void (*put)(void *user, const char *text), void *user)
{
    put(user, format->begin);
    put(user, format->end);
    if (format->has_channels)
        put(user, "<|start|><|constrain|>");
}

static bool ends_with(const char *prompt, size_t n, const char *marker)
{
    size_t n_marker = strlen(marker);
    while (n && baton_is_space(prompt[n - 1]))
        n--;
    return n_marker && n >= n_marker && !memcmp(prompt + n - n_marker, marker, n_marker);
}

bool baton_reasoning_is_open(const struct baton_reasoning_format *format, const char *prompt,
                             size_t n)
{
    return format && ends_with(prompt, n, format->begin);
}

bool baton_reasoning_is_closed(const struct baton_reasoning_format *format, const char *prompt,
                               size_t n)
{
    return format && !format->has_channels && ends_with(prompt, n, format->end);
}

/* ---- the parser ---- */

void baton_reasoning_parser_init(struct baton_reasoning_parser *parser,
                                 const struct baton_reasoning_format *format, bool is_open)
{
    *parser = (struct baton_reasoning_parser){.format = format, .is_open = is_open};
    parser->state = !format   ? BATON_REASONING_NONE
                    : is_open ? BATON_REASONING_FIRST
                              : BATON_REASONING_BEFORE;
    baton_buf_init(&parser->held, HELD_MAX_BYTES);
}

void baton_reasoning_parser_fini(struct baton_reasoning_parser *parser)
{
    baton_buf_fini(&parser->held);
}

static void give(struct baton_reasoning_parser *parser, size_t n,
                 const struct baton_reasoning_sink *sink)
{
    bool is_reasoning = parser->state != BATON_REASONING_NONE;
    if (n)
        (is_reasoning ? sink->reasoning : sink->rest)(sink->user, parser->held.data, n);
    baton_buf_consume(&parser->held, n);
}

static void drop_space(struct baton_reasoning_parser *parser)
{
    baton_buf_consume(&parser->held, baton_skip_space(&parser->held, 0));
}

/* Checks whether the answer begins with the marker; until that is known everything is held. */
static bool step_before(struct baton_reasoning_parser *parser, bool is_over)
{
    const char *begin = parser->format->begin;
    size_t first = baton_skip_space(&parser->held, 0);
    enum baton_verdict met = baton_begins_with(&parser->held, first, begin);
    /* Beyond that much white space the marker is no longer expected. */
    if (met == BATON_MORE && !is_over && first <= BATON_TOOL_SPACE_MAX_BYTES)
        return false;
    parser->state = met == BATON_YES ? BATON_REASONING_FIRST : BATON_REASONING_NONE;
    if (met == BATON_YES)
        baton_buf_consume(&parser->held, first + strlen(begin));
    return true;
}

/* Passes on what cannot begin the end marker, without the white space before it. */
static bool step_inside(struct baton_reasoning_parser *parser, bool is_over,
                        const struct baton_reasoning_sink *sink)
{
    struct baton_buf *held = &parser->held;
    const char *end = parser->format->end;
    if (parser->state == BATON_REASONING_FIRST)
        drop_space(parser);
    if (!held->len)
        return false;
    const char *met = memmem(held->data, held->len, end, strlen(end));
    size_t n = met       ? (size_t)(met - held->data)
               : is_over ? held->len
                         : held->len - baton_n_maybe_begin(held, end);
    size_t n_words = n;
    while (n_words && n - n_words < BATON_TOOL_SPACE_MAX_BYTES &&
           baton_is_space(held->data[n_words - 1]))
        n_words--;
    if (n_words)
        parser->state = BATON_REASONING_INSIDE;
    give(parser, n_words, sink);
    if (!met)
        return false;
    baton_buf_consume(held, n - n_words + strlen(end));
    parser->state = BATON_REASONING_BEHIND;
    return true;
}

static void run(struct baton_reasoning_parser *parser, bool is_over,
                const struct baton_reasoning_sink *sink)
{
    bool goes_on = true;
    while (goes_on && parser->held.len) {
        switch (parser->state) {
        case BATON_REASONING_BEFORE:
            goes_on = step_before(parser, is_over);
            break;
        case BATON_REASONING_FIRST:
        case BATON_REASONING_INSIDE:
            goes_on = step_inside(parser, is_over, sink);
            break;
        case BATON_REASONING_BEHIND:
            drop_space(parser);
            if (parser->held.len)
                parser->state = BATON_REASONING_NONE;
            break;
        case BATON_REASONING_NONE:
            give(parser, parser->held.len, sink);
            break;
        }
    }
}

void baton_reasoning_parser_push(struct baton_reasoning_parser *parser, const char *text, size_t n,
                                 const struct baton_reasoning_sink *sink)
{
    if (parser->state == BATON_REASONING_NONE && !parser->held.len) {
        sink->rest(sink->user, text, n);
        return;
    }
    baton_buf_append(&parser->held, text, n);
    run(parser, false, sink);
}

void baton_reasoning_parser_end(struct baton_reasoning_parser *parser,
                                const struct baton_reasoning_sink *sink)
{
    run(parser, true, sink);
    baton_buf_reset(&parser->held);
}
