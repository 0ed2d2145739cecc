/* tokenizer.json: what is supported is read, and what is not but would change ids is refused.
 * "truncation" and "padding" are ignored, as Hugging Face's transformers sets both anew per call.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "common/base/file.h"
#include "common/tokenizer/tokenizer_parts.h"
#include "common/tokenizer/vocab_file.h"

static enum baton_err unsupported(const struct baton_vocab_source *source, const char *part,
                                  const char *what)
{
    return baton_fail(source->why, BATON_INVALID, "%s: %s: %.60s is not supported", source->file,
                      part, what);
}

static enum baton_err wrong(const struct baton_vocab_source *source, const char *part,
                            const char *rule)
{
    return baton_fail(source->why, BATON_INVALID, "%s: %s: %s", source->file, part, rule);
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

static enum baton_err check_off(const struct baton_vocab_source *source,
                                const struct baton_json *model, const char *flag)
{
    const struct baton_json *value = baton_json_get(model, flag);
    if (is_absent(value) || (baton_json_kind(value) == BATON_JSON_BOOL && !baton_json_bool(value)))
        return BATON_OK;
    return unsupported(source, "model", flag);
}

static enum baton_err check_empty(const struct baton_vocab_source *source,
                                  const struct baton_json *model, const char *affix)
{
    const struct baton_json *value = baton_json_get(model, affix);
    const char *text = baton_json_string(value, NULL);
    if (is_absent(value) || (text && !*text))
        return BATON_OK;
    return unsupported(source, "model", affix);
}

/* unk_token and fuse_unk are not looked at: a text that would need them is refused by encode. */
static enum baton_err check_model(const struct baton_vocab_source *source,
                                  const struct baton_json *model)
{
    const struct baton_json *type = baton_json_get(model, "type");
    const struct baton_json *dropout = baton_json_get(model, "dropout");
    if (baton_json_kind(model) != BATON_JSON_OBJECT)
        return wrong(source, "model", "must be an object");
    /* The files of the first years name no type: merges tell that it is BPE. */
    if (!is_absent(type) && strcmp(type_of(model), "BPE") != 0)
        return unsupported(source, "model", type_of(model));
    if (!is_absent(dropout) &&
        (baton_json_kind(dropout) < BATON_JSON_INT || baton_json_kind(dropout) > BATON_JSON_REAL ||
         baton_json_number(dropout) != 0))
        return unsupported(source, "model", "dropout");
    enum baton_err err = check_off(source, model, "byte_fallback");
    if (!err)
        err = check_off(source, model, "ignore_merges");
    if (!err)
        err = check_empty(source, model, "continuing_subword_prefix");
    if (!err)
        err = check_empty(source, model, "end_of_word_suffix");
    return err;
}

/* ---- the steps around the model ---- */

static enum baton_err read_byte_level(const struct baton_vocab_source *source,
                                      const struct baton_json *value)
{
    const struct baton_json *prefix = baton_json_get(value, "add_prefix_space");
    const struct baton_json *regex = baton_json_get(value, "use_regex");
    if (baton_json_kind(prefix) != BATON_JSON_BOOL)
        return wrong(source, "pre_tokenizer", "add_prefix_space must be true or false");
    if (!is_absent(regex) && baton_json_kind(regex) != BATON_JSON_BOOL)
        return wrong(source, "pre_tokenizer", "use_regex must be true or false");
    source->tokenizer->add_prefix_space = baton_json_bool(prefix);
    if (!is_absent(regex) && !baton_json_bool(regex))
        return BATON_OK;
    return baton_pretokenizer_create(true, &source->tokenizer->pretokenizer, source->why);
}

static enum baton_err read_pre_tokenizer(const struct baton_vocab_source *source,
                                         const struct baton_json *value)
{
    static const char part[] = "pre_tokenizer";
    if (is_absent(value))
        return unsupported(source, part, "a model without ByteLevel");
    const char *type = type_of(value);
    if (!strcmp(type, "ByteLevel"))
        return read_byte_level(source, value);
    if (strcmp(type, "Sequence") != 0)
        return unsupported(source, part, type);
    const struct baton_json *steps = baton_json_get(value, "pretokenizers");
    for (size_t i = 0; i < baton_json_size(steps); i++) {
        type = type_of(baton_json_at(steps, i));
        if (strcmp(type, "ByteLevel") != 0)
            return unsupported(source, part, type);
    }
    if (baton_json_size(steps) != 1)
        return unsupported(source, part, "a Sequence of other than one step");
    return read_byte_level(source, baton_json_at(steps, 0));
}

