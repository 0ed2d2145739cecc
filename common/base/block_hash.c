#include "common/base/block_hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/digest.h"

static void truncate(struct baton_block_hash *hash, const uint8_t digest[BATON_SHA256_BYTES])
{
    memcpy(hash->bytes, digest, sizeof hash->bytes);
}

enum baton_err baton_block_hash_root(const struct baton_block_salt *salt,
                                     struct baton_block_hash *root)
{
    char text[512];
    uint8_t digest[BATON_SHA256_BYTES];
    /* Empty members add no line, so that workers which name none agree with each other. */
    int n = snprintf(text, sizeof text, "baton KV\n%s\n%s\n%s\n%s\n%u\n%s%s%s%s", salt->config,
                     salt->weights, salt->dtype, salt->kv_dtype, (unsigned)salt->block_tokens,
                     salt->kv_layout, *salt->kv_layout ? "\n" : "", salt->numeric_class,
                     *salt->numeric_class ? "\n" : "");
    if (n < 0 || (size_t)n >= sizeof text)
        return BATON_INVALID;
    enum baton_err err = baton_sha256_of(text, (size_t)n, digest);
    if (!err)
        truncate(root, digest);
    return err;
}

enum baton_err baton_block_hash_salted(const struct baton_block_hash *root, const uint8_t *salt,
                                       size_t n, struct baton_block_hash *salted)
{
    uint8_t text[2 * BATON_BLOCK_HASH_BYTES], digest[BATON_SHA256_BYTES];
    if (!n) {
        *salted = *root;
        return BATON_OK;
    }
    memcpy(text, root->bytes, BATON_BLOCK_HASH_BYTES);
    memcpy(text + BATON_BLOCK_HASH_BYTES, salt, BATON_BLOCK_HASH_BYTES);
    enum baton_err err = baton_sha256_of(text, sizeof text, digest);
    if (!err)
        truncate(salted, digest);
    return err;
}

static void put_token(uint8_t *at, uint32_t token)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(token >> (8 * i));
}

enum baton_err baton_block_hash_tokens(const struct baton_block_hash *root, const uint32_t *tokens,
                                       size_t block_tokens, struct baton_block_hash *hashes,
                                       size_t n_hashes)
{
    size_t n_bytes = BATON_BLOCK_HASH_BYTES + block_tokens * sizeof *tokens;
    uint8_t *text = malloc(n_bytes), digest[BATON_SHA256_BYTES];
    enum baton_err err = text ? BATON_OK : BATON_NO_MEMORY;
    for (size_t i = 0; i < n_hashes && !err; i++) {
        memcpy(text, i ? hashes[i - 1].bytes : root->bytes, BATON_BLOCK_HASH_BYTES);
        for (size_t t = 0; t < block_tokens; t++)
            put_token(text + BATON_BLOCK_HASH_BYTES + t * sizeof *tokens,
                      tokens[i * block_tokens + t]);
        err = baton_sha256_of(text, n_bytes, digest);
        if (!err)
            truncate(&hashes[i], digest);
    }
    free(text);
    return err;
}
