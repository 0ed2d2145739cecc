/* What the service (service.c) and the steps of its contexts (context_steps.c) know of each other;
 * service.h is what others use.
 *
 * Ownership: as in service.h. A context that was freed is in no list any more.
 * Threading: main thread.
 * Errors:    none; what a context cannot get is told to its origin.
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
    struct dc_draft_model *draft; /* NULL: there is none */
    int max_batch;
    uint64_t n_shared, n_wired; /* contexts received */
};

/* The engine thread does not have the context, or has ended. */
void dc_service_free_context(struct dc_service *service, struct dc_context *context);

/* Fails the request at its origin. The context is freed when the engine thread is done with it. */
void dc_service_refuse(struct dc_service *service, struct dc_context *context,
                       Baton__V1__Failed__Code code, const char *reason);

/* A context runs once its prompt is complete here and DecodeStart came, which may come in either
 * order since they travel over different links, and once its grammar is made. */
void dc_service_run_if_ready(struct dc_service *service, struct dc_context *context);

/* So does a prompt that runs here. */
void dc_service_prefill_if_ready(struct dc_service *service, struct dc_context *context);

/* Goes on with, or frees, the contexts that the engine thread is done with. */
void dc_service_take_done(struct dc_service *service);

/* The hand-over is over without success: the sequence goes on here. */
void dc_service_give_up_hand_over(struct dc_service *service, struct dc_context *context);

/* Opens, sends and ends what is handed over, in the order of the table. Frees contexts that
 * went. */
void dc_service_step_hand_overs(struct dc_service *service);

/* Fails, starts or frees the context. A context that the engine thread has is freed only once the
 * thread hands it back: until then the thread uses its blocks. */
void dc_service_look_after(struct dc_service *service, struct dc_context *context, int64_t now_ns);

#endif
