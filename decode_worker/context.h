/* One request in a decode worker, from the reservation of blocks to the last token.
 *
 *     RESERVED --KvBegin--> RECEIVING --every block is here--> PREFILLED --DecodeStart--> RUNNING
 *         |                                                       ^                      |    ^
 *         +--PrefillRequest--> PREFILLING --first token sent------+     handed over, or not   |
 *                                                                         (hand_over.h)  v    |
 *                                                                                       STOPPED
 *
 * DecodeStart may arrive before the context is PREFILLED, and then waits for it. Any state ends
 * with Cancel, a loss, the deadline or the last token: the context is destroyed and its blocks are
 * free.
 *
 * Ownership: the service owns every context; the engine thread borrows one while PREFILLING and
 *            while RUNNING.
 * Threading: main thread, except the fields under "shared", and those under "engine" while the
 *            engine thread has the context.
 * Errors:    create: NULL without memory. After any other error nothing has changed.
 */
#ifndef BATON_DECODE_WORKER_CONTEXT_H
#define BATON_DECODE_WORKER_CONTEXT_H

#include <stdatomic.h>
#include <stddef.h>

#include "common/base/list.h"
#include "common/policy/priority.h"
#include "decode_worker/hand_over.h"
#include "decode_worker/output_blocks.h"
#include "decode_worker/speculation.h"
#include "engine/kv.h"
#include "engine/sampling/sampled_token.h"
#include "worker/adapters.h"
#include "worker/kv/prefix_cache.h"
#include "worker/kv/receive.h"
#include "worker/prompt.h"
#include "worker/request_table.h"

enum dc_state {
    DC_RESERVED,
    DC_RECEIVING,
    DC_PREFILLING,
    DC_PREFILLED,
    DC_RUNNING,
    DC_STOPPED,
    DC_N_STATES
};

/* A prompt that runs here instead of arriving as a context. */
struct dc_prompt {
    uint32_t *tokens;                     /* [n_prompt], owned */
    struct baton_sampling_state sampling; /* for the first token */
    int64_t received_ns;
    bool is_all; /* the request wants no token after the first */

    /* engine */
    int64_t begin_ns; /* when its first step began; 0: not yet */
    struct baton_first_token first;
};

struct dc_context {
    struct baton_request_node in_requests;
    enum dc_state state; /* dc_context_set_state alone changes it */
    int64_t state_ns;    /* when it entered its state */
    int64_t reserved_ns; /* when its blocks were reserved */

    struct baton_origin origin;
    bool arrives;       /* its prompt does not run here */
    int n_prompt;       /* with the output of earlier attempts */
    int max_new_tokens; /* as reserved: to be generated here */
    enum baton_priority priority;
    struct baton_adapter_hold adapters; /* seq borrows its blend */
    struct baton_seq seq;
    struct baton_prefix prefix;  /* until the prompt's blocks are registered */
    Baton__V1__Reserve *waiting; /* owned: blocks for it are not backed yet; NULL: it has them */

    struct baton_kv_receive receive; /* the hand-off, unless its prompt runs here */
    int64_t started_ns, ready_ns;    /* ready: prefilled and started */

    struct dc_prompt prompt;
    struct dc_hand_over hand_over;
    struct dc_output_blocks output_blocks;

    /* from DecodeStart */
    bool started;
    uint32_t next_token;   /* input of the next step */
    uint64_t n_output_max; /* of the request, with the output of earlier attempts */
    struct baton_sampling_state sampling;
    struct dc_speculation speculation;
    int64_t deadline_ns; /* 0: none */

    /* shared between the main and the engine thread */
    atomic_bool canceled;
    atomic_uint_least64_t credit_end; /* first output index without credit */

    /* engine */
    struct baton_node in_scheduler;
    int64_t held_until_ns; /* its link was full: no step before this time */
    uint64_t n_output;     /* tokens of the request so far, with prefill's */
    uint32_t n_steps;
    double queue_s, decode_s, sample_s;
    bool cold;
    bool over; /* done for good; otherwise only its prompt is done */
};

struct dc_context *dc_context_create(void);

/* Frees the context and everything that it owns, including its blocks. It must be in no list. */
void dc_context_destroy(struct dc_context *context);

/* Drops the Reserve that waited. */
void dc_context_end_wait(struct dc_context *context);

