/* Reads tokenizer.json: the supported parts, while unsupported parts that would change ids are
 * refused. "truncation" and "padding" are ignored, because transformers sets both anew for each
 * call.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/os/file.h"
#include "engine/checkpoint/hf/steps_file.h"
#include "engine/checkpoint/hf/vocab_file.h"

/* The large parts of the file, which are read with a cursor. */
struct large_parts {
    struct baton_json_span vocab, merges, added;
};

/* The destination of the parts and of the reason for a failure. */
struct reader {
    struct baton_tokenizer_tables *tables;
    struct large_parts parts;
    struct baton_vocab_reader *vocab;
    struct baton_why *why;
};

static struct baton_steps_reader part_of(const struct reader *reader, const char *part)
{
    return (struct baton_steps_reader){.file = reader->tables->file,
                                       .part = part,
                                       .steps = &reader->tables->steps,
                                       .why = reader->why};
}

static enum baton_err unsupported(const struct reader *reader, const char *part, const char *what)
{
    const struct baton_steps_reader steps = part_of(reader, part);
    return baton_steps_unsupported(&steps, what);
}

static enum baton_err wrong(const struct reader *reader, const char *part, const char *rule)
{
    const struct baton_steps_reader steps = part_of(reader, part);
    return baton_steps_wrong(&steps, rule);
}

static bool is_absent(const struct baton_json *value)
{
    return baton_json_kind(value) == BATON_JSON_NULL;
}

/* ---- model ---- */

static enum baton_err check_empty(const struct reader *reader, const struct baton_json *model,
                                  const char *affix)
{
    const struct baton_json *value = baton_json_get(model, affix);
    const char *text = baton_json_string(value, NULL);
    if (is_absent(value) || (text && !*text))
        return BATON_OK;
    return unsupported(reader, "model", affix);
}

static enum baton_err check_dropout(const struct reader *reader, const struct baton_json *model)
{
    const struct baton_json *dropout = baton_json_get(model, "dropout");
    enum baton_json_kind kind = baton_json_kind(dropout);
    bool is_number = kind == BATON_JSON_INT || kind == BATON_JSON_REAL;
    if (is_absent(dropout) || (is_number && baton_json_number(dropout) == 0))
        return BATON_OK;
    return unsupported(reader, "model", "dropout");
}

static enum baton_err read_flags(const struct reader *reader, const struct baton_json *model)
{
    struct baton_tokenizer_tables *tables = reader->tables;
    const struct baton_steps_reader flags = part_of(reader, "model");
    enum baton_err err =
        baton_steps_bool(&flags, model, "byte_fallback", false, &tables->byte_fallback);
    if (!err)
        err = baton_steps_bool(&flags, model, "ignore_merges", false, &tables->ignore_merges);
    if (!err)
        err = baton_steps_bool(&flags, model, "fuse_unk", false, &tables->fuse_unk);
    return err;
}

/* Reads unk_token. One that is not in the vocabulary cannot replace unknown characters: encoding
 * then refuses a text that has some. */
static enum baton_err read_unk_token(const struct reader *reader, const struct baton_json *model)
{
    const struct baton_json *value = baton_json_get(model, "unk_token");
    size_t n;
    const char *name = baton_json_string(value, &n);
    if (is_absent(value))
        return BATON_OK;
    if (!name)
        return wrong(reader, "model", "unk_token must be a string");
    reader->tables->unk_id = baton_token_index_get(&reader->vocab->index, name, n);
    return BATON_OK;
}

static enum baton_err read_bpe(const struct reader *reader, const struct baton_json *model)
{
    enum baton_err err = check_dropout(reader, model);
    if (!err)
        err = read_flags(reader, model);
    if (!err)
        err = check_empty(reader, model, "continuing_subword_prefix");
    if (!err)
        err = check_empty(reader, model, "end_of_word_suffix");
    if (!err)
        err = baton_vocab_read(reader->vocab, reader->parts.vocab);
    if (!err)
        err = baton_merges_read(reader->vocab, reader->parts.merges);
    return err ? err : read_unk_token(reader, model);
}

