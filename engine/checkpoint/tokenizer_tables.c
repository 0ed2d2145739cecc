#include "engine/checkpoint/tokenizer_tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "common/base/json.h"
#include "engine/checkpoint/gguf/model.h"
#include "engine/checkpoint/gguf/tokenizer.h"
#include "engine/checkpoint/hf/vocab_file.h"
#include "engine/checkpoint/tokenizer_cache.h"

/* Smaller files are parsed in less than a tenth of a second. */
enum { KEPT_FROM_BYTES = 4 << 20 };

static struct baton_tokenizer_tables *create(const char *file)
{
    struct baton_tokenizer_tables *tables = calloc(1, sizeof *tables);
    if (!tables)
        return NULL;
    tables->unk_id = BATON_NO_TOKEN;
    (void)snprintf(tables->file, sizeof tables->file, "%s", file);
    return tables;
}

/* ---- GGUF ---- */

static enum baton_err parse_gguf(const char *path, const struct baton_gguf *gguf,
                                 struct baton_tokenizer_tables **tables, struct baton_why *why)
{
    struct baton_tokenizer_tables *read = create(path);
    if (!read)
        return baton_fail(why, BATON_NO_MEMORY, "%s: out of memory", path);
    enum baton_err err = baton_gguf_tokenizer_read(gguf, read, why);
    if (err)
        baton_tokenizer_tables_free(read);
    else
        *tables = read;
    return err;
}

static enum baton_err complete_gguf(const char *path, const struct baton_gguf *gguf,
                                    struct baton_tokenizer_tables *found,
                                    struct baton_tokenizer_tables **tables, struct baton_why *why)
{
    (void)snprintf(found->file, sizeof found->file, "%s", path);
    enum baton_err err = baton_gguf_tokenizer_read_steps(gguf, found, why);
    if (err)
        baton_tokenizer_tables_free(found);
    else
        *tables = found;
    return err;
}

/* dirs NULL: nothing is kept. */
static enum baton_err read_gguf(const char *path, const struct baton_cache_dirs *dirs,
                                const char *digest, struct baton_tokenizer_tables **tables,
                                struct baton_why *why)
{
    struct baton_gguf_model *model = NULL;
    struct baton_tokenizer_tables *found = NULL;
    enum baton_err err = baton_gguf_model_open(path, &model, why);
    if (err)
        return err;
    const struct baton_gguf *gguf = baton_gguf_model_metadata(model);
    bool keeps = dirs && dirs->n && baton_gguf_tokenizer_is_large(gguf);
    if (keeps)
        found = baton_tokenizer_cache_find(dirs, digest);
    if (found)
        err = complete_gguf(path, gguf, found, tables, why);
    else
        err = parse_gguf(path, gguf, tables, why);
    if (!err && keeps && !found)
        baton_tokenizer_cache_keep(dirs, digest, *tables);
    baton_gguf_model_close(model);
    return err;
}

/* ---- a directory ---- */

enum baton_err baton_tokenizer_tables_read(const char *model_path,
                                           struct baton_tokenizer_tables **tables,
                                           struct baton_why *why)
{
    if (baton_gguf_model_is_at(model_path))
        return read_gguf(model_path, NULL, NULL, tables, why);
    struct baton_tokenizer_tables *read = create(model_path);
    if (!read)
        return baton_fail(why, BATON_NO_MEMORY, "%s: out of memory", model_path);
    enum baton_err err = baton_tokenizer_json_read(model_path, read, why);
    /* When both are missing, the pair's error names the missing files. */
    if (err == BATON_NOT_FOUND)
        err = baton_tokenizer_pair_read(model_path, read, why);
    if (!err)
        err = baton_tokenizer_config_apply(model_path, read, why);
    if (err)
        baton_tokenizer_tables_free(read);
    else
        *tables = read;
    return err;
}

static bool is_large(const char *path)
{
    struct stat info;
    return !stat(path, &info) && info.st_size >= KEPT_FROM_BYTES;
}

/* Adds to tables from the cache the parts that it does not keep. */
static enum baton_err complete(const char *model_path, const char *path,
                               struct baton_tokenizer_tables *tables, struct baton_why *why)
{
    (void)snprintf(tables->file, sizeof tables->file, "%s", path);
    enum baton_err err = baton_tokenizer_json_read_steps(tables, why);
    return err ? err : baton_tokenizer_config_apply(model_path, tables, why);
}

enum baton_err baton_tokenizer_tables_recall(const char *model_path,
                                             const struct baton_cache_dirs *dirs,
                                             const char digest[BATON_SHA256_HEX],
                                             struct baton_tokenizer_tables **tables,
                                             struct baton_why *why)
{
    char path[PATH_MAX];
    if (baton_gguf_model_is_at(model_path))
        return read_gguf(model_path, dirs, digest, tables, why);
    enum baton_err err = baton_file_path(path, model_path, "tokenizer.json", why);
    if (err)
        return err;
    if (!dirs->n || !is_large(path))
        return baton_tokenizer_tables_read(model_path, tables, why);
    struct baton_tokenizer_tables *found = baton_tokenizer_cache_find(dirs, digest);
    if (!found) {
        err = baton_tokenizer_tables_read(model_path, tables, why);
        if (!err)
            baton_tokenizer_cache_keep(dirs, digest, *tables);
        return err;
    }
    err = complete(model_path, path, found, why);
    if (err)
        baton_tokenizer_tables_free(found);
    else
        *tables = found;
    return err;
}

enum baton_err baton_tokenizer_tables_parse(const char *file, const void *json, size_t n,
                                            struct baton_tokenizer_tables **tables,
                                            struct baton_why *why)
{
    struct baton_tokenizer_tables *read = create(file);
    if (!read)
        return baton_fail(why, BATON_NO_MEMORY, "%s: out of memory", file);
    enum baton_err err = baton_tokenizer_json_parse(json, n, read, why);
    if (err)
        baton_tokenizer_tables_free(read);
    else
        *tables = read;
    return err;
}

void baton_tokenizer_tables_free(struct baton_tokenizer_tables *tables)
{
    if (!tables)
        return;
    free(tables->tokens);
    free(tables->merges);
    free(tables->scores);
    free(tables->added);
    free(tables->texts);
    free(tables->steps_json);
    baton_json_free(tables->parsed_steps);
    baton_json_free(tables->parsed_added);
    baton_file_unmap(&tables->kept);
    free(tables);
}
