/* baton show MODEL: what a model on disk is, from its files alone. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/array.h"
#include "common/base/os/file.h"
#include "engine/checkpoint/checkpoint.h"
#include "engine/checkpoint/gguf/model.h"
#include "engine/checkpoint/weights/blocks.h"
#include "engine/checkpoint/weights/convert.h"
#include "engine/checkpoint/weights/weights.h"
#include "tools/baton/commands.h"
#include "tools/baton/models/store.h"
#include "tools/support/cli.h"

enum { CARD_MAX_BYTES = 1 << 20, LICENCE_BYTES = 80 };

struct options {
    const char *models;
};

static const char *operand[1];
static struct baton_config config;

static const struct baton_option option_table[] = {
    BATON_ROW_TEXT(struct options, models, "models", NULL,
                   "directory of models by name; unset: where `baton pull` puts them"),
};

static void put(const char *key, const char *value)
{
    (void)printf("%-12s %s\n", key, *value ? value : "-");
}

/* ---- weights ---- */

static int64_t elements_of(const struct baton_tensor *tensor)
{
    int64_t n = 1;
    for (int i = 0; i < tensor->n_dims; i++)
        n *= tensor->shape[i];
    return n;
}

/* Shows the number of parameters, and the format that most of them have. */
static enum baton_err show_weights(const struct baton_checkpoint *checkpoint, struct baton_why *why)
{
    struct baton_weights *weights = NULL;
    const struct baton_tensor *tensor, *largest = NULL;
    int64_t n = 0;
    enum baton_err err = baton_checkpoint_weights(checkpoint, &weights, why);
    if (err)
        return err;
    for (size_t i = 0; (tensor = baton_weights_at(weights, i)); i++) {
        n += elements_of(tensor);
        if (!largest || elements_of(tensor) > elements_of(largest))
            largest = tensor;
    }
    (void)printf("%-12s %.2f million\n", "parameters", (double)n / 1e6);
    put("dtype", !largest ? ""
                 : largest->dtype == BATON_ELEMENT_BLOCKS
                     ? baton_block_type_name(largest->block_type)
                     : baton_element_name(largest->dtype));
    baton_weights_close(weights);
    return BATON_OK;
}

/* ---- the licence ---- */

static void read_gguf_licence(const char *path, char licence[LICENCE_BYTES])
{
    struct baton_gguf_model *model = NULL;
    struct baton_gguf_text text;
    if (baton_gguf_model_open(path, &model, NULL))
        return;
    const struct baton_gguf *metadata = baton_gguf_model_metadata(model);
    if (baton_gguf_text(baton_gguf_find(metadata, "general.license"), &text))
        (void)snprintf(licence, LICENCE_BYTES, "%.*s", (int)text.n, text.bytes);
    baton_gguf_model_close(model);
}

/* Reads "license: ..." of the head of a model card. */
static void read_card(const char *path, char licence[LICENCE_BYTES])
{
    struct baton_buf text;
    baton_buf_init(&text, CARD_MAX_BYTES);
    const char *line = baton_file_read(path, &text, NULL) ? "" : baton_buf_text(&text);
    if (!strncmp(line, "---", 3))
        for (; (line = strchr(line, '\n')) && strncmp(++line, "---", 3) != 0;)
            if (!strncmp(line, "license:", 8))
                (void)snprintf(licence, LICENCE_BYTES, "%.*s",
                               (int)strcspn(line + 8 + strspn(line + 8, " "), "\r\n"),
                               line + 8 + strspn(line + 8, " "));
    baton_buf_fini(&text);
}

static void show_licence(const char *path)
{
    char licence[LICENCE_BYTES] = "", card[PATH_MAX];
    if (baton_gguf_model_is_at(path))
        read_gguf_licence(path, licence);
    else if (!baton_file_path(card, path, "README.md", NULL))
        read_card(card, licence);
    put("licence", licence);
}

/* ---- all of it ---- */

static enum baton_err show(const char *path, struct baton_why *why)
{
    struct baton_checkpoint *checkpoint = NULL;
    struct baton_chat_template template = {.jinja = NULL};
    enum baton_err err = baton_checkpoint_open(path, &checkpoint, why);
    if (err)
        return err;
    const struct baton_model_facts *facts = &checkpoint->facts;
    put("name", facts->name);
    put("path", path);
    put("family", facts->family);
    (void)printf("%-12s %lld tokens\n", "context", (long long)facts->n_context_tokens);
    (void)printf("%-12s %lld tokens\n", "vocabulary", (long long)facts->n_vocab);
    err = show_weights(checkpoint, why);
    bool has_template = !baton_chat_template_read(path, &template, NULL) && template.jinja;
    put("template", has_template ? "chat" : "none: it continues a text");
    baton_chat_template_fini(&template);
    show_licence(path);
    baton_checkpoint_close(checkpoint);
    return err;
}

static enum baton_err run(const void *arg, struct baton_why *why)
{
    const struct options *options = arg;
    char path[PATH_MAX];
    if (!config.n_operands)
        return baton_fail(why, BATON_INVALID, "baton show MODEL; \"baton list\" shows the names");
    enum baton_err err = bt_store_resolve(options->models, operand[0], path, why);
    return err ? err : show(path, why);
}

enum baton_err bt_show(int argc, char **argv, struct baton_why *why)
{
    struct options options;
    config = (struct baton_config){
        .process = "baton show",
        .summary = "family, parameters, context, format, template and licence of a model on disk",
        .env_prefix = "BATON",
        .options = option_table,
        .n_options = BATON_N_OF(option_table),
        .operands = "MODEL",
        .operand = operand,
        .max_operands = 1};
    return cli_run(&config, &options, argc, argv, run, why);
}
