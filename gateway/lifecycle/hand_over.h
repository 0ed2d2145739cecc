/* Hand-over moves a request whose decode worker drains to another worker with its KV cache.
 *
 *     DECODING --Reserve--> --Reserved, HandOver--> --HandedOver, DecodeStart--> DECODING elsewhere
 *
 * The request stays DECODING, at its own worker until HandedOver. Its next attempt is the
 * successor, which becomes the request's attempt at HandedOver. Until then a hand-over that breaks
 * costs the client nothing. If HandedOver finds no successor, because the receiver was lost
 * meanwhile, the request migrates and the context is computed again.
 *
 * Ownership: borrows requests and workers; the request owns its successor.
 * Threading: loop thread.
 * Errors:    none; a request that cannot be handed over stays at its worker.
 */
#ifndef BATON_GATEWAY_LIFECYCLE_HAND_OVER_H
#define BATON_GATEWAY_LIFECYCLE_HAND_OVER_H

#include "gateway/lifecycle/lifecycle.h"

/* Whether the request's worker drains and the request can move. */
bool gw_hand_over_is_due(const struct gw_lifecycle *lifecycle, const struct gw_request *request);

/* Asks the receiver to reserve n_blocks. hashes: of the context's first blocks, or NULL. turn: as
 * gw_attempt_assign_decode. */
void gw_hand_over_begin(struct gw_request *request, struct gw_worker *receiver,
                        const struct gw_prompt_hashes *hashes, uint64_t turn, int64_t n_blocks);

/* Whether a worker's message about this attempt number concerns the request's successor. */
bool gw_hand_over_concerns(const struct gw_request *request, const struct gw_worker *worker,
                           uint32_t attempt);

/* Handle the receiver's answers. */
void gw_hand_over_reserved(struct gw_lifecycle *lifecycle, struct gw_request *request,
                           const Baton__V1__Reserved *reserved);
void gw_hand_over_rejected(struct gw_request *request);

/* Handles a failure that one of the two workers reports; the request stays at its worker. */
void gw_hand_over_broke(struct gw_lifecycle *lifecycle, struct gw_request *request,
                        const char *reason);

/* Handles HandedOver: the sender has stopped, and the receiver has the whole context. */
void gw_hand_over_done(struct gw_lifecycle *lifecycle, struct gw_request *request,
                       const Baton__V1__HandedOver *handed_over);

/* Drops the successor, if any, and tells both workers. */
void gw_hand_over_drop(struct gw_request *request, const char *reason);

/* Drops all hand-overs to a worker that is gone (is_gone) or stalled. */
void gw_hand_over_worker_lost(struct gw_lifecycle *lifecycle, const struct gw_worker *worker,
                              bool is_gone);

#endif
