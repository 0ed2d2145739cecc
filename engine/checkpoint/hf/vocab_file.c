#include "engine/checkpoint/hf/vocab_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"

enum { NUMBER_MAX_BYTES = 63 };

static enum baton_err out_of_memory(const struct baton_vocab_reader *reader)
{
    return baton_fail(reader->why, BATON_NO_MEMORY, "%s: out of memory", reader->tables->file);
}

static enum baton_err wrong(const struct baton_vocab_reader *reader, const char *rule)
{
    return baton_fail(reader->why, BATON_INVALID, "%s: vocab: %s", reader->tables->file, rule);
}

/* ---- vocab ---- */

/* Allocates one block for the texts of all tokens, each ending with a zero. It suffices, because a
 * decoded string is shorter than with its quotes. */
static enum baton_err begin(struct baton_vocab_reader *reader, struct baton_json_span vocab)
{
    reader->tables->texts = malloc(vocab.n + 1);
    return reader->tables->texts ? BATON_OK : out_of_memory(reader);
}

/* Makes ids 0 .. n - 1 valid; *cap is the number that has memory. */
static enum baton_err reserve(struct baton_vocab_reader *reader, size_t n, size_t *cap)
{
    struct baton_tokenizer_tables *tables = reader->tables;
    size_t before = *cap;
    if (BATON_RESERVE(tables->tokens, *cap, n))
        return out_of_memory(reader);
    memset(tables->tokens + before, 0, (*cap - before) * sizeof *tables->tokens);
    if (n > tables->n_tokens)
        tables->n_tokens = n;
    return BATON_OK;
}

static enum baton_err put_token(struct baton_vocab_reader *reader, const char *text, size_t n,
                                uint32_t id, size_t *cap)
{
    const char *file = reader->tables->file;
    if (n > BATON_TOKEN_MAX_BYTES)
        return baton_fail(reader->why, BATON_LIMIT,
                          "%s: vocab: a token has %zu bytes, more than %d", file, n,
                          BATON_TOKEN_MAX_BYTES);
    enum baton_err err = reserve(reader, (size_t)id + 1, cap);
    if (err)
        return err;
    struct baton_token_row *row = &reader->tables->tokens[id];
    if (row->text)
        return baton_fail(reader->why, BATON_INVALID,
                          "%s: vocab: id %d has two tokens, one is \"%.40s\"", file, (int)id, text);
    *row = (struct baton_token_row){.text = text, .n_bytes = n};
    return BATON_OK;
}

enum baton_err baton_vocab_index(struct baton_vocab_reader *reader, bool unique)
{
    const struct baton_tokenizer_tables *tables = reader->tables;
    if (baton_token_index_init(&reader->index, tables->n_tokens))
        return out_of_memory(reader);
    for (uint32_t id = 0; id < tables->n_tokens; id++) {
        const struct baton_token_row *row = &tables->tokens[id];
        if (!row->text)
            continue;
        if (unique &&
            baton_token_index_get(&reader->index, row->text, row->n_bytes) != BATON_NO_TOKEN)
            return baton_fail(reader->why, BATON_INVALID, "%s: vocab: duplicate token \"%.40s\"",
                              tables->file, row->text);
        baton_token_index_put(&reader->index, row->text, row->n_bytes, id);
    }
    return BATON_OK;
}

/* Returns BATON_NO_TOKEN when the number is not an id. */
static uint32_t id_of_number(struct baton_json_span number)
{
    uint32_t id = 0;
    /* The largest id, 1048575, has seven digits. */
    bool is_long = number.n > 7, has_lead = number.n > 1 && number.start[0] == '0';
    if (!number.n || is_long || has_lead)
        return BATON_NO_TOKEN;
    for (size_t i = 0; i < number.n; i++) {
        if (number.start[i] < '0' || number.start[i] > '9')
            return BATON_NO_TOKEN;
        id = id * 10 + (uint32_t)(number.start[i] - '0');
    }
    return id < BATON_MAX_TOKEN_IDS ? id : BATON_NO_TOKEN;
}

