#include "engine/tokenizer/normalize/mapped_text.h"

#include <stdlib.h>

#include "common/base/array.h"

void baton_mapped_text_init(struct baton_mapped_text *mapped)
{
    *mapped = (struct baton_mapped_text){.cap = 0};
    baton_buf_init(&mapped->text, 0);
}

void baton_mapped_text_fini(struct baton_mapped_text *mapped)
{
    baton_buf_fini(&mapped->text);
    free(mapped->origins);
    *mapped = (struct baton_mapped_text){.cap = 0};
}

void baton_mapped_text_reset(struct baton_mapped_text *mapped, bool keeps_origins)
{
    baton_buf_reset(&mapped->text);
    mapped->keeps_origins = keeps_origins;
}

/* Reserves origins for the whole capacity of the text. */
static bool reserve(struct baton_mapped_text *mapped)
{
    if (mapped->text.len > mapped->cap)
        mapped->text.err = BATON_RESERVE(mapped->origins, mapped->cap, mapped->text.cap);
    return !mapped->text.err;
}

void baton_mapped_text_put(struct baton_mapped_text *mapped, const char *bytes, size_t n,
                           const struct baton_text_view *source, size_t from, size_t to)
{
    size_t begin = mapped->text.len;
    baton_buf_append(&mapped->text, bytes, n);
    if (!n || !mapped->keeps_origins || mapped->text.err || !reserve(mapped))
        return;
    for (size_t i = 0; i < n; i++)
        mapped->origins[begin + i] = (uint32_t)baton_text_origin(source, from);
    /* The end matters too: a token that ends here is traced to the last byte it was made of. */
    if (n > 1)
        mapped->origins[begin + n - 1] = (uint32_t)baton_text_origin(source, to - 1);
}

void baton_mapped_text_copy(struct baton_mapped_text *mapped, const struct baton_text_view *source,
                            size_t from, size_t to)
{
    size_t begin = mapped->text.len, n = to - from;
    baton_buf_append(&mapped->text, source->bytes + from, n);
    if (!n || !mapped->keeps_origins || mapped->text.err || !reserve(mapped))
        return;
    for (size_t i = 0; i < n; i++)
        mapped->origins[begin + i] = (uint32_t)baton_text_origin(source, from + i);
}

struct baton_text_view baton_mapped_text_view(const struct baton_mapped_text *mapped, size_t base)
{
    return (struct baton_text_view){.bytes = baton_buf_text(&mapped->text),
                                    .n = mapped->text.len,
                                    .origins = mapped->keeps_origins ? mapped->origins : NULL,
                                    .base = base};
}
