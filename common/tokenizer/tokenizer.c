#include "common/tokenizer/tokenizer.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/utf8.h"
#include "common/checkpoint/tokenizer_tables.h"
#include "common/tokenizer/byte_level.h"
#include "common/tokenizer/tokenizer_parts.h"
#include "common/tokenizer/tokens.h"

enum { N_ADDED = 2 };

/* One call of encode. */
struct run {
    struct baton_tokenizer *tokenizer;
    const char *text;               /* all of it */
    const struct baton_span *spans; /* where special tokens are recognised */
    size_t n_spans;
    size_t start, max_tokens; /* ids before start were there already */
    struct baton_tokens *out;
    struct baton_why *why;
};

/* ---- building from tables ---- */

static enum baton_err out_of_memory(const struct baton_tokenizer_tables *tables,
                                    struct baton_why *why)
{
    return baton_fail(why, BATON_NO_MEMORY, "%s: out of memory", tables->file);
}

static enum baton_err fill_vocab(struct baton_vocab *vocab,
                                 const struct baton_tokenizer_tables *tables, struct baton_why *why)
{
    struct baton_buf bytes;
    size_t n_ids = tables->n_tokens;
    for (size_t i = 0; i < tables->n_added; i++)
        n_ids = tables->added[i].id >= n_ids ? (size_t)tables->added[i].id + 1 : n_ids;
    if (baton_vocab_reserve(vocab, n_ids))
        return out_of_memory(tables, why);
    baton_buf_init(&bytes, SIZE_MAX / 4);
    enum baton_err err = BATON_OK;
    for (size_t id = 0; id < tables->n_tokens && !err; id++) {
        const struct baton_token_row *row = &tables->tokens[id];
        if (!row->text)
            continue;
        baton_buf_reset(&bytes);
        baton_buf_append(&bytes, row->text, row->n_bytes); /* decoding never makes it longer */
        err = baton_buf_err(&bytes);
        size_t n = row->n_bytes;
        if (!err && n)
            n = baton_byte_level_decode(row->text, n, bytes.data);
        if (!err)
            err = baton_vocab_put(vocab, (uint32_t)id, baton_buf_text(&bytes), n);
    }
    baton_buf_fini(&bytes);
    return err ? out_of_memory(tables, why) : BATON_OK;
}

/* The tokens that are a single character of the byte-level alphabet start every word. */
static void find_bytes(struct baton_bpe *bpe, const struct baton_tokenizer_tables *tables)
{
    char text[BATON_BYTE_LEVEL_MAX + 1], byte[BATON_BYTE_LEVEL_MAX];
    for (size_t id = 0; id < tables->n_tokens; id++) {
        const struct baton_token_row *row = &tables->tokens[id];
        if (!row->text || !row->n_bytes || row->n_bytes > BATON_BYTE_LEVEL_MAX ||
            baton_byte_level_decode(row->text, row->n_bytes, byte) != 1)
            continue;
        size_t n = baton_byte_level_encode((uint8_t)byte[0], text);
        if (n == row->n_bytes && !memcmp(text, row->text, n))
            bpe->byte_ids[(uint8_t)byte[0]] = (uint32_t)id;
    }
}

static enum baton_err fill_bpe(struct baton_bpe *bpe, const struct baton_tokenizer_tables *tables,
                               struct baton_why *why)
{
    if (tables->n_merges >= UINT32_MAX || baton_bpe_init(bpe, tables->n_merges))
        return out_of_memory(tables, why);
    find_bytes(bpe, tables);
    for (size_t rank = 0; rank < tables->n_merges; rank++) {
        const struct baton_merge_row *row = &tables->merges[rank];
        baton_bpe_add(bpe, row->left, row->right, (uint32_t)rank, row->merged);
    }
    return BATON_OK;
}

/* An added token may repeat one of the vocabulary's with the same bytes. */
static enum baton_err put_added(struct baton_vocab *vocab,
                                const struct baton_tokenizer_tables *tables,
                                const struct baton_added_row *row, struct baton_why *why)
{
    size_t n_known = 0;
    const char *known = baton_vocab_bytes(vocab, row->id, &n_known);
    if (known && (row->n_bytes != n_known || memcmp(known, row->text, n_known) != 0))
        return baton_fail(why, BATON_INVALID,
                          "%s: added_tokens: \"%.40s\": id %u stands for other bytes", tables->file,
                          row->text, (unsigned)row->id);
    if (!known && baton_vocab_put(vocab, row->id, row->text, row->n_bytes))
        return out_of_memory(tables, why);
    if (row->special)
        vocab->tokens[row->id].special = 1;
    return BATON_OK;
}

static enum baton_err fill_added(struct baton_tokenizer *tokenizer,
                                 const struct baton_tokenizer_tables *tables, struct baton_why *why)
{
    enum baton_err err = BATON_OK;
    for (size_t i = 0; i < tables->n_added && !err; i++)
        err = put_added(&tokenizer->vocab, tables, &tables->added[i], why);
    /* Only now: the bytes that the sets borrow no longer move. */
    for (size_t i = 0; i < tables->n_added && !err; i++) {
        const struct baton_added_row *row = &tables->added[i];
        struct baton_added_token token = {.id = row->id, .special = row->special};
        token.text = baton_vocab_bytes(&tokenizer->vocab, row->id, &token.n_bytes);
        if (baton_added_add(&tokenizer->added[row->normalized], token))
            err = out_of_memory(tables, why);
    }
    for (int i = 0; i < N_ADDED; i++)
        baton_added_seal(&tokenizer->added[i]);
    return err;
}

