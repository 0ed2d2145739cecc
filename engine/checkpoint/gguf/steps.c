/* The steps around the model of a GGUF file's tokenizer. */
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "engine/checkpoint/gguf/tokenizer_internal.h"
#include "engine/checkpoint/hf/steps_file.h"

enum { CHARSMAP_MAX_BYTES = 32 << 20 };

#define TEXT(literal)                                                                              \
    {                                                                                              \
        (literal), sizeof(literal) - 1                                                             \
    }
/* SentencePiece's space, U+2581. */
#define SPACE TEXT("\xe2\x96\x81")

static void normalize(struct baton_tokenizer_steps *steps, struct baton_normalizer_step step)
{
    steps->normalizer[steps->n_normalizer++] = step;
}

static void decode(struct baton_tokenizer_steps *steps, struct baton_decoder_step step)
{
    steps->decoder[steps->n_decoder++] = step;
}

/* ---- SentencePiece's BPE, by scores or by listed merges ---- */

/* Reads the steps that Hugging Face's converter writes for LlamaTokenizer: a space precedes each
 * part of a text between added tokens, as in llama.cpp. */
static enum baton_err read_sentencepiece(struct baton_gguf_tokenizer *reading)
{
    struct baton_tokenizer_steps *steps = &reading->tables->steps;
    bool prefix = reading->kind == BATON_GGUF_SENTENCEPIECE;
    enum baton_err err =
        baton_gguf_tokenizer_flag(reading, "tokenizer.ggml.add_space_prefix", &prefix);
    if (err)
        return err;
    if (prefix)
        normalize(steps, (struct baton_normalizer_step){.kind = BATON_NORMALIZER_PREPEND,
                                                        .content = SPACE});
    normalize(steps, (struct baton_normalizer_step){.kind = BATON_NORMALIZER_REPLACE,
                                                    .pattern = {.text = TEXT(" ")},
                                                    .content = SPACE});
    decode(steps, (struct baton_decoder_step){
                      .kind = BATON_DECODER_REPLACE, .pattern = SPACE, .content = TEXT(" ")});
    decode(steps, (struct baton_decoder_step){.kind = BATON_DECODER_BYTE_FALLBACK});
    decode(steps, (struct baton_decoder_step){.kind = BATON_DECODER_FUSE});
    if (prefix)
        decode(steps, (struct baton_decoder_step){
                          .kind = BATON_DECODER_STRIP, .content = TEXT(" "), .n_start = 1});
    return BATON_OK;
}

/* ---- Unigram ---- */

/* Encodes the character map in base64, the form of tokenizer.json. The tables keep it. */
static enum baton_err read_charsmap(struct baton_gguf_tokenizer *reading)
{
    static const char key[] = "tokenizer.ggml.precompiled_charsmap";
    struct baton_tokenizer_tables *tables = reading->tables;
    const struct baton_gguf_value *map = baton_gguf_find(reading->gguf, key);
    if (!map || (map->is_array && !map->n))
        return BATON_OK;
    if (!map->is_array || (map->type != BATON_GGUF_U8 && map->type != BATON_GGUF_I8) ||
        map->n_bytes > CHARSMAP_MAX_BYTES)
        return baton_gguf_tokenizer_wrong(reading, key, "must be an array of at most 32 MiB");
    free(tables->steps_json);
    tables->steps_json = malloc((map->n_bytes + 2) / 3 * 4 + 1);
    if (!tables->steps_json)
        return baton_fail(reading->why, BATON_NO_MEMORY, "%s: out of memory", tables->file);
    tables->n_steps_json =
        (size_t)EVP_EncodeBlock((unsigned char *)tables->steps_json, map->data, (int)map->n_bytes);
    normalize(&tables->steps, (struct baton_normalizer_step){
                                  .kind = BATON_NORMALIZER_PRECOMPILED,
                                  .content = {tables->steps_json, tables->n_steps_json}});
    return BATON_OK;
}

static enum baton_err read_unigram(struct baton_gguf_tokenizer *reading)
{
    struct baton_tokenizer_steps *steps = &reading->tables->steps;
    bool prefix = true, trims = false;
    enum baton_err err =
        baton_gguf_tokenizer_flag(reading, "tokenizer.ggml.add_space_prefix", &prefix);
    if (!err)
        err = baton_gguf_tokenizer_flag(reading, "tokenizer.ggml.remove_extra_whitespaces", &trims);
    if (!err)
        err = read_charsmap(reading);
    if (err)
        return err;
    if (trims) {
        normalize(steps, (struct baton_normalizer_step){
                             .kind = BATON_NORMALIZER_STRIP, .left = true, .right = true});
        normalize(steps, (struct baton_normalizer_step){
                             .kind = BATON_NORMALIZER_REPLACE,
                             .pattern = {.text = TEXT(" {2,}"), .is_regex = true},
                             .content = TEXT(" ")});
    }
    steps->pretokenizer[steps->n_pretokenizer++] = (struct baton_pretokenizer_step){
        .kind = BATON_PRETOKENIZER_METASPACE,
        .replacement = SPACE,
        .prepend = prefix ? BATON_PREPEND_ALWAYS : BATON_PREPEND_NEVER};
    steps->pretokenizer[steps->n_pretokenizer++] =
        (struct baton_pretokenizer_step){.kind = BATON_PRETOKENIZER_SPLIT,
                                         .pattern = {.text = SPACE},
                                         .behavior = BATON_SPLIT_MERGED_WITH_NEXT};
    decode(steps, (struct baton_decoder_step){
                      .kind = BATON_DECODER_METASPACE, .pattern = SPACE, .drops_first = prefix});
    return BATON_OK;
}

