/* Migration: a request whose attempt breaks after its first token continues on another worker. The
 * next attempt computes the prompt and the output so far, and continues from there. A hand-over
 * (gateway/lifecycle/hand_over.h) is a migration that moves the context instead; a preemption
 * (gateway/routing/preemption.h) is one that waits for the client.
 *
 * Ownership: the request owns its migration, with the input.
 * Threading: loop thread.
 * Errors:    migrate: NO_MEMORY.
 */
#ifndef BATON_GATEWAY_REQUEST_MIGRATION_H
#define BATON_GATEWAY_REQUEST_MIGRATION_H

#include "engine/tokenizer/tokens.h"
#include "gateway/request/attempt.h"

enum { GW_MAX_BREAK_BYTES = 256 };

struct gw_request;

/* Facts about a request that has migrated, in memory of their own because few requests do. */
struct gw_migrated {
    struct gw_attempt first;         /* the attempt that made the first token */
    char reason[GW_MAX_BREAK_BYTES]; /* why the last one broke */
};

struct gw_migration {
    struct baton_tokens
        input;             /* prompt and output that the attempt began from; empty: the prompt */
    uint32_t n;            /* migrations so far */
    uint32_t n_hand_overs; /* of these, with the context */
    uint32_t n_uncounted;  /* preemptions, and from workers that left or had not accepted it */
    int64_t awaited_ns;    /* when the client of a preempted request read again; INT64_MAX: not */
    double longest_gap_s;  /* from the last token before one to the first token after it */
    double gap_s;          /* sum over these */
    struct gw_decode_times before; /* sums over the attempts that broke */
    struct gw_migrated *past;      /* NULL before the first one */
};

void gw_migration_fini(struct gw_migration *migration);

/* Begins an attempt that continues after the output so far; the last one was released, or is
 * doubted (gateway/lifecycle/hedge.h). NO_MEMORY: nothing has changed. */
enum baton_err gw_request_migrate(struct gw_request *request, const char *reason) BATON_MUST_CHECK;

/* Makes the successor the request's attempt. Its context lacks the last token of the output, which
 * is the next input. NO_MEMORY: nothing has changed. */
enum baton_err gw_request_move(struct gw_request *request, const char *reason) BATON_MUST_CHECK;

/* Whether the request may migrate once more. Preemptions and migrations away from a draining worker
 * do not count, and a worker's death counts once: until it is detected, the next attempt may be
 * sent to the same worker. */
bool gw_request_may_migrate(const struct gw_request *request, int64_t limit);

/* The seconds for which the client has waited for the token after a migration. The time in which a
 * preempted request's client did not read is no wait. */
double gw_request_migration_gap_s(const struct gw_request *request, int64_t now_ns);

/* Undoes the count of a migration whose earlier attempt continues instead. */
void gw_request_unmigrate(struct gw_request *request);

/* The tokens that the attempt computes before its first token: the prompt, and after a migration
 * also the output so far. */
const struct baton_tokens *gw_request_input(const struct gw_request *request);
/* The number of output tokens in the input; and the number that the attempt may generate. */
size_t gw_request_n_resumed(const struct gw_request *request);
int64_t gw_request_n_more(const struct gw_request *request);

/* The sums over all attempts of the request. */
struct gw_decode_times gw_request_decode_times(const struct gw_request *request);

/* Whether no token can follow the output so far. stopped: because its last token is a stop id. */
bool gw_request_is_complete(const struct gw_request *request, bool *stopped);

/* The attempt that generated the first token, or will. */
const struct gw_attempt *gw_request_first_attempt(const struct gw_request *request);

#endif
