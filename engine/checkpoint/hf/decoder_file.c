/* tokenizer.json's "decoder" and "post_processor". */
#include "common/base/array.h"
#include "engine/checkpoint/hf/steps_file.h"

#include <inttypes.h>
#include <string.h>

#include "engine/checkpoint/tokenizer_tables.h"

/* ---- decoder ---- */

static enum baton_err add(const struct baton_steps_reader *reader, struct baton_decoder_step step)
{
    if (reader->steps->n_decoder == BATON_TOKENIZER_MAX_STEPS)
        return baton_steps_unsupported(reader, "a chain of more than 16 steps");
    reader->steps->decoder[reader->steps->n_decoder++] = step;
    return BATON_OK;
}

static enum baton_err read_bare(const struct baton_steps_reader *reader,
                                const struct baton_json *value)
{
    const char *type = baton_steps_type(value);
    struct baton_decoder_step step = {.kind = BATON_DECODER_BYTE_LEVEL};
    if (!strcmp(type, "ByteFallback"))
        step.kind = BATON_DECODER_BYTE_FALLBACK;
    else if (!strcmp(type, "Fuse"))
        step.kind = BATON_DECODER_FUSE;
    return add(reader, step);
}

static enum baton_err read_replace(const struct baton_steps_reader *reader,
                                   const struct baton_json *value)
{
    struct baton_decoder_step step = {.kind = BATON_DECODER_REPLACE};
    struct baton_step_pattern pattern;
    enum baton_err err = baton_steps_pattern(reader, value, &pattern);
    if (!err)
        err = baton_steps_content(reader, value, "content", &step.content);
    if (!err && (pattern.is_regex || !pattern.text.n))
        err = baton_steps_unsupported(reader, "Replace of a regular expression");
    step.pattern = pattern.text;
    return err ? err : add(reader, step);
}

static enum baton_err read_count(const struct baton_steps_reader *reader,
                                 const struct baton_json *value, const char *name, int *count)
{
    const struct baton_json *given = baton_json_get(value, name);
    if (baton_json_kind(given) != BATON_JSON_INT || baton_json_int(given) < 0 ||
        baton_json_int(given) > INT32_MAX)
        return baton_steps_wrong(reader, "Strip: start and stop must be integers of at least 0");
    *count = (int)baton_json_int(given);
    return BATON_OK;
}

static enum baton_err read_strip(const struct baton_steps_reader *reader,
                                 const struct baton_json *value)
{
    struct baton_decoder_step step = {.kind = BATON_DECODER_STRIP};
    enum baton_err err = baton_steps_content(reader, value, "content", &step.content);
    if (!err)
        err = read_count(reader, value, "start", &step.n_start);
    if (!err)
        err = read_count(reader, value, "stop", &step.n_stop);
    if (!err && !step.content.n)
        err = baton_steps_wrong(reader, "Strip: content must be one character");
    return err ? err : add(reader, step);
}

static enum baton_err read_metaspace(const struct baton_steps_reader *reader,
                                     const struct baton_json *value)
{
    struct baton_decoder_step step = {.kind = BATON_DECODER_METASPACE};
    const char *scheme = baton_json_string(baton_json_get(value, "prepend_scheme"), NULL);
    enum baton_err err = baton_steps_character(reader, value, "replacement", &step.pattern);
    if (!err)
        err = baton_steps_bool(reader, value, "add_prefix_space", true, &step.drops_first);
    if (scheme)
        step.drops_first = strcmp(scheme, "never") != 0;
    return err ? err : add(reader, step);
}

void baton_steps_bert_decoder(struct baton_tokenizer_steps *steps, bool cleans)
{
    static const struct baton_decoder_step space = {
        .kind = BATON_DECODER_METASPACE,
        .pattern = {BATON_WORD_BEGINS, sizeof BATON_WORD_BEGINS - 1},
        .drops_first = true};
    static const char *const marks[] = {" .", " ?", " !", " ,"};
    steps->decoder[steps->n_decoder++] = space;
    for (size_t i = 0; cleans && i < BATON_N_OF(marks); i++)
        steps->decoder[steps->n_decoder++] = (struct baton_decoder_step){
            .kind = BATON_DECODER_REPLACE, .pattern = {marks[i], 2}, .content = {marks[i] + 1, 1}};
}

/* Tokens have the mark of a word's beginning already (BATON_WORD_BEGINS). "cleanup" removes the
 * space before punctuation. */
static enum baton_err read_wordpiece(const struct baton_steps_reader *reader,
                                     const struct baton_json *value)
{
    bool cleans;
    enum baton_err err = baton_steps_bool(reader, value, "cleanup", true, &cleans);
    if (!err && reader->steps->n_decoder)
        err = baton_steps_unsupported(reader, "WordPiece behind another step");
    if (!err)
        baton_steps_bert_decoder(reader->steps, cleans);
    return err;
}

enum baton_err baton_steps_read_decoder(const struct baton_steps_reader *reader,
                                        const struct baton_json *value)
{
    static const struct baton_steps_type types[] = {
        {"ByteLevel", read_bare},      {"ByteFallback", read_bare}, {"Fuse", read_bare},
        {"Replace", read_replace},     {"Strip", read_strip},       {"Metaspace", read_metaspace},
        {"WordPiece", read_wordpiece},
    };
    return baton_steps_read_chain(reader, types, BATON_N_OF(types), "decoders", value);
}

/* ---- post_processor ---- */

/* ByteLevel as a post-processor changes offsets, not ids. */
static enum baton_err read_nothing(const struct baton_steps_reader *reader,
                                   const struct baton_json *value)
{
    (void)reader;
    (void)value;
    return BATON_OK;
}

