/* The vocabulary of a GGUF file: tokens, their types and scores. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/utf8.h"
#include "engine/checkpoint/gguf/tokenizer_internal.h"

/* SentencePiece's space, U+2581. */
#define SPACE "\xe2\x96\x81"

static enum baton_err out_of_memory(const struct baton_gguf_tokenizer *reading)
{
    return baton_fail(reading->why, BATON_NO_MEMORY, "%s: out of memory", reading->tables->file);
}

/* ---- types ---- */

/* Finds an array with a number for each token; NULL when there is none. */
static enum baton_err find_numbers(const struct baton_gguf_tokenizer *reading, const char *key,
                                   const struct baton_gguf_value **array)
{
    *array = baton_gguf_find(reading->gguf, key);
    if (!*array)
        return BATON_OK;
    if (!(*array)->is_array || (*array)->type == BATON_GGUF_TEXT)
        return baton_gguf_tokenizer_wrong(reading, key, "must be an array of numbers");
    if ((*array)->n != reading->ids.n_tokens)
        return baton_gguf_tokenizer_wrong(reading, key,
                                          "must have as many items as tokenizer.ggml.tokens");
    return BATON_OK;
}

static enum baton_err read_types(struct baton_gguf_tokenizer *reading)
{
    static const char key[] = "tokenizer.ggml.token_type";
    const struct baton_gguf_value *array;
    size_t n = reading->ids.n_tokens;
    enum baton_err err = find_numbers(reading, key, &array);
    if (err)
        return err;
    reading->types = malloc(n);
    if (!reading->types)
        return out_of_memory(reading);
    memset(reading->types, BATON_GGUF_TOKEN_NORMAL, n);
    for (size_t id = 0; array && id < n; id++) {
        struct baton_gguf_value item = baton_gguf_item(array, id);
        int64_t type;
        if (!baton_gguf_int(&item, &type) || type < 0 || type > BATON_GGUF_TOKEN_BYTE)
            return baton_gguf_tokenizer_wrong(reading, key, "must hold whole numbers in 0..6");
        reading->types[id] = type ? (uint8_t)type : BATON_GGUF_TOKEN_NORMAL;
    }
    return BATON_OK;
}

static enum baton_err read_scores(struct baton_gguf_tokenizer *reading)
{
    static const char key[] = "tokenizer.ggml.scores";
    struct baton_tokenizer_tables *tables = reading->tables;
    const struct baton_gguf_value *array;
    size_t n = reading->ids.n_tokens;
    enum baton_err err = find_numbers(reading, key, &array);
    if (err)
        return err;
    if (!array)
        return baton_gguf_tokenizer_wrong(reading, key, "must be given");
    tables->scores = malloc(n * sizeof *tables->scores);
    if (!tables->scores)
        return out_of_memory(reading);
    for (size_t id = 0; id < n; id++) {
        struct baton_gguf_value item = baton_gguf_item(array, id);
        if (!baton_gguf_real(&item, &tables->scores[id]) || !isfinite(tables->scores[id]))
            return baton_gguf_tokenizer_wrong(reading, key, "must hold finite numbers");
        /* SentencePiece scores such a piece 0; writers overwrite it. */
        if (reading->types[id] == BATON_GGUF_TOKEN_USER_DEFINED)
            tables->scores[id] = 0;
    }
    return BATON_OK;
}

/* ---- texts ---- */

/* True for rows that pad a vocabulary to a round size: "[PAD151669]". */
static bool is_padding(const struct baton_gguf_tokenizer *reading, size_t id,
                       struct baton_gguf_text text)
{
    static const char pad[] = "[PAD";
    if (!text.n)
        return true;
    return reading->types[id] == BATON_GGUF_TOKEN_UNUSED && text.n > sizeof pad &&
           !memcmp(text.bytes, pad, sizeof pad - 1) &&
           isdigit((unsigned char)text.bytes[sizeof pad - 1]);
}

static bool are_spaces(struct baton_gguf_text text)
{
    for (size_t i = 0; i < text.n; i++)
        if (text.bytes[i] != ' ')
            return false;
    return text.n > 0;
}

/* True for the user-defined pieces of spaces, which writers store as plain spaces. */
static bool has_plain_spaces(const struct baton_gguf_tokenizer *reading, size_t id,
                             struct baton_gguf_text text)
{
    return reading->kind != BATON_GGUF_BYTE_BPE && reading->kind != BATON_GGUF_WORDPIECE &&
           reading->types[id] == BATON_GGUF_TOKEN_USER_DEFINED && are_spaces(text);
}

/* Counts each text with its final zero. */
static size_t count_text_bytes(const struct baton_gguf_tokenizer *reading,
                               struct baton_gguf_texts texts)
{
    struct baton_gguf_text text;
    size_t n = 0;
    for (size_t id = 0; baton_gguf_next(&texts, &text); id++)
        n += (has_plain_spaces(reading, id, text) ? strlen(SPACE) * text.n : text.n) + 1;
    return n;
}

static size_t put_text(const struct baton_gguf_tokenizer *reading, size_t id,
                       struct baton_gguf_text text, char *to)
{
    size_t n = text.n;
    if (has_plain_spaces(reading, id, text)) {
        n = strlen(SPACE) * text.n;
        for (size_t i = 0; i < text.n; i++)
            memcpy(to + i * strlen(SPACE), SPACE, strlen(SPACE));
    } else {
        memcpy(to, text.bytes, n);
    }
    to[n] = 0;
    return n;
}

