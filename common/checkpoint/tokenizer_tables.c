#include "common/checkpoint/tokenizer_tables.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/checkpoint/vocab_file.h"

static struct baton_tokenizer_tables *create(const char *file)
{
    struct baton_tokenizer_tables *tables = calloc(1, sizeof *tables);
    if (!tables)
        return NULL;
    tables->unk_id = BATON_NO_TOKEN;
    (void)snprintf(tables->file, sizeof tables->file, "%s", file);
    return tables;
}

enum baton_err baton_tokenizer_tables_read(const char *model_path,
                                           struct baton_tokenizer_tables **tables,
                                           struct baton_why *why)
{
    struct baton_tokenizer_tables *read = create(model_path);
    if (!read)
        return baton_fail(why, BATON_NO_MEMORY, "%s: out of memory", model_path);
    enum baton_err err = baton_tokenizer_json_read(model_path, read, why);
    /* When neither is there, the pair's error names the missing files. */
    if (err == BATON_NOT_FOUND)
        err = baton_tokenizer_pair_read(model_path, read, why);
    if (err)
        baton_tokenizer_tables_free(read);
    else
        *tables = read;
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
    baton_json_free(tables->parsed);
    baton_json_free(tables->config);
    free(tables);
}
