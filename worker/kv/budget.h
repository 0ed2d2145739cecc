/* The size of a worker's KV cache: its options, turned into blocks at start.
 *
 * Ownership: nothing; the pool is its creator's.
 * Threading: at start, on the main thread.
 * Errors:    INVALID and NO_MEMORY, naming the option and the least or most that goes.
 */
#ifndef BATON_WORKER_KV_BUDGET_H
#define BATON_WORKER_KV_BUDGET_H

#include "common/base/options/config.h"
#include "common/base/os/memory.h"
#include "engine/engine.h"
#include "worker/kv/memory_claims.h"
#include "worker/kv/transfer.h"

/* Contexts that a worker's pool has by default, where memory allows: a decode worker holds a
 * context for as long as it makes tokens, a prefill worker while it computes and sends it. */
enum { BATON_KV_PREFILL_CONTEXTS = 8, BATON_KV_DECODE_CONTEXTS = 16 };

struct baton_kv_options {
    int64_t tokens, bytes;       /* one of them, or neither: both 0 */
    int64_t prefix_cache_tokens; /* kept for prompts with the same prefix; < 0: no bound, 0: none */
    int path;                    /* enum baton_kv_path */
    /* A draft model, of whose own pool a block comes with each block: both are counted. NULL:
     * none. */
    const struct baton_model *draft;
    /* The sequences that a worker takes at a time, and the positions that one advances by in a
     * step: layers with a window keep that alone. 0: they keep all positions. */
    int n_sequences, n_step_rows;
};

/* Rows of a worker's option table; in is the struct baton_kv_options inside its struct. what: what
 * the cache is for, and how much of it is the default. */
#define BATON_KV_OPTIONS(type, in, what)                                                           \
    BATON_ROW_INT(type, in.tokens, "kv-tokens", "0", 0, 1 << 28, "tokens", what),                  \
        BATON_ROW_INT(                                                                             \
            type, in.bytes, "kv-bytes", "0", 0, 1LL << 40, "bytes",                                \
            "size of the KV cache in bytes instead of --kv-tokens; 0 = as --kv-tokens says"),      \
        BATON_ROW_INT(type, in.prefix_cache_tokens, "prefix-cache-tokens", "-1", -1, 1 << 28,      \
                      "tokens",                                                                    \
                      "part of the KV cache that is kept for prompts with a common prefix; -1 = "  \
                      "all that is free, 0 = none"),                                               \
        BATON_ROW_CHOICE(type, in.path, "kv-path", "auto", "auto|shared|wire",                     \
                         "transport of contexts between workers: shared memory or the wire; "      \
                         "auto: shared memory between workers of one host and user")

/* What the options are measured against. */
struct baton_kv_needs {
    size_t block_bytes;  /* in all layers */
    size_t window_bytes; /* of them, in layers that keep a window */
    int window_blocks;   /* that one sequence sets aside there; 0: no layer keeps a window */
    int64_t context_tokens;
    int n_contexts;        /* the default: this many times context_tokens, */
    uint64_t share_bytes;  /* but no more than this */
    uint64_t memory_bytes; /* that there are, after the weights */
    const char *limit;     /* what bounds them, as struct baton_memory_left has it */
};

/* A worker's share of memory_bytes, what is left, for its pool, by default. Of that and of what the
 * others' pools have, three quarters go to pools; a latecomer finds at least half of what is left.
 * The workers of the host that are still to decide divide it by their contexts. A worker of the
 * other role is expected where none is yet. */
uint64_t baton_kv_budget_share(uint64_t memory_bytes, bool decodes,
                               const struct baton_memory_peers *peers);

struct baton_kv_budget {
    int n_blocks;
    int n_window_blocks; /* of layers that keep a window; 0: none do */
    int n_cached;        /* of them, at most so many are kept for others */
};

/* Layers that keep a window have that of n_sequences; of a bound in bytes half at most goes to
 * these, or what whole contexts need.
 *
 * Capacity for at least one block, in whole blocks: tokens are rounded up, bytes and
 * prefix_cache_tokens down. It may be less than a context: then prompts and outputs are bounded by
 * it. */
enum baton_err baton_kv_budget_choose(const struct baton_kv_options *options,
                                      const struct baton_kv_needs *needs,
                                      struct baton_kv_budget *budget,
                                      struct baton_why *why) BATON_MUST_CHECK;

/* Before a model is loaded: whether memory has room for its weights and for the pool that would be
 * made then. model: measured, as admit sees it (engine/engine.h); the rest as for create. */
enum baton_err baton_kv_budget_check(const struct baton_kv_options *options,
                                     const struct baton_model *model, const char *dtype,
                                     bool decodes, struct baton_memory_claim *claim,
                                     struct baton_why *why) BATON_MUST_CHECK;

/* The same of memory that the caller has looked up, for tests. */
enum baton_err baton_kv_budget_check_in(const struct baton_memory_left *left,
                                        const struct baton_kv_options *options,
                                        const struct baton_model *model, const char *dtype,
                                        bool decodes, struct baton_memory_claim *claim,
                                        struct baton_why *why) BATON_MUST_CHECK;

/* Makes the pool of a worker, bounds its cache and logs its size. A prefill worker's lies in shared
 * memory, where the path allows and the kernel has any: decode workers read contexts out of it.
 * dtype: of the KV cache, as baton_kv_create takes it. claim: the worker's, which is told of it;
 * may be NULL. */
enum baton_err baton_kv_budget_create(const struct baton_kv_options *options,
                                      const struct baton_model *model, const char *dtype,
                                      bool decodes, struct baton_memory_claim *claim,
                                      struct baton_kv **kv, struct baton_why *why) BATON_MUST_CHECK;

#endif
