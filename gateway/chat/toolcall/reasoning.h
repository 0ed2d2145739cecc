/* Separates the reasoning at the start of an answer that arrives in pieces.
 *
 *     <think> reasoning </think> the answer        or, when the prompt ends with <think>,
 *             reasoning </think> the answer
 *
 * Only an answer that begins with reasoning has any: a later marker is text. White space beside the
 * markers is dropped. Reasoning whose end never comes lasts to the last byte.
 *
 * Ownership: formats are static; the parser owns what it holds; a sink borrows during its call.
 * Threading: formats: pure. A parser: one owner at a time.
 * Errors:    without memory text is lost, as in any buffer.
 */
#ifndef BATON_GATEWAY_CHAT_TOOLCALL_REASONING_H
#define BATON_GATEWAY_CHAT_TOOLCALL_REASONING_H

#include <stdbool.h>

#include "common/base/buf.h"

struct baton_reasoning_format {
    const char *name;
    const char *begin, *end; /* a template of the format contains one of them, */
    const char *mark;        /* or, in place of them, this; NULL: no other text */
    bool has_channels;       /* channels.h parses it */
    const char *behind;      /* what models write behind its end if templates do not show it */
};

/* All formats that are known: [baton_n_reasoning_formats]. */
extern const struct baton_reasoning_format baton_reasoning_formats[];
extern const size_t baton_n_reasoning_formats;

/* The format of models whose template has this source; NULL: they write no reasoning, or in no
 * known format. */
const struct baton_reasoning_format *baton_reasoning_format_of(const char *source, size_t n);

/* The texts that the format's special tokens are in: calls put for each. */
void baton_reasoning_format_markers(const struct baton_reasoning_format *format,
                                    void (*put)(void *user, const char *text), void *user);

/* True when the prompt's end has begun the reasoning of the answer. */
bool baton_reasoning_is_open(const struct baton_reasoning_format *format, const char *prompt,
                             size_t n);

/* True when the prompt's end has closed the reasoning, so that the answer has none. */
bool baton_reasoning_is_closed(const struct baton_reasoning_format *format, const char *prompt,
                               size_t n);

/* The receiver of the parts. */
struct baton_reasoning_sink {
    void *user;
    void (*reasoning)(void *user, const char *text, size_t n);
    void (*rest)(void *user, const char *text, size_t n);
};

struct baton_reasoning_parser {
    const struct baton_reasoning_format *format; /* NULL: none */
    bool is_open;                                /* when the answer begins */
    enum {
        BATON_REASONING_BEFORE, /* only white space so far */
        BATON_REASONING_FIRST,  /* inside, only white space so far */
        BATON_REASONING_INSIDE,
        BATON_REASONING_BEHIND, /* only white space since the end */
        BATON_REASONING_NONE,
    } state;
    struct baton_buf held;
};

void baton_reasoning_parser_init(struct baton_reasoning_parser *parser,
                                 const struct baton_reasoning_format *format, bool is_open);
void baton_reasoning_parser_fini(struct baton_reasoning_parser *parser);

void baton_reasoning_parser_push(struct baton_reasoning_parser *parser, const char *text, size_t n,
                                 const struct baton_reasoning_sink *sink);
/* Ends the text. */
void baton_reasoning_parser_end(struct baton_reasoning_parser *parser,
                                const struct baton_reasoning_sink *sink);

#endif
