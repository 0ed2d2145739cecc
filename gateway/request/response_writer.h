/* The interface between a request and the writer of its response. The writer's functions are called
 * in this order.
 *
 *     prompt_logprobs... prompt_progress... first (token text?)... text? --> finish
 *                                                                       \--> fail (at any point)
 *
 * For a request that wants an embedding only `embedding` is called, and then finish or fail.
 *
 * When an attempt breaks before its client saw anything, restart is called, and the sequence begins
 * again. The API's writer is gateway/api/completion/writer.c; a test may have its own.
 *
 * Ownership: arguments are borrowed during the call. finish and fail are a request's last call: the
 *            dispatcher then destroys the request.
 * Threading: loop thread.
 * Errors:    none; a writer cannot reject a call.
 */
#ifndef BATON_GATEWAY_REQUEST_RESPONSE_WRITER_H
#define BATON_GATEWAY_REQUEST_RESPONSE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/wire/envelope/envelope.h"

/* The writer's own data about a request. The request carries a pointer to it and never reads it. */
struct gw_choice;

/* One token as its worker reported it, and its position in the text. */
struct gw_token {
    uint64_t index; /* among the request's output */
    uint32_t id;
    size_t begin_bytes;                  /* where its text begins in the generated text */
    size_t begin_chars;                  /* the same, counted in characters */
    const Baton__V1__Decision *decision; /* NULL: not requested */
    const Baton__V1__Logprobs *logprobs; /* NULL: not requested */
    const uint32_t *draft;               /* the draft that speculation guessed for it; NULL: none */
};

/* Why a request did not end well, in the terms of the HTTP answer. */
struct gw_failure {
    int status;
    const char *code, *message;
};

struct gw_response_writer {
    void (*restart)(struct gw_choice *choice);
    /* Called only if the request's params ask for them. */
    void (*prompt_logprobs)(struct gw_choice *choice, const Baton__V1__PromptLogprobs *logprobs);
    /* The same: progress->n_tokens tokens of the prompt are computed or were found in a cache. */
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
