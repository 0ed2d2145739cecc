#include "common/text/tokenizer.h"

#include <stdlib.h>

#include "common/base/utf8.h"
#include "common/text/tokenizer_parts.h"
#include "common/text/tokens.h"

enum { N_ADDED = 2 };

/* One call of encode. */
struct run {
    struct baton_tokenizer *tokenizer;
    bool parse_special;
    size_t start, max_tokens; /* ids before start were there already */
    struct baton_tokens *out;
    struct baton_why *why;
};

struct baton_tokenizer *baton_tokenizer_create(void)
{
    struct baton_tokenizer *tokenizer = calloc(1, sizeof *tokenizer);
    if (tokenizer)
        baton_vocab_init(&tokenizer->vocab);
    return tokenizer;
}

enum baton_err baton_tokenizer_open(const char *dir, struct baton_tokenizer **tokenizer,
                                    struct baton_why *why)
{
    struct baton_tokenizer *opened = baton_tokenizer_create();
    if (!opened)
        return baton_fail(why, BATON_NO_MEMORY, "%s: out of memory", dir);
    enum baton_err err = baton_tokenizer_read_json(opened, dir, why);
    if (err == BATON_NOT_FOUND)
        err = baton_tokenizer_read_pair(opened, dir, why);
    if (err)
        baton_tokenizer_close(opened);
    else
        *tokenizer = opened;
    return err;
}

void baton_tokenizer_close(struct baton_tokenizer *tokenizer)
{
    if (!tokenizer)
        return;
    for (int i = 0; i < N_ADDED; i++)
        baton_added_fini(&tokenizer->added[i]);
    baton_pretokenizer_destroy(tokenizer->pretokenizer);
    baton_bpe_fini(&tokenizer->bpe);
    baton_vocab_fini(&tokenizer->vocab);
    free(tokenizer);
}

size_t baton_tokenizer_n_vocab(const struct baton_tokenizer *tokenizer)
{
    return tokenizer->vocab.n_tokens;
}

const char *baton_tokenizer_bytes(const struct baton_tokenizer *tokenizer, uint32_t id, size_t *n)
{
    return baton_vocab_bytes(&tokenizer->vocab, id, n);
}

bool baton_tokenizer_is_special(const struct baton_tokenizer *tokenizer, uint32_t id)
{
    return id < tokenizer->vocab.n_tokens && tokenizer->vocab.tokens[id].special;
}

static enum baton_err too_long(const struct run *run)
{
    return baton_fail(run->why, BATON_LIMIT, "the text is longer than %zu tokens", run->max_tokens);
}

static enum baton_err within_limit(const struct run *run)
{
    return run->out->n - run->start > run->max_tokens ? too_long(run) : BATON_OK;
}

static enum baton_err encode_words(struct run *run, const char *text, size_t n)
{
    struct baton_tokenizer *tokenizer = run->tokenizer;
    enum baton_err err = BATON_OK;
    for (size_t start = 0, end = n; start < n && !err; start = end) {
        if (tokenizer->pretokenizer)
            err = baton_pretokenizer_next(tokenizer->pretokenizer, text, n, start, &end, run->why);
        if (!err)
            err = baton_bpe_encode(&tokenizer->bpe, text + start, end - start, run->out, run->why);
        if (!err)
            err = within_limit(run);
    }
    return err;
}

static enum baton_err encode_prefixed(struct run *run, const char *text, size_t n)
{
    struct baton_buf prefixed;
    if (!run->tokenizer->add_prefix_space || text[0] == ' ')
        return encode_words(run, text, n);
    baton_buf_init(&prefixed, SIZE_MAX / 4);
    baton_buf_putc(&prefixed, ' ');
    baton_buf_append(&prefixed, text, n);
    enum baton_err err = baton_buf_err(&prefixed);
    if (err)
        err = baton_fail(run->why, err, "no room for a text of %zu bytes", n);
    else
        err = encode_words(run, prefixed.data, prefixed.len);
    baton_buf_fini(&prefixed);
    return err;
}

/* Encodes what lies between the added tokens of the given set by the sets after it. */
static enum baton_err encode_piece(struct run *run, int set, const char *text, size_t n)
{
    if (!n)
        return BATON_OK;
    if (set == N_ADDED)
        return encode_prefixed(run, text, n);
    const struct baton_added *added = &run->tokenizer->added[set];
    const struct baton_added_token *token;
    size_t from = 0, search = 0, at;
    while ((token = baton_added_find(added, text, n, search, &at))) {
        search = at + token->n_bytes;
        if (token->special && !run->parse_special)
            continue;
        enum baton_err err = encode_piece(run, set + 1, text + from, at - from);
        if (!err && baton_tokens_push(run->out, token->id))
            err = baton_fail(run->why, BATON_NO_MEMORY, "out of memory");
        if (!err)
            err = within_limit(run);
        if (err)
            return err;
        from = search;
    }
    return encode_piece(run, set + 1, text + from, n - from);
}

enum baton_err baton_tokenizer_encode(struct baton_tokenizer *tokenizer, const char *text, size_t n,
                                      bool parse_special, size_t max_tokens,
                                      struct baton_tokens *out, struct baton_why *why)
{
    struct run run = {.tokenizer = tokenizer,
                      .parse_special = parse_special,
                      .start = out->n,
                      .max_tokens = max_tokens,
                      .out = out,
                      .why = why};
    if (n / (tokenizer->vocab.longest_bytes + 1) > max_tokens)
        return too_long(&run);
    if (!baton_utf8_valid(text, n))
        return baton_fail(why, BATON_INVALID, "the text is not UTF-8");
    enum baton_err err = encode_piece(&run, 0, text, n);
    if (err)
        out->n = run.start;
    return err;
}
