/* Merges, in each of the forms that files write them in. */
#include "common/base/array.h"
#include "engine/checkpoint/hf/vocab_file.h"

#include <stdlib.h>
#include <string.h>

static enum baton_err out_of_memory(const struct baton_merges *merges)
{
    return baton_fail(merges->reader->why, BATON_NO_MEMORY, "%s: out of memory",
                      merges->reader->tables->file);
}

static enum baton_err bad_merge(const struct baton_merges *merges, const char *reason)
{
    const struct baton_tokenizer_tables *tables = merges->reader->tables;
    return baton_fail(merges->reader->why, BATON_INVALID, "%s: merges: number %zu %s", tables->file,
                      tables->n_merges + 1, reason);
}

static enum baton_err reserve_merge(struct baton_merges *merges)
{
    struct baton_tokenizer_tables *tables = merges->reader->tables;
    return BATON_RESERVE(tables->merges, merges->cap, tables->n_merges + 1) ? out_of_memory(merges)
                                                                            : BATON_OK;
}

/* Adds the merge of left and right, which are adjacent in text. */
static enum baton_err add_merge(struct baton_merges *merges, const char *text, size_t n_left,
                                size_t n_right)
{
    const struct baton_token_index *index = &merges->reader->index;
    struct baton_tokenizer_tables *tables = merges->reader->tables;
    if (!n_left || !n_right)
        return bad_merge(merges, "must name two tokens");
    struct baton_merge_row row = {.left = baton_token_index_get(index, text, n_left),
                                  .right = baton_token_index_get(index, text + n_left, n_right),
                                  .merged = baton_token_index_get(index, text, n_left + n_right)};
    if (row.left == BATON_NO_TOKEN || row.right == BATON_NO_TOKEN || row.merged == BATON_NO_TOKEN)
        return bad_merge(merges, "has a token or a result that is not in the vocabulary");
    enum baton_err err = reserve_merge(merges);
    if (!err)
        tables->merges[tables->n_merges++] = row;
    return err;
}

/* Adds "left right", and removes the space from text. */
static enum baton_err add_spaced(struct baton_merges *merges, char *text, size_t n)
{
    char *space = memchr(text, ' ', n);
    size_t n_left = space ? (size_t)(space - text) : 0;
    if (!space || memchr(space + 1, ' ', n - n_left - 1))
        return bad_merge(merges, "must be two tokens with one space between");
    memmove(space, space + 1, n - n_left - 1);
    return add_merge(merges, text, n_left, n - n_left - 1);
}

static enum baton_err read_merge(struct baton_merges *merges, struct baton_json_text *text)
{
    static const char rule[] = "must be a string or an array of two strings";
    size_t n, n_right;
    if (baton_json_text_take(text, '[')) {
        if (!baton_json_text_string(text, merges->text, &n) || !baton_json_text_take(text, ',') ||
            !baton_json_text_string(text, merges->text + n, &n_right) ||
            !baton_json_text_take(text, ']'))
            return bad_merge(merges, rule);
        return add_merge(merges, merges->text, n, n_right);
    }
    if (!baton_json_text_string(text, merges->text, &n))
        return bad_merge(merges, rule);
    return add_spaced(merges, merges->text, n);
}

enum baton_err baton_merges_begin(struct baton_merges *merges, struct baton_vocab_reader *reader,
                                  size_t n)
{
    *merges = (struct baton_merges){.reader = reader, .text = malloc(n + 1)};
    return merges->text ? reserve_merge(merges) : out_of_memory(merges);
}

enum baton_err baton_merges_add(struct baton_merges *merges, const char *line, size_t n)
{
    memcpy(merges->text, line, n);
    return add_spaced(merges, merges->text, n);
}

void baton_merges_end(struct baton_merges *merges)
{
    free(merges->text);
    merges->text = NULL;
}

enum baton_err baton_merges_read(struct baton_vocab_reader *reader, struct baton_json_span array)
{
    struct baton_json_text text = baton_json_text_of(array);
    struct baton_merges merges;
    if (!array.start || !baton_json_text_take(&text, '['))
        return baton_fail(reader->why, BATON_INVALID, "%s: merges: must be an array",
                          reader->tables->file);
    if (baton_json_text_take(&text, ']') && baton_json_text_ends(&text))
        return BATON_OK;
    enum baton_err err = baton_merges_begin(&merges, reader, array.n);
    do
        err = err ? err : read_merge(&merges, &text);
    while (!err && baton_json_text_take(&text, ','));
    if (!err && (!baton_json_text_take(&text, ']') || !baton_json_text_ends(&text)))
        err = bad_merge(&merges, "must follow a comma");
    baton_merges_end(&merges);
    return err;
}

/* Adds a line of merges.txt. Its first line is a heading, but a merge may begin with # too. */
static enum baton_err add_line(struct baton_merges *merges, const char *line, size_t n)
{
    static const char heading[] = "#version";
    if (n && line[n - 1] == '\r')
        n--;
    if (!n || (n >= strlen(heading) && !memcmp(line, heading, strlen(heading))))
        return BATON_OK;
    return baton_merges_add(merges, line, n);
}

enum baton_err baton_merges_read_text(struct baton_vocab_reader *reader, const char *text, size_t n)
{
    struct baton_merges merges;
    enum baton_err err = baton_merges_begin(&merges, reader, n);
    for (size_t start = 0, length; start < n && !err; start += length + 1) {
        const char *newline = memchr(text + start, '\n', n - start);
        length = newline ? (size_t)(newline - text) - start : n - start;
        err = add_line(&merges, text + start, length);
    }
    baton_merges_end(&merges);
    return err;
}
