#include "worker/kv/budget.h"

#include <inttypes.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/wire/frame.h"

enum { BLOCK = BATON_KV_BLOCK_TOKENS };

/* More blocks need memory that no machine has, and their tokens would overflow an int. */
static const int64_t max_blocks = (1 << 28) / BLOCK;

/* The rest of memory is for activations, buffers and other programs. */
static const double pools_share = 0.5, latecomers_share = 0.25;

/* Memory that stays free when a pool grows: another process that takes it must not meet the limit
 * of a control group, where the kernel kills. */
static const uint64_t spare_bytes = 32 << 20;

/* The bytes that workers without a pool yet may take together. */
static double to_divide(double memory_bytes, double pool_bytes)
{
    /* A late worker may find that the others already have their half. */
    double rest = (memory_bytes + pool_bytes) * pools_share - pool_bytes;
    double least = memory_bytes * latecomers_share;
    return rest > least ? rest : least;
}

uint64_t baton_kv_budget_share(uint64_t memory_bytes, bool decodes,
                               const struct baton_memory_peers *peers)
{
    int n_prefill = peers->n_unsized_prefill + !decodes,
        n_decode = peers->n_unsized_decode + decodes;
    int own = decodes ? BATON_KV_DECODE_CONTEXTS : BATON_KV_PREFILL_CONTEXTS;
    /* A fleet needs both roles: a worker that sees none of the other role leaves memory for one. */
    n_prefill += decodes && !peers->n_prefill;
    n_decode += !decodes && !peers->n_decode;
    double n_contexts =
        (double)n_prefill * BATON_KV_PREFILL_CONTEXTS + (double)n_decode * BATON_KV_DECODE_CONTEXTS;
    if (memory_bytes == UINT64_MAX) /* unknown */
        return memory_bytes;
    return (uint64_t)(to_divide((double)memory_bytes, (double)peers->pool_bytes) * own /
                      n_contexts);
}

static int64_t blocks_for(int64_t tokens)
{
    return (tokens + BLOCK - 1) / BLOCK;
}

