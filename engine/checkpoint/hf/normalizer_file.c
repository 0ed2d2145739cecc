/* tokenizer.json's "normalizer". */
#include "common/base/array.h"
#include "engine/checkpoint/hf/steps_file.h"

#include <string.h>

static enum baton_err add(const struct baton_steps_reader *reader,
                          struct baton_normalizer_step step)
{
    if (reader->steps->n_normalizer == BATON_TOKENIZER_MAX_STEPS)
        return baton_steps_unsupported(reader, "a chain of more than 16 steps");
    reader->steps->normalizer[reader->steps->n_normalizer++] = step;
    return BATON_OK;
}

/* Reads a step without fields. */
static enum baton_err read_bare(const struct baton_steps_reader *reader,
                                const struct baton_json *value)
{
    static const struct {
        const char *name;
        enum baton_normalizer_kind kind;
    } kinds[] = {{"NFC", BATON_NORMALIZER_NFC},
                 {"NFD", BATON_NORMALIZER_NFD},
                 {"NFKC", BATON_NORMALIZER_NFKC},
                 {"NFKD", BATON_NORMALIZER_NFKD},
                 {"Lowercase", BATON_NORMALIZER_LOWERCASE},
                 {"StripAccents", BATON_NORMALIZER_STRIP_ACCENTS},
                 {"Nmt", BATON_NORMALIZER_NMT}};
    for (size_t i = 0; i < BATON_N_OF(kinds); i++)
        if (!strcmp(kinds[i].name, baton_steps_type(value)))
            return add(reader, (struct baton_normalizer_step){.kind = kinds[i].kind});
    return baton_steps_unsupported(reader, baton_steps_type(value));
}

static enum baton_err read_prepend(const struct baton_steps_reader *reader,
                                   const struct baton_json *value)
{
    struct baton_normalizer_step step = {.kind = BATON_NORMALIZER_PREPEND};
    enum baton_err err = baton_steps_content(reader, value, "prepend", &step.content);
    return err ? err : add(reader, step);
}

static enum baton_err read_replace(const struct baton_steps_reader *reader,
                                   const struct baton_json *value)
{
    struct baton_normalizer_step step = {.kind = BATON_NORMALIZER_REPLACE};
    enum baton_err err = baton_steps_pattern(reader, value, &step.pattern);
    if (!err)
        err = baton_steps_content(reader, value, "content", &step.content);
    return err ? err : add(reader, step);
}

static enum baton_err read_strip(const struct baton_steps_reader *reader,
                                 const struct baton_json *value)
{
    struct baton_normalizer_step step = {.kind = BATON_NORMALIZER_STRIP};
    enum baton_err err = baton_steps_bool(reader, value, "strip_left", true, &step.left);
    if (!err)
        err = baton_steps_bool(reader, value, "strip_right", true, &step.right);
    return err ? err : add(reader, step);
}

/* Reads a character map. Some files have an empty one, which changes nothing. */
static enum baton_err read_precompiled(const struct baton_steps_reader *reader,
                                       const struct baton_json *value)
{
    struct baton_normalizer_step step = {.kind = BATON_NORMALIZER_PRECOMPILED};
    const struct baton_json *map = baton_json_get(value, "precompiled_charsmap");
    if (baton_json_kind(map) == BATON_JSON_NULL)
        return BATON_OK;
    enum baton_err err = baton_steps_text(reader, value, "precompiled_charsmap", &step.content);
    if (err || !step.content.n)
        return err;
    return add(reader, step);
}

/* Reads BERT's normalizer as the steps that it takes. Accents are stripped with lower case unless
 * the file says otherwise. */
static enum baton_err read_bert(const struct baton_steps_reader *reader,
                                const struct baton_json *value)
{
    bool cleans = false, spaces = false, lowers = false, strips = false;
    enum baton_err err = baton_steps_bool(reader, value, "clean_text", true, &cleans);
    if (!err)
        err = baton_steps_bool(reader, value, "handle_chinese_chars", true, &spaces);
    if (!err)
        err = baton_steps_bool(reader, value, "lowercase", true, &lowers);
    if (!err)
        err = baton_steps_bool(reader, value, "strip_accents", lowers, &strips);
    const struct {
        bool is_on;
        enum baton_normalizer_kind kind;
    } steps[] = {{cleans, BATON_NORMALIZER_CLEAN},
                 {spaces, BATON_NORMALIZER_SPACE_CJK},
                 {strips, BATON_NORMALIZER_NFD},
                 {strips, BATON_NORMALIZER_STRIP_NONSPACING},
                 {lowers, BATON_NORMALIZER_LOWERCASE}};
    for (size_t i = 0; i < BATON_N_OF(steps) && !err; i++)
        if (steps[i].is_on)
            err = add(reader, (struct baton_normalizer_step){.kind = steps[i].kind});
    return err;
}

enum baton_err baton_steps_read_normalizer(const struct baton_steps_reader *reader,
                                           const struct baton_json *value)
{
    static const struct baton_steps_type types[] = {
        {"Prepend", read_prepend}, {"Replace", read_replace},
        {"Strip", read_strip},     {"Precompiled", read_precompiled},
        {"NFC", read_bare},        {"NFD", read_bare},
        {"NFKC", read_bare},       {"NFKD", read_bare},
        {"Lowercase", read_bare},  {"StripAccents", read_bare},
        {"Nmt", read_bare},        {"BertNormalizer", read_bert},
    };
    return baton_steps_read_chain(reader, types, BATON_N_OF(types), "normalizers", value);
}
