#include "engine/checkpoint/chat_template.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/os/file.h"
#include "engine/checkpoint/gguf/chat_template.h"
#include "engine/checkpoint/gguf/model.h"
#include "engine/checkpoint/hf/json_text.h"

/* A template is below 100 KB; a tokenizer_config.json with thousands of added tokens about 1 MB. */
enum { FILE_MAX_BYTES = 4 << 20 };

void baton_chat_template_fini(struct baton_chat_template *source)
{
    free(source->jinja);
    free(source->tools_jinja);
    free(source->bos);
    free(source->eos);
    *source = (struct baton_chat_template){0};
}

/* A value that is not a text counts as absent: fields that other software invents are not
 * refused. */
static enum baton_err copy_string(const struct baton_json *value, char **text, size_t *n,
                                  struct baton_why *why)
{
    size_t length;
    const char *bytes = baton_json_string(value, &length);
    if (!bytes)
        return BATON_OK;
    char *copy = malloc(length + 1);
    if (!copy)
        return baton_fail(why, BATON_NO_MEMORY, "out of memory");
    memcpy(copy, bytes, length + 1);
    *text = copy;
    *n = length;
    return BATON_OK;
}

/* The value is "<s>" or {"content": "<s>", ...}. */
static enum baton_err copy_token(const struct baton_json *value, char **text, struct baton_why *why)
{
    size_t n;
    const struct baton_json *content = baton_json_get(value, "content");
    return copy_string(content ? content : value, text, &n, why);
}

/* Finds a template by name in a list of named ones; NULL when there is none. */
static const struct baton_json *named_template(const struct baton_json *value, const char *wanted)
{
    for (size_t i = 0; i < baton_json_size(value); i++) {
        const struct baton_json *entry = baton_json_at(value, i);
        const char *name = baton_json_string(baton_json_get(entry, "name"), NULL);
        if (name && !strcmp(name, wanted))
            return baton_json_get(entry, "template");
    }
    return NULL;
}

/* The value is a text, or a list with one for plain conversations and perhaps one for tools. */
static enum baton_err copy_templates(const struct baton_json *value,
                                     struct baton_chat_template *source, struct baton_why *why)
{
    const struct baton_json *plain = named_template(value, "default");
    enum baton_err err = copy_string(plain ? plain : value, &source->jinja, &source->n_jinja, why);
    if (!err && !source->tools_jinja)
        err = copy_string(named_template(value, "tool_use"), &source->tools_jinja,
                          &source->n_tools_jinja, why);
    return err;
}

static enum baton_err read_config(const char *model_path, struct baton_chat_template *source,
                                  struct baton_why *why)
{
    static const char *const names[] = {"bos_token", "eos_token", "chat_template"};
    char path[PATH_MAX];
    struct baton_json *root = NULL;
    enum baton_err err = baton_file_path(path, model_path, "tokenizer_config.json", why);
    if (!err)
        err = baton_json_read_members(path, FILE_MAX_BYTES, names, BATON_N_OF(names), &root, why);
    if (err)
        return err == BATON_NOT_FOUND ? BATON_OK : err;
    err = copy_token(baton_json_get(root, "bos_token"), &source->bos, why);
    if (!err)
        err = copy_token(baton_json_get(root, "eos_token"), &source->eos, why);
    if (!err && !source->jinja)
        err = copy_templates(baton_json_get(root, "chat_template"), source, why);
    baton_json_free(root);
    return err;
}

/* Models with a processor of images have their template in a file of JSON. */
static enum baton_err read_processor(const char *model_path, struct baton_chat_template *source,
                                     struct baton_why *why)
{
    static const char *const names[] = {"chat_template"};
    char path[PATH_MAX];
    struct baton_json *root = NULL;
    enum baton_err err = baton_file_path(path, model_path, "chat_template.json", why);
    if (!err)
        err = baton_json_read_members(path, FILE_MAX_BYTES, names, BATON_N_OF(names), &root, why);
    if (err)
        return err == BATON_NOT_FOUND ? BATON_OK : err;
    err = copy_templates(baton_json_get(root, "chat_template"), source, why);
    baton_json_free(root);
    return err;
}

/* Reads an optional file. */
static enum baton_err read_file(const char *model_path, const char *name, char **jinja, size_t *n,
                                struct baton_why *why)
{
    char path[PATH_MAX];
    struct baton_buf text;
    baton_buf_init(&text, FILE_MAX_BYTES);
    enum baton_err err = baton_file_path(path, model_path, name, why);
    if (!err)
        err = baton_file_read(path, &text, why);
    if (!err) {
        *n = text.len;
        *jinja = baton_buf_take(&text);
    }
    baton_buf_fini(&text);
    return err == BATON_NOT_FOUND ? BATON_OK : err;
}

static enum baton_err read_files(const char *model_path, struct baton_chat_template *source,
                                 struct baton_why *why)
{
    enum baton_err err =
        read_file(model_path, "chat_template.jinja", &source->jinja, &source->n_jinja, why);
    if (!err)
        err = read_file(model_path, "additional_chat_templates/tool_use.jinja",
                        &source->tools_jinja, &source->n_tools_jinja, why);
    return err;
}

static enum baton_err read_gguf(const char *path, struct baton_chat_template *source,
                                struct baton_why *why)
{
    struct baton_gguf_model *model = NULL;
    struct baton_why reason;
    enum baton_err err = baton_gguf_model_open(path, &model, why);
    if (err)
        return err;
    err = baton_gguf_chat_template_read(baton_gguf_model_metadata(model), source, &reason);
    baton_gguf_model_close(model);
    return err ? baton_fail(why, err, "%s: %s", path, reason.text) : BATON_OK;
}

enum baton_err baton_chat_template_read(const char *model_path, struct baton_chat_template *source,
                                        struct baton_why *why)
{
    if (baton_gguf_model_is_at(model_path))
        return read_gguf(model_path, source, why);
    enum baton_err err = read_files(model_path, source, why);
    if (!err && !source->jinja)
        err = read_processor(model_path, source, why);
    /* A file goes before the field, as in the transformers library. */
    return err ? err : read_config(model_path, source, why);
}