/* The positions that the request needs; the last token is never an input. */
static inline int dc_positions_for(const Baton__V1__Reserve *wanted)
{
    return (int)(wanted->n_prompt_tokens + wanted->max_new_tokens - 1);
}

/* Changes the state and logs it; aborts on an edge that is not in the drawing. */
void dc_context_set_state(struct dc_context *context, enum dc_state state);

/* Acquires blocks for a new context, shared ones first. LIMIT: not enough are free; INVALID: more
 * hashes than whole blocks; NO_MEMORY. */
enum baton_err dc_context_reserve(struct dc_context *context, struct baton_prefix_cache *cache,
                                  const Baton__V1__Reserve *wanted) BATON_MUST_CHECK;

/* Drops the hashes: nothing more is registered under them, nor behind them. */
void dc_context_drop_prefix(struct dc_context *context);

/* Keeps a prompt that runs here once its grammar is ready; from now on no context may arrive
 * instead. INVALID: the request does not fit the reservation; NO_MEMORY. */
enum baton_err dc_context_take_prompt(struct dc_context *context,
                                      const Baton__V1__PrefillRequest *request, int64_t n_vocab,
                                      struct baton_grammar_set *grammars) BATON_MUST_CHECK;

/* The context has arrived; KvEnd gives the length of one that grew. Then as finish_prompt. */
void dc_context_finish_receive(struct dc_context *context);

/* RECEIVING or PREFILLING -> PREFILLED: the prompt is complete in the sequence's blocks, which are
 * registered for others to share. */
void dc_context_finish_prompt(struct dc_context *context);

/* Applies DecodeStart; the context runs once it is also PREFILLED. draft: the worker's draft model,
 * or NULL. Errors as take_prompt. */
enum baton_err dc_context_take_start(struct dc_context *context,
                                     const Baton__V1__DecodeStart *start, int64_t n_vocab,
                                     struct baton_grammar_set *grammars,
                                     const struct dc_draft_model *draft) BATON_MUST_CHECK;

/* Publishes the sequence's complete blocks, which may then be sent. Call from the thread that has
 * the sequence. */
static inline void dc_context_publish(struct dc_context *context)
{
    int n = context->seq.n_tokens / BATON_KV_BLOCK_TOKENS;
    baton_kv_progress_publish(&context->hand_over.progress,
                              (struct baton_kv_progress){.n_done = n, .n_end = n});
}

/* The reason why the context holds its blocks. */
Baton__V1__KvReason dc_context_kv_reason(const struct dc_context *context);

/* Whether the engine thread has the context. Its blocks must not change then. */
static inline bool dc_context_is_in_engine(const struct dc_context *context)
{
    return context->state == DC_PREFILLING || context->state == DC_RUNNING;
}

/* Whether the gateway allows one more token now. Any thread. Relaxed: credit_end publishes no other
 * data, and an old value only delays the token until the wake-up that follows every TokenAck. */
static inline bool dc_context_has_credit(const struct dc_context *context)
{
    return context->n_output < atomic_load_explicit(&context->credit_end, memory_order_relaxed);
}

/* ---- all contexts of a worker: the requests of its table ---- */

/* The context of a table's node; NULL for NULL. */
static inline struct dc_context *dc_context_of_node(struct baton_request_node *node)
{
    return node ? (struct dc_context *)((char *)node - offsetof(struct dc_context, in_requests))
                : NULL;
}

/* The contexts in order of arrival; NULL after the last. */
static inline struct dc_context *dc_context_first(const struct baton_request_table *table)
{
    return dc_context_of_node(baton_request_list_first(&table->list));
}

static inline struct dc_context *dc_context_next(const struct baton_request_table *table,
                                                 struct dc_context *context)
{
    return dc_context_of_node(baton_request_list_next(&table->list, &context->in_requests));
}

/* The context that a gateway's message is about (baton_origin_is); NULL: none. */
struct dc_context *dc_context_find(const struct baton_request_table *table,
                                   const baton_envelope *envelope);

/* The context whose hand-over the gateway's message is about; NULL: none. */
struct dc_context *dc_context_find_hand_over(const struct baton_request_table *table,
                                             const baton_envelope *envelope);

/* The same for a sending worker's message (baton_origin_is_request); skips canceled contexts. */
struct dc_context *dc_context_find_request(const struct baton_request_table *table,
                                           const baton_envelope *envelope);

#endif