/* Reads a Unigram model, where adjacent unknown characters always become one token. */
static enum baton_err read_unigram(const struct reader *reader, const struct baton_json *model)
{
    struct baton_tokenizer_tables *tables = reader->tables;
    const struct baton_json *unk = baton_json_get(model, "unk_id");
    enum baton_err err = read_flags(reader, model);
    tables->model = BATON_TOKENIZER_UNIGRAM;
    tables->fuse_unk = true;
    if (!err)
        err = baton_vocab_read_scores(reader->vocab, reader->parts.vocab);
    if (err || is_absent(unk))
        return err;
    if (baton_json_kind(unk) != BATON_JSON_INT || baton_json_int(unk) < 0 ||
        baton_json_int(unk) >= (int64_t)tables->n_tokens)
        return wrong(reader, "model", "unk_id must be the id of a token");
    tables->unk_id = (uint32_t)baton_json_int(unk);
    return BATON_OK;
}

/* Reads a WordPiece model. mark_words gives its tokens the form of the tables when all else that
 * names tokens by their text is read. */
static enum baton_err read_wordpiece(const struct reader *reader, const struct baton_json *model)
{
    const struct baton_json *most = baton_json_get(model, "max_input_chars_per_word");
    const char *prefix =
        baton_json_string(baton_json_get(model, "continuing_subword_prefix"), NULL);
    reader->tables->model = BATON_TOKENIZER_WORDPIECE;
    if (prefix && strcmp(prefix, BATON_WORD_CONTINUES) != 0)
        return wrong(reader, "model",
                     "continuing_subword_prefix must be \"" BATON_WORD_CONTINUES "\"");
    if (!is_absent(most) && baton_json_int(most) != 100)
        return wrong(reader, "model", "max_input_chars_per_word must be 100");
    enum baton_err err = baton_vocab_read(reader->vocab, reader->parts.vocab);
    return err ? err : read_unk_token(reader, model);
}

/* Puts BATON_WORD_BEGINS before the text of each token that begins a word, and drops the "##" of
 * the others. */
static enum baton_err mark_words(const struct reader *reader)
{
    struct baton_tokenizer_tables *tables = reader->tables;
    const size_t n_mark = sizeof BATON_WORD_BEGINS - 1;
    const size_t n_continues = sizeof BATON_WORD_CONTINUES - 1;
    size_t n_bytes = 1;
    for (size_t id = 0; id < tables->n_tokens; id++)
        n_bytes += tables->tokens[id].n_bytes + n_mark + 1;
    char *texts = malloc(n_bytes), *to = texts;
    if (!texts)
        return baton_fail(reader->why, BATON_NO_MEMORY, "%s: out of memory", tables->file);
    for (size_t id = 0; id < tables->n_tokens; id++) {
        struct baton_token_row *row = &tables->tokens[id];
        bool continues =
            row->n_bytes >= n_continues && !memcmp(row->text, BATON_WORD_CONTINUES, n_continues);
        if (!row->text)
            continue;
        size_t skip = continues ? n_continues : 0;
        const char *mark = continues ? "" : BATON_WORD_BEGINS;
        size_t n = strlen(mark), n_rest = row->n_bytes - skip;
        memcpy(to, mark, n);
        memcpy(to + n, row->text + skip, n_rest);
        n += n_rest;
        to[n] = 0;
        *row = (struct baton_token_row){.text = to, .n_bytes = n};
        to += n + 1;
    }
    free(tables->texts);
    tables->texts = texts;
    return BATON_OK;
}

static enum baton_err read_model(const struct reader *reader, const struct baton_json *model)
{
    const struct baton_json *type = baton_json_get(model, "type");
    if (baton_json_kind(model) != BATON_JSON_OBJECT)
        return wrong(reader, "model", "must be an object");
    /* Early files have no type: with merges the model is BPE. */
    if (is_absent(type) || !strcmp(baton_steps_type(model), "BPE"))
        return read_bpe(reader, model);
    if (!strcmp(baton_steps_type(model), "Unigram"))
        return read_unigram(reader, model);
    if (!strcmp(baton_steps_type(model), "WordPiece"))
        return read_wordpiece(reader, model);
    return unsupported(reader, "model", baton_steps_type(model));
}

/* ---- the steps around the model ---- */

static bool has_byte_level(const struct baton_tokenizer_steps *steps)
{
    for (int i = 0; i < steps->n_pretokenizer; i++)
        if (steps->pretokenizer[i].kind == BATON_PRETOKENIZER_BYTE_LEVEL)
            return true;
    return false;
}

/* Adds the decoder that a byte-level file may leave out. */
static enum baton_err require_decoder(const struct reader *reader)
{
    struct baton_tokenizer_steps *steps = &reader->tables->steps;
    if (steps->n_decoder)
        return BATON_OK;
    if (!has_byte_level(steps))
        return unsupported(reader, "decoder", "a model without one");
    steps->decoder[steps->n_decoder++] =
        (struct baton_decoder_step){.kind = BATON_DECODER_BYTE_LEVEL};
    return BATON_OK;
}

