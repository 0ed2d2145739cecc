#include "engine/tokenizer/build.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/utf8.h"
#include "engine/tokenizer/model/byte_level.h"

enum { TEXTS_MAX_BYTES = 512 << 20 };

/* The bytes by which a word is found as this token: the raw bytes with ByteLevel, otherwise the
 * text. */
struct key {
    const char *bytes; /* NULL: no word is this token */
    size_t n;
};

struct builder {
    struct baton_tokenizer *tokenizer;
    const struct baton_tokenizer_tables *tables;
    bool is_byte_level;
    struct baton_buf scratch;
    struct baton_growth decoded; /* what all tokens may become */
    struct baton_why *why;
};

static bool has_byte_level(const struct baton_tokenizer_steps *steps)
{
    for (int i = 0; i < steps->n_pretokenizer; i++)
        if (steps->pretokenizer[i].kind == BATON_PRETOKENIZER_BYTE_LEVEL)
            return true;
    return false;
}

/* ---- the bytes that tokens decode to ---- */

/* Writes to scratch the bytes that a token of that text adds to a text. */
static void make_bytes(struct builder *b, const char *text, size_t n)
{
    baton_buf_reset(&b->scratch);
    baton_buf_append(&b->scratch, text, n);
    baton_token_bytes_make(&b->tables->steps, &b->decoded, &b->scratch);
}

static enum baton_err put_token(struct builder *b, uint32_t id, const char *text, size_t n)
{
    make_bytes(b, text, n);
    enum baton_err err = baton_buf_err(&b->scratch);
    if (err == BATON_LIMIT)
        return baton_fail(b->why, BATON_INVALID,
                          "decoder: makes more than %d times their text of tokens",
                          BATON_GROWTH_TIMES);
    if (!err)
        err =
            baton_vocab_put(&b->tokenizer->vocab, id, baton_buf_text(&b->scratch), b->scratch.len);
    if (!err)
        b->tokenizer->vocab.tokens[id].keeps_space = n && text[0] == ' ';
    return err;
}

/* Puts an added token that the vocabulary has not. Among pieces of words it begins a word. */
static enum baton_err put_added_token(struct builder *b, const struct baton_added_row *row)
{
    struct baton_buf text;
    baton_buf_init(&text, row->n_bytes + sizeof BATON_WORD_BEGINS);
    if (b->tables->model == BATON_TOKENIZER_WORDPIECE)
        baton_buf_puts(&text, BATON_WORD_BEGINS);
    baton_buf_append(&text, row->text, row->n_bytes);
    enum baton_err err = baton_buf_err(&text);
    if (!err)
        err = put_token(b, row->id, baton_buf_text(&text), text.len);
    baton_buf_fini(&text);
    return err;
}

/* Adds the added tokens, one of which may repeat a token of the vocabulary. */
static enum baton_err put_added_bytes(struct builder *b)
{
    struct baton_vocab *vocab = &b->tokenizer->vocab;
    enum baton_err err = BATON_OK;
    for (size_t i = 0; i < b->tables->n_added && !err; i++) {
        const struct baton_added_row *row = &b->tables->added[i];
        size_t n;
        if (!baton_vocab_bytes(vocab, row->id, &n))
            err = put_added_token(b, row);
        if (row->special)
            vocab->tokens[row->id].special = 1;
    }
    return err;
}

static enum baton_err fill_vocab(struct builder *b)
{
    const struct baton_tokenizer_tables *tables = b->tables;
    size_t n_ids = tables->n_tokens;
    for (size_t i = 0; i < tables->n_added; i++)
        n_ids = tables->added[i].id >= n_ids ? (size_t)tables->added[i].id + 1 : n_ids;
    enum baton_err err = baton_vocab_reserve(&b->tokenizer->vocab, n_ids);
    for (size_t id = 0; id < tables->n_tokens && !err; id++)
        if (tables->tokens[id].text)
            err = put_token(b, (uint32_t)id, tables->tokens[id].text, tables->tokens[id].n_bytes);
    if (!err)
        err = put_added_bytes(b);
    return err;
}

/* ---- search of words ---- */

