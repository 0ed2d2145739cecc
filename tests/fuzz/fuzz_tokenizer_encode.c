/* Whatever the text, encoding refuses it as not UTF-8 or its ids decode to exactly that text. */
#include "tests/fuzz/fuzz.h"

#include "common/base/utf8.h"
#include "engine/tokenizer/tokenizer.h"

static struct baton_tokenizer *story_tokenizer(void)
{
    static struct baton_tokenizer *tokenizer;
    check(tokenizer || !baton_tokenizer_open("models/tale", &tokenizer, NULL));
    return tokenizer;
}

FUZZ(data, size)
{
    struct baton_tokenizer *tokenizer = story_tokenizer();
    struct baton_tokens tokens = {0};
    const char *text = (const char *)data;
    bool parse_special = size & 1;
    size_t at = 0, n;
    enum baton_err err =
        baton_tokenizer_encode(tokenizer, text, size, parse_special, size, &tokens, NULL);
    check(err == (baton_utf8_valid(text, size) ? BATON_OK : BATON_INVALID));
    for (size_t i = 0; i < tokens.n; i++, at += n) {
        const char *bytes = baton_tokenizer_bytes(tokenizer, tokens.ids[i], &n);
        check(bytes && n <= size - at && memcmp(bytes, text + at, n) == 0);
        check(!baton_tokenizer_is_special(tokenizer, tokens.ids[i]) || parse_special);
    }
    check(err || at == size);
    baton_tokens_fini(&tokens);
}
