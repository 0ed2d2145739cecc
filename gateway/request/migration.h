/* Migration: a request whose attempt breaks after its first token goes on elsewhere. The next
 * attempt computes the prompt and the output so far, and continues from there.
 * One that is handed over (gateway/lifecycle/hand_over.h) migrates without that: its context moves.
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

/* What is known of a request that has migrated: few have. */
struct gw_migrated {
    struct gw_attempt first;         /* the attempt that made the first token */
    char reason[GW_MAX_BREAK_BYTES]; /* why the last one broke */
};

struct gw_migration {
    struct baton_tokens
        input;             /* prompt and output that the attempt began from; empty: the prompt */
    uint32_t n;            /* migrations so far */
    uint32_t n_hand_overs; /* of these, with the context */
    uint32_t n_uncounted;  /* from workers that left, or died before they had accepted it */
    double longest_gap_s;  /* from the last token before one to the first token after it */
    double gap_s;          /* sum over these */
    struct gw_decode_times before; /* sums over the attempts that broke */
    struct gw_migrated *past;      /* NULL before the first one */
};

void gw_migration_fini(struct gw_migration *migration);

/* Begins an attempt that goes on after the output so far; the last one was released, or is doubted
 * (gateway/lifecycle/hedge.h). NO_MEMORY: nothing has changed. */
enum baton_err gw_request_migrate(struct gw_request *request, const char *reason) BATON_MUST_CHECK;

/* The successor becomes the request's attempt. It has the context but for the last token of the
 * output, which is the next input. NO_MEMORY: nothing has changed. */
enum baton_err gw_request_move(struct gw_request *request, const char *reason) BATON_MUST_CHECK;

/* Whether it may migrate once more. What an operator did, who has workers leave, is not counted,
 * and a death not twice: until it is noticed, the next attempt may be sent to the same worker. */
bool gw_request_may_migrate(const struct gw_request *request, int64_t limit);

/* The attempt before the migration goes on after all: it is the request's attempt again. */
void gw_request_unmigrate(struct gw_request *request);

/* What the attempt computes before its first token: the prompt, after a migration with output. */
const struct baton_tokens *gw_request_input(const struct gw_request *request);
/* Of these, how many are output; and how many tokens the attempt may make. */
size_t gw_request_n_resumed(const struct gw_request *request);
int64_t gw_request_n_more(const struct gw_request *request);

/* Over all its attempts. */
struct gw_decode_times gw_request_decode_times(const struct gw_request *request);

/* Whether no token can follow the output so far. stopped: because its last one ends a text. */
bool gw_request_is_complete(const struct gw_request *request, bool *stopped);

/* The attempt that made the first token, or will. */
const struct gw_attempt *gw_request_first_attempt(const struct gw_request *request);

#endif
