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

/* Returns the last part of a path without trailing slashes, and its length. */
static const char *last_part(const char *path, int *n)
{
    const char *end = path + strlen(path), *name;
    while (end > path && end[-1] == '/')
        end--;
    for (name = end; name > path && name[-1] != '/'; name--)
        ;
    *n = (int)(end - name);
    return name;
}

static bool is_part(const char *part, int n, const char *text)
{
    return n == (int)strlen(text) && !strncmp(part, text, (size_t)n);
}

/* Returns NAME of a directory models--OWNER--NAME/snapshots/COMMIT, as Hugging Face's cache calls
 * it; otherwise the directory's own name. */
static const char *directory_name(const char *path, int *n)
{
    const char *name = last_part(path, n), *owner, *snapshots = name - strlen("/snapshots/");
    if (name - path < (int)strlen("/snapshots/") || strncmp(snapshots, "/snapshots/", 11) != 0)
        return name;
    for (owner = snapshots; owner > path && owner[-1] != '/'; owner--)
        ;
    if (strncmp(owner, "models--", 8) != 0)
        return name;
    const char *begin = snapshots;
    while (begin - owner > 8 && strncmp(begin - 2, "--", 2) != 0)
        begin--;
    *n = (int)(snapshots - begin);
    return begin;
}

/* Takes the last part of the path as it was given: a link shows the name that people chose, and
 * caches keep files under other names behind links. Only "." and ".." are resolved. */
static void set_name(struct baton_checkpoint *checkpoint)
{
    bool is_file = baton_gguf_model_is_at(checkpoint->path);
    int n, max = (int)sizeof checkpoint->facts.name - 1;
    const char *name = last_part(checkpoint->path, &n);
    char *real = !n || is_part(name, n, ".") || is_part(name, n, "..")
                     ? realpath(checkpoint->path, NULL)
                     : NULL;
    if (is_file)
        n = name_length(name);
    else
        name = directory_name(real ? real : checkpoint->path, &n);
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
        return baton_fail(why, err, "%s: %.500s (model_type \"%s\")", checkpoint->config_path,
                          reason.text, config->model_type);
    memcpy(facts->family, config->model_type, sizeof facts->family);
    facts->has_blocks = baton_checkpoint_has_blocks(checkpoint);
    facts->n_vocab = config->n_vocab;
    facts->n_embd = config->n_embd;
    facts->n_context_tokens = config->n_context;
    facts->n_layers = config->n_layers;
    facts->n_heads = config->n_heads;
    facts->n_kv_heads = config->n_kv_heads ? config->n_kv_heads : config->n_heads;
    facts->n_ff = config->n_ff;
    facts->rope_theta = config->rope.theta;
    facts->rms_norm_eps = config->rms_norm_eps;
    facts->bos_id = config->bos_id;
    facts->sampling = config->sampling;
    facts->pooling = config->pooled.pooling;
    facts->is_encoder = config->is_encoder;
    facts->scores_pairs = config->scores_pairs;
    if (config->pooled.n_stages)
        facts->n_pooled = config->pooled.stages[config->pooled.n_stages - 1].n_out;
    else
        facts->n_pooled = config->n_embd;
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
