/* A hostile tokenizer.json is refused with a reason, or gives a tokenizer whose ids decode to what
 * was encoded (after the space that it may put before each piece of text). */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/checkpoint/tokenizer_tables.h"
#include "common/tokenizer/tokenizer_parts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_ids(const struct baton_tokenizer *tokenizer, const struct baton_tokens *tokens,
                      const char *text)
{
    size_t size = strlen(text), at = 0, n;
    for (size_t i = 0; i < tokens->n; i++, at += n) {
        const char *bytes = baton_tokenizer_bytes(tokenizer, tokens->ids[i], &n);
        if (!bytes || tokens->ids[i] >= baton_tokenizer_n_vocab(tokenizer))
            abort();
        if (!tokenizer->add_prefix_space && (n > size - at || memcmp(bytes, text + at, n) != 0))
            abort();
    }
    if (!tokenizer->add_prefix_space && at != size)
        abort();
}

static void check(struct baton_tokenizer *tokenizer, const char *text)
{
    struct baton_tokens tokens = {0};
    size_t n = strlen(text);
    if (!baton_tokenizer_encode(tokenizer, text, n, true, 2 * n, &tokens, NULL))
        check_ids(tokenizer, &tokens, text);
    else if (tokens.n)
        abort();
    baton_tokens_fini(&tokens);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct baton_tokenizer_tables *tables = NULL;
    struct baton_tokenizer *tokenizer = NULL;
    struct baton_why why = {.text = ""};
    enum baton_err err = baton_tokenizer_tables_parse("fuzz", data, size, &tables, &why);
    if (!err)
        err = baton_tokenizer_create(tables, &tokenizer, &why);
    baton_tokenizer_tables_free(tables);
    if (!err) {
        check(tokenizer, "ab a<s>b!");
        check(tokenizer, "aaabbbab");
    } else if (!why.text[0]) {
        abort();
    }
    baton_tokenizer_close(tokenizer);
    return 0;
}
