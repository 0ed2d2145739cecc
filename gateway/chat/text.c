#include "gateway/chat/text.h"

#include <stdint.h>
#include <stdlib.h>

#include "common/base/array.h"

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
    if (BATON_RESERVE(text->spans, text->cap, text->n_spans + 1)) {
        text->bytes.err = BATON_NO_MEMORY;
        return;
    }
    text->spans[text->n_spans++] = span;
}

/* Adjacent texts of the template become one span: a special token may begin in one and end in the
 * next. */
void baton_chat_text_put(struct baton_chat_text *text, const char *bytes, size_t n, bool own)
{
    size_t start = text->bytes.len;
    baton_buf_append(&text->bytes, bytes, n);
    if (!n || !own || baton_buf_err(&text->bytes))
        return;
    struct baton_span *last = text->n_spans ? &text->spans[text->n_spans - 1] : NULL;
    if (last && last->end == start)
        last->end += n;
    else
        push_span(text, (struct baton_span){.start = start, .end = start + n});
}

void baton_chat_text_cut(struct baton_chat_text *text, size_t n)
{
    while (text->n_spans && text->spans[text->n_spans - 1].start >= n)
        text->n_spans--;
    if (text->n_spans && text->spans[text->n_spans - 1].end > n)
        text->spans[text->n_spans - 1].end = n;
    text->bytes.len = n;
    text->bytes.data[n] = 0; /* the buffer's text stays zero-terminated */
}