/* ---- WordPiece ---- */

/* The steps of an uncased BERT: no key of a file tells a cased one, as in llama.cpp. */
static void read_wordpiece(struct baton_gguf_tokenizer *reading)
{
    static const enum baton_normalizer_kind kinds[] = {
        BATON_NORMALIZER_CLEAN, BATON_NORMALIZER_SPACE_CJK, BATON_NORMALIZER_NFD,
        BATON_NORMALIZER_STRIP_NONSPACING, BATON_NORMALIZER_LOWERCASE};
    struct baton_tokenizer_steps *steps = &reading->tables->steps;
    for (size_t i = 0; i < BATON_N_OF(kinds); i++)
        normalize(steps, (struct baton_normalizer_step){.kind = kinds[i]});
    baton_steps_bert(steps);
    baton_steps_bert_decoder(steps, true);
}

/* The ids around a text: [CLS] and [SEP], which older files name by these keys alone. */
static void set_bert_ids(const struct baton_gguf_tokenizer *reading, int64_t *cls, int64_t *sep)
{
    int64_t n_tokens = (int64_t)reading->ids.n_tokens, id;
    if (baton_gguf_int(baton_gguf_find(reading->gguf, "tokenizer.ggml.cls_token_id"), &id) &&
        id >= 0 && id < n_tokens)
        *cls = id;
    if (baton_gguf_int(baton_gguf_find(reading->gguf, "tokenizer.ggml.seperator_token_id"), &id) &&
        id >= 0 && id < n_tokens)
        *sep = id;
}

/* ---- special tokens around a prompt ---- */

static enum baton_err read_ends(struct baton_gguf_tokenizer *reading)
{
    struct baton_tokenizer_steps *steps = &reading->tables->steps;
    bool adds_bos = reading->kind == BATON_GGUF_SENTENCEPIECE ||
                    reading->kind == BATON_GGUF_WORDPIECE ||
                    (reading->pretokenizer && reading->pretokenizer->adds_bos);
    bool adds_eos = reading->kind == BATON_GGUF_UNIGRAM || reading->kind == BATON_GGUF_WORDPIECE;
    enum baton_err err =
        baton_gguf_tokenizer_flag(reading, "tokenizer.ggml.add_bos_token", &adds_bos);
    if (!err)
        err = baton_gguf_tokenizer_flag(reading, "tokenizer.ggml.add_eos_token", &adds_eos);
    if (err)
        return err;
    /* Gemma 4 needs its first token; some files say otherwise, and llama.cpp does not heed them. */
    adds_bos |= reading->kind == BATON_GGUF_PIECE_BPE;
    int64_t first = reading->ids.bos, last = reading->ids.eos;
    if (reading->kind == BATON_GGUF_WORDPIECE)
        set_bert_ids(reading, &first, &last);
    if (adds_bos && first >= 0)
        steps->first_ids[steps->n_first++] = (uint32_t)first;
    if (adds_eos && last >= 0)
        steps->last_ids[steps->n_last++] = (uint32_t)last;
    /* One separator stands between the texts of BERT's pairs, two between those of XLM-R's and
     * RoBERTa's. */
    for (int i = reading->kind == BATON_GGUF_WORDPIECE ? 1 : 0; i < 2 && last >= 0; i++)
        steps->between_ids[steps->n_between++] = (uint32_t)last;
    return BATON_OK;
}

enum baton_err baton_gguf_steps_read(struct baton_gguf_tokenizer *reading)
{
    enum baton_err err = BATON_OK;
    if (reading->kind == BATON_GGUF_SENTENCEPIECE || reading->kind == BATON_GGUF_PIECE_BPE)
        err = read_sentencepiece(reading);
    else if (reading->kind == BATON_GGUF_UNIGRAM)
        err = read_unigram(reading);
    else if (reading->kind == BATON_GGUF_WORDPIECE)
        read_wordpiece(reading);
    else
        baton_gguf_pretokenizer_apply(reading->pretokenizer, &reading->tables->steps);
    return err ? err : read_ends(reading);
}
