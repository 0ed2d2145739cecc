#include "common/chat/chat_text.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void baton_chat_text_init(struct baton_chat_text *text)
{
    *text = (struct baton_chat_text){0};
    baton_buf_init(&text->bytes, SIZE_MAX / 4);
}

void baton_chat_text_fini(struct baton_chat_text *text)
{
    free(text->spans);
    baton_buf_fini(&text->bytes);
    *text = (struct baton_chat_text){0};
}

static void push_span(struct baton_chat_text *text, struct baton_span span)
{
    if (!text->spans || text->n_spans == text->cap) {
        size_t cap = text->cap ? 2 * text->cap : 16, n_bytes;
        struct baton_span *spans = NULL;
        if (!__builtin_mul_overflow(cap, sizeof span, &n_bytes))
            spans = realloc(text->spans, n_bytes);
        if (!spans) {
            text->bytes.err = BATON_NO_MEMORY;
            return;
        }
        text->spans = spans;
        text->cap = cap;
    }
    text->spans[text->n_spans++] = span;
}

/* Texts of the template that touch are one span: a special token may begin in one and end in the
 * next. */
void baton_chat_text_put_template(struct baton_chat_text *text, const char *bytes, size_t n)
{
    size_t start = text->bytes.len;
    baton_buf_append(&text->bytes, bytes, n);
    if (!n || baton_buf_err(&text->bytes))
        return;
    struct baton_span *last = text->n_spans ? &text->spans[text->n_spans - 1] : NULL;
    if (last && last->end == start)
        last->end += n;
    else
        push_span(text, (struct baton_span){.start = start, .end = start + n});
}

void baton_chat_text_put_content(struct baton_chat_text *text, const char *bytes, size_t n)
{
    baton_buf_append(&text->bytes, bytes, n);
}

/* ---- white space ---- */

/* The length of the white space character that the n bytes at p are or begin with; 0: none. */
static size_t space_length(const char *p, size_t n)
{
    static const char *const wide[] = {
        "\xc2\x85",     "\xc2\xa0",     "\xe1\x9a\x80", "\xe2\x80\x80", "\xe2\x80\x81",
        "\xe2\x80\x82", "\xe2\x80\x83", "\xe2\x80\x84", "\xe2\x80\x85", "\xe2\x80\x86",
        "\xe2\x80\x87", "\xe2\x80\x88", "\xe2\x80\x89", "\xe2\x80\x8a", "\xe2\x80\xa8",
        "\xe2\x80\xa9", "\xe2\x80\xaf", "\xe2\x81\x9f", "\xe3\x80\x80"};
    if (n && (*p == ' ' || (*p >= '\t' && *p <= '\r') || (*p >= 0x1c && *p <= 0x1f)))
        return 1;
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++) {
        size_t length = strlen(wide[i]);
        if (length <= n && !memcmp(p, wide[i], length))
            return length;
    }
    return 0;
}

void baton_chat_trim_start(const char **bytes, size_t *n)
{
    size_t length;
    while ((length = space_length(*bytes, *n))) {
        *bytes += length;
        *n -= length;
    }
}

void baton_chat_trim_end(const char *bytes, size_t *n)
{
    for (size_t length = 1; length <= 3 && length <= *n; length++) {
        if (space_length(bytes + *n - length, length) == length) {
            *n -= length;
            length = 0;
        }
    }
}