static enum baton_err read_steps(const struct reader *reader, const struct baton_json *root)
{
    static const struct {
        const char *part;
        enum baton_err (*read)(const struct baton_steps_reader *, const struct baton_json *);
    } parts[] = {{"normalizer", baton_steps_read_normalizer},
                 {"pre_tokenizer", baton_steps_read_pretokenizer},
                 {"post_processor", baton_steps_read_postprocessor},
                 {"decoder", baton_steps_read_decoder}};
    enum baton_err err = BATON_OK;
    for (size_t i = 0; i < BATON_N_OF(parts) && !err; i++) {
        const struct baton_steps_reader steps = part_of(reader, parts[i].part);
        err = parts[i].read(&steps, baton_json_get(root, parts[i].part));
    }
    return err ? err : require_decoder(reader);
}

/* ---- added_tokens ---- */

static enum baton_err read_added_flags(const struct reader *reader, const struct baton_json *token,
                                       struct baton_added_row *row)
{
    const struct baton_steps_reader flags = part_of(reader, "added_tokens");
    enum baton_err err = baton_steps_bool(&flags, token, "special", false, &row->special);
    if (!err)
        err = baton_steps_bool(&flags, token, "normalized", false, &row->normalized);
    if (!err)
        err = baton_steps_bool(&flags, token, "lstrip", false, &row->lstrip);
    if (!err)
        err = baton_steps_bool(&flags, token, "rstrip", false, &row->rstrip);
    if (!err)
        err = baton_steps_bool(&flags, token, "single_word", false, &row->single_word);
    return err;
}

static enum baton_err read_row(const struct reader *reader, const struct baton_json *token,
                               struct baton_added_row *row)
{
    const struct baton_json *id = baton_json_get(token, "id");
    row->text = baton_json_string(baton_json_get(token, "content"), &row->n_bytes);
    if (!row->text || !row->n_bytes)
        return wrong(reader, "added_tokens", "content must be a string of at least one character");
    if (row->n_bytes > BATON_ADDED_TOKEN_MAX_BYTES)
        return baton_fail(
            reader->why, BATON_LIMIT, "%s: added_tokens: \"%.40s...\" has %zu bytes, more than %d",
            reader->tables->file, row->text, row->n_bytes, BATON_ADDED_TOKEN_MAX_BYTES);
    if (baton_json_kind(id) != BATON_JSON_INT || baton_json_int(id) < 0 ||
        baton_json_int(id) >= BATON_MAX_TOKEN_IDS)
        return wrong(reader, "added_tokens", "id must be an integer 0..1048575");
    row->id = (uint32_t)baton_json_int(id);
    return read_added_flags(reader, token, row);
}

/* Checks that an added token which repeats a token of the vocabulary has its id. */
static enum baton_err check_row(const struct reader *reader, const struct baton_added_row *row)
{
    const struct baton_tokenizer_tables *tables = reader->tables;
    const struct baton_token_row *token =
        row->id < tables->n_tokens ? &tables->tokens[row->id] : NULL;
    uint32_t in_vocab = baton_token_index_get(&reader->vocab->index, row->text, row->n_bytes);
    if (in_vocab != BATON_NO_TOKEN && in_vocab != row->id)
        return baton_fail(reader->why, BATON_INVALID,
                          "%s: added_tokens: \"%.40s\" has id %u, but another id in the vocabulary",
                          tables->file, row->text, (unsigned)row->id);
    if (token && token->text &&
        (token->n_bytes != row->n_bytes || memcmp(token->text, row->text, row->n_bytes) != 0))
        return baton_fail(reader->why, BATON_INVALID,
                          "%s: added_tokens: \"%.40s\": id %u has another text in the vocabulary",
                          tables->file, row->text, (unsigned)row->id);
    return BATON_OK;
}

static enum baton_err read_rows(const struct reader *reader, const struct baton_json *tokens)
{
    struct baton_tokenizer_tables *tables = reader->tables;
    size_t n = baton_json_size(tokens);
    enum baton_err err = BATON_OK;
    if (!is_absent(tokens) && baton_json_kind(tokens) != BATON_JSON_ARRAY)
        return wrong(reader, "added_tokens", "must be an array");
    tables->added = calloc(n + 1, sizeof *tables->added);
    if (!tables->added)
        return baton_fail(reader->why, BATON_NO_MEMORY, "%s: out of memory", tables->file);
    for (size_t i = 0; i < n && !err; i++) {
        struct baton_added_row row = {0};
        err = read_row(reader, baton_json_at(tokens, i), &row);
        if (!err)
            err = check_row(reader, &row);
        if (!err)
            tables->added[tables->n_added++] = row;
    }
    return err;
}

