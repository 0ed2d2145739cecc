/* tokenizer.json: reads the supported parts, and refuses unsupported parts that would change ids.
 * "truncation" and "padding" are ignored, as Hugging Face's transformers sets both anew per call.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/file.h"
#include "common/checkpoint/vocab_file.h"

/* Where the parts go, and where the reason for a failure goes. */
struct reader {
    struct baton_tokenizer_tables *tables;
    struct baton_why *why;
};

static enum baton_err unsupported(const struct reader *reader, const char *part, const char *what)
{
    return baton_fail(reader->why, BATON_INVALID, "%s: %s: %.60s is not supported",
                      reader->tables->file, part, what);
}

static enum baton_err wrong(const struct reader *reader, const char *part, const char *rule)
{
    return baton_fail(reader->why, BATON_INVALID, "%s: %s: %s", reader->tables->file, part, rule);
}

static const char *type_of(const struct baton_json *value)
{
    const char *type = baton_json_string(baton_json_get(value, "type"), NULL);
    return type ? type : "an object without a type";
}

static bool is_absent(const struct baton_json *value)
{
    return baton_json_kind(value) == BATON_JSON_NULL;
}

/* ---- model ---- */

static enum baton_err check_off(const struct reader *reader, const struct baton_json *model,
                                const char *flag)
{
    const struct baton_json *value = baton_json_get(model, flag);
    if (is_absent(value) || (baton_json_kind(value) == BATON_JSON_BOOL && !baton_json_bool(value)))
        return BATON_OK;
    return unsupported(reader, "model", flag);
}

static enum baton_err check_empty(const struct reader *reader, const struct baton_json *model,
                                  const char *affix)
{
    const struct baton_json *value = baton_json_get(model, affix);
    const char *text = baton_json_string(value, NULL);
    if (is_absent(value) || (text && !*text))
        return BATON_OK;
    return unsupported(reader, "model", affix);
}

/* unk_token and fuse_unk are not looked at: a text that would need them is refused by encode. */
static enum baton_err check_model(const struct reader *reader, const struct baton_json *model)
{
    const struct baton_json *type = baton_json_get(model, "type");
    const struct baton_json *dropout = baton_json_get(model, "dropout");
    if (baton_json_kind(model) != BATON_JSON_OBJECT)
        return wrong(reader, "model", "must be an object");
    /* The files of the first years name no type: merges tell that it is BPE. */
    if (!is_absent(type) && strcmp(type_of(model), "BPE") != 0)
        return unsupported(reader, "model", type_of(model));
    if (!is_absent(dropout) &&
        (baton_json_kind(dropout) < BATON_JSON_INT || baton_json_kind(dropout) > BATON_JSON_REAL ||
         baton_json_number(dropout) != 0))
        return unsupported(reader, "model", "dropout");
    enum baton_err err = check_off(reader, model, "byte_fallback");
    if (!err)
        err = check_off(reader, model, "ignore_merges");
    if (!err)
        err = check_empty(reader, model, "continuing_subword_prefix");
    if (!err)
        err = check_empty(reader, model, "end_of_word_suffix");
    return err;
}

/* ---- the steps around the model ---- */

static enum baton_err read_byte_level(const struct reader *reader, const struct baton_json *value)
{
    const struct baton_json *prefix = baton_json_get(value, "add_prefix_space");
    const struct baton_json *regex = baton_json_get(value, "use_regex");
    if (baton_json_kind(prefix) != BATON_JSON_BOOL)
        return wrong(reader, "pre_tokenizer", "add_prefix_space must be true or false");
    if (!is_absent(regex) && baton_json_kind(regex) != BATON_JSON_BOOL)
        return wrong(reader, "pre_tokenizer", "use_regex must be true or false");
    reader->tables->add_prefix_space = baton_json_bool(prefix);
    reader->tables->splits_words = is_absent(regex) || baton_json_bool(regex);
    return BATON_OK;
}

static enum baton_err read_pre_tokenizer(const struct reader *reader,
                                         const struct baton_json *value)
{
    static const char part[] = "pre_tokenizer";
    if (is_absent(value))
        return unsupported(reader, part, "a model without ByteLevel");
    const char *type = type_of(value);
    if (!strcmp(type, "ByteLevel"))
        return read_byte_level(reader, value);
    if (strcmp(type, "Sequence") != 0)
        return unsupported(reader, part, type);
    const struct baton_json *steps = baton_json_get(value, "pretokenizers");
    for (size_t i = 0; i < baton_json_size(steps); i++) {
        type = type_of(baton_json_at(steps, i));
        if (strcmp(type, "ByteLevel") != 0)
            return unsupported(reader, part, type);
    }
    if (baton_json_size(steps) != 1)
        return unsupported(reader, part, "a Sequence of other than one step");
    return read_byte_level(reader, baton_json_at(steps, 0));
}

