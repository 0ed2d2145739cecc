#include "common/checkpoint/model_dir.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/file.h"
#include "common/base/json.h"
#include "common/checkpoint/file_digest.h"
#include "common/checkpoint/weights_digest.h"

enum { JSON_MAX_BYTES = 64 << 20, MAX_SHARDS = 1024 };

static bool has_file(const char *dir, const char *name)
{
    char path[PATH_MAX];
    return !baton_file_path(path, dir, name, NULL) && !access(path, R_OK);
}

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

enum baton_err baton_model_dir_facts(const char *dir, struct baton_model_facts *facts,
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
        if (has_file(dir, "generation_config.json"))
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

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The distinct file names in an index's weight_map, sorted; they are borrowed from the index. */
static enum baton_err shard_names(const char *dir, const struct baton_json *index,
                                  const char *names[MAX_SHARDS], size_t *n_names,
                                  struct baton_why *why)
{
    const struct baton_json *map = baton_json_get(index, "weight_map");
    size_t n = 0;
    for (void *it = baton_json_first(map); it; it = baton_json_next(map, it)) {
        const char *name = baton_json_string(baton_json_member(it), NULL);
        if (!name || !*name || strchr(name, '/') || name[0] == '.')
            return baton_fail(why, BATON_INVALID,
                              "%s: weight_map: \"%s\" must name a file beside it", dir,
                              baton_json_key(it));
        size_t i = 0;
        while (i < n && strcmp(names[i], name) != 0)
            i++;
        if (i < n)
            continue;
        if (n == MAX_SHARDS)
            return baton_fail(why, BATON_LIMIT, "%s: more than %d shards", dir, MAX_SHARDS);
        names[n++] = name;
    }
    qsort(names, n, sizeof *names, by_name);
    *n_names = n;
    return BATON_OK;
}

enum baton_err baton_model_dir_weights(const char *dir,
                                       enum baton_err (*visit)(void *arg, const char *path,
                                                               struct baton_why *why),
                                       void *arg, struct baton_why *why)
{
    const char *names[MAX_SHARDS] = {"model.safetensors"};
    size_t n_names = 1;
    struct baton_json *index = NULL;
    enum baton_err err = BATON_OK;
    if (!has_file(dir, names[0]) && has_file(dir, "model.safetensors.index.json")) {
        err = read_json(dir, "model.safetensors.index.json", &index, why);
        if (!err)
            err = shard_names(dir, index, names, &n_names, why);
    }
    for (size_t i = 0; i < n_names && !err; i++) {
        char path[PATH_MAX];
        err = baton_file_path(path, dir, names[i], why);
        if (!err)
            err = visit(arg, path, why);
    }
    baton_json_free(index);
    return err;
}

static enum baton_err hash_named(const char *dir, const char *const *names,
                                 char hex[BATON_SHA256_HEX], struct baton_why *why)
{
    struct baton_sha256 *sha = baton_sha256_create();
    enum baton_err err = sha ? BATON_OK : BATON_NO_MEMORY;
    for (; *names && !err; names++) {
        char path[PATH_MAX];
        err = baton_file_path(path, dir, *names, why);
        if (!err)
            err = baton_file_digest_add(sha, path, why);
    }
    if (sha)
        baton_sha256_final(sha, hex);
    return err;
}

enum baton_err baton_model_dir_fingerprint(const char *dir, const struct baton_cache_dirs *cache,
                                           bool with_weights, struct baton_fingerprint *fingerprint,
                                           struct baton_why *why)
{
    static const char *const config_files[] = {"config.json", NULL};
    static const char *const one_file[] = {"tokenizer.json", NULL};
    static const char *const two_files[] = {"vocab.json", "merges.txt", NULL};
    struct baton_fingerprint found = {0};
    enum baton_err err = hash_named(dir, config_files, found.config, why);
    if (!err)
        err = hash_named(dir, has_file(dir, "tokenizer.json") ? one_file : two_files,
                         found.tokenizer, why);
    if (!err && with_weights)
        err = baton_weights_digest(dir, cache, found.weights, why);
    if (!err)
        *fingerprint = found;
    return err;
}
