#include "common/checkpoint/facts.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/file.h"
#include "common/base/json.h"
#include "common/checkpoint/model_files.h"

enum { JSON_MAX_BYTES = 64 << 20 };

static enum baton_err read_json(const char *dir, const char *name, struct baton_json **root,
                                struct baton_why *why)
{
    char path[PATH_MAX];
    enum baton_err err = baton_file_path(path, dir, name, why);
    if (!err)
        err = baton_json_read_file(path, JSON_MAX_BYTES, root, why);
    if (!err && baton_json_kind(*root) != BATON_JSON_OBJECT) {
        baton_json_free(*root);
        *root = NULL;
        err = baton_fail(why, BATON_INVALID, "%s: must hold one JSON object", path);
    }
    return err;
}

static void add_eos(struct baton_model_facts *facts, const struct baton_json *value)
{
    if (baton_json_kind(value) == BATON_JSON_ARRAY) {
        for (size_t i = 0; i < baton_json_size(value); i++)
            add_eos(facts, baton_json_at(value, i));
        return;
    }
    int64_t id = baton_json_int(value);
    if (baton_json_kind(value) != BATON_JSON_INT || id < 0 || id >= facts->n_vocab ||
        facts->n_eos == BATON_MODEL_MAX_EOS)
        return;
    for (int i = 0; i < facts->n_eos; i++)
        if (facts->eos_ids[i] == id)
            return;
    facts->eos_ids[facts->n_eos++] = id;
}

static int64_t first_int(const struct baton_json *config, const char *const *keys)
{
    for (; *keys; keys++) {
        const struct baton_json *value = baton_json_get(config, *keys);
        if (baton_json_kind(value) == BATON_JSON_INT)
            return baton_json_int(value);
    }
    return 0;
}

static int64_t bos_id(const struct baton_model_facts *facts, const struct baton_json *config)
{
    const struct baton_json *value = baton_json_get(config, "bos_token_id");
    int64_t id = baton_json_int(value);
    return baton_json_kind(value) == BATON_JSON_INT && id >= 0 && id < facts->n_vocab ? id : -1;
}

static void set_name(struct baton_model_facts *facts, const char *dir)
{
    char *real = realpath(dir, NULL);
    const char *path = real ? real : dir, *slash = strrchr(path, '/');
    (void)snprintf(facts->name, sizeof facts->name, "%s", slash && slash[1] ? slash + 1 : path);
    free(real);
}

enum baton_err baton_facts_read(const char *dir, struct baton_model_facts *facts,
                                struct baton_why *why)
{
    static const char *const context_keys[] = {"n_positions", "n_ctx", "max_position_embeddings",
                                               NULL};
    static const char *const vocab_keys[] = {"vocab_size", NULL};
    struct baton_json *config = NULL, *generation = NULL;
    struct baton_model_facts found = {0};
    enum baton_err err = read_json(dir, "config.json", &config, why);
    if (err)
        return err;
    found.n_vocab = first_int(config, vocab_keys);
    found.n_context_tokens = first_int(config, context_keys);
    if (found.n_vocab < 1 || found.n_vocab > INT_MAX)
        err = baton_fail(why, BATON_INVALID, "%s/config.json: vocab_size must be 1..%d", dir,
                         INT_MAX);
    else if (found.n_context_tokens < 1 || found.n_context_tokens > INT_MAX)
        err = baton_fail(why, BATON_INVALID, "%s/config.json: n_positions must be 1..%d", dir,
                         INT_MAX);
    if (!err) {
        found.bos_id = bos_id(&found, config);
        add_eos(&found, baton_json_get(config, "eos_token_id"));
        if (baton_model_files_has(dir, "generation_config.json"))
            err = read_json(dir, "generation_config.json", &generation, why);
    }
    if (!err) {
        add_eos(&found, baton_json_get(generation, "eos_token_id"));
        set_name(&found, dir);
        *facts = found;
    }
    baton_json_free(generation);
    baton_json_free(config);
    return err;
}
