/* A hostile tokenizer.json is refused with a reason, or gives a tokenizer that encodes texts into
 * ids that exist, the same for a text and its spans, and whose ids decode to UTF-8. */
#include "tests/fuzz/fuzz.h"

#include "common/base/array.h"
#include "common/base/utf8.h"
#include "engine/checkpoint/tokenizer_tables.h"
#include "engine/tokenizer/detokenizer.h"

enum { MAX_TOKENS = 1 << 16, MAX_BYTES = 1 << 22 };

static void check_ids(const struct baton_tokenizer *tokenizer, const struct baton_tokens *tokens,
                      bool parse_special)
{
    struct baton_buf text;
    size_t n;
    for (size_t i = 0; i < tokens->n; i++)
        check(baton_tokenizer_bytes(tokenizer, tokens->ids[i], &n));
    baton_buf_init(&text, MAX_BYTES);
    baton_detokenize(tokenizer, tokens->ids, tokens->n, parse_special, &text);
    check(baton_buf_err(&text) || baton_utf8_valid(baton_buf_text(&text), text.len));
    baton_buf_fini(&text);
}

static void check_encoding(struct baton_tokenizer *tokenizer, const char *text, size_t n)
{
    struct baton_tokens tokens = {0}, halves = {0};
    const struct baton_span spans[] = {{0, n / 2}, {n / 2, n}};
    struct baton_why why = {""};
    for (int parse_special = 0; parse_special < 2; parse_special++) {
        tokens.n = 0;
        if (!baton_tokenizer_encode(tokenizer, text, n, parse_special, MAX_TOKENS, &tokens, &why))
            check_ids(tokenizer, &tokens, parse_special);
        else if (tokens.n || !why.text[0])
            abort();
    }
    if (!baton_tokenizer_encode_spans(tokenizer, text, n, spans, 2, MAX_TOKENS, &halves, &why))
        check_ids(tokenizer, &halves, true);
    if (!baton_tokenizer_encode_prompt(tokenizer, text, n, MAX_TOKENS, &tokens, &why))
        check_ids(tokenizer, &tokens, true);
    baton_tokens_fini(&tokens);
    baton_tokens_fini(&halves);
}

FUZZ(data, size)
{
    struct baton_tokenizer_tables *tables = NULL;
    struct baton_tokenizer *tokenizer = NULL;
    struct baton_why why = {.text = ""};
    enum baton_err err = baton_tokenizer_tables_parse("fuzz", data, size, &tables, &why);
    if (!err)
        err = baton_tokenizer_create(tables, &tokenizer, &why);
    baton_tokenizer_tables_free(tables);
    if (!err) {
        static const char *const texts[] = {"ab a<s>b!", "aaabbbab", "",
                                            " \u2581e\u0301\n\u4e2d 12'S",
                                            "<|im_start|> x<0x41>\U0001f600"};
        for (size_t i = 0; i < BATON_N_OF(texts); i++)
            check_encoding(tokenizer, texts[i], strlen(texts[i]));
    } else if (!why.text[0]) {
        abort();
    }
    baton_tokenizer_close(tokenizer);
}
