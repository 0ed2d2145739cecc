/* Text derived from other text, with the origin of each byte, so that a token found in it can be
 * traced to its author; private to engine/tokenizer.
 *
 * Ownership: the struct is embedded and owns its arrays; reset keeps them for the next text.
 * Threading: one owner at a time.
 * Errors:    stick in text.err (NO_MEMORY, LIMIT), as in every buffer.
 */
#ifndef BATON_ENGINE_TOKENIZER_NORMALIZE_MAPPED_TEXT_H
#define BATON_ENGINE_TOKENIZER_NORMALIZE_MAPPED_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/buf.h"

/* A borrowed text. Byte i comes from position origins[i] of the whole text, or base + i without
 * origins. */
struct baton_text_view {
    const char *bytes;
    size_t n;
    const uint32_t *origins;
    size_t base;
};

struct baton_mapped_text {
    struct baton_buf text;
    bool keeps_origins;
    uint32_t *origins; /* [text.len], if kept */
    size_t cap;
};

void baton_mapped_text_init(struct baton_mapped_text *mapped);
void baton_mapped_text_fini(struct baton_mapped_text *mapped);

/* Empties the text, whose user sets text.max_bytes: at first it is 0. keeps_origins holds until the
 * next reset. */
void baton_mapped_text_reset(struct baton_mapped_text *mapped, bool keeps_origins);

/* Appends n bytes derived from bytes from .. to - 1 (from < to) of source. The last byte has the
 * origin to - 1, the others have from. */
void baton_mapped_text_put(struct baton_mapped_text *mapped, const char *bytes, size_t n,
                           const struct baton_text_view *source, size_t from, size_t to);

/* Appends bytes from .. to - 1 of source unchanged. */
void baton_mapped_text_copy(struct baton_mapped_text *mapped, const struct baton_text_view *source,
                            size_t from, size_t to);

/* Returns the text as a view, whose base is the source's. */
struct baton_text_view baton_mapped_text_view(const struct baton_mapped_text *mapped, size_t base);

/* Returns the origin of byte i of the view. */
static inline size_t baton_text_origin(const struct baton_text_view *view, size_t i)
{
    return view->origins ? view->origins[i] : view->base + i;
}

/* Returns bytes from .. to - 1 of a view. */
static inline struct baton_text_view baton_text_part(const struct baton_text_view *view,
                                                     size_t from, size_t to)
{
    return (struct baton_text_view){.bytes = view->bytes + from,
                                    .n = to - from,
                                    .origins = view->origins ? view->origins + from : NULL,
                                    .base = view->base + from};
}

#endif