/* For the post-processor and the decoder, where ByteLevel and nothing both mean: change no id. */
static enum baton_err check_byte_level(const struct baton_vocab_source *source, const char *part,
                                       const char *steps_key, const struct baton_json *value)
{
    if (is_absent(value) || !strcmp(type_of(value), "ByteLevel"))
        return BATON_OK;
    if (strcmp(type_of(value), "Sequence") != 0)
        return unsupported(source, part, type_of(value));
    const struct baton_json *steps = baton_json_get(value, steps_key);
    for (size_t i = 0; i < baton_json_size(steps); i++)
        if (strcmp(type_of(baton_json_at(steps, i)), "ByteLevel") != 0)
            return unsupported(source, part, type_of(baton_json_at(steps, i)));
    return BATON_OK;
}

static enum baton_err read_steps(const struct baton_vocab_source *source,
                                 const struct baton_json *root)
{
    const struct baton_json *normalizer = baton_json_get(root, "normalizer");
    if (!is_absent(normalizer))
        return unsupported(source, "normalizer", type_of(normalizer));
    enum baton_err err = check_byte_level(source, "post_processor", "processors",
                                          baton_json_get(root, "post_processor"));
    if (!err)
        err = check_byte_level(source, "decoder", "decoders", baton_json_get(root, "decoder"));
    if (!err)
        err = read_pre_tokenizer(source, baton_json_get(root, "pre_tokenizer"));
    return err;
}

/* ---- added_tokens ---- */

static enum baton_err check_added(const struct baton_vocab_source *source,
                                  const struct baton_json *token)
{
    static const char *const matching[] = {"single_word", "lstrip", "rstrip"};
    static const char *const flags[] = {"special", "normalized"};
    const struct baton_json *id = baton_json_get(token, "id");
    size_t n = 0;
    (void)baton_json_string(baton_json_get(token, "content"), &n);
    if (!n)
        return wrong(source, "added_tokens", "content must be a string of at least one character");
    if (baton_json_kind(id) != BATON_JSON_INT || baton_json_int(id) < 0 ||
        baton_json_int(id) >= BATON_VOCAB_MAX_TOKENS)
        return wrong(source, "added_tokens", "id must be an integer 0..1048575");
    for (size_t i = 0; i < sizeof matching / sizeof *matching; i++) {
        const struct baton_json *value = baton_json_get(token, matching[i]);
        if (!is_absent(value) &&
            (baton_json_kind(value) != BATON_JSON_BOOL || baton_json_bool(value)))
            return unsupported(source, "added_tokens", matching[i]);
    }
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        enum baton_json_kind kind = baton_json_kind(baton_json_get(token, flags[i]));
        if (kind != BATON_JSON_NULL && kind != BATON_JSON_BOOL)
            return wrong(source, "added_tokens", "special and normalized must be true or false");
    }
    return BATON_OK;
}

/* An added token may repeat one of the vocabulary's, under the same id and with the same bytes. */
static enum baton_err put_added(const struct baton_vocab_source *source,
                                const struct baton_json *vocab, const struct baton_json *token)
{
    size_t n, n_known = 0;
    const char *text = baton_json_string(baton_json_get(token, "content"), &n);
    uint32_t id = (uint32_t)baton_json_int(baton_json_get(token, "id"));
    const struct baton_json *in_vocab = strlen(text) == n ? baton_json_get(vocab, text) : NULL;
    const char *known = baton_vocab_bytes(&source->tokenizer->vocab, id, &n_known);
    if (in_vocab && baton_json_int(in_vocab) != (int64_t)id)
        return baton_fail(
            source->why, BATON_INVALID,
            "%s: added_tokens: \"%.40s\" has id %u, but another one in the vocabulary",
            source->file, text, (unsigned)id);
    if (known && (n != n_known || memcmp(known, text, n) != 0))
        return baton_fail(source->why, BATON_INVALID,
                          "%s: added_tokens: \"%.40s\": id %u stands for other bytes", source->file,
                          text, (unsigned)id);
    if (!known && baton_vocab_put(&source->tokenizer->vocab, id, text, n))
        return baton_fail(source->why, BATON_NO_MEMORY, "%s: out of memory", source->file);
    return BATON_OK;
}

