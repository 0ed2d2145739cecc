/* A rendered conversation and the spans of it that are the template's own; private to gateway/chat.
 *
 * Ownership: the struct is embedded and owns its bytes and spans.
 * Threading: one owner at a time.
 * Errors:    sticky, as in baton_buf.
 */
#ifndef BATON_GATEWAY_CHAT_TEXT_H
#define BATON_GATEWAY_CHAT_TEXT_H

#include "common/base/buf.h"
#include "engine/tokenizer/tokenizer.h"

struct baton_chat_text {
    struct baton_buf bytes;
    struct baton_span *spans; /* the template's text: ascending, disjoint, not empty */
    size_t n_spans, cap;
    bool is_narrow; /* of a conversation that was rewritten with the narrowest abilities */
};

/* Starts an empty text; fini frees its content. */
void baton_chat_text_init(struct baton_chat_text *text);
void baton_chat_text_fini(struct baton_chat_text *text);

/* Appends bytes. own: they are the template's and become a span. */
void baton_chat_text_put(struct baton_chat_text *text, const char *bytes, size_t n, bool own);

/* Drops the text after the first n bytes. */
void baton_chat_text_cut(struct baton_chat_text *text, size_t n);

#endif