/* For the post-processor and the decoder, where ByteLevel and nothing both mean: change no id. */
static enum baton_err check_byte_level(const struct reader *reader, const char *part,
                                       const char *steps_key, const struct baton_json *value)
{
    if (is_absent(value) || !strcmp(type_of(value), "ByteLevel"))
        return BATON_OK;
    if (strcmp(type_of(value), "Sequence") != 0)
        return unsupported(reader, part, type_of(value));
    const struct baton_json *steps = baton_json_get(value, steps_key);
    for (size_t i = 0; i < baton_json_size(steps); i++)
        if (strcmp(type_of(baton_json_at(steps, i)), "ByteLevel") != 0)
            return unsupported(reader, part, type_of(baton_json_at(steps, i)));
    return BATON_OK;
}

static enum baton_err read_steps(const struct reader *reader, const struct baton_json *root)
{
    const struct baton_json *normalizer = baton_json_get(root, "normalizer");
    if (!is_absent(normalizer))
        return unsupported(reader, "normalizer", type_of(normalizer));
    enum baton_err err = check_byte_level(reader, "post_processor", "processors",
                                          baton_json_get(root, "post_processor"));
    if (!err)
        err = check_byte_level(reader, "decoder", "decoders", baton_json_get(root, "decoder"));
    if (!err)
        err = read_pre_tokenizer(reader, baton_json_get(root, "pre_tokenizer"));
    return err;
}

/* ---- added_tokens ---- */

static enum baton_err check_added(const struct reader *reader, const struct baton_json *token)
{
    static const char *const matching[] = {"single_word", "lstrip", "rstrip"};
    static const char *const flags[] = {"special", "normalized"};
    const struct baton_json *id = baton_json_get(token, "id");
    size_t n = 0;
    (void)baton_json_string(baton_json_get(token, "content"), &n);
    if (!n)
        return wrong(reader, "added_tokens", "content must be a string of at least one character");
    if (baton_json_kind(id) != BATON_JSON_INT || baton_json_int(id) < 0 ||
        baton_json_int(id) >= BATON_MAX_TOKEN_IDS)
        return wrong(reader, "added_tokens", "id must be an integer 0..1048575");
    for (size_t i = 0; i < sizeof matching / sizeof *matching; i++) {
        const struct baton_json *value = baton_json_get(token, matching[i]);
        if (!is_absent(value) &&
            (baton_json_kind(value) != BATON_JSON_BOOL || baton_json_bool(value)))
            return unsupported(reader, "added_tokens", matching[i]);
    }
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        enum baton_json_kind kind = baton_json_kind(baton_json_get(token, flags[i]));
        if (kind != BATON_JSON_NULL && kind != BATON_JSON_BOOL)
            return wrong(reader, "added_tokens", "special and normalized must be true or false");
    }
    return BATON_OK;
}

/* An added token may repeat one of the vocabulary's, under the same id. */
static enum baton_err put_added(const struct reader *reader, const struct baton_json *vocab,
                                const struct baton_json *token)
{
    struct baton_added_row row = {
        .id = (uint32_t)baton_json_int(baton_json_get(token, "id")),
        .special = baton_json_bool(baton_json_get(token, "special")),
        .normalized = baton_json_bool(baton_json_get(token, "normalized")),
    };
    row.text = baton_json_string(baton_json_get(token, "content"), &row.n_bytes);
    const struct baton_json *in_vocab =
        strlen(row.text) == row.n_bytes ? baton_json_get(vocab, row.text) : NULL;
    if (in_vocab && baton_json_int(in_vocab) != (int64_t)row.id)
        return baton_fail(
            reader->why, BATON_INVALID,
            "%s: added_tokens: \"%.40s\" has id %u, but another one in the vocabulary",
            reader->tables->file, row.text, (unsigned)row.id);
    reader->tables->added[reader->tables->n_added++] = row;
    return BATON_OK;
}

static enum baton_err read_added(const struct reader *reader, const struct baton_json *vocab,
                                 const struct baton_json *tokens)
{
    size_t n = baton_json_size(tokens);
    enum baton_err err = BATON_OK;
    if (!is_absent(tokens) && baton_json_kind(tokens) != BATON_JSON_ARRAY)
        return wrong(reader, "added_tokens", "must be an array");
    for (size_t i = 0; i < n && !err; i++)
        err = check_added(reader, baton_json_at(tokens, i));
    if (err)
        return err;
    reader->tables->added = calloc(n + 1, sizeof *reader->tables->added);
    if (!reader->tables->added)
        return baton_fail(reader->why, BATON_NO_MEMORY, "%s: out of memory", reader->tables->file);
    for (size_t i = 0; i < n && !err; i++)
        err = put_added(reader, vocab, baton_json_at(tokens, i));
    return err;
}

/* ---- the file ---- */

static enum baton_err read_root(const struct reader *reader, const struct baton_json *root)
{
    const struct baton_json *model = baton_json_get(root, "model");
    const struct baton_json *vocab = baton_json_get(model, "vocab");
    enum baton_err err = check_model(reader, model);
    if (!err)
        err = read_steps(reader, root);
    if (!err)
        err = baton_vocab_read(reader->tables, vocab, baton_json_get(model, "merges"), reader->why);
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