static enum baton_err register_added(const struct baton_vocab_source *source,
                                     const struct baton_json *value)
{
    struct baton_tokenizer *tokenizer = source->tokenizer;
    struct baton_added_token token = {
        .id = (uint32_t)baton_json_int(baton_json_get(value, "id")),
        .special = baton_json_bool(baton_json_get(value, "special")),
    };
    token.text = baton_vocab_bytes(&tokenizer->vocab, token.id, &token.n_bytes);
    if (token.special)
        tokenizer->vocab.tokens[token.id].special = 1;
    bool normalized = baton_json_bool(baton_json_get(value, "normalized"));
    if (baton_added_add(&tokenizer->added[normalized], token))
        return baton_fail(source->why, BATON_NO_MEMORY, "%s: out of memory", source->file);
    return BATON_OK;
}

static enum baton_err read_added(const struct baton_vocab_source *source,
                                 const struct baton_json *vocab, const struct baton_json *tokens)
{
    size_t n = baton_json_size(tokens), n_ids = 0;
    enum baton_err err = BATON_OK;
    if (!is_absent(tokens) && baton_json_kind(tokens) != BATON_JSON_ARRAY)
        return wrong(source, "added_tokens", "must be an array");
    for (size_t i = 0; i < n && !err; i++) {
        size_t id = (size_t)baton_json_int(baton_json_get(baton_json_at(tokens, i), "id"));
        err = check_added(source, baton_json_at(tokens, i));
        n_ids = !err && id >= n_ids ? id + 1 : n_ids;
    }
    if (!err && baton_vocab_reserve(&source->tokenizer->vocab, n_ids))
        err = baton_fail(source->why, BATON_NO_MEMORY, "%s: out of memory", source->file);
    for (size_t i = 0; i < n && !err; i++)
        err = put_added(source, vocab, baton_json_at(tokens, i));
    /* Only now: the bytes that the sets borrow no longer move. */
    for (size_t i = 0; i < n && !err; i++)
        err = register_added(source, baton_json_at(tokens, i));
    baton_added_seal(&source->tokenizer->added[0]);
    baton_added_seal(&source->tokenizer->added[1]);
    return err;
}

/* ---- the file ---- */

static enum baton_err read_root(const struct baton_vocab_source *source,
                                const struct baton_json *root)
{
    const struct baton_json *model = baton_json_get(root, "model");
    const struct baton_json *vocab = baton_json_get(model, "vocab");
    enum baton_err err = check_model(source, model);
    if (!err)
        err = read_steps(source, root);
    if (!err)
        err = baton_vocab_read(source, vocab, baton_json_get(model, "merges"));
    if (!err)
        err = read_added(source, vocab, baton_json_get(root, "added_tokens"));
    return err;
}

enum baton_err baton_tokenizer_parse_json(struct baton_tokenizer *tokenizer, const char *name,
                                          const void *json, size_t n, struct baton_why *why)
{
    struct baton_json *root = NULL;
    struct baton_why reason;
    struct baton_vocab_source source = {.file = name, .tokenizer = tokenizer, .why = why};
    enum baton_err err = baton_json_parse(json, n, &root, &reason);
    if (err)
        return baton_fail(why, err, "%s: %s", name, reason.text);
    err = read_root(&source, root);
    baton_json_free(root);
    return err;
}

enum baton_err baton_tokenizer_read_json(struct baton_tokenizer *tokenizer, const char *dir,
                                         struct baton_why *why)
{
    char path[PATH_MAX];
    struct baton_buf text;
    int n = snprintf(path, sizeof path, "%s/tokenizer.json", dir);
    if (n < 0 || n >= (int)sizeof path)
        return baton_fail(why, BATON_INVALID, "%s: path too long", dir);
    baton_buf_init(&text, BATON_TOKENIZER_FILE_MAX_BYTES);
    enum baton_err err = baton_file_read(path, &text, why);
    if (!err)
        err = baton_tokenizer_parse_json(tokenizer, path, baton_buf_text(&text), text.len, why);
    baton_buf_fini(&text);
    return err;
}
