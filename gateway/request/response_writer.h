/* The interface between a request and the writer of its response. The writer's functions are called
 * in this order.
 *
 *     prompt_logprobs... prompt_progress... first (token text?)... text? --> finish
 *                                                                       \--> fail (at any point)
 *
 * A request that wants an embedding is told `embedding` alone, and then finish or fail.
 *
 * When an attempt breaks before its client saw anything, restart is called, and the sequence begins
 * again. The API's is gateway/api/completion/writer.c; a test may have its own.
 *
 * Ownership: what is passed is borrowed during the call. finish and fail are a request's last call:
 *            its dispatcher destroys it after them.
 * Threading: loop thread.
 * Errors:    none; a writer has nothing to refuse.
 */
#ifndef BATON_GATEWAY_REQUEST_RESPONSE_WRITER_H
#define BATON_GATEWAY_REQUEST_RESPONSE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/wire/envelope/envelope.h"

/* The writer's own data about a request. The request carries a pointer to it and never reads it. */
struct gw_choice;

/* One token as it came back, and what is known about its choice. */
struct gw_token {
    uint64_t index; /* among the request's output */
    uint32_t id;
    size_t begin_bytes;                  /* where its text begins in the generated text */
    size_t begin_chars;                  /* the same, counted in characters */
    const Baton__V1__Decision *decision; /* NULL when not asked for */
    const Baton__V1__Logprobs *logprobs; /* the same */
    const uint32_t *draft;               /* what speculation guessed for it; NULL: nothing */
};

/* Why a request did not end well, in the terms of the HTTP answer. */
struct gw_failure {
    int status;
    const char *code, *message;
};

struct gw_response_writer {
    void (*restart)(struct gw_choice *choice);
    /* Of a request whose params ask for them. */
    void (*prompt_logprobs)(struct gw_choice *choice, const Baton__V1__PromptLogprobs *logprobs);
    /* The same: so many tokens of the prompt are computed, or were found in a cache. */
    void (*prompt_progress)(struct gw_choice *choice, const Baton__V1__PromptProgress *progress);
    void (*first)(struct gw_choice *choice); /* the first token is here */
    void (*token)(struct gw_choice *choice, const struct gw_token *token);
    void (*text)(struct gw_choice *choice, const char *text, size_t n); /* whole characters */
    /* values [n], not normalised. NULL in writers of requests that never ask for it. */
    void (*embedding)(struct gw_choice *choice, const float *values, size_t n);
    void (*finish)(struct gw_choice *choice);
    void (*fail)(struct gw_choice *choice, const struct gw_failure *failure);
};

#endif
