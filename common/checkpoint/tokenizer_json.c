/* tokenizer.json: reads the supported parts, and refuses unsupported parts that would change ids.
 * "truncation" and "padding" are ignored, as Hugging Face's transformers sets both anew per call.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/file.h"
#include "common/checkpoint/steps_file.h"
#include "common/checkpoint/vocab_file.h"

/* Where the parts go, and where the reason for a failure goes. */
struct reader {
    struct baton_tokenizer_tables *tables;
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

/* A token that is not in the vocabulary cannot stand for others: encode then refuses a text that
 * would need it. */
static enum baton_err read_unk_token(const struct reader *reader, const struct baton_json *model)
{
    const struct baton_json *name = baton_json_get(model, "unk_token");
    const struct baton_json *vocab = baton_json_get(model, "vocab");
    if (is_absent(name))
        return BATON_OK;
    if (baton_json_kind(name) != BATON_JSON_STRING)
        return wrong(reader, "model", "unk_token must be a string");
    const struct baton_json *id = baton_json_get(vocab, baton_json_string(name, NULL));
    if (id)
        reader->tables->unk_id = (uint32_t)baton_json_int(id);
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
        err = baton_vocab_read(reader->tables, baton_json_get(model, "vocab"),
                               baton_json_get(model, "merges"), reader->why);
    return err ? err : read_unk_token(reader, model);
}

/* Unknown characters beside each other are always one token to Unigram. */
static enum baton_err read_unigram(const struct reader *reader, const struct baton_json *model)
{
    struct baton_tokenizer_tables *tables = reader->tables;
    const struct baton_json *unk = baton_json_get(model, "unk_id");
    enum baton_err err = read_flags(reader, model);
    tables->model = BATON_TOKENIZER_UNIGRAM;
    tables->fuse_unk = true;
    if (!err)
        err = baton_vocab_read_scores(tables, baton_json_get(model, "vocab"), reader->why);
    if (err || is_absent(unk))
        return err;
    if (baton_json_kind(unk) != BATON_JSON_INT || baton_json_int(unk) < 0 ||
        baton_json_int(unk) >= (int64_t)tables->n_tokens)
        return wrong(reader, "model", "unk_id must be the id of a token");
    tables->unk_id = (uint32_t)baton_json_int(unk);
    return BATON_OK;
}

static enum baton_err read_model(const struct reader *reader, const struct baton_json *model)
{
    const struct baton_json *type = baton_json_get(model, "type");
    if (baton_json_kind(model) != BATON_JSON_OBJECT)
        return wrong(reader, "model", "must be an object");
    /* The files of the first years name no type: merges tell that it is BPE. */
    if (is_absent(type) || !strcmp(baton_steps_type(model), "BPE"))
        return read_bpe(reader, model);
    if (!strcmp(baton_steps_type(model), "Unigram"))
        return read_unigram(reader, model);
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

/* A file with bytes in its vocabulary may leave out their decoder. */
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
    for (size_t i = 0; i < sizeof parts / sizeof *parts && !err; i++) {
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
    if (baton_json_kind(id) != BATON_JSON_INT || baton_json_int(id) < 0 ||
        baton_json_int(id) >= BATON_MAX_TOKEN_IDS)
        return wrong(reader, "added_tokens", "id must be an integer 0..1048575");
    row->id = (uint32_t)baton_json_int(id);
    return read_added_flags(reader, token, row);
}

/* An added token may repeat one of the vocabulary's, under the same id. */
static enum baton_err check_row(const struct reader *reader, const struct baton_json *vocab,
                                const struct baton_added_row *row)
{
    const struct baton_tokenizer_tables *tables = reader->tables;
    const struct baton_token_row *token =
        row->id < tables->n_tokens ? &tables->tokens[row->id] : NULL;
    const struct baton_json *in_vocab =
        strlen(row->text) == row->n_bytes ? baton_json_get(vocab, row->text) : NULL;
    if (in_vocab && baton_json_int(in_vocab) != (int64_t)row->id)
        return baton_fail(
            reader->why, BATON_INVALID,
            "%s: added_tokens: \"%.40s\" has id %u, but another one in the vocabulary",
            tables->file, row->text, (unsigned)row->id);
    if (token && token->text &&
        (token->n_bytes != row->n_bytes || memcmp(token->text, row->text, row->n_bytes) != 0))
        return baton_fail(reader->why, BATON_INVALID,
                          "%s: added_tokens: \"%.40s\": id %u stands for other text", tables->file,
                          row->text, (unsigned)row->id);
    return BATON_OK;
}

static enum baton_err read_added(const struct reader *reader, const struct baton_json *vocab,
                                 const struct baton_json *tokens)
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
            err = check_row(reader, vocab, &row);
        if (!err)
            tables->added[tables->n_added++] = row;
    }
    return err;
}

/* ---- the file ---- */

static enum baton_err read_root(const struct reader *reader, const struct baton_json *root)
{
    const struct baton_json *model = baton_json_get(root, "model");
    const struct baton_json *vocab = baton_json_get(model, "vocab");
    enum baton_err err = read_steps(reader, root);
    if (!err)
        err = read_model(reader, model);
    if (!err)
        err = read_added(reader, vocab, baton_json_get(root, "added_tokens"));
    return err;
}

enum baton_err baton_tokenizer_json_parse(const void *json, size_t n,
                                          struct baton_tokenizer_tables *tables,
                                          struct baton_why *why)
{
    struct baton_why reason;
    const struct reader reader = {.tables = tables, .why = why};
    enum baton_err err = baton_json_parse(json, n, &tables->parsed, &reason);
    if (err)
        return baton_fail(why, err, "%s: %s", tables->file, reason.text);
    return read_root(&reader, tables->parsed);
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
