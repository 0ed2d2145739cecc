/* The internal interface of the service (service.c) and the steps of its contexts
 * (context_steps.c); others use service.h.
 *
 * Ownership: as in service.h. A freed context is in no list.
 * Threading: main thread.
 * Errors:    none; a context's failure goes to its origin.
 */
#ifndef BATON_DECODE_WORKER_CONTEXT_STEPS_H
#define BATON_DECODE_WORKER_CONTEXT_STEPS_H

#include "decode_worker/context.h"
#include "decode_worker/draft_model.h"
#include "decode_worker/engine.h"
#include "decode_worker/service.h"

struct dc_service {
    struct baton_service
        base; /* first; its requests are contexts, its sender hands sequences over */
    struct dc_engine *engine;
    struct dc_draft_model *draft; /* NULL: none */
    int max_batch;
    uint64_t n_shared, n_wired; /* contexts received */
};

/* Frees a context that the engine thread does not have, or after that thread has ended. */
void dc_service_free_context(struct dc_service *service, struct dc_context *context);

/* Fails the request at its origin. The context is freed when the engine thread is done with it. */
void dc_service_refuse(struct dc_service *service, struct dc_context *context,
                       Baton__V1__Failed__Code code, const char *reason);

/* Runs a context once its prompt is complete here, DecodeStart has arrived and its grammar is
 * compiled. Prompt and DecodeStart arrive in either order, because they use different links. */
void dc_service_run_if_ready(struct dc_service *service, struct dc_context *context);

/* Runs a colocated prompt once its grammar is compiled. */
void dc_service_prefill_if_ready(struct dc_service *service, struct dc_context *context);

/* Continues or frees the contexts that the engine thread has handed back. */
void dc_service_take_done(struct dc_service *service);

/* Ends a hand-over without success: the sequence continues here. */
void dc_service_give_up_hand_over(struct dc_service *service, struct dc_context *context);

/* Opens, pumps and ends hand-overs in the order of the table. Frees contexts that have moved. */
void dc_service_step_hand_overs(struct dc_service *service);

/* Fails, starts or frees the context. Frees a context that the engine thread has only after the
 * thread hands it back: until then the thread uses its blocks. */
void dc_service_step_context(struct dc_service *service, struct dc_context *context,
                             int64_t now_ns);

#endif
