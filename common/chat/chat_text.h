/* A conversation written out, with what of it is the template's own; private to common/chat.
 *
 * Ownership: the struct is embedded and owns its bytes and spans.
 * Threading: one owner at a time.
 * Errors:    sticky, as in baton_buf; render: INVALID with a sentence for the client, LIMIT,
 *            NO_MEMORY.
 */
#ifndef BATON_CHAT_CHAT_TEXT_H
#define BATON_CHAT_CHAT_TEXT_H

#include "common/base/buf.h"
#include "common/chat/chat.h"
#include "common/chat/chat_shape.h"

struct baton_chat_text {
    struct baton_buf bytes;
    struct baton_span *spans; /* the template's text: ascending, apart, none empty */
    size_t n_spans, cap;
};

/* Values for BOS and EOS in a shape's texts; "" where the model names none. */
struct baton_chat_marks {
    const char *bos, *eos;
};

/* An empty text; fini frees its content. */
void baton_chat_text_init(struct baton_chat_text *text);
void baton_chat_text_fini(struct baton_chat_text *text);

/* Appends bytes of the template, which become a span, or of a message, which do not. */
void baton_chat_text_put_template(struct baton_chat_text *text, const char *bytes, size_t n);
void baton_chat_text_put_content(struct baton_chat_text *text, const char *bytes, size_t n);

/* Cuts white space (as Python's str.strip sees it) off the start and the end of the *n bytes at
 * *bytes. */
void baton_chat_trim_start(const char **bytes, size_t *n);
void baton_chat_trim_end(const char *bytes, size_t *n);

/* Writes the conversation to the empty text. */
enum baton_err baton_chat_render(const struct baton_chat_shape *shape,
                                 const struct baton_chat_style *style,
                                 const struct baton_chat_marks *marks,
                                 const struct baton_chat_message *messages, size_t n_messages,
                                 struct baton_chat_text *text,
                                 struct baton_why *why) BATON_MUST_CHECK;

#endif