/* "token": id */
static enum baton_err read_token(struct baton_vocab_reader *reader, struct baton_json_text *text,
                                 char **to, size_t *cap)
{
    struct baton_json_span number;
    char *token = *to;
    size_t n;
    if (!baton_json_text_string(text, token, &n) || !baton_json_text_take(text, ':') ||
        !baton_json_text_number(text, &number))
        return wrong(reader, "must hold \"token\": id");
    token[n] = 0;
    *to = token + n + 1;
    uint32_t id = id_of_number(number);
    if (id == BATON_NO_TOKEN)
        return baton_fail(reader->why, BATON_INVALID,
                          "%s: vocab: the id of \"%.40s\" must be an integer 0..%d",
                          reader->tables->file, token, BATON_MAX_TOKEN_IDS - 1);
    return put_token(reader, token, n, id, cap);
}

/* ---- Unigram ---- */

static bool to_double(struct baton_json_span number, double *value)
{
    char copy[NUMBER_MAX_BYTES + 1], *end;
    if (number.n > NUMBER_MAX_BYTES)
        return false;
    memcpy(copy, number.start, number.n);
    copy[number.n] = 0;
    *value = strtod(copy, &end);
    return !*end;
}

/* ["token", score] */
static enum baton_err read_scored(struct baton_vocab_reader *reader, struct baton_json_text *text,
                                  char **to, size_t *cap)
{
    struct baton_tokenizer_tables *tables = reader->tables;
    struct baton_json_span number;
    char *token = *to;
    size_t n, id = tables->n_tokens;
    double score;
    if (id == BATON_MAX_TOKEN_IDS || !baton_json_text_take(text, '[') ||
        !baton_json_text_string(text, token, &n) || !baton_json_text_take(text, ',') ||
        !baton_json_text_number(text, &number) || !baton_json_text_take(text, ']') ||
        !to_double(number, &score))
        return baton_fail(reader->why, BATON_INVALID,
                          "%s: vocab: number %zu must be [token, score]", tables->file, id);
    if (n > BATON_UNIGRAM_PIECE_MAX_BYTES)
        return baton_fail(reader->why, BATON_LIMIT,
                          "%s: vocab: number %zu has %zu bytes, more than %d", tables->file, id, n,
                          BATON_UNIGRAM_PIECE_MAX_BYTES);
    token[n] = 0;
    *to = token + n + 1;
    enum baton_err err = put_token(reader, token, n, (uint32_t)id, cap);
    if (!err && BATON_RESERVE(tables->scores, reader->cap_scores, id + 1))
        return out_of_memory(reader);
    if (!err)
        tables->scores[id] = score;
    return err;
}

/* ---- both ---- */

/* The form of a vocabulary's tokens. */
struct vocab_form {
    char open, close;
    const char *not_empty, *items; /* rules for error texts */
    bool is_unique;                /* each text appears once, because it is a key */
    enum baton_err (*read)(struct baton_vocab_reader *reader, struct baton_json_text *text,
                           char **to, size_t *cap);
};

static enum baton_err read_items(struct baton_vocab_reader *reader, struct baton_json_span vocab,
                                 const struct vocab_form *form)
{
    struct baton_json_text text = baton_json_text_of(vocab);
    size_t cap = 0;
    if (!vocab.start || !baton_json_text_take(&text, form->open) ||
        baton_json_text_take(&text, form->close))
        return wrong(reader, form->not_empty);
    enum baton_err err = begin(reader, vocab);
    char *to = reader->tables->texts;
    do
        err = err ? err : form->read(reader, &text, &to, &cap);
    while (!err && baton_json_text_take(&text, ','));
    if (!err && (!baton_json_text_take(&text, form->close) || !baton_json_text_ends(&text)))
        err = wrong(reader, form->items);
    return err ? err : baton_vocab_index(reader, form->is_unique);
}

enum baton_err baton_vocab_read(struct baton_vocab_reader *reader, struct baton_json_span vocab)
{
    static const struct vocab_form form = {
        .open = '{',
        .close = '}',
        .not_empty = "must be an object with at least one token",
        .items = "must hold \"token\": id, with commas between",
        .is_unique = true,
        .read = read_token,
    };
    return read_items(reader, vocab, &form);
}

enum baton_err baton_vocab_read_scores(struct baton_vocab_reader *reader,
                                       struct baton_json_span vocab)
{
    static const struct vocab_form form = {
        .open = '[',
        .close = ']',
        .not_empty = "must be an array with at least one token",
        .items = "must hold [token, score], with commas between",
        .read = read_scored,
    };
    return read_items(reader, vocab, &form);
}