static enum baton_err add_end(const struct baton_steps_reader *reader, const struct baton_json *id,
                              uint32_t *ids, int *n)
{
    if (baton_json_kind(id) != BATON_JSON_INT || baton_json_int(id) < 0 ||
        baton_json_int(id) >= BATON_MAX_TOKEN_IDS)
        return baton_steps_wrong(reader, "special_tokens: ids must be integers 0..1048575");
    if (*n == BATON_TOKENIZER_MAX_ENDS)
        return baton_steps_unsupported(reader, "more than 8 special tokens at an end");
    ids[(*n)++] = (uint32_t)baton_json_int(id);
    return BATON_OK;
}

/* Adds the ids of the special token that a piece of the template names. */
static enum baton_err add_special(const struct baton_steps_reader *reader,
                                  const struct baton_json *template, const struct baton_json *piece,
                                  uint32_t *ids, int *n)
{
    const char *name = baton_json_string(baton_json_get(piece, "id"), NULL);
    const struct baton_json *tokens = baton_json_get(template, "special_tokens");
    const struct baton_json *list =
        name ? baton_json_get(baton_json_get(tokens, name), "ids") : NULL;
    enum baton_err err = BATON_OK;
    if (!baton_json_size(list))
        return baton_steps_wrong(reader, "special_tokens must hold the ids of each SpecialToken");
    for (size_t i = 0; i < baton_json_size(list) && !err; i++)
        err = add_end(reader, baton_json_at(list, i), ids, n);
    return err;
}

/* Reads the special tokens between the two sequences of a pair. A template without a pair is that
 * of a model which reads single texts. */
static enum baton_err read_pair(const struct baton_steps_reader *reader,
                                const struct baton_json *value)
{
    struct baton_tokenizer_steps *steps = reader->steps;
    const struct baton_json *pieces = baton_json_get(value, "pair");
    int n_sequences = 0;
    enum baton_err err = BATON_OK;
    for (size_t i = 0; i < baton_json_size(pieces) && !err; i++) {
        const struct baton_json *piece = baton_json_at(pieces, i);
        const struct baton_json *special = baton_json_get(piece, "SpecialToken");
        if (!special)
            n_sequences += baton_json_get(piece, "Sequence") != NULL;
        else if (n_sequences == 1)
            err = add_special(reader, value, special, steps->between_ids, &steps->n_between);
    }
    return err;
}

/* Reads the special tokens before and after the one sequence. */
static enum baton_err read_template(const struct baton_steps_reader *reader,
                                    const struct baton_json *value)
{
    struct baton_tokenizer_steps *steps = reader->steps;
    const struct baton_json *pieces = baton_json_get(value, "single");
    uint32_t first[BATON_TOKENIZER_MAX_ENDS];
    int n_first = 0, n_sequences = 0;
    enum baton_err err = BATON_OK;
    for (size_t i = 0; i < baton_json_size(pieces) && !err; i++) {
        const struct baton_json *piece = baton_json_at(pieces, i);
        const struct baton_json *special = baton_json_get(piece, "SpecialToken");
        if (!special)
            n_sequences += baton_json_get(piece, "Sequence") != NULL;
        else if (n_sequences)
            err = add_special(reader, value, special, steps->last_ids, &steps->n_last);
        else
            err = add_special(reader, value, special, first, &n_first);
    }
    if (err)
        return err;
    if (n_sequences != 1)
        return baton_steps_unsupported(reader, "a template without exactly one sequence");
    if (n_first + steps->n_first > BATON_TOKENIZER_MAX_ENDS)
        return baton_steps_unsupported(reader, "more than 8 special tokens at an end");
    /* Of two templates in a chain, the later one is the outer one. */
    memmove(steps->first_ids + n_first, steps->first_ids,
            (size_t)steps->n_first * sizeof *steps->first_ids);
    memcpy(steps->first_ids, first, (size_t)n_first * sizeof *first);
    steps->n_first += n_first;
    return read_pair(reader, value);
}

/* Reads BERT's and RoBERTa's own form: {"cls": ["[CLS]", 101], "sep": ["[SEP]", 102]}. RoBERTa's is
 * byte-level, so what else it says changes offsets alone. Two separators stand between the texts of
 * its pairs. */
static enum baton_err read_pair_of_ends(const struct baton_steps_reader *reader,
                                        const struct baton_json *value)
{
    struct baton_tokenizer_steps *steps = reader->steps;
    const struct baton_json *separator = baton_json_at(baton_json_get(value, "sep"), 1);
    int n_between = baton_json_is(baton_json_get(value, "type"), "RobertaProcessing") ? 2 : 1;
    enum baton_err err = add_end(reader, baton_json_at(baton_json_get(value, "cls"), 1),
                                 steps->first_ids, &steps->n_first);
    if (!err)
        err = add_end(reader, separator, steps->last_ids, &steps->n_last);
    for (int i = 0; i < n_between && !err; i++)
        err = add_end(reader, separator, steps->between_ids, &steps->n_between);
    return err;
}

enum baton_err baton_steps_read_postprocessor(const struct baton_steps_reader *reader,
                                              const struct baton_json *value)
{
    static const struct baton_steps_type types[] = {{"ByteLevel", read_nothing},
                                                    {"TemplateProcessing", read_template},
                                                    {"BertProcessing", read_pair_of_ends},
                                                    {"RobertaProcessing", read_pair_of_ends}};
    return baton_steps_read_chain(reader, types, BATON_N_OF(types), "processors", value);
}
