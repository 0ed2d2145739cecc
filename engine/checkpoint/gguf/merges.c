/* The merges of a GGUF file: listed ("gpt2"), or derived from the pieces' scores ("llama").
 *
 * SentencePiece joins the two neighbours whose piece has the highest score. That is BPE with a
 * merge for each way to cut a piece in two pieces, in the order of the scores, which is the list
 * that Hugging Face's converter writes into a tokenizer.json. It orders the cuts of one piece,
 * which have the same score, by ids for Llama and Mistral and by lengths for Gemma. */
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/utf8.h"
#include "engine/checkpoint/gguf/tokenizer_internal.h"

/* SentencePiece's default limit is 16 characters a piece; real vocabularies have two cuts for each
 * piece on average. */
enum { PIECE_MAX_BYTES = 256, MAX_MERGES = 16 << 20 };

/* ---- listed ---- */

enum baton_err baton_gguf_merges_read(struct baton_gguf_tokenizer *reading)
{
    static const char key[] = "tokenizer.ggml.merges";
    const struct baton_gguf_value *array = baton_gguf_find(reading->gguf, key);
    struct baton_merges merges;
    struct baton_gguf_text text;
    if (!array || !array->is_array || array->type != BATON_GGUF_TEXT)
        return baton_gguf_tokenizer_wrong(reading, key, "must be an array of texts");
    if (array->n > MAX_MERGES)
        return baton_gguf_tokenizer_wrong(reading, key, "must have at most 16777216 items");
    /* No merge is longer than the whole array. */
    struct baton_gguf_texts texts = baton_gguf_texts(array);
    enum baton_err err = baton_merges_begin(&merges, &reading->vocab, array->n_bytes);
    while (!err && baton_gguf_next(&texts, &text))
        err = baton_merges_add(&merges, text.bytes, text.n);
    baton_merges_end(&merges);
    return err;
}

/* ---- derived from scores ---- */

struct candidate {
    struct baton_merge_row merge;
    uint16_t n_left, n_right; /* in characters */
    double score;
};

struct candidates {
    struct candidate *items;
    size_t n, cap;
};

static enum baton_err add(const struct baton_gguf_tokenizer *reading, struct candidates *candidates,
                          const struct candidate *candidate)
{
    if (candidates->n == MAX_MERGES)
        return baton_fail(reading->why, BATON_LIMIT,
                          "%s: tokenizer.ggml.tokens: more than %d ways to cut pieces in two",
                          reading->tables->file, MAX_MERGES);
    if (BATON_RESERVE(candidates->items, candidates->cap, candidates->n + 1))
        return baton_fail(reading->why, BATON_NO_MEMORY, "%s: out of memory",
                          reading->tables->file);
    candidates->items[candidates->n++] = *candidate;
    return BATON_OK;
}

/* True when merging may make this token: control and unknown tokens never come from text. */
static bool is_piece(const struct baton_gguf_tokenizer *reading, size_t id)
{
    return reading->tables->tokens[id].text && reading->types[id] != BATON_GGUF_TOKEN_CONTROL &&
           reading->types[id] != BATON_GGUF_TOKEN_UNKNOWN;
}

/* Adds every cut of a piece between characters whose two parts are pieces too. */
static enum baton_err cut(const struct baton_gguf_tokenizer *reading, uint32_t id,
                          struct candidates *candidates)
{
    const struct baton_token_row *row = &reading->tables->tokens[id];
    const struct baton_token_index *index = &reading->vocab.index;
    uint16_t n_characters = (uint16_t)baton_utf8_count(row->text, row->n_bytes), n_left = 0;
    enum baton_err err = BATON_OK;
    for (size_t at = 1; at < row->n_bytes && !err; at++) {
        if (baton_utf8_continues(row->text[at]))
            continue;
        n_left++;
        struct baton_merge_row merge = {.left = baton_token_index_get(index, row->text, at),
                                        .merged = id};
        if (merge.left == BATON_NO_TOKEN || !is_piece(reading, merge.left))
            continue;
        merge.right = baton_token_index_get(index, row->text + at, row->n_bytes - at);
        if (merge.right == BATON_NO_TOKEN || !is_piece(reading, merge.right))
            continue;
        const struct candidate candidate = {.merge = merge,
                                            .n_left = n_left,
                                            .n_right = (uint16_t)(n_characters - n_left),
                                            .score = reading->tables->scores[id]};
        err = add(reading, candidates, &candidate);
    }
    return err;
}

/* Compares by score, the highest first, then by ids. */
static int by_ids(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->score != y->score)
        return x->score < y->score ? 1 : -1;
    if (x->merge.merged != y->merge.merged)
        return x->merge.merged > y->merge.merged ? 1 : -1;
    return (x->merge.left > y->merge.left) - (x->merge.left < y->merge.left);
}

/* Compares by score, then by the parts' lengths, the longer first. */
static int by_lengths(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->score != y->score)
        return x->score < y->score ? 1 : -1;
    if (x->n_left != y->n_left)
        return x->n_left < y->n_left ? 1 : -1;
    if (x->n_right != y->n_right)
        return x->n_right < y->n_right ? 1 : -1;
    return (x->merge.merged > y->merge.merged) - (x->merge.merged < y->merge.merged);
}

static bool is_gemma(const struct baton_gguf *gguf)
{
    struct baton_gguf_text arch = {.n = 0};
    (void)baton_gguf_text(baton_gguf_find(gguf, "general.architecture"), &arch);
    return arch.n >= strlen("gemma") && !memcmp(arch.bytes, "gemma", strlen("gemma"));
}

static enum baton_err cut_all(const struct baton_gguf_tokenizer *reading,
                              struct candidates *candidates)
{
    enum baton_err err = BATON_OK;
    for (size_t id = 0; id < reading->tables->n_tokens && !err; id++) {
        if (!is_piece(reading, id))
            continue;
        if (reading->tables->tokens[id].n_bytes <= PIECE_MAX_BYTES)
            err = cut(reading, (uint32_t)id, candidates);
        else if (reading->types[id] == BATON_GGUF_TOKEN_NORMAL)
            err = baton_fail(reading->why, BATON_LIMIT,
                             "%s: tokenizer.ggml.tokens: number %zu, a piece, has %zu bytes, more "
                             "than %d",
                             reading->tables->file, id, reading->tables->tokens[id].n_bytes,
                             PIECE_MAX_BYTES);
    }
    return err;
}

static enum baton_err take(const struct baton_gguf_tokenizer *reading,
                           const struct candidates *candidates)
{
    struct baton_tokenizer_tables *tables = reading->tables;
    tables->merges = malloc((candidates->n + 1) * sizeof *tables->merges);
    if (!tables->merges)
        return baton_fail(reading->why, BATON_NO_MEMORY, "%s: out of memory", tables->file);
    for (size_t i = 0; i < candidates->n; i++)
        tables->merges[i] = candidates->items[i].merge;
    tables->n_merges = candidates->n;
    return BATON_OK;
}

enum baton_err baton_gguf_merges_make(struct baton_gguf_tokenizer *reading)
{
    struct candidates candidates = {.n = 0};
    enum baton_err err = cut_all(reading, &candidates);
    if (!err && candidates.n)
        qsort(candidates.items, candidates.n, sizeof *candidates.items,
              is_gemma(reading->gguf) ? by_lengths : by_ids);
    if (!err)
        err = take(reading, &candidates);
    free(candidates.items);
    return err;
}
