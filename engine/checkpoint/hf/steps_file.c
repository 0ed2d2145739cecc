#include "engine/checkpoint/hf/steps_file.h"

#include <string.h>

#include "common/base/utf8.h"

enum baton_err baton_steps_unsupported(const struct baton_steps_reader *reader, const char *what)
{
    return baton_fail(reader->why, BATON_INVALID, "%s: %s: %.60s is not supported", reader->file,
                      reader->part, what);
}

enum baton_err baton_steps_wrong(const struct baton_steps_reader *reader, const char *rule)
{
    return baton_fail(reader->why, BATON_INVALID, "%s: %s: %s", reader->file, reader->part, rule);
}

const char *baton_steps_type(const struct baton_json *value)
{
    const char *type = baton_json_string(baton_json_get(value, "type"), NULL);
    return type ? type : "an object without a type";
}

enum baton_err baton_steps_bool(const struct baton_steps_reader *reader,
                                const struct baton_json *step, const char *name, bool fallback,
                                bool *value)
{
    const struct baton_json *given = baton_json_get(step, name);
    enum baton_json_kind kind = baton_json_kind(given);
    if (kind != BATON_JSON_BOOL && kind != BATON_JSON_NULL)
        return baton_fail(reader->why, BATON_INVALID, "%s: %s: %s must be true or false",
                          reader->file, reader->part, name);
    *value = kind == BATON_JSON_BOOL ? baton_json_bool(given) : fallback;
    return BATON_OK;
}

enum baton_err baton_steps_text(const struct baton_steps_reader *reader,
                                const struct baton_json *step, const char *name,
                                struct baton_step_text *text)
{
    text->bytes = baton_json_string(baton_json_get(step, name), &text->n);
    if (text->bytes)
        return BATON_OK;
    return baton_fail(reader->why, BATON_INVALID, "%s: %s: %.40s: %s must be a string",
                      reader->file, reader->part, baton_steps_type(step), name);
}

enum baton_err baton_steps_content(const struct baton_steps_reader *reader,
                                   const struct baton_json *step, const char *name,
                                   struct baton_step_text *text)
{
    enum baton_err err = baton_steps_text(reader, step, name, text);
    if (err || text->n <= BATON_STEP_CONTENT_MAX_BYTES)
        return err;
    return baton_fail(reader->why, BATON_INVALID, "%s: %s: %.40s: %s is longer than %d bytes",
                      reader->file, reader->part, baton_steps_type(step), name,
                      BATON_STEP_CONTENT_MAX_BYTES);
}

enum baton_err baton_steps_character(const struct baton_steps_reader *reader,
                                     const struct baton_json *step, const char *name,
                                     struct baton_step_text *text)
{
    size_t n = 0;
    enum baton_err err = baton_steps_text(reader, step, name, text);
    if (!err && text->n)
        (void)baton_utf8_at(text->bytes, &n);
    if (err || (n && n == text->n))
        return err;
    return baton_fail(reader->why, BATON_INVALID, "%s: %s: %s must be one character", reader->file,
                      reader->part, name);
}

enum baton_err baton_steps_pattern(const struct baton_steps_reader *reader,
                                   const struct baton_json *step,
                                   struct baton_step_pattern *pattern)
{
    const struct baton_json *value = baton_json_get(step, "pattern");
    const struct baton_json *regex = baton_json_get(value, "Regex");
    pattern->is_regex = regex != NULL;
    pattern->text.bytes =
        baton_json_string(regex ? regex : baton_json_get(value, "String"), &pattern->text.n);
    if (pattern->text.bytes)
        return BATON_OK;
    return baton_steps_wrong(reader, "pattern must be {\"String\": text} or {\"Regex\": text}");
}

static enum baton_err read_step(const struct baton_steps_reader *reader,
                                const struct baton_steps_type *types, size_t n,
                                const struct baton_json *step)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(types[i].name, baton_steps_type(step)))
            return types[i].read(reader, step);
    return baton_steps_unsupported(reader, baton_steps_type(step));
}

enum baton_err baton_steps_read_chain(const struct baton_steps_reader *reader,
                                      const struct baton_steps_type *types, size_t n,
                                      const char *key, const struct baton_json *value)
{
    const struct baton_json *steps = baton_json_get(value, key);
    enum baton_err err = BATON_OK;
    if (baton_json_kind(value) == BATON_JSON_NULL)
        return BATON_OK;
    if (strcmp(baton_steps_type(value), "Sequence") != 0)
        return read_step(reader, types, n, value);
    if (baton_json_kind(steps) != BATON_JSON_ARRAY)
        return baton_fail(reader->why, BATON_INVALID, "%s: %s: %s must be an array", reader->file,
                          reader->part, key);
    for (size_t i = 0; i < baton_json_size(steps) && !err; i++)
        err = read_step(reader, types, n, baton_json_at(steps, i));
    return err;
}
