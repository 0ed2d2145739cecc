/* A hostile file of kept tables, with a checksum that fits, is refused or gives tables whose every
 * entry can be read. */
#include "tests/fuzz/fuzz.h"

#include "engine/checkpoint/tokenizer_cache.h"

enum { MAX_BYTES = 1 << 16, CRC_AT = 12, CHECKED_FROM = 16, DIGEST_BYTES = 64 };

static size_t read_all(const struct baton_tokenizer_tables *tables)
{
    size_t sum = tables->n_steps_json;
    for (size_t id = 0; id < tables->n_tokens; id++)
        if (tables->tokens[id].text)
            sum += strlen(tables->tokens[id].text) + tables->tokens[id].n_bytes;
    for (size_t i = 0; i < tables->n_added; i++)
        sum += strlen(tables->added[i].text) + tables->added[i].id;
    for (size_t i = 0; i < tables->n_merges; i++)
        sum += tables->tokens[tables->merges[i].merged].n_bytes;
    return sum;
}

FUZZ(data, size)
{
    static volatile size_t sink;
    char copy[MAX_BYTES], digest[BATON_SHA256_HEX];
    struct baton_why why = {""};
    if (size < CHECKED_FROM + DIGEST_BYTES || size > MAX_BYTES)
        return;
    memcpy(copy, data, size);
    uint32_t crc = baton_crc32c(0, copy + CHECKED_FROM, size - CHECKED_FROM);
    memcpy(copy + CRC_AT, &crc, sizeof crc);
    memcpy(digest, copy + CHECKED_FROM, DIGEST_BYTES);
    digest[DIGEST_BYTES] = 0;
    struct baton_tokenizer_tables *tables = calloc(1, sizeof *tables);
    if (!tables)
        return;
    if (!baton_tokenizer_cache_parse(copy, size, digest, tables, &why))
        sink = read_all(tables);
    else if (!why.text[0])
        abort();
    (void)sink;
    baton_tokenizer_tables_free(tables);
}
