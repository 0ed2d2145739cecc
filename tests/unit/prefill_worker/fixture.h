/* A prefill worker without its process: the real service, engine thread, KV pool and links, with a
 * small random model, one gateway, and one decode worker's receiving side.
 *
 * Ownership: the fixture owns the worker and what it heard; one worker at a time.
 * Threading: all calls on the test's thread, which is the worker's main thread.
 * Errors:    what must not fail fails the test.
 */
#ifndef BATON_TESTS_UNIT_PREFILL_WORKER_FIXTURE_H
#define BATON_TESTS_UNIT_PREFILL_WORKER_FIXTURE_H

#include "prefill_worker/service.h"
#include "tests/support/worker_rig.h"
#include "worker/kv/send.h"

enum { N_LAYERS = 4, N_VOCAB = 300, N_CONTEXT = 512, MAX_REQUESTS = 40 };

enum { MAX_HEARD = 64, MAX_EMBEDDING = 64 };

enum hashes { NO_HASHES, OUR_HASHES, FOREIGN_HASHES, TOO_MANY_HASHES };

/* A request, as a gateway sends it. Prompts of the same words share a prefix. */
struct request_params {
    uint64_t id;
    uint32_t attempt; /* 0 is 1 */
    int n_prompt, n_new;
    uint64_t words;
    enum hashes hashes;
    bool naive, delivers, prompt_logprobs, prompt_progress, in_parts;
    Baton__V1__Pooling pooling;
    uint32_t credit, deadline_ms;
    uint64_t resumes; /* the request whose first n_resumed tokens follow the prompt; 0: none */
    int n_resumed;    /* n_new counts these as well */
    double temperature;
};

/* The messages that a gateway has received about one request. */
struct heard {
    int n_first, n_tokens, n_finished, n_failed, n_prompt_logprobs, n_embeddings;
    int n_progress, last_progress; /* messages; tokens that the last one told */
    float embedding[MAX_EMBEDDING];
    uint32_t first_token, cached_tokens, disk_tokens, tokens[MAX_HEARD];
    Baton__V1__Failed__Code failure;
    int n_reserved, n_rejected; /* in parts */
    int n_acks;                 /* of what the other part sent */
    struct baton_ticket ticket; /* of Reserved */
};

extern struct heard heard[MAX_REQUESTS];

/* Contexts that the decode worker has whole, and transfers that failed there. */
extern int n_received, n_lost;

/* With counts_alone, answers are counted and not compared: requests come again under the same id,
 * while answers to the one before may still be under way. */
extern bool counts_alone;
extern int n_counted; /* messages with tokens then */

struct worker_options {
    int64_t kv_tokens; /* 0: the default */
    enum baton_overlap overlap;
    bool no_prefix_cache;
    bool has_bulk;                        /* prompts in parts can be computed */
    enum baton_kv_path path, decode_path; /* the worker's and the decode worker's */
    struct baton_kv_disk_options kv_disk;
};

void worker_open(const struct worker_options *options);

/* Waits until the worker is idle; every block must be free then. */
void worker_close(void);
/* A teardown: closes the worker that a test left open. */
int worker_end(void **state);

void say_prompt(const struct request_params *params);
void say_cancel(const struct request_params *params);
void say_ack(const struct request_params *params, uint64_t next_index, uint32_t credit);

enum { STRIPE_BLOCKS = 4 }; /* what the worker's step takes */

/* The prompt's parts begin: part 0 is one at the decode worker's place, which acknowledges nothing,
 * and part 1 the worker. change may be NULL, and otherwise spoils the message first. */
void say_parts_start(const struct request_params *params,
                     void (*change)(Baton__V1__PartsStart *start));

/* The other part, which computes `part` of two in stripes of n_blocks; the worker computes `to`.
 * Its K and V are zeros, and none is computed yet. */
void open_part(const struct request_params *params, int part, int to, int n_blocks);
/* It also takes the worker's blocks, and acknowledges them. Call it before say_parts_start. */
void expect_part(const struct request_params *params);
/* How far it is; what is ready leaves for the worker. */
void part_computed(const struct request_params *params, struct baton_kv_progress progress);
void part_computed_all(const struct request_params *params);
/* Works until the other part has the worker's blocks before `end` of the layer. */
void await_blocks(const struct request_params *params, int layer, int end);

/* Opens the part and has it compute all. The worker answers, or fails, before it returns. */
void send_part(const struct request_params *params, int part, int n_blocks);

/* The decode worker gives up one context. */
void drop_context(uint64_t id);
/* Lets the decode worker vanish with what it has. */
void drop_decode_worker(void);

/* Runs the prefill worker's main thread once. */
void work_alone(void);

/* Whether all of the context that arrived was copied out of the worker's pool, or nothing. */
bool came_shared(uint64_t id);
bool came_wired(uint64_t id);

/* Whether the context that arrived is what the engine computes from the prompt in one go. */
bool equals_own_run(const struct request_params *params);

#endif
