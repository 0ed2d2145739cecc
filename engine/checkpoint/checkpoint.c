#include "engine/checkpoint/checkpoint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/checkpoint/digest/fingerprint.h"
#include "engine/checkpoint/gguf/config.h"
#include "engine/checkpoint/tokenizer_tables.h"
#include "engine/checkpoint/weights/weights.h"

/* Length of a file's name without the ending that only names its format, "-00001-of-00002.gguf". */
static int name_length(const char *name)
{
    static const char end[] = ".gguf";
    int n = (int)strlen(name), n_end = (int)strlen(end);
    if (baton_gguf_n_shards(name) > 1)
        return n - (int)strlen("-00001-of-00002.gguf");
    return n > n_end && !strcmp(name + n - n_end, end) ? n - n_end : n;
}

/* Takes the last part of the path. A directory's path is resolved first, so that "." and links show
 * the name that people know; a file's is not, because caches keep files under other names behind
 * links. */
static void set_name(struct baton_checkpoint *checkpoint)
{
    bool is_file = baton_gguf_model_is_at(checkpoint->path);
    char *real = is_file ? NULL : realpath(checkpoint->path, NULL);
    const char *path = real ? real : checkpoint->path, *slash = strrchr(path, '/');
    const char *name = slash && slash[1] ? slash + 1 : path;
    int n = is_file ? name_length(name) : (int)strlen(name);
    int max = (int)sizeof checkpoint->facts.name - 1;
    (void)snprintf(checkpoint->facts.name, sizeof checkpoint->facts.name, "%.*s", n < max ? n : max,
                   name);
    free(real);
}

static enum baton_err set_facts(struct baton_checkpoint *checkpoint, struct baton_why *why)
{
    const struct baton_model_config *config = &checkpoint->config;
    struct baton_model_facts *facts = &checkpoint->facts;
    struct baton_why reason;
    enum baton_err err = baton_model_config_require(config, &config->n_vocab, &reason);
    if (!err)
        err = baton_model_config_require(config, &config->n_context, &reason);
    if (err)
        return baton_fail(why, err, "%s: %s", checkpoint->config_path, reason.text);
    memcpy(facts->family, config->model_type, sizeof facts->family);
    facts->has_blocks = baton_checkpoint_has_blocks(checkpoint);
    facts->n_vocab = config->n_vocab;
    facts->n_embd = config->n_embd;
    facts->n_context_tokens = config->n_context;
    facts->bos_id = config->bos_id;
    facts->sampling = config->sampling;
    facts->pooling = config->pooling;
    facts->n_eos = config->n_eos;
    memcpy(facts->fim_ids, config->fim_ids, sizeof facts->fim_ids);
    memcpy(facts->eos_ids, config->eos_ids, sizeof facts->eos_ids);
    set_name(checkpoint);
    return BATON_OK;
}

static enum baton_err read_gguf(struct baton_checkpoint *checkpoint, struct baton_why *why)
{
    struct baton_gguf_model *model;
    enum baton_err err = baton_gguf_model_open(checkpoint->path, &model, why);
    if (err)
        return err;
    memcpy(checkpoint->config_path, checkpoint->path, sizeof checkpoint->config_path);
    err = baton_gguf_config_read(model, &checkpoint->config, why);
    baton_gguf_model_close(model);
    return err;
}

static enum baton_err read_config(struct baton_checkpoint *checkpoint, struct baton_why *why)
{
    if (baton_gguf_model_is_at(checkpoint->path))
        return read_gguf(checkpoint, why);
    return baton_model_config_read(checkpoint->path, &checkpoint->config, checkpoint->config_path,
                                   why);
}

enum baton_err baton_checkpoint_open(const char *path, struct baton_checkpoint **checkpoint,
                                     struct baton_why *why)
{
    struct baton_checkpoint *opened = calloc(1, sizeof *opened);
    if (!opened)
        return baton_fail(why, BATON_NO_MEMORY, "%s: out of memory", path);
    int n = snprintf(opened->path, sizeof opened->path, "%s", path);
    enum baton_err err = BATON_OK;
    if (n < 0 || n >= (int)sizeof opened->path)
        err = baton_fail(why, BATON_INVALID, "%s: path too long", path);
    if (!err)
        err = read_config(opened, why);
    if (!err)
        err = set_facts(opened, why);
    if (err)
        baton_checkpoint_close(opened);
    else
        *checkpoint = opened;
    return err;
}

void baton_checkpoint_close(struct baton_checkpoint *checkpoint)
{
    free(checkpoint);
}

enum baton_err baton_checkpoint_fingerprint(const struct baton_checkpoint *checkpoint,
                                            const struct baton_cache_dirs *cache, bool with_weights,
                                            struct baton_fingerprint *fingerprint,
                                            struct baton_why *why)
{
    return baton_fingerprint_take(checkpoint->path, cache, with_weights, fingerprint, why);
}

enum baton_err baton_checkpoint_weights(const struct baton_checkpoint *checkpoint,
                                        struct baton_weights **weights, struct baton_why *why)
{
    return baton_weights_open(checkpoint->path, weights, why);
}

enum baton_err baton_checkpoint_tokenizer(const struct baton_checkpoint *checkpoint,
                                          const struct baton_cache_dirs *cache,
                                          const char digest[BATON_SHA256_HEX],
                                          struct baton_tokenizer_tables **tables,
                                          struct baton_why *why)
{
    if (!cache)
        return baton_tokenizer_tables_read(checkpoint->path, tables, why);
    return baton_tokenizer_tables_recall(checkpoint->path, cache, digest, tables, why);
}

enum baton_err baton_checkpoint_chat_template(const struct baton_checkpoint *checkpoint,
                                              struct baton_chat_template *source,
                                              struct baton_why *why)
{
    return baton_chat_template_read(checkpoint->path, source, why);
}

bool baton_checkpoint_has_blocks(const struct baton_checkpoint *checkpoint)
{
    return baton_gguf_model_is_at(checkpoint->path);
}
