#include "common/checkpoint/vocab_file.h"

#include <stdlib.h>
#include <string.h>

enum { TOKEN_MAX_BYTES = 1 << 20 };

#define NO_ID UINT32_MAX

static enum baton_err out_of_memory(const struct baton_tokenizer_tables *tables,
                                    struct baton_why *why)
{
    return baton_fail(why, BATON_NO_MEMORY, "%s: out of memory", tables->file);
}

/* ---- vocab ---- */

/* One more than the highest id, so that the table is made once. */
static enum baton_err count_ids(const struct baton_tokenizer_tables *tables,
                                const struct baton_json *vocab, size_t *n_ids,
                                struct baton_why *why)
{
    size_t n = 0;
    for (void *it = baton_json_first(vocab); it; it = baton_json_next(vocab, it)) {
        int64_t id = baton_json_int(baton_json_member(it));
        if (baton_json_kind(baton_json_member(it)) != BATON_JSON_INT || id < 0 ||
            id >= BATON_MAX_TOKEN_IDS)
            return baton_fail(why, BATON_INVALID,
                              "%s: vocab: the id of \"%.40s\" must be an integer 0..%d",
                              tables->file, baton_json_key(it), BATON_MAX_TOKEN_IDS - 1);
        if ((size_t)id >= n)
            n = (size_t)id + 1;
    }
    *n_ids = n;
    return BATON_OK;
}

/* The key is the token; the JSON object already holds each key once. */
static enum baton_err put_token(struct baton_tokenizer_tables *tables, const char *key, int64_t id,
                                struct baton_why *why)
{
    struct baton_token_row *row = &tables->tokens[id];
    size_t n = strlen(key);
    if (n > TOKEN_MAX_BYTES)
        return baton_fail(why, BATON_LIMIT, "%s: vocab: a token of %zu bytes", tables->file, n);
    if (row->text)
        return baton_fail(why, BATON_INVALID, "%s: vocab: id %d has two tokens, one is \"%.40s\"",
                          tables->file, (int)id, key);
    *row = (struct baton_token_row){.text = key, .n_bytes = n};
    return BATON_OK;
}

static enum baton_err read_tokens(struct baton_tokenizer_tables *tables,
                                  const struct baton_json *vocab, struct baton_why *why)
{
    if (baton_json_kind(vocab) != BATON_JSON_OBJECT || !baton_json_size(vocab))
        return baton_fail(why, BATON_INVALID,
                          "%s: vocab: must be an object with at least one token", tables->file);
    enum baton_err err = count_ids(tables, vocab, &tables->n_tokens, why);
    if (err)
        return err;
    tables->tokens = calloc(tables->n_tokens, sizeof *tables->tokens);
    if (!tables->tokens)
        return out_of_memory(tables, why);
    for (void *it = baton_json_first(vocab); it && !err; it = baton_json_next(vocab, it))
        err = put_token(tables, baton_json_key(it), baton_json_int(baton_json_member(it)), why);
    return err;
}

/* ---- Unigram ---- */

static enum baton_err read_scored(struct baton_tokenizer_tables *tables, size_t id,
                                  const struct baton_json *pair, struct baton_why *why)
{
    struct baton_token_row *row = &tables->tokens[id];
    const struct baton_json *score = baton_json_at(pair, 1);
    enum baton_json_kind kind = baton_json_kind(score);
    row->text = baton_json_string(baton_json_at(pair, 0), &row->n_bytes);
    if (!row->text || (kind != BATON_JSON_INT && kind != BATON_JSON_REAL))
        return baton_fail(why, BATON_INVALID, "%s: vocab: number %zu must be [token, score]",
                          tables->file, id);
    if (row->n_bytes > TOKEN_MAX_BYTES)
        return baton_fail(why, BATON_LIMIT, "%s: vocab: a token of %zu bytes", tables->file,
                          row->n_bytes);
    tables->scores[id] = baton_json_number(score);
    return BATON_OK;
}

enum baton_err baton_vocab_read_scores(struct baton_tokenizer_tables *tables,
                                       const struct baton_json *vocab, struct baton_why *why)
{
    size_t n = baton_json_size(vocab);
    enum baton_err err = BATON_OK;
    if (baton_json_kind(vocab) != BATON_JSON_ARRAY || !n || n > BATON_MAX_TOKEN_IDS)
        return baton_fail(why, BATON_INVALID, "%s: vocab: must be an array of 1..%d tokens",
                          tables->file, BATON_MAX_TOKEN_IDS);
    tables->tokens = calloc(n, sizeof *tables->tokens);
    tables->scores = calloc(n, sizeof *tables->scores);
    if (!tables->tokens || !tables->scores)
        return out_of_memory(tables, why);
    tables->n_tokens = n;
    for (size_t id = 0; id < n && !err; id++)
        err = read_scored(tables, id, baton_json_at(vocab, id), why);
    return err;
}

/* ---- merges ---- */

static uint32_t id_of(const struct baton_json *vocab, const char *token)
{
    const struct baton_json *id = baton_json_get(vocab, token);
    return id ? (uint32_t)baton_json_int(id) : NO_ID;
}