static enum baton_err read_added(const struct reader *reader)
{
    struct baton_tokenizer_tables *tables = reader->tables;
    struct baton_json_span span = reader->parts.added;
    struct baton_why reason;
    if (!span.start)
        return BATON_OK;
    enum baton_err err = baton_json_parse(span.start, span.n, &tables->parsed_added, &reason);
    if (err)
        return baton_fail(reader->why, err, "%s: added_tokens: %s", tables->file, reason.text);
    return read_rows(reader, tables->parsed_added);
}

/* ---- the file ---- */

static int by_position(const void *a, const void *b)
{
    const struct baton_json_span *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

/* Copies the file with null for its large parts. The rest is small and is parsed into a tree. */
static enum baton_err cut_out(const struct reader *reader, struct baton_json_span file)
{
    struct baton_tokenizer_tables *tables = reader->tables;
    struct baton_json_span spans[] = {reader->parts.vocab, reader->parts.merges,
                                      reader->parts.added};
    struct baton_buf rest;
    const char *at = file.start;
    baton_buf_init(&rest, BATON_TOKENIZER_FILE_MAX_BYTES);
    qsort(spans, BATON_N_OF(spans), sizeof *spans, by_position);
    for (size_t i = 0; i < BATON_N_OF(spans); i++) {
        if (!spans[i].start)
            continue;
        baton_buf_append(&rest, at, (size_t)(spans[i].start - at));
        baton_buf_puts(&rest, "null");
        at = spans[i].start + spans[i].n;
    }
    baton_buf_append(&rest, at, (size_t)(file.start + file.n - at));
    tables->n_steps_json = rest.len;
    enum baton_err err = baton_buf_err(&rest);
    tables->steps_json = baton_buf_take(&rest);
    baton_buf_fini(&rest);
    return err ? baton_fail(reader->why, err, "%s: the file is too large, or out of memory",
                            tables->file)
               : BATON_OK;
}

enum baton_err baton_tokenizer_json_read_steps(struct baton_tokenizer_tables *tables,
                                               struct baton_why *why)
{
    const struct reader reader = {.tables = tables, .why = why};
    const char *json = tables->steps_json ? tables->steps_json : "";
    struct baton_why reason;
    enum baton_err err =
        baton_json_parse(json, tables->n_steps_json, &tables->parsed_steps, &reason);
    if (err)
        return baton_fail(why, err, "%s: %s", tables->file, reason.text);
    return read_steps(&reader, tables->parsed_steps);
}

enum baton_err baton_tokenizer_json_parse(const void *json, size_t n,
                                          struct baton_tokenizer_tables *tables,
                                          struct baton_why *why)
{
    struct baton_vocab_reader vocab = {.tables = tables, .why = why};
    struct baton_json_span file = {.start = n ? json : "", .n = n};
    struct baton_json_span model = baton_json_text_member(file, "model");
    const struct reader reader = {.tables = tables,
                                  .vocab = &vocab,
                                  .parts = {.vocab = baton_json_text_member(model, "vocab"),
                                            .merges = baton_json_text_member(model, "merges"),
                                            .added = baton_json_text_member(file, "added_tokens")},
                                  .why = why};
    enum baton_err err = cut_out(&reader, file);
    if (!err)
        err = baton_tokenizer_json_read_steps(tables, why);
    if (!err)
        err = read_model(&reader, baton_json_get(tables->parsed_steps, "model"));
    if (!err)
        err = read_added(&reader);
    if (!err && tables->model == BATON_TOKENIZER_WORDPIECE)
        err = mark_words(&reader);
    baton_token_index_fini(&vocab.index);
    return err;
}

enum baton_err baton_tokenizer_json_read(const char *model_path,
                                         struct baton_tokenizer_tables *tables,
                                         struct baton_why *why)
{
    char path[PATH_MAX];
    struct baton_buf text;
    enum baton_err err = baton_file_path(path, model_path, "tokenizer.json", why);
    baton_buf_init(&text, BATON_TOKENIZER_FILE_MAX_BYTES);
    if (!err)
        err = baton_file_read(path, &text, why);
    if (!err) {
        (void)strcpy(tables->file, path);
        err = baton_tokenizer_json_parse(baton_buf_text(&text), text.len, tables, why);
    }
    baton_buf_fini(&text);
    return err;
}
