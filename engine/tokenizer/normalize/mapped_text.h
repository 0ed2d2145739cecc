/* Text that was made from other text, with the position that each byte came from, so that a token
 * found in it can be traced to who wrote it; private to engine/tokenizer.
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

/* A borrowed text. Byte i is from position origins[i] of the whole, or base + i without origins. */
struct baton_text_view {
    const char *bytes;
    size_t n;
    const uint32_t *origins;
    size_t base;
};

struct baton_mapped_text {
    struct baton_buf text;
    bool keeps_origins;
    uint32_t *origins; /* [text.len], where kept */
    size_t cap;
};

void baton_mapped_text_init(struct baton_mapped_text *mapped);
void baton_mapped_text_fini(struct baton_mapped_text *mapped);

/* Empties it. Origins are kept or not until the next reset. */
void baton_mapped_text_reset(struct baton_mapped_text *mapped, bool keeps_origins);

/* Appends n bytes that were made of bytes from .. to - 1 (from < to) of source. The first ones
 * count as made of from, the last one as made of to - 1. */
void baton_mapped_text_put(struct baton_mapped_text *mapped, const char *bytes, size_t n,
                           const struct baton_text_view *source, size_t from, size_t to);

/* Appends bytes from .. to - 1 of source as they are. */
void baton_mapped_text_copy(struct baton_mapped_text *mapped, const struct baton_text_view *source,
                            size_t from, size_t to);

/* The text as a view, whose base is the source's. */
struct baton_text_view baton_mapped_text_view(const struct baton_mapped_text *mapped, size_t base);

/* The position that byte i of the view came from. */
static inline size_t baton_text_origin(const struct baton_text_view *view, size_t i)
{
    return view->origins ? view->origins[i] : view->base + i;
}

/* Bytes from .. to - 1 of a view. */
static inline struct baton_text_view baton_text_part(const struct baton_text_view *view,
                                                     size_t from, size_t to)
{
    return (struct baton_text_view){.bytes = view->bytes + from,
                                    .n = to - from,
                                    .origins = view->origins ? view->origins + from : NULL,
                                    .base = view->base + from};
}

#endif
