#include "common/params/grammar_text.h"

#include <stdlib.h>
#include <string.h>

enum baton_err baton_grammar_text_copy(struct baton_grammar_text *to,
                                       const struct baton_grammar_text *from)
{
    struct baton_grammar_text copy = *from;
    if (from->bytes) {
        copy.bytes = malloc(from->n + 1);
        if (!copy.bytes)
            return BATON_NO_MEMORY;
        memcpy(copy.bytes, from->bytes, from->n);
        copy.bytes[from->n] = '\0';
    }
    *to = copy;
    return BATON_OK;
}

void baton_grammar_text_fini(struct baton_grammar_text *text)
{
    free(text->bytes);
    *text = (struct baton_grammar_text){0};
}
