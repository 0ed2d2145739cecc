/* A decode worker in this process, with the test as its gateway and as the prefill worker that
 * sends it contexts: real engine, real blocks, real sockets for what it answers.
 *
 * Ownership, Threading, Errors: as in tests/support/worker_rig.h.
 */
#ifndef BATON_TESTS_UNIT_DECODE_WORKER_FIXTURE_H
#define BATON_TESTS_UNIT_DECODE_WORKER_FIXTURE_H

#include "tests/support/test.h"

#include "common/base/ticket.h"
#include "decode_worker/service.h"
#include "tests/support/worker_rig.h"

/* The overlap in KvEnd: more than the transfer took. */
#define SAID_OVERLAP_S 1000.0

enum {
    N_VOCAB = 300,
    N_CONTEXT = 256,
    N_LAYERS = 3,
    N_HELD = 2,
    MAX_REQUESTS = 64,
    STOP_NONE = N_VOCAB
};

/* One request of the test. id is 1..MAX_REQUESTS - 1 and indexes heard[]. */
struct request_params {
    uint64_t id;
    int n_prompt, n_new;
    int n_resumed;  /* of n_new, the first that an earlier attempt made: see resume */
    uint64_t words; /* seed of the prompt's tokens: prompts of equal seeds share a prefix */
    double temperature;
    double penalty;       /* each of presence, frequency and repetition */
    uint32_t stop;        /* STOP_NONE, or the token that ends it */
    uint32_t credit;      /* 0: plenty */
    uint32_t deadline_ms; /* 0: none */
    uint32_t explain;     /* candidates */
    uint32_t drafts;      /* that a step may check, by prompt lookup */
    bool with_model;      /* or by the draft model */
    uint32_t min_drafts;
    bool with_hashes;
    bool with_foreign_hashes; /* with hashes, of another numeric class */
    bool with_tail;           /* with hashes, and so the output's blocks are registered */
    int tail_off;             /* how many tokens fewer than that */
    const char *kv_layout;    /* that KvBegin names; NULL: the worker's own */
    bool grows;               /* its context comes from another decode worker, where it runs */
    int grew_by;              /* of n_resumed: made there after Reserve */
    int kv_end_off;           /* how many tokens more than there are KvEnd speaks of then */
};

/* The messages that the gateway has received about a request. */
struct heard {
    int n_reserved, n_rejected, n_first, n_finished, n_failed, n_received;
    uint32_t n_cached_blocks, cached_tokens;
    bool has_ticket;
    struct baton_ticket ticket; /* as soon as the worker has reserved */
    uint64_t kv_bytes;
    uint32_t kv_chunks;
    double transfer_s, crc_s, overlap_s, exposed_s; /* of the hand-off */
    bool stopped, has_decision;
    uint32_t tokens[N_CONTEXT];
    size_t n_tokens, n_resumed; /* n_resumed: of these, from an earlier attempt */
    size_t n_drafted, n_accepted;
    Baton__V1__Failed__Code failure;
};

struct worker_options {
    int max_batch, chunk, kv_tokens; /* 0: 4, 8, 16 contexts */
    bool no_prefix_cache;
    const char *gateway_url; /* NULL: the test's own inbox; else see open_gateway */
    size_t max_queued;       /* messages to the gateway; 0: plenty */
    int n_threads;           /* 0: 2 */
    double silence_s;        /* 0: a sender may be out of reach for ever */
    /* 0: no draft model; 1: the model itself, more: other weights */
    uint64_t draft_seed;
    int draft_vocab, draft_context; /* 0: as the model's */
    int draft_blocks;               /* 0: as the model's pool */
};

void worker_open(const struct worker_options *options);
void worker_close(void); /* asserts that every block is free again */
/* A teardown: closes the worker that a test left open. */
int worker_end(void **state);

extern struct heard heard[MAX_REQUESTS];
/* With counts_alone, answers are counted and not compared: requests come again under the same id,
 * while answers to the one before may still be under way. */
extern bool counts_alone;
extern int n_counted;      /* tokens then */
extern int n_reserved;     /* reservations, of all requests */
extern size_t most_events; /* in one message so far */

/* The request's earlier attempt made its first n_resumed tokens: before anything is said. */
void resume(const struct request_params *params);

/* ---- what the gateway says ---- */
void say_reserve(const struct request_params *params);
/* The same, until it is reserved. */
void reserve_blocks(const struct request_params *params);
void say_prompt(const struct request_params *params); /* PrefillRequest */
/* DecodeStart, with the first token that the worker sent, or the one that it would send. */
void say_start(const struct request_params *params);
void say_ack(const struct request_params *params, uint64_t next_index, uint32_t credit);
void say_cancel(const struct request_params *params);

/* Sends the context, from first_block on, segment blocks at a time for all layers; rounds is how
 * many times the first chunk is sent. */
void ship(const struct request_params *params, uint32_t first_block, uint32_t segment, int rounds);

/* A second KvBegin ends the link to the bulk inbox; then the next one begins another. */
extern bool bulk_may_end;

/* KvBegin of the whole context, and nothing after it. */
void ship_nothing(const struct request_params *params);

/* Another prefill worker sends KvBegin for the same context, with the right ticket or with none;
 * returns when its link is ended. */
void claim_and_lose(const struct request_params *params, bool with_ticket);

/* Another prefill worker begins a context of its own, and then sends a chunk of one that is not;
 * returns when its link is ended. */
void intrude_and_lose(const struct request_params *own, const struct request_params *others);

/* Another prefill worker sends KvBegin with the ticket, but listens nowhere; returns when the
 * context has failed. */
void claim_from_nowhere(const struct request_params *params);

void await_tokens(const struct request_params *params, size_t n);
/* Until the engine thread has given every prompt back to the main thread. */
void await_prompts_back(void);
/* Works and listens for that long: for what must not happen. */
void work_for_ms(int ms);

/* Opens the inbox at gateway_url (of the options), at last. */
void open_gateway(void);

/* ---- whole requests ---- */

/* One that runs here, from Reserve to the first token. */
void run_prompt(const struct request_params *params);
/* The same to its end: its tokens are those of a run of its own. */
void run_here(const struct request_params *params);
/* The same for one whose context is sent. */
void run_sent(const struct request_params *params);

/* The tokens of a run of its own: tokens [n_new], less when stopped. Returns how many. */
size_t single_run(const struct request_params *params, uint32_t *tokens);
void assert_equals_single_run(const struct request_params *params);

#endif