static int64_t lesser(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The number of blocks of layers that keep all positions, and of those that keep a window. */
struct sizes {
    int64_t n_blocks, n_window_blocks;
};

static double bytes_of(const struct baton_kv_needs *needs, struct sizes sizes)
{
    if (!needs->window_blocks)
        return (double)sizes.n_blocks * (double)needs->block_bytes;
    return (double)sizes.n_blocks * (double)(needs->block_bytes - needs->window_bytes) +
           (double)sizes.n_window_blocks * (double)needs->window_bytes;
}

/* The sequences whose windows a pool holds: a prefill worker's keep all positions, but of states no
 * more than two each, and those that are saved. */
static int64_t n_sequences(const struct baton_kv_options *options,
                           const struct baton_kv_needs *needs)
{
    return options->n_sequences || !needs->saves_states ? options->n_sequences
                                                        : BATON_KV_PREFILL_CONTEXTS;
}

/* Of saved states one for so many blocks of K and V serves short turns. */
static const int saved_blocks = 8;

/* The sizes with which every sequence finds a free window. States that are saved for later prompts
 * may take as much memory as K and V beside them. */
static struct sizes sizes_for(const struct baton_kv_options *options,
                              const struct baton_kv_needs *needs, int64_t n_blocks)
{
    int64_t n = n_sequences(options, needs) * needs->window_blocks;
    if (needs->saves_states)
        n +=
            lesser((int64_t)((double)n_blocks * (double)(needs->block_bytes - needs->window_bytes) /
                             (double)needs->window_bytes),
                   n_blocks / saved_blocks);
    return (struct sizes){n_blocks, lesser(n, n_blocks)};
}

static int64_t greater(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Contexts of usual length, and at least one of the longest. With --memory all are of the longest,
 * as far as it allows. */
static int64_t default_blocks(const struct baton_kv_options *options,
                              const struct baton_kv_needs *needs)
{
    int64_t whole = blocks_for(needs->context_tokens),
            usual = blocks_for(lesser(needs->context_tokens, BATON_KV_CONTEXT_TOKENS));
    return options->memory ? needs->n_contexts * whole : greater(needs->n_contexts * usual, whole);
}

/* The windows of as many whole contexts as the bytes hold. */
static double windows_of_contexts(const struct baton_kv_needs *needs, double bytes)
{
    double whole = (double)blocks_for(needs->context_tokens);
    double n = whole < needs->window_blocks ? whole : needs->window_blocks;
    return n * bytes /
           (whole * (double)(needs->block_bytes - needs->window_bytes) +
            n * (double)needs->window_bytes);
}

/* The windows of all sequences and, if they are states, so many saved ones that each has its blocks
 * in the bytes. */
static int64_t most_windows(const struct baton_kv_options *options,
                            const struct baton_kv_needs *needs, double bytes)
{
    double n = (double)n_sequences(options, needs) * needs->window_blocks,
           blocks_bytes = saved_blocks * (double)(needs->block_bytes - needs->window_bytes);
    if (needs->saves_states && blocks_bytes > 0)
        n = (n + bytes / blocks_bytes) / (1 + (double)needs->window_bytes / blocks_bytes);
    return (int64_t)n;
}

/* As many blocks as the bytes hold, or, where all layers keep a window, as whole contexts need. If
 * the window of one sequence does not fit, all layers keep the same positions. */
static struct sizes sizes_in(const struct baton_kv_options *options,
                             const struct baton_kv_needs *needs, uint64_t bytes)
{
    int64_t n_alike = (int64_t)(bytes / needs->block_bytes);
    if (!needs->window_blocks)
        return (struct sizes){n_alike, 0};
    /* Half of the bytes for windows, or more if whole contexts need more. */
    double half = (double)bytes / 2 / (double)needs->window_bytes,
           least = windows_of_contexts(needs, (double)bytes);
    int64_t n_most = most_windows(options, needs, (double)bytes);
    int64_t n_windows = lesser(n_most, (int64_t)(half > least ? half : least));
    size_t rest = needs->block_bytes - needs->window_bytes;
    int64_t left = (int64_t)bytes - n_windows * (int64_t)needs->window_bytes;
    int64_t n_blocks = rest ? left / (int64_t)rest : default_blocks(options, needs);
    if (n_windows < needs->window_blocks || n_blocks < n_windows)
        return (struct sizes){n_alike, n_alike};
    return (struct sizes){n_blocks, n_windows};
}

static struct sizes default_sizes(const struct baton_kv_options *options,
                                  const struct baton_kv_needs *needs)
{
    int64_t n_wanted = default_blocks(options, needs);
    struct sizes wanted = sizes_for(options, needs, n_wanted);
    if (bytes_of(needs, wanted) <= (double)needs->share_bytes)
        return wanted;
    struct sizes most = sizes_in(options, needs, needs->share_bytes);
    most.n_blocks = lesser(most.n_blocks, n_wanted);
    most.n_window_blocks = lesser(most.n_window_blocks, most.n_blocks);
    return most;
}

static struct sizes wanted_sizes(const struct baton_kv_options *options,
                                 const struct baton_kv_needs *needs)
{
    if (options->bytes)
        return sizes_in(options, needs, (uint64_t)options->bytes);
    return options->tokens ? sizes_for(options, needs, blocks_for(options->tokens))
                           : default_sizes(options, needs);
}

static const char *option_name(const struct baton_kv_options *options)
{
    return options->bytes ? "kv-bytes" : "kv-tokens";
}

static enum baton_err check_least(const struct baton_kv_options *options,
                                  const struct baton_kv_needs *needs, int64_t n_blocks,
                                  struct baton_why *why)
{
    if (n_blocks >= 1)
        return BATON_OK;
    if (options->bytes)
        return baton_fail(why, BATON_INVALID,
                          "kv-bytes: must hold at least a block of %d tokens: %zu bytes, not "
                          "%" PRId64,
                          BLOCK, needs->block_bytes, options->bytes);
    if (options->memory)
        return baton_fail(why, BATON_NO_MEMORY,
                          "memory: %" PRId64 " MiB hold the weights and no block of the KV cache",
                          options->memory >> 20);
    return baton_fail(why, BATON_NO_MEMORY,
                      "KV cache: a block of %d tokens takes %zu bytes, and this worker's share of "
                      "the memory that is left is %" PRIu64 " (bound by %s); kv-tokens or kv-bytes "
                      "override it",
                      BLOCK, needs->block_bytes, needs->share_bytes, needs->limit);
}

static enum baton_err check_most(const struct baton_kv_options *options,
                                 const struct baton_kv_needs *needs, struct sizes sizes,
                                 struct baton_why *why)
{
    double mib = bytes_of(needs, sizes) / (1 << 20);
    int64_t n_blocks = sizes.n_blocks;
    if (n_blocks > max_blocks)
        return baton_fail(why, BATON_INVALID, "%s: must hold at most %" PRId64 " tokens",
                          option_name(options), max_blocks * BLOCK);
    if (mib * (1 << 20) > (double)needs->memory_bytes)
        return baton_fail(why, BATON_NO_MEMORY,
                          "%s: %" PRId64 " tokens take %.0f MiB, but only %.0f MiB of memory are "
                          "left (bound by %s)",
                          option_name(options), n_blocks * BLOCK, mib,
                          (double)needs->memory_bytes / (1 << 20), needs->limit);
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
    struct sizes sizes = wanted_sizes(options, needs);
    int64_t n_blocks = sizes.n_blocks, n_cached = options->prefix_cache_tokens / BLOCK;
    if (options->tokens && options->bytes)
        return baton_fail(why, BATON_INVALID, "kv-bytes: not beside kv-tokens; give one of them");
    enum baton_err err = check_least(options, needs, n_blocks, why);
    if (!err)
        err = check_most(options, needs, sizes, why);
    if (!err)
        err = check_cache(options, why);
    if (err)
        return err;
    budget->n_blocks = (int)n_blocks;
    budget->n_window_blocks = (int)sizes.n_window_blocks;
    budget->n_cached =
        (int)(options->prefix_cache_tokens < 0 || n_cached > n_blocks ? n_blocks : n_cached);
    return BATON_OK;
}

static uint64_t less(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/* The part of --memory that is this worker's, after the weights, mapped or not. */
static uint64_t share_of_fleet(const struct baton_kv_options *options,
                               const struct baton_model *model)
{
    uint64_t weights_bytes = baton_model_info(model)->weight_bytes;
    if (options->draft)
        weights_bytes += baton_model_info(options->draft)->weight_bytes;
    return (uint64_t)((double)less((uint64_t)options->memory, weights_bytes) *
                      options->memory_share);
}

static void bound_by_fleet(const struct baton_kv_options *options, const struct baton_model *model,
                           struct baton_kv_needs *needs)
{
    if (!options->memory)
        return;
    uint64_t share = share_of_fleet(options, model);
    needs->share_bytes = share < needs->memory_bytes ? share : needs->memory_bytes;
    needs->limit = share < needs->memory_bytes ? "--memory" : needs->limit;
}

/* Subtracts the memory that is already promised: taking it would make the kernel kill a process.
 * Weights that are mapped from a file count as page cache, which MemAvailable includes. */
static void measure_memory(const struct baton_memory_left *left,
                           const struct baton_memory_peers *peers, size_t weights_bytes,
                           bool decodes, struct baton_kv_needs *needs)
{
    needs->memory_bytes = left->bytes == UINT64_MAX
                              ? left->bytes
                              : less(less(left->bytes, peers->unbacked_bytes), weights_bytes);
    needs->limit = left->limit;
    needs->share_bytes = baton_kv_budget_share(needs->memory_bytes, decodes, peers);
    needs->n_contexts = decodes ? BATON_KV_DECODE_CONTEXTS : BATON_KV_PREFILL_CONTEXTS;
}

/* A block of a layer must fit into one message. */
static enum baton_err check_blocks(const struct baton_kv *kv, struct baton_why *why)
{
    for (int i = 0; i < baton_kv_n_layers(kv); i++)
        if (baton_kv_block_bytes(kv, i) > BATON_FRAME_MAX_PAYLOAD)
            return baton_fail(
                why, BATON_INVALID,
                "KV cache: a block of layer %d takes %zu bytes, and a message carries "
                "%d; kv-dtype q8 takes the least",
                i, baton_kv_block_bytes(kv, i), BATON_FRAME_MAX_PAYLOAD);
    return BATON_OK;
}

static double pool_bytes(const struct baton_kv_needs *needs, const struct baton_kv_budget *budget)
{
    return bytes_of(needs, (struct sizes){budget->n_blocks, budget->n_window_blocks});
}

static void log_pool(const struct baton_kv *kv, const struct baton_kv_needs *needs,
                     const struct baton_kv_budget *budget)
{
    int64_t n_tokens = (int64_t)budget->n_blocks * BLOCK;
    baton_log(BATON_LOG_INFO, "kv_cache", BATON_I("tokens", n_tokens),
              BATON_I("prefix_cache_tokens", budget->n_cached * BLOCK),
              BATON_F("mib", pool_bytes(needs, budget) / (1 << 20)),
              BATON_I("window_tokens", budget->n_window_blocks * BLOCK),
              BATON_F("mib_left", (double)needs->memory_bytes / (1 << 20)),
              BATON_S("bound_by", needs->limit), BATON_S("dtype", baton_kv_dtype(kv)));
    if (n_tokens < needs->context_tokens)
        baton_log(BATON_LOG_WARN, "kv_cache_below_context", BATON_I("tokens", n_tokens),
                  BATON_I("context_tokens", needs->context_tokens),
                  BATON_S("consequence", "longer requests are refused"));
}

static enum baton_err check_weights(const struct baton_model *model,
                                    const struct baton_memory_left *left,
                                    const struct baton_memory_peers *peers, struct baton_why *why)
{
    uint64_t bytes = less(left->bytes, peers->unbacked_bytes);
    const struct baton_model_info *info = baton_model_info(model);
    if (info->weight_bytes < bytes)
        return BATON_OK;
    return baton_fail(
        why, BATON_NO_MEMORY,
        "dtype: in %s the weights take %.0f MiB, but only %.0f MiB of memory are left "
        "(bound by %s)",
        info->dtype, (double)info->weight_bytes / (1 << 20), (double)bytes / (1 << 20),
        left->limit);
}

/* Measures a block of the model, and its windows if the options bound the running sequences. */
static enum baton_err measure_model(const struct baton_kv_options *options,
                                    const struct baton_model *model, const char *dtype,
                                    bool decodes, struct baton_kv_needs *needs,
                                    struct baton_why *why)
{
    const struct baton_kv_pool_options pool = {.dtype = dtype, .n_step_rows = options->n_step_rows};
    struct baton_kv_sizes sizes;
    enum baton_err err = baton_kv_measure(model, &pool, &sizes, why);
    if (err)
        return err;
    needs->block_bytes = sizes.block_bytes;
    needs->saves_states = sizes.keeps_states && !decodes;
    if (n_sequences(options, needs)) {
        needs->window_bytes = sizes.window_bytes;
        needs->window_blocks = sizes.window_blocks;
    }
    return BATON_OK;
}

enum baton_err baton_kv_budget_check_in(const struct baton_memory_left *left,
                                        const struct baton_kv_options *options,
                                        const struct baton_model *model, const char *dtype,
                                        bool decodes, struct baton_memory_claim *claim,
                                        struct baton_why *why)
{
    struct baton_kv_needs needs = {.context_tokens = baton_model_info(model)->n_context};
    struct baton_kv_budget budget;
    struct baton_memory_peers peers;
    baton_memory_claim_peers(claim, &peers);
    enum baton_err err = check_weights(model, left, &peers, why);
    if (!err)
        err = measure_model(options, model, dtype, decodes, &needs, why);
    measure_memory(left, &peers, baton_model_info(model)->weight_bytes, decodes, &needs);
    bound_by_fleet(options, model, &needs);
    return err ? err : baton_kv_budget_choose(options, &needs, &budget, why);
}

enum baton_err baton_kv_budget_check(const struct baton_kv_options *options,
                                     const struct baton_model *model, const char *dtype,
                                     bool decodes, struct baton_memory_claim *claim,
                                     struct baton_why *why)
{
    struct baton_memory_left left;
    baton_memory_left(&left);
    return baton_kv_budget_check_in(&left, options, model, dtype, decodes, claim, why);
}

static bool may_take(void *arg, size_t n_bytes)
{
    struct baton_memory_left left;
    (void)arg;
    baton_memory_left(&left);
    return left.bytes >= spare_bytes && left.bytes - spare_bytes >= n_bytes;
}

struct baton_kv_growth_options baton_kv_budget_growth(const struct baton_kv_options *options)
{
    return (struct baton_kv_growth_options){.may_take = may_take,
                                            .grown = options->grown,
                                            .arg = options->grown_arg,
                                            .idle_ns =
                                                (int64_t)(options->idle_s * (double)BATON_SECOND)};
}

/* Decode workers keep their pool in private memory, because shared memory is rarely on huge pages
 * and every step reads it. */
static enum baton_err create_pool(const struct baton_kv_options *options,
                                  const struct baton_model *model, const char *dtype,
                                  const struct baton_kv_budget *budget, bool decodes,
                                  struct baton_kv **kv, struct baton_why *why)
{
    struct baton_why reason = {""};
    const struct baton_kv_growth_options growth = baton_kv_budget_growth(options);
    struct baton_kv_pool_options pool = {.growth = &growth,
                                         .dtype = dtype,
                                         .n_blocks = budget->n_blocks,
                                         .n_window_blocks = budget->n_window_blocks,
                                         .n_step_rows = options->n_step_rows};
    /* Blocks of windows have no stamps, so readers could not detect that one was reused. */
    pool.is_shared = !pool.n_window_blocks && !decodes && options->path != BATON_KV_PATH_WIRE;
    enum baton_err err = baton_kv_create(model, &pool, kv, &reason);
    if (err == BATON_IO && options->path == BATON_KV_PATH_AUTO) {
        baton_log(BATON_LOG_WARN, "kv_not_shared", BATON_S("reason", reason.text));
        pool.is_shared = false;
        return baton_kv_create(model, &pool, kv, why);
    }
    return err ? baton_fail(why, err, "%s", reason.text) : BATON_OK;
}

int baton_kv_budget_draft_states(const struct baton_kv_options *options,
                                 const struct baton_kv_sizes *sizes, int n_blocks)
{
    return (int)lesser((int64_t)options->n_sequences * sizes->window_blocks, n_blocks);
}

/* Each block has a block of the draft model beside it; the number of its states is fixed. */
static void count_draft(const struct baton_kv_options *options, const struct baton_kv_sizes *draft,
                        struct baton_kv_needs *needs)
{
    size_t state_bytes = draft->keeps_states ? draft->window_bytes : 0;
    uint64_t bytes =
        (uint64_t)baton_kv_budget_draft_states(options, draft, (int)max_blocks) * state_bytes;
    needs->block_bytes += draft->block_bytes - state_bytes;
    needs->memory_bytes = less(needs->memory_bytes, bytes);
    needs->share_bytes = less(needs->share_bytes, bytes);
    needs->draft_state_bytes = bytes;
}

static enum baton_err measure_blocks(const struct baton_kv_options *options,
                                     const struct baton_model *model, const char *dtype,
                                     bool decodes, struct baton_kv_needs *needs,
                                     struct baton_why *why)
{
    const struct baton_kv_pool_options pool = {.dtype = dtype};
    struct baton_kv_sizes draft = {0};
    enum baton_err err = measure_model(options, model, dtype, decodes, needs, why);
    if (!err && options->draft)
        err = baton_kv_measure(options->draft, &pool, &draft, why);
    if (!err)
        count_draft(options, &draft, needs);
    return err;
}

enum baton_err baton_kv_budget_create(const struct baton_kv_options *options,
                                      const struct baton_model *model, const char *dtype,
                                      bool decodes, struct baton_memory_claim *claim,
                                      struct baton_kv **kv, struct baton_why *why)
{
    struct baton_kv_needs needs = {.context_tokens = baton_model_info(model)->n_context};
    struct baton_kv_budget budget;
    struct baton_kv *made = NULL;
    struct baton_memory_left left;
    struct baton_memory_peers peers;
    baton_memory_claim_peers(claim, &peers);
    baton_memory_left(&left);
    size_t mapped_bytes = baton_model_info(model)->mapped_bytes;
    if (options->draft)
        mapped_bytes += baton_model_info(options->draft)->mapped_bytes;
    measure_memory(&left, &peers, mapped_bytes, decodes, &needs);
    bound_by_fleet(options, model, &needs);
    enum baton_err err = measure_blocks(options, model, dtype, decodes, &needs, why);
    if (!err)
        err = baton_kv_budget_choose(options, &needs, &budget, why);
    if (!err)
        err = create_pool(options, model, dtype, &budget, decodes, &made, why);
    if (!err)
        err = check_blocks(made, why);
    if (err) {
        baton_kv_destroy(made);
        return err;
    }
    *kv = made;
    baton_memory_claim_set_pool(claim,
                                (uint64_t)pool_bytes(&needs, &budget) + needs.draft_state_bytes);
    baton_kv_bound_cache(*kv, budget.n_cached);
    log_pool(*kv, &needs, &budget);
    return BATON_OK;
}