enum baton_err baton_tokenizer_create(const struct baton_tokenizer_tables *tables,
                                      struct baton_tokenizer **tokenizer, struct baton_why *why)
{
    struct baton_tokenizer *made = calloc(1, sizeof *made);
    if (!made)
        return out_of_memory(tables, why);
    baton_vocab_init(&made->vocab);
    made->add_prefix_space = tables->add_prefix_space;
    enum baton_err err = fill_vocab(&made->vocab, tables, why);
    if (!err)
        err = fill_bpe(&made->bpe, tables, why);
    if (!err)
        err = fill_added(made, tables, why);
    if (!err && tables->splits_words)
        err = baton_pretokenizer_create(true, &made->pretokenizer, why);
    if (err)
        baton_tokenizer_close(made);
    else
        *tokenizer = made;
    return err;
}

enum baton_err baton_tokenizer_open(const char *model_path, struct baton_tokenizer **tokenizer,
                                    struct baton_why *why)
{
    struct baton_tokenizer_tables *tables = NULL;
    enum baton_err err = baton_tokenizer_tables_read(model_path, &tables, why);
    if (!err)
        err = baton_tokenizer_create(tables, tokenizer, why);
    baton_tokenizer_tables_free(tables);
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

bool baton_tokenizer_special_id(const struct baton_tokenizer *tokenizer, const char *text, size_t n,
                                uint32_t *id)
{
    size_t at;
    for (int i = 0; i < N_ADDED; i++) {
        const struct baton_added_token *token =
            baton_added_find(&tokenizer->added[i], text, n, 0, &at);
        if (token && at == 0 && token->n_bytes == n && token->special) {
            *id = token->id;
            return true;
        }
    }
    return false;
}

/* ---- encoding ---- */

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
    /* The word that begins a text then has the ids that it has in the middle of one. */
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

/* The first span that ends behind position at; one that begins nowhere when none does. */
static struct baton_span span_after(const struct run *run, size_t at)
{
    size_t low = 0, high = run->n_spans;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (run->spans[middle].end <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low < run->n_spans ? run->spans[low] : (struct baton_span){SIZE_MAX, SIZE_MAX};
}

/* The added token found at position at, or a shorter one there that ends within the first limit
 * bytes of text; NULL when there is none. */
static const struct baton_added_token *fitting(const struct baton_added *added,
                                               const struct baton_added_token *token,
                                               const char *text, size_t limit, size_t at)
{
    size_t place;
    if (!token->special || at + token->n_bytes <= limit)
        return token;
    token = baton_added_find(added, text, limit, at, &place);
    return token && place == at ? token : NULL;
}

/* The first added token from start on that may stand where it does. A special token that may not is
 * ordinary text up to its end, or to the next span. */
static const struct baton_added_token *next_added(const struct run *run,
                                                  const struct baton_added *added, const char *text,
                                                  size_t n, size_t start, size_t *at)
{
    const struct baton_added_token *token;
    size_t base = (size_t)(text - run->text);
    while ((token = baton_added_find(added, text, n, start, at))) {
        struct baton_span span = span_after(run, base + *at);
        size_t end = *at + token->n_bytes;
        bool inside = base + *at >= span.start;
        if (inside)
            token = fitting(added, token, text, span.end - base, *at);
        if (token && (inside || !token->special))
            return token;
        if (inside)
            start = *at + 1;
        else
            start = end < span.start - base ? end : span.start - base;
    }
    return NULL;
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
    while ((token = next_added(run, added, text, n, search, &at))) {
        search = at + token->n_bytes;
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

enum baton_err baton_tokenizer_encode_spans(struct baton_tokenizer *tokenizer, const char *text,
                                            size_t n, const struct baton_span *spans,
                                            size_t n_spans, size_t max_tokens,
                                            struct baton_tokens *out, struct baton_why *why)
{
    struct run run = {.tokenizer = tokenizer,
                      .text = text,
                      .spans = spans,
                      .n_spans = n_spans,
                      .start = out->n,
                      .max_tokens = max_tokens,
                      .out = out,
                      .why = why};
    /* No token is longer than longest_bytes: too many tokens are certain before the first. */
    if (n / (tokenizer->vocab.longest_bytes + 1) > max_tokens)
        return too_long(&run);
    if (!baton_utf8_valid(text, n))
        return baton_fail(why, BATON_INVALID, "the text is not UTF-8");
    enum baton_err err = encode_piece(&run, 0, text, n);
    if (err)
        out->n = run.start;
    return err;
}

enum baton_err baton_tokenizer_encode(struct baton_tokenizer *tokenizer, const char *text, size_t n,
                                      bool parse_special, size_t max_tokens,
                                      struct baton_tokens *out, struct baton_why *why)
{
    struct baton_span all = {.start = 0, .end = n};
    return baton_tokenizer_encode_spans(tokenizer, text, n, &all, parse_special ? 1 : 0, max_tokens,
                                        out, why);
}