static bool is_in_alphabet(const char *text, size_t n, const char *bytes, size_t n_bytes)
{
    char character[BATON_BYTE_LEVEL_MAX + 1];
    size_t at = 0;
    for (size_t i = 0; i < n_bytes; i++) {
        size_t length = baton_byte_level_encode((uint8_t)bytes[i], character);
        if (length > n - at || memcmp(text + at, character, length) != 0)
            return false;
        at += length;
    }
    return at == n;
}

/* Returns a token's key, borrowed from the tables, or from scratch until the next call. */
static struct key key_of(struct builder *b, uint32_t id)
{
    const struct baton_token_row *row = &b->tables->tokens[id];
    struct key key = {.bytes = row->text, .n = row->n_bytes};
    if (!row->text || !row->n_bytes || !b->is_byte_level)
        return row->n_bytes ? key : (struct key){.n = 0};
    baton_buf_reset(&b->scratch);
    baton_buf_append(&b->scratch, row->text, row->n_bytes);
    if (baton_buf_err(&b->scratch))
        return (struct key){.n = 0};
    key.bytes = b->scratch.data;
    key.n = baton_byte_level_decode(row->text, row->n_bytes, b->scratch.data);
    return is_in_alphabet(row->text, row->n_bytes, key.bytes, key.n) ? key : (struct key){.n = 0};
}

/* Returns a copy of the key that lives as long as the tokenizer; NULL: out of memory. */
static const char *keep(struct builder *b, uint32_t id, struct key key)
{
    size_t n;
    const char *bytes = baton_vocab_bytes(&b->tokenizer->vocab, id, &n);
    /* Most keys are what the token decodes to: no second copy is kept. */
    if (bytes && n == key.n && !memcmp(bytes, key.bytes, n))
        return bytes;
    return baton_arena_strndup(b->tokenizer->texts, key.bytes, key.n);
}

/* True for tokens that ordinary text never becomes. */
static bool is_special(const struct builder *b, uint32_t id)
{
    return b->tokenizer->vocab.tokens[id].special;
}

static void find_fallback(const struct builder *b, uint32_t ids[256])
{
    if (!b->tables->byte_fallback)
        return;
    for (size_t id = 0; id < b->tables->n_tokens; id++) {
        const struct baton_token_row *row = &b->tables->tokens[id];
        int byte = row->text ? baton_token_fallback_byte(row->text, row->n_bytes) : -1;
        /* The reference formats the names as <0x%02X>, so lower case is another token. */
        if (byte >= 0 && !islower((unsigned char)row->text[3]) &&
            !islower((unsigned char)row->text[4]))
            ids[byte] = (uint32_t)id;
    }
}

/* ---- BPE ---- */

static bool is_one_character(struct key key)
{
    size_t n;
    (void)baton_utf8_at(key.bytes, &n);
    return n == key.n;
}

/* Fills the tokens that words consist of before merging. */
static enum baton_err find_units(struct builder *b)
{
    struct baton_bpe *bpe = &b->tokenizer->bpe;
    bpe->by_characters = !b->is_byte_level;
    if (bpe->by_characters && baton_token_index_init(&bpe->characters, b->tables->n_tokens))
        return BATON_NO_MEMORY;
    for (uint32_t id = 0; id < b->tables->n_tokens; id++) {
        struct key key = key_of(b, id);
        if (key.n == 1) {
            bpe->byte_ids[(uint8_t)key.bytes[0]] = id;
        } else if (key.n && bpe->by_characters && is_one_character(key)) {
            const char *text = keep(b, id, key);
            if (!text)
                return BATON_NO_MEMORY;
            baton_token_index_put(&bpe->characters, text, key.n, id);
        }
    }
    return BATON_OK;
}

static enum baton_err fill_words(struct builder *b)
{
    struct baton_tokenizer *tokenizer = b->tokenizer;
    /* Over characters a word is usually the whole text, which is never a token. */
    if (!b->is_byte_level && !b->tables->ignore_merges)
        return BATON_OK;
    enum baton_err err = baton_token_index_init(&tokenizer->words, b->tables->n_tokens);
    tokenizer->whole = malloc(b->tables->n_tokens + 1);
    if (!tokenizer->whole)
        return BATON_NO_MEMORY;
    memset(tokenizer->whole, b->tables->ignore_merges ? BATON_WHOLE_YES : BATON_WHOLE_UNKNOWN,
           b->tables->n_tokens);
    for (uint32_t id = 0; id < b->tables->n_tokens && !err; id++) {
        struct key key = key_of(b, id);
        const char *text = key.n && !is_special(b, id) ? keep(b, id, key) : NULL;
        if (text && key.n > tokenizer->longest_word_bytes)
            tokenizer->longest_word_bytes = key.n;
        if (text)
            baton_token_index_put(&tokenizer->words, text, key.n, id);
        else if (key.n && !is_special(b, id))
            err = BATON_NO_MEMORY;
    }
    return err;
}

