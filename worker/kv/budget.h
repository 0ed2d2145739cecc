/* The size of a worker's KV cache in blocks, computed from its options at start.
 *
 * Ownership: nothing; the pool is its creator's.
 * Threading: at start, on the main thread.
 * Errors:    INVALID and NO_MEMORY, with the option and its least or greatest value.
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
enum {
    BATON_KV_PREFILL_CONTEXTS = 8,
    BATON_KV_DECODE_CONTEXTS = 16,
    BATON_KV_CONTEXT_TOKENS = 8192 /* of such a context at most, but one whole context fits */
};

struct baton_kv_options {
    int64_t tokens, bytes; /* one of them, or neither: both 0 */
    int64_t memory;        /* for the weights and all KV caches of the fleet; 0: as there is */
    double memory_share;   /* of it after the weights, for this worker's KV cache */
    double idle_s;         /* blocks unused for so long give their memory back; 0: never */
    int64_t prefix_cache_tokens; /* kept for prompts with the same prefix; < 0: no bound, 0: none */
    int path;                    /* enum baton_kv_path */
    /* A draft model, whose pool has as many blocks: both are counted. NULL: none. */
    const struct baton_model *draft;
    /* The sequences that run at a time, and the most positions of one in a step, which bound the
     * blocks of layers with a window. 0: these layers keep all positions; but states are those of
     * BATON_KV_PREFILL_CONTEXTS sequences, and the saved ones. */
    int n_sequences, n_step_rows;
    /* Called on a thread of the pool when its memory has changed (engine/kv.h). NULL: nobody is. */
    void (*grown)(void *arg);
    void *grown_arg;
};

/* Rows of a worker's option table; in is the struct baton_kv_options inside its struct. what: what
 * the cache is for, and how much of it is the default. */
#define BATON_KV_OPTIONS(type, in, what)                                                           \
    BATON_ROW_INT(type, in.tokens, "kv-tokens", "0", 0, 1 << 28, "tokens", what),                  \
        BATON_ROW_INT(                                                                             \
            type, in.bytes, "kv-bytes", "0", 0, 1LL << 40, "bytes",                                \
            "size of the KV cache in bytes instead of --kv-tokens; 0 = as --kv-tokens says"),      \
        BATON_ROW_INT(type, in.memory, "memory", "0", 0, 1LL << 40, "bytes",                       \
                      "memory of a whole fleet on one host, for its weights and KV caches, which " \
                      "divide the rest: --memory-share; 0 = as the host's memory allows"),         \
        BATON_ROW_REAL(type, in.memory_share, "memory-share", "1", 0.001, 1, "",                   \
                       "part of --memory, after the weights, that this KV cache may take"),        \
        BATON_ROW_REAL(                                                                            \
            type, in.idle_s, "kv-idle-s", "300", 0, 86400 * 365, "s",                              \
            "time after which the memory of unused KV blocks is given back, and cached "           \
            "ones are evicted; 0 = never"),                                                        \
        BATON_ROW_INT(type, in.prefix_cache_tokens, "prefix-cache-tokens", "-1", -1, 1 << 28,      \
                      "tokens",                                                                    \
                      "part of the KV cache that is kept for prompts with a common prefix; -1 = "  \
                      "all that is free, 0 = none"),                                               \
        BATON_ROW_CHOICE(type, in.path, "kv-path", "auto", "auto|shared|wire",                     \
                         "transport of contexts between workers: shared memory or the wire; "      \
                         "auto: shared memory between workers of one host and user")

/* The needs and limits that the options must meet. */
struct baton_kv_needs {
    size_t block_bytes;         /* in all layers */
    size_t window_bytes;        /* of them, in layers that keep a window */
    int window_blocks;          /* that one sequence sets aside there; 0: no layer keeps a window */
    bool saves_states;          /* they are states, which are also kept for later prompts */
    uint64_t draft_state_bytes; /* of a draft model, taken already off the limits below */
    int64_t context_tokens;
    int n_contexts;        /* the default: this many contexts, */
    uint64_t share_bytes;  /* but no more than this */
    uint64_t memory_bytes; /* available, after the weights */
    const char *limit;     /* that bounds them, from struct baton_memory_left */
};

/* The default of a worker's pool: its share of memory_bytes, the memory left. Half of that and of
 * the others' pools go to pools; a latecomer finds at least a quarter of the memory left.
 * The workers of the host that have no pool yet divide it by their contexts. If no worker of the
 * other role runs yet, one is expected. */
uint64_t baton_kv_budget_share(uint64_t memory_bytes, bool decodes,
                               const struct baton_memory_peers *peers);

struct baton_kv_budget {
    int n_blocks;
    int n_window_blocks; /* of layers that keep a window; 0: none do */
    int n_cached;        /* of them, at most so many are kept for others */
};

/* Layers that keep a window have blocks for n_sequences windows; with saves_states more, up to the
 * memory of the others. Of a bound in bytes at most half goes to these layers, or the share that
 * whole contexts need.
 *
 * Capacity for at least one block, in whole blocks: tokens are rounded up, bytes and
 * prefix_cache_tokens down. It may be less than a context: then prompts and outputs are bounded by
 * it. */
enum baton_err baton_kv_budget_choose(const struct baton_kv_options *options,
                                      const struct baton_kv_needs *needs,
                                      struct baton_kv_budget *budget,
                                      struct baton_why *why) BATON_MUST_CHECK;

/* Checks before a model is loaded that its weights and the pool of create fit into memory. model:
 * measured, as for admit (engine/engine.h); the rest as for create. */
enum baton_err baton_kv_budget_check(const struct baton_kv_options *options,
                                     const struct baton_model *model, const char *dtype,
                                     bool decodes, struct baton_memory_claim *claim,
                                     struct baton_why *why) BATON_MUST_CHECK;

/* The same for memory that the caller has measured, for tests. */
enum baton_err baton_kv_budget_check_in(const struct baton_memory_left *left,
                                        const struct baton_kv_options *options,
                                        const struct baton_model *model, const char *dtype,
                                        bool decodes, struct baton_memory_claim *claim,
                                        struct baton_why *why) BATON_MUST_CHECK;

/* The states of a draft model's pool of n_blocks, whose layers keep some. */
int baton_kv_budget_draft_states(const struct baton_kv_options *options,
                                 const struct baton_kv_sizes *sizes, int n_blocks);

/* How the pools of these options grow: only into memory that is left. */
struct baton_kv_growth_options baton_kv_budget_growth(const struct baton_kv_options *options);

/* Makes the pool of a worker, bounds its cache and logs its size. A prefill worker's pool is in
 * shared memory if the path and the kernel allow it: decode workers read contexts out of it. dtype:
 * of the KV cache, as for baton_kv_create. claim: the worker's, which gets the pool's size; may be
 * NULL. */
enum baton_err baton_kv_budget_create(const struct baton_kv_options *options,
                                      const struct baton_model *model, const char *dtype,
                                      bool decodes, struct baton_memory_claim *claim,
                                      struct baton_kv **kv, struct baton_why *why) BATON_MUST_CHECK;

#endif
