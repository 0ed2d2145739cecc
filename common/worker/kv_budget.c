#include "common/worker/kv_budget.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"

enum { BLOCK = BATON_KV_BLOCK_TOKENS };

/* Blocks beyond this need memory that no machine has, and arithmetic that int has not. */
static const int64_t max_blocks = (1 << 28) / BLOCK;

static int64_t wanted_blocks(const struct baton_kv_options *options,
                             const struct baton_kv_needs *needs)
{
    if (options->bytes)
        return options->bytes / (int64_t)needs->block_bytes;
    int64_t tokens = options->tokens ? options->tokens : needs->n_contexts * needs->context_tokens;
    return (tokens + BLOCK - 1) / BLOCK;
}

static const char *option_name(const struct baton_kv_options *options)
{
    return options->bytes ? "kv-bytes" : "kv-tokens";
}

static enum baton_err check_least(const struct baton_kv_options *options,
                                  const struct baton_kv_needs *needs, int64_t n_blocks,
                                  struct baton_why *why)
{
    int64_t least = (needs->context_tokens + BLOCK - 1) / BLOCK;
    if (n_blocks >= least)
        return BATON_OK;
    if (options->bytes)
        return baton_fail(why, BATON_INVALID,
                          "kv-bytes: must hold at least the model's context: %" PRId64
                          " bytes for %" PRId64 " tokens, not %" PRId64,
                          least * (int64_t)needs->block_bytes, needs->context_tokens,
                          options->bytes);
    return baton_fail(why, BATON_INVALID,
                      "kv-tokens: must be at least the model's context, %" PRId64 ", not %" PRId64,
                      needs->context_tokens, options->tokens);
}

static enum baton_err check_most(const struct baton_kv_options *options,
                                 const struct baton_kv_needs *needs, int64_t n_blocks,
                                 struct baton_why *why)
{
    double mib = (double)n_blocks * (double)needs->block_bytes / (1 << 20);
    if (n_blocks > max_blocks)
        return baton_fail(why, BATON_INVALID, "%s: must hold at most %" PRId64 " tokens",
                          option_name(options), max_blocks * BLOCK);
    if (mib * (1 << 20) > (double)needs->memory_bytes)
        return baton_fail(why, BATON_NO_MEMORY,
                          "%s: %" PRId64 " tokens take %.0f MiB, but only %.0f MiB of memory are "
                          "left",
                          option_name(options), n_blocks * BLOCK, mib,
                          (double)needs->memory_bytes / (1 << 20));
    return BATON_OK;
}

static enum baton_err check_cache(const struct baton_kv_options *options, struct baton_why *why)
{
    if (options->prefix_cache_tokens > 0 && options->prefix_cache_tokens < BLOCK)
        return baton_fail(why, BATON_INVALID,
                          "prefix-cache-tokens: must be 0 or at least a block of %d, not %" PRId64,
                          BLOCK, options->prefix_cache_tokens);
    return BATON_OK;
}

enum baton_err baton_kv_budget_choose(const struct baton_kv_options *options,
                                      const struct baton_kv_needs *needs,
                                      struct baton_kv_budget *budget, struct baton_why *why)
{
    int64_t n_blocks = wanted_blocks(options, needs),
            n_cached = options->prefix_cache_tokens / BLOCK;
    if (options->tokens && options->bytes)
        return baton_fail(why, BATON_INVALID, "kv-bytes: not beside kv-tokens; give one of them");
    enum baton_err err = check_least(options, needs, n_blocks, why);
    if (!err)
        err = check_most(options, needs, n_blocks, why);
    if (!err)
        err = check_cache(options, why);
    if (err)
        return err;
    budget->n_blocks = (int)n_blocks;
    budget->n_cached =
        (int)(options->prefix_cache_tokens < 0 || n_cached > n_blocks ? n_blocks : n_cached);
    return BATON_OK;
}

/* The kernel's own estimate, or no limit. Memory it has not got is refused here: taken, it would
 * cost some process its life. */
static uint64_t memory_left_bytes(void)
{
    static const char name[] = "MemAvailable:";
    FILE *file = fopen("/proc/meminfo", "re");
    uint64_t kib = 0;
    char line[128];
    if (!file)
        return UINT64_MAX;
    while (!kib && fgets(line, sizeof line, file))
        if (!strncmp(line, name, sizeof name - 1))
            kib = strtoull(line + sizeof name - 1, NULL, 10);
    (void)fclose(file);
    return kib ? kib * 1024 : UINT64_MAX;
}

enum baton_err baton_kv_budget_create(const struct baton_kv_options *options,
                                      const struct baton_model *model, const char *dtype,
                                      int n_contexts, struct baton_kv **kv, struct baton_why *why)
{
    struct baton_kv_needs needs = {.context_tokens = baton_model_spec(model)->n_context,
                                   .n_contexts = n_contexts,
                                   .memory_bytes = memory_left_bytes()};
    struct baton_kv_budget budget;
    enum baton_err err =
        baton_kv_measure(baton_model_kv_layout(model), dtype, &needs.block_bytes, why);
    if (!err)
        err = baton_kv_budget_choose(options, &needs, &budget, why);
    if (!err)
        err = baton_kv_create(baton_model_kv_layout(model), dtype, budget.n_blocks, kv, why);
    if (err)
        return err;
    baton_kv_bound_cache(*kv, budget.n_cached);
    baton_log(BATON_LOG_INFO, "kv_cache", BATON_I("tokens", budget.n_blocks * BLOCK),
              BATON_I("prefix_cache_tokens", budget.n_cached * BLOCK),
              BATON_F("mib", (double)budget.n_blocks * (double)needs.block_bytes / (1 << 20)),
              BATON_S("dtype", baton_kv_dtype(*kv)));
    return BATON_OK;
}