static enum baton_err fill_bpe(struct builder *b)
{
    const struct baton_tokenizer_tables *tables = b->tables;
    struct baton_bpe *bpe = &b->tokenizer->bpe;
    if (tables->n_merges >= UINT32_MAX || baton_bpe_init(bpe, tables->n_merges))
        return BATON_NO_MEMORY;
    bpe->unk_id = tables->unk_id;
    bpe->fuse_unk = tables->fuse_unk;
    find_fallback(b, bpe->fallback_ids);
    for (size_t rank = 0; rank < tables->n_merges; rank++) {
        const struct baton_merge_row *row = &tables->merges[rank];
        baton_bpe_add(bpe, row->left, row->right, (uint32_t)rank, row->merged);
    }
    enum baton_err err = find_units(b);
    return err ? err : fill_words(b);
}

/* ---- Unigram ---- */

static enum baton_err fill_unigram(struct builder *b)
{
    struct baton_unigram *unigram = &b->tokenizer->unigram;
    enum baton_err err = baton_unigram_init(unigram, b->tables);
    if (!err)
        find_fallback(b, unigram->fallback_ids);
    for (uint32_t id = 0; id < b->tables->n_tokens && !err; id++) {
        struct key key = key_of(b, id);
        if (!key.n || is_special(b, id))
            continue;
        struct baton_text_entry piece = {.text = keep(b, id, key), .n_bytes = key.n, .value = id};
        err = piece.text ? baton_text_set_add(&unigram->pieces, piece) : BATON_NO_MEMORY;
    }
    baton_text_set_seal(&unigram->pieces);
    return err;
}

/* ---- WordPiece ---- */

static enum baton_err fill_wordpiece(struct builder *b)
{
    struct baton_wordpiece *wordpiece = &b->tokenizer->wordpiece;
    enum baton_err err = BATON_OK;
    wordpiece->unk_id = b->tables->unk_id;
    for (uint32_t id = 0; id < b->tables->n_tokens && !err; id++) {
        struct key key = key_of(b, id);
        if (!key.n || is_special(b, id))
            continue;
        const char *text = keep(b, id, key);
        err = text ? baton_wordpiece_add(wordpiece, text, key.n, id) : BATON_NO_MEMORY;
    }
    baton_wordpiece_seal(wordpiece);
    return err;
}

static enum baton_err fill_model(struct builder *b)
{
    switch (b->tables->model) {
    case BATON_TOKENIZER_UNIGRAM:
        return fill_unigram(b);
    case BATON_TOKENIZER_WORDPIECE:
        return fill_wordpiece(b);
    case BATON_TOKENIZER_BPE:
        break;
    }
    return fill_bpe(b);
}

/* ---- added tokens ---- */

/* Normalises a token that is searched in normalised text. */
static enum baton_err normalize_added(struct builder *b, struct baton_added_token *token)
{
    struct baton_text_view text = {.bytes = token->text, .n = token->n_bytes}, normalized;
    enum baton_err err =
        baton_normalizer_run(b->tokenizer->normalizer, &text, false, &normalized, b->why);
    if (err || normalized.bytes == text.bytes)
        return err;
    token->n_bytes = normalized.n;
    token->text = baton_arena_strndup(b->tokenizer->texts, normalized.bytes, normalized.n);
    return token->text ? BATON_OK : BATON_NO_MEMORY;
}

