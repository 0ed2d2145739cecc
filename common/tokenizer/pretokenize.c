#include "common/tokenizer/pretokenize.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>

/* White_Space is spelled out because PCRE2's own \s also counts U+180E, which it no longer is. */
#define SPACE "\\p{Z}\\x{9}-\\x{d}\\x{85}"
#define PATTERN                                                                                    \
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^" SPACE "\\p{L}\\p{N}]+"                      \
    "|[" SPACE "]+(?![^" SPACE "])|[" SPACE "]+"

struct baton_pretokenizer {
    pcre2_code *code;
    pcre2_match_data *match;
    int (*run)(const pcre2_code *, PCRE2_SPTR, PCRE2_SIZE, PCRE2_SIZE, uint32_t, pcre2_match_data *,
               pcre2_match_context *);
};

static enum baton_err fail(struct baton_why *why, enum baton_err err, int code)
{
    char text[120];
    if (pcre2_get_error_message(code, (PCRE2_UCHAR *)text, sizeof text) < 0)
        text[0] = 0;
    return baton_fail(why, err, "the word pattern: PCRE2 error %d: %s", code, text);
}

enum baton_err baton_pretokenizer_create(bool want_jit, struct baton_pretokenizer **pretokenizer,
                                         struct baton_why *why)
{
    int code = 0;
    size_t at;
    struct baton_pretokenizer *made = calloc(1, sizeof *made);
    if (!made)
        return baton_fail(why, BATON_NO_MEMORY, "the word pattern: out of memory");
    made->code = pcre2_compile((PCRE2_SPTR)PATTERN, PCRE2_ZERO_TERMINATED,
                               PCRE2_UTF | PCRE2_UCP | PCRE2_ANCHORED, &code, &at, NULL);
    if (made->code)
        made->match = pcre2_match_data_create(1, NULL);
    if (!made->match) {
        baton_pretokenizer_destroy(made);
        return fail(why, BATON_NO_MEMORY, code);
    }
    made->run = pcre2_match;
    if (want_jit && !pcre2_jit_compile(made->code, PCRE2_JIT_COMPLETE))
        made->run = pcre2_jit_match;
    *pretokenizer = made;
    return BATON_OK;
}

void baton_pretokenizer_destroy(struct baton_pretokenizer *pretokenizer)
{
    if (!pretokenizer)
        return;
    pcre2_match_data_free(pretokenizer->match);
    pcre2_code_free(pretokenizer->code);
    free(pretokenizer);
}

enum baton_err baton_pretokenizer_next(struct baton_pretokenizer *pretokenizer, const char *text,
                                       size_t n, size_t start, size_t *end, struct baton_why *why)
{
    /* The text was validated once; checking it again at every word would be quadratic. */
    int code = pretokenizer->run(pretokenizer->code, (PCRE2_SPTR)text, n, start, PCRE2_NO_UTF_CHECK,
                                 pretokenizer->match, NULL);
    if (code < 0)
        return fail(why, code == PCRE2_ERROR_NOMEMORY ? BATON_NO_MEMORY : BATON_INTERNAL, code);
    *end = pcre2_get_ovector_pointer(pretokenizer->match)[1];
    return BATON_OK;
}
