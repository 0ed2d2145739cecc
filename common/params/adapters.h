/* The LoRA adapters of a request (docs/design/adapters.md): which of a fleet's adapters change the
 * model for it, and how much.
 *
 * Threading: plain data.
 */
#ifndef BATON_COMMON_PARAMS_ADAPTERS_H
#define BATON_COMMON_PARAMS_ADAPTERS_H

#include <stdbool.h>

#include "common/base/block_hash.h"
#include "common/base/digest.h"

enum {
    BATON_MAX_ADAPTERS = 64,          /* of a worker */
    BATON_MAX_BLENDED = 4,            /* of a request */
    BATON_MAX_ADAPTER_NAME = 128,     /* bytes */
    BATON_MAX_ADAPTER_PATH = 512,     /* bytes */
    BATON_MAX_ADAPTER_SCALE = 1 << 10 /* of either sign */
};

struct baton_adapter_use {
    char digest[BATON_SHA256_HEX]; /* of the adapter's files */
    float scale;
};

/* In the order in which their changes add up. */
struct baton_adapter_uses {
    int n;
    struct baton_adapter_use list[BATON_MAX_BLENDED];
};

/* The root of the block hashes of prompts with these adapters, from that of prompts without any:
 * the same root when there are none. NO_MEMORY. */
enum baton_err baton_adapter_uses_root(const struct baton_adapter_uses *uses,
                                       const struct baton_block_hash *root,
                                       struct baton_block_hash *changed) BATON_MUST_CHECK;

/* 1 to 128 of the characters [A-Za-z0-9._/-], so that a name fits into "model:adapter" and into
 * NAME=PATH. */
bool baton_adapter_is_name(const char *name);

/* Whether scale is a number in the range. */
bool baton_adapter_is_scale(double scale);

#endif
