#include "engine/checkpoint/gguf/tokenizer.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/log.h"
#include "engine/checkpoint/gguf/tokenizer_internal.h"

/* Smaller vocabularies are read in less than a tenth of a second. */
enum { LARGE_FROM_TOKENS = 1 << 16 };

enum baton_err baton_gguf_tokenizer_wrong(const struct baton_gguf_tokenizer *reading,
                                          const char *key, const char *rule)
{
    return baton_fail(reading->why, BATON_INVALID, "%s: %s %s", reading->tables->file, key, rule);
}

enum baton_err baton_gguf_tokenizer_flag(const struct baton_gguf_tokenizer *reading,
                                         const char *key, bool *flag)
{
    const struct baton_gguf_value *value = baton_gguf_find(reading->gguf, key);
    if (value && !baton_gguf_flag(value, flag))
        return baton_gguf_tokenizer_wrong(reading, key, "must be true or false");
    return BATON_OK;
}

/* Gets a text; n is 0 when it is absent. */
static enum baton_err get_text(const struct baton_gguf_tokenizer *reading, const char *key,
                               struct baton_gguf_text *text)
{
    const struct baton_gguf_value *value = baton_gguf_find(reading->gguf, key);
    *text = (struct baton_gguf_text){.bytes = ""};
    if (value && !baton_gguf_text(value, text))
        return baton_gguf_tokenizer_wrong(reading, key, "must be a text");
    return BATON_OK;
}

/* ---- kind of tokenizer ---- */

static enum baton_err read_kind(struct baton_gguf_tokenizer *reading)
{
    /* enum baton_gguf_tokenizer_kind */
    static const char *const names[] = {"gpt2", "llama", "t5", "gemma4", "bert"};
    const char *file = reading->tables->file;
    struct baton_gguf_text model;
    enum baton_err err = get_text(reading, "tokenizer.ggml.model", &model);
    if (err)
        return err;
    if (!model.n || baton_gguf_text_is(model, "no_vocab") || baton_gguf_text_is(model, "none"))
        return baton_fail(reading->why, BATON_NOT_FOUND, "%s: the file holds no tokenizer", file);
    for (int i = 0; i < (int)(BATON_N_OF(names)); i++)
        if (baton_gguf_text_is(model, names[i])) {
            reading->kind = (enum baton_gguf_tokenizer_kind)i;
            return BATON_OK;
        }
    return baton_fail(
        reading->why, BATON_INVALID,
        "%s: tokenizer.ggml.model: \"%.*s\" is not supported (supported: gpt2, llama, t5, gemma4, "
        "bert)",
        file, (int)(model.n < 60 ? model.n : 60), model.bytes);
}

static enum baton_err read_pretokenizer(struct baton_gguf_tokenizer *reading)
{
    struct baton_gguf_text name;
    if (reading->kind != BATON_GGUF_BYTE_BPE)
        return BATON_OK;
    enum baton_err err = get_text(reading, "tokenizer.ggml.pre", &name);
    if (err)
        return err;
    if (!name.n) {
        baton_log(BATON_LOG_WARN, "pretokenizer_unnamed", BATON_S("path", reading->tables->file));
        name = (struct baton_gguf_text){"default", strlen("default")};
    }
    reading->pretokenizer = baton_gguf_pretokenizer_find(name);
    if (!reading->pretokenizer)
        return baton_fail(reading->why, BATON_INVALID,
                          "%s: tokenizer.ggml.pre: \"%.*s\" is not supported",
                          reading->tables->file, (int)(name.n < 60 ? name.n : 60), name.bytes);
    return BATON_OK;
}

static enum baton_err read_ids(struct baton_gguf_tokenizer *reading)
{
    struct baton_why reason;
    enum baton_err err = baton_gguf_ids_read(reading->gguf, &reading->ids, &reason);
    if (err)
        return baton_fail(reading->why, err, "%s: %s", reading->tables->file, reason.text);
    if (!reading->ids.n_tokens)
        return baton_gguf_tokenizer_wrong(reading, "tokenizer.ggml.tokens", "must be given");
    return BATON_OK;
}

static enum baton_err begin(struct baton_gguf_tokenizer *reading)
{
    enum baton_err err = read_kind(reading);
    if (!err)
        err = read_pretokenizer(reading);
    return err ? err : read_ids(reading);
}

/* ---- the tables ---- */

static void set_model(struct baton_gguf_tokenizer *reading)
{
    struct baton_tokenizer_tables *tables = reading->tables;
    if (reading->kind == BATON_GGUF_BYTE_BPE) {
        tables->ignore_merges = reading->pretokenizer->ignore_merges;
        return;
    }
    if (reading->ids.unk >= 0 && tables->tokens[reading->ids.unk].text)
        tables->unk_id = (uint32_t)reading->ids.unk;
    if (reading->kind == BATON_GGUF_WORDPIECE) {
        tables->model = BATON_TOKENIZER_WORDPIECE;
        return;
    }
    /* As in llama.cpp for all of SentencePiece's models: no key of a file states it. */
    if (reading->kind == BATON_GGUF_UNIGRAM)
        tables->model = BATON_TOKENIZER_UNIGRAM;
    tables->fuse_unk = true;
    tables->byte_fallback = true;
}

static enum baton_err read_model(struct baton_gguf_tokenizer *reading)
{
    enum baton_err err = baton_gguf_vocab_read(reading);
    if (!err && (reading->kind == BATON_GGUF_BYTE_BPE || reading->kind == BATON_GGUF_PIECE_BPE))
        err = baton_gguf_merges_read(reading);
    if (!err && reading->kind == BATON_GGUF_SENTENCEPIECE)
        err = baton_gguf_merges_make(reading);
    if (!err)
        set_model(reading);
    return err;
}

/* Frees the scores, which BPE does not need after its merges are made. */
static void drop_scores(struct baton_tokenizer_tables *tables)
{
    if (tables->model == BATON_TOKENIZER_UNIGRAM)
        return;
    free(tables->scores);
    tables->scores = NULL;
}

enum baton_err baton_gguf_tokenizer_read(const struct baton_gguf *gguf,
                                         struct baton_tokenizer_tables *tables,
                                         struct baton_why *why)
{
    struct baton_gguf_tokenizer reading = {
        .gguf = gguf, .tables = tables, .vocab = {.tables = tables, .why = why}, .why = why};
    enum baton_err err = begin(&reading);
    if (!err)
        err = read_model(&reading);
    if (!err)
        err = baton_gguf_steps_read(&reading);
    drop_scores(tables);
    baton_token_index_fini(&reading.vocab.index);
    free(reading.types);
    return err;
}

enum baton_err baton_gguf_tokenizer_read_steps(const struct baton_gguf *gguf,
                                               struct baton_tokenizer_tables *tables,
                                               struct baton_why *why)
{
    struct baton_gguf_tokenizer reading = {.gguf = gguf, .tables = tables, .why = why};
    enum baton_err err = begin(&reading);
    return err ? err : baton_gguf_steps_read(&reading);
}

bool baton_gguf_tokenizer_is_large(const struct baton_gguf *gguf)
{
    const struct baton_gguf_value *tokens = baton_gguf_find(gguf, "tokenizer.ggml.tokens");
    return tokens && tokens->n >= LARGE_FROM_TOKENS;
}