struct merges {
    struct baton_tokenizer_tables *tables; /* whose merges have room */
    const struct baton_json *vocab;
    struct baton_buf text; /* left, 0, right, then the two joined: keys of vocab */
    struct baton_why *why;
};

static enum baton_err bad_merge(const struct merges *merges, const char *reason)
{
    return baton_fail(merges->why, BATON_INVALID, "%s: merges: number %zu %s", merges->tables->file,
                      merges->tables->n_merges + 1, reason);
}

static enum baton_err add_merge(struct merges *merges, const char *left, size_t n_left,
                                const char *right, size_t n_right)
{
    struct baton_buf *text = &merges->text;
    if (!n_left || !n_right || memchr(left, 0, n_left) || memchr(right, 0, n_right))
        return bad_merge(merges, "must name two tokens");
    baton_buf_reset(text);
    baton_buf_append(text, left, n_left);
    baton_buf_putc(text, 0);
    baton_buf_append(text, right, n_right);
    baton_buf_putc(text, 0);
    baton_buf_append(text, left, n_left);
    baton_buf_append(text, right, n_right);
    if (baton_buf_err(text))
        return bad_merge(merges, "is too long");
    uint32_t left_id = id_of(merges->vocab, text->data);
    uint32_t right_id = id_of(merges->vocab, text->data + n_left + 1);
    uint32_t merged_id = id_of(merges->vocab, text->data + n_left + n_right + 2);
    if (left_id == NO_ID || right_id == NO_ID || merged_id == NO_ID)
        return bad_merge(merges, "has a token or a result that is not in the vocabulary");
    merges->tables->merges[merges->tables->n_merges++] =
        (struct baton_merge_row){.left = left_id, .right = right_id, .merged = merged_id};
    return BATON_OK;
}

/* "left right" */
static enum baton_err add_spaced(struct merges *merges, const char *line, size_t n)
{
    const char *space = memchr(line, ' ', n);
    if (!space || memchr(space + 1, ' ', (size_t)(line + n - space - 1)))
        return bad_merge(merges, "must be two tokens with one space between");
    return add_merge(merges, line, (size_t)(space - line), space + 1,
                     (size_t)(line + n - space - 1));
}

static enum baton_err add_value(struct merges *merges, const struct baton_json *value)
{
    size_t n, n_right;
    const char *text = baton_json_string(value, &n);
    if (text)
        return add_spaced(merges, text, n);
    const char *left = baton_json_string(baton_json_at(value, 0), &n);
    const char *right = baton_json_string(baton_json_at(value, 1), &n_right);
    if (!left || !right || baton_json_size(value) != 2)
        return bad_merge(merges, "must be a string or an array of two strings");
    return add_merge(merges, left, n, right, n_right);
}

/* Lines of merges.txt. Its heading is no merge, but a merge may begin with #. */
static enum baton_err add_lines(struct merges *merges, const char *text, size_t n)
{
    static const char heading[] = "#version";
    enum baton_err err = BATON_OK;
    for (size_t start = 0, next; start < n && !err; start = next) {
        const char *line = text + start, *newline = memchr(line, '\n', n - start);
        size_t length = newline ? (size_t)(newline - line) : n - start;
        next = start + length + 1;
        if (length && line[length - 1] == '\r')
            length--;
        if (length >= strlen(heading) && !memcmp(line, heading, strlen(heading)))
            continue;
        if (length)
            err = add_spaced(merges, line, length);
    }
    return err;
}

/* Room for n_most merges, and for the text of one. */
static enum baton_err begin_merges(struct merges *merges, size_t n_most)
{
    struct baton_tokenizer_tables *tables = merges->tables;
    baton_buf_init(&merges->text, (size_t)4 * TOKEN_MAX_BYTES);
    tables->merges = calloc(n_most + 1, sizeof *tables->merges);
    return tables->merges ? BATON_OK : out_of_memory(tables, merges->why);
}

enum baton_err baton_vocab_read(struct baton_tokenizer_tables *tables,
                                const struct baton_json *vocab, const struct baton_json *array,
                                struct baton_why *why)
{
    struct merges merges = {.tables = tables, .vocab = vocab, .why = why};
    size_t n_merges = baton_json_size(array);
    if (baton_json_kind(array) != BATON_JSON_ARRAY)
        return baton_fail(why, BATON_INVALID, "%s: merges: must be an array", tables->file);
    enum baton_err err = read_tokens(tables, vocab, why);
    if (err)
        return err;
    err = begin_merges(&merges, n_merges);
    for (size_t i = 0; i < n_merges && !err; i++)
        err = add_value(&merges, baton_json_at(array, i));
    baton_buf_fini(&merges.text);
    return err;
}

enum baton_err baton_vocab_read_text(struct baton_tokenizer_tables *tables,
                                     const struct baton_json *vocab, const char *text, size_t n,
                                     struct baton_why *why)
{
    struct merges merges = {.tables = tables, .vocab = vocab, .why = why};
    size_t n_lines = 1;
    for (size_t i = 0; i < n; i++)
        n_lines += text[i] == '\n';
    enum baton_err err = read_tokens(tables, vocab, why);
    if (err)
        return err;
    err = begin_merges(&merges, n_lines);
    if (!err)
        err = add_lines(&merges, text, n);
    baton_buf_fini(&merges.text);
    return err;
}