static enum baton_err add_added(struct builder *b, const struct baton_added_row *row)
{
    struct baton_tokenizer *tokenizer = b->tokenizer;
    struct baton_added_token token = {.n_bytes = row->n_bytes,
                                      .id = row->id,
                                      .special = row->special,
                                      .lstrip = row->lstrip,
                                      .rstrip = row->rstrip,
                                      .single_word = row->single_word};
    token.text = baton_arena_strndup(tokenizer->texts, row->text, row->n_bytes);
    if (!token.text)
        return BATON_NO_MEMORY;
    enum baton_err err = BATON_OK;
    if (row->special) {
        struct baton_text_entry special = {
            .text = token.text, .n_bytes = row->n_bytes, .value = row->id};
        err = baton_text_set_add(&tokenizer->specials, special);
    }
    if (!err && row->normalized)
        err = normalize_added(b, &token);
    if (err || !token.n_bytes)
        return err;
    tokenizer->traces_special |= row->special && row->normalized && tokenizer->normalizer;
    return baton_added_add(
        &tokenizer->added[row->normalized ? BATON_ADDED_NORMALIZED : BATON_ADDED_RAW], token);
}

static enum baton_err fill_added(struct builder *b)
{
    enum baton_err err = BATON_OK;
    for (size_t i = 0; i < b->tables->n_added && !err; i++)
        err = add_added(b, &b->tables->added[i]);
    for (int i = 0; i < BATON_N_ADDED; i++)
        baton_added_seal(&b->tokenizer->added[i]);
    baton_text_set_seal(&b->tokenizer->specials);
    return err;
}

/* ---- special tokens around a prompt, and all parts ---- */

static enum baton_err fill_end(struct builder *b, const uint32_t *ids, int n, uint32_t *own,
                               int *n_own)
{
    for (int i = 0; i < n; i++) {
        size_t n_bytes;
        if (!baton_vocab_bytes(&b->tokenizer->vocab, ids[i], &n_bytes))
            return baton_fail(b->why, BATON_INVALID, "post_processor: id %u has no token",
                              (unsigned)ids[i]);
        own[i] = ids[i];
    }
    *n_own = n;
    return BATON_OK;
}

static enum baton_err fill_ends(struct builder *b)
{
    const struct baton_tokenizer_steps *steps = &b->tables->steps;
    struct baton_tokenizer *tokenizer = b->tokenizer;
    enum baton_err err =
        fill_end(b, steps->first_ids, steps->n_first, tokenizer->first_ids, &tokenizer->n_first);
    if (!err)
        err = fill_end(b, steps->last_ids, steps->n_last, tokenizer->last_ids, &tokenizer->n_last);
    return err ? err
               : fill_end(b, steps->between_ids, steps->n_between, tokenizer->between_ids,
                          &tokenizer->n_between);
}

/* True when the normalizer may remove the start of a text, and a step must know where it begins. */
static bool must_find_first(const struct baton_tokenizer_steps *steps)
{
    for (int i = 0; i < steps->n_pretokenizer; i++)
        if (steps->pretokenizer[i].prepend == BATON_PREPEND_FIRST)
            return steps->n_normalizer > 0;
    return false;
}

enum baton_err baton_tokenizer_build(struct baton_tokenizer *tokenizer,
                                     const struct baton_tokenizer_tables *tables,
                                     struct baton_why *why)
{
    struct builder b = {.tokenizer = tokenizer,
                        .tables = tables,
                        .is_byte_level = has_byte_level(&tables->steps),
                        .why = why};
    /* Token texts are bounded by the tables; SIZE_MAX / 4 keeps the buffer's growth from
     * overflowing. */
    baton_buf_init(&b.scratch, SIZE_MAX / 4);
    baton_growth_begin(&b.decoded);
    tokenizer->model = tables->model;
    tokenizer->traces_first = must_find_first(&tables->steps);
    tokenizer->texts = baton_arena_create(TEXTS_MAX_BYTES);
    enum baton_err err = tokenizer->texts ? BATON_OK : BATON_NO_MEMORY;
    if (!err)
        err = baton_text_rule_of(&tables->steps, &tokenizer->text_rule, why);
    if (!err)
        err = fill_vocab(&b);
    if (!err)
        err = baton_normalizer_create(&tables->steps, &tokenizer->normalizer, why);
    if (!err)
        err = baton_pretokenizer_create(&tables->steps, true, &tokenizer->pretokenizer, why);
    if (!err)
        err = fill_model(&b);
    if (!err)
        err = fill_added(&b);
    if (!err)
        err = fill_ends(&b);
    if (!err)
        baton_tokenizer_find_bounds(tokenizer, tables);
    baton_buf_fini(&b.scratch);
    return err;
}
