/* Hand-over: a request whose decode worker drains moves to another one with its KV cache.
 *
 *     DECODING --Reserve--> --Reserved, HandOver--> --HandedOver, DecodeStart--> DECODING elsewhere
 *
 * All the while the request is DECODING, at its own worker until HandedOver. What it is about to
 * have is its successor: an attempt that becomes the request's in the moment of HandedOver. Until
 * then a hand-over that breaks costs the client nothing. A HandedOver without a successor, because
 * the receiver was lost meanwhile, is a migration that computes the context again.
 *
 * Ownership: borrows requests and workers; the request owns its successor.
 * Threading: loop thread.
 * Errors:    none; a request that cannot be handed over stays where it is.
 */
#ifndef BATON_GATEWAY_LIFECYCLE_HAND_OVER_H
#define BATON_GATEWAY_LIFECYCLE_HAND_OVER_H

#include "gateway/lifecycle/lifecycle.h"

/* Whether the request should move and may. */
bool gw_hand_over_is_due(const struct gw_lifecycle *lifecycle, const struct gw_request *request);

/* Asks the receiver to reserve n_blocks. hashes: of the context's first blocks, or NULL. turn: as
 * gw_attempt_assign_decode. */
void gw_hand_over_begin(struct gw_request *request, struct gw_worker *receiver,
                        const struct gw_prompt_hashes *hashes, uint64_t turn, int64_t n_blocks);

/* Whether the worker speaks of the request's successor. */
bool gw_hand_over_concerns(const struct gw_request *request, const struct gw_worker *worker,
                           uint32_t attempt);

/* The receiver's answers. */
void gw_hand_over_reserved(struct gw_lifecycle *lifecycle, struct gw_request *request,
                           const Baton__V1__Reserved *reserved);
void gw_hand_over_rejected(struct gw_request *request);

/* It broke, as one of both workers says; the request stays where it is. */
void gw_hand_over_broke(struct gw_lifecycle *lifecycle, struct gw_request *request,
                        const char *reason);

/* The sender makes no more tokens, and the receiver has what it needs. */
void gw_hand_over_done(struct gw_lifecycle *lifecycle, struct gw_request *request,
                       const Baton__V1__HandedOver *handed_over);

/* Drops the successor, if any, and tells both workers. */
void gw_hand_over_drop(struct gw_request *request, const char *reason);

/* The worker is gone (is_gone) or stalled: nothing is handed over to it. */
void gw_hand_over_worker_lost(struct gw_lifecycle *lifecycle, const struct gw_worker *worker,
                              bool is_gone);

#endif
