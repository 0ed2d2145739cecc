/* A gateway's core between a scripted clock, scripted workers and scripted clients.
 *
 * Fleet, routing, admission and lifecycle are the real ones, wired as gateway.c wires them. In
 * place of wire/link.h and of baton_now_ns stand those of fixture_links.c, put there by the linker
 * (--wrap): what the gateway sends to a worker is noted, what a worker says arrives at once, and
 * time passes when the test says so.
 *
 * Ownership: gateway_close frees everything that gateway_open and the script made.
 * Threading: one thread.
 * Errors:    fail the test.
 */
#ifndef BATON_TESTS_UNIT_GATEWAY_FIXTURE_H
#define BATON_TESTS_UNIT_GATEWAY_FIXTURE_H

#include "tests/support/test.h"

#include "common/base/clock.h"
#include "gateway/dispatch/dispatcher.h"
#include "gateway/dispatch/worker_messages.h"

enum { BLOCK_TOKENS = 16, BEAT_MS = 250, MAX_ATTEMPTS = 3, KV_BLOCKS = 64 };

/* A worker as its own process would be. Change what it says of itself before hello. */
struct far_worker {
    const char *id, *token, *dtype, *kv_layout, *config, *numeric_class;
    Baton__V1__Role role;
    uint64_t epoch, link;
    uint32_t kv_block_tokens, n_context_tokens;
    Baton__V1__Status status;
    bool is_silent; /* it no longer tells its status as time passes */
    bool is_old;    /* it hands nothing over, and beats as often as its options say */
};

/* The answer that a client receives, and the state of its request at the end. */
struct gw_choice {
    struct gw_request *request; /* NULL once it is over */
    uint64_t id;
    int n_restarts, n_first, n_tokens, n_finished, n_failed, status;
    char code[32], message[160];
    double decode_s;
    uint32_t attempt;
};

/* A message that the gateway sent to a worker. */
struct sent {
    uint64_t link;
    Baton__V1__Envelope__BodyCase kind;
    uint64_t request_id;
    uint32_t attempt;
    uint32_t credit_tokens;      /* PrefillRequest, DecodeStart, TokenAck */
    uint64_t next_index;         /* TokenAck */
    bool has_target;             /* PrefillRequest: the context goes to another worker */
    uint32_t n_tokens, n_output; /* PrefillRequest, DecodeStart: of the context; of these, output */
    size_t n_hashes;             /* PrefillRequest, Reserve: of the context's blocks */
    struct baton_block_hash first_hash;
    uint32_t n_more;               /* the same, and Reserve: tokens that may be made */
    Baton__V1__Refused__Code code; /* Refused */
    bool is_hand_over;             /* Reserve */
    Baton__V1__Priority priority;  /* PrefillRequest, Reserve */
    uint32_t to_attempt;           /* HandOver */
    bool in_parts;                 /* PrefillRequest */
    size_t n_parts;                /* PartsStart; 0: the worker computes the prompt alone */
};

extern struct gw_requests requests;
extern struct gw_fleet fleet;
extern struct gw_metrics metrics;
extern struct gw_dispatcher dispatcher;
extern struct baton_model_facts facts;
extern int absence_ms, migration_limit; /* of the next gateway_open; 0 at first */
extern unsigned beats_per_s;            /* of all workers; likewise */
extern int n_rejected_messages, n_ended_pipes, n_links_opened;

/* Workers lie: their tokens may be any. The tokenizer stays open from gateway to gateway. */
extern bool workers_lie;

/* The result of sending a prompt to a worker; OK at first. */
extern enum baton_err prompt_err;

/* Opens a gateway without workers; options of routing may be given, NULL: none. */
void gateway_open(const struct gw_routing_options *routing);
void gateway_close(void);
/* A teardown: gateway_close, and the options of gateway_open are as at first. */
int close_gateway(void **state);

/* Time passes in ticks of 25 ms; every worker that joined and is not silent tells its status each
 * beat. */
void pass_ms(int ms);
/* The gateway's process stands still for so long. */
void freeze_ms(int ms);
int64_t now_ns(void);

/* The fleet of most tests: prefill-0 and decode-0 have joined, decode-1 may. */
extern struct far_worker prefill, decode, decode_1;
/* gateway_open(NULL) with this fleet. */
void open_with_spare(void);

/* ---- workers ---- */

struct far_worker prefill_worker(const char *id);
struct far_worker decode_worker(const char *id);

/* Says hello on a new link. The worker is the gateway's JOINING one, or NULL if refused. */
struct gw_worker *hello(struct far_worker *worker);
/* Says hello again on the link that it has. */
void show_token(struct far_worker *worker);
/* The gateway accepts no token but "second secret" from now on. */
void withdraw_first_token(void);
/* Says hello and its first status. */
struct gw_worker *join(struct far_worker *worker);
/* Several, one after another. */
#define join_all(...) join_each((struct far_worker *[]){__VA_ARGS__, NULL})
void join_each(struct far_worker **workers);
/* The gateway's view of the worker, or NULL. */
struct gw_worker *known(const struct far_worker *worker);

void say_status(struct far_worker *worker);
void say_goodbye(struct far_worker *worker);
void cut_link(struct far_worker *worker);   /* its process is gone */
void break_link(struct far_worker *worker); /* the same, and the gateway has not looked yet */
/* The pause between beats that the gateway has told the worker last. */
int told_beat_ms(const struct far_worker *worker);
void lose_a_message(struct far_worker *worker);

/* About a request, in the attempt that the gateway last told this worker of. */
void say_reserved(struct far_worker *worker, const struct gw_choice *client);
void say_rejected(struct far_worker *worker, const struct gw_choice *client);
void say_first(struct far_worker *worker, const struct gw_choice *client);
/* n tokens from index on, made by a step of 10 ms. */
void say_tokens(struct far_worker *worker, const struct gw_choice *client, uint64_t index,
                size_t n);
void say_finished(struct far_worker *worker, const struct gw_choice *client, uint64_t n_tokens);
/* It has sent the context to who was to have it, after n_tokens of output. */
void say_handed_over(struct far_worker *worker, const struct gw_choice *client, uint64_t n_tokens);
void say_failed(struct far_worker *worker, const struct gw_choice *client,
                Baton__V1__Failed__Code code);

/* The last message of a kind to the worker about the request (NULL: any), or NULL; and how many. */
const struct sent *last_sent(const struct far_worker *worker, const struct gw_choice *client,
                             Baton__V1__Envelope__BodyCase kind);
int n_sent(const struct far_worker *worker, const struct gw_choice *client,
           Baton__V1__Envelope__BodyCase kind);

/* Sends any envelope, which need not be valid. */
void say_anything(struct far_worker *worker, baton_envelope *envelope);

/* ---- clients ---- */

struct wanted {
    size_t n_prompt;
    int64_t n_new;
    bool streaming;
    bool cache_prompt;
    int timeout_ms; /* 0: none */
    enum baton_priority priority;
};

/* Asks, and the gateway routes it if it can. */
void ask(struct gw_choice *client, const struct wanted *wanted);
/* The client leaves. */
void leave(struct gw_choice *client);

#endif