static enum baton_err read_texts(struct baton_gguf_tokenizer *reading)
{
    struct baton_tokenizer_tables *tables = reading->tables;
    struct baton_gguf_texts texts =
        baton_gguf_texts(baton_gguf_find(reading->gguf, "tokenizer.ggml.tokens"));
    struct baton_gguf_text text;
    tables->texts = malloc(count_text_bytes(reading, texts));
    tables->tokens = calloc(reading->ids.n_tokens, sizeof *tables->tokens);
    if (!tables->texts || !tables->tokens)
        return out_of_memory(reading);
    const size_t most =
        reading->kind == BATON_GGUF_UNIGRAM ? BATON_UNIGRAM_PIECE_MAX_BYTES : BATON_TOKEN_MAX_BYTES;
    char *to = tables->texts;
    for (size_t id = 0; baton_gguf_next(&texts, &text); id++) {
        if (text.n > most)
            return baton_fail(reading->why, BATON_LIMIT,
                              "%s: tokenizer.ggml.tokens: number %zu has %zu bytes, more than %zu",
                              tables->file, id, text.n, most);
        if (!baton_utf8_valid(text.bytes, text.n))
            return baton_fail(reading->why, BATON_INVALID,
                              "%s: tokenizer.ggml.tokens: number %zu is not UTF-8", tables->file,
                              id);
        tables->n_tokens = id + 1;
        if (is_padding(reading, id, text))
            continue;
        size_t n = put_text(reading, id, text, to);
        tables->tokens[id] = (struct baton_token_row){.text = to, .n_bytes = n};
        to += n + 1;
    }
    return BATON_OK;
}

/* ---- added tokens ---- */

/* True for special tokens. A token whose text ends a generation is one, whatever type its writer
 * gave it. */
static bool is_special(const struct baton_gguf_tokenizer *reading, size_t id)
{
    const struct baton_token_row *row = &reading->tables->tokens[id];
    return reading->types[id] == BATON_GGUF_TOKEN_CONTROL ||
           reading->types[id] == BATON_GGUF_TOKEN_UNKNOWN ||
           baton_gguf_is_end((struct baton_gguf_text){row->text, row->n_bytes});
}

/* True for Phi-3's added tokens but three: they include the white space behind them, and no key
 * says so. */
static bool takes_spaces(const struct baton_gguf_tokenizer *reading, size_t id)
{
    static const char *const others[] = {"<unk>", "<s>", "<|endoftext|>"};
    struct baton_gguf_text arch = {.n = 0};
    (void)baton_gguf_text(baton_gguf_find(reading->gguf, "general.architecture"), &arch);
    if (reading->kind != BATON_GGUF_SENTENCEPIECE || !baton_gguf_text_is(arch, "phi3"))
        return false;
    for (size_t i = 0; i < BATON_N_OF(others); i++)
        if (!strcmp(reading->tables->tokens[id].text, others[i]))
            return false;
    return true;
}

/* True for the token of Gemma 4 that includes the white space before it, which no key says. */
static bool takes_spaces_before(const struct baton_gguf_tokenizer *reading, size_t id)
{
    return reading->kind == BATON_GGUF_PIECE_BPE &&
           !strcmp(reading->tables->tokens[id].text, "<mask>");
}

static enum baton_err put_added(struct baton_gguf_tokenizer *reading, size_t id)
{
    struct baton_tokenizer_tables *tables = reading->tables;
    const struct baton_token_row *row = &tables->tokens[id];
    bool special = row->text && is_special(reading, id);
    if (!row->text || (!special && reading->types[id] != BATON_GGUF_TOKEN_USER_DEFINED))
        return BATON_OK;
    if (row->n_bytes > BATON_ADDED_TOKEN_MAX_BYTES)
        return baton_fail(reading->why, BATON_LIMIT,
                          "%s: tokenizer.ggml.tokens: number %zu, an added token, has %zu bytes, "
                          "more than %d",
                          tables->file, id, row->n_bytes, BATON_ADDED_TOKEN_MAX_BYTES);
    tables->added[tables->n_added++] =
        (struct baton_added_row){.text = row->text,
                                 .n_bytes = row->n_bytes,
                                 .id = (uint32_t)id,
                                 .special = special,
                                 .lstrip = takes_spaces_before(reading, id),
                                 .rstrip = takes_spaces(reading, id)};
    return BATON_OK;
}

static enum baton_err set_added(struct baton_gguf_tokenizer *reading)
{
    struct baton_tokenizer_tables *tables = reading->tables;
    enum baton_err err = BATON_OK;
    tables->added = calloc(tables->n_tokens, sizeof *tables->added);
    if (!tables->added)
        return out_of_memory(reading);
    for (size_t id = 0; id < tables->n_tokens && !err; id++)
        err = put_added(reading, id);
    return err;
}

enum baton_err baton_gguf_vocab_read(struct baton_gguf_tokenizer *reading)
{
    enum baton_err err = read_types(reading);
    if (!err && (reading->kind == BATON_GGUF_SENTENCEPIECE || reading->kind == BATON_GGUF_UNIGRAM))
        err = read_scores(reading);
    if (!err)
        err = read_texts(reading);
    if (!err)
        err = set_added(reading);
    return err ? err : baton_vocab_index(&reading->vocab, reading->kind != BATON_GGUF_UNIGRAM);
}
