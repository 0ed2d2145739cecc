#include "common/params/adapters.h"

#include <stdio.h>
#include <string.h>

enum baton_err baton_adapter_uses_root(const struct baton_adapter_uses *uses,
                                       const struct baton_block_hash *root,
                                       struct baton_block_hash *changed)
{
    char text[BATON_MAX_BLENDED * (BATON_SHA256_HEX + 10)] = "";
    uint8_t digest[BATON_SHA256_BYTES];
    int n = 0;
    for (int i = 0; i < uses->n; i++) {
        uint32_t bits;
        memcpy(&bits, &uses->list[i].scale, sizeof bits);
        n += snprintf(text + n, sizeof text - (size_t)n, "%s %08x\n", uses->list[i].digest, bits);
    }
    if (!n) {
        *changed = *root;
        return BATON_OK;
    }
    enum baton_err err = baton_sha256_of(text, (size_t)n, digest);
    return err ? err : baton_block_hash_salted(root, digest, BATON_BLOCK_HASH_BYTES, changed);
}

bool baton_adapter_is_name(const char *name)
{
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._/-";
    size_t n = strspn(name, allowed);
    return n && n <= BATON_MAX_ADAPTER_NAME && !name[n];
}

bool baton_adapter_is_scale(double scale)
{
    return scale >= -BATON_MAX_ADAPTER_SCALE && scale <= BATON_MAX_ADAPTER_SCALE;
}
