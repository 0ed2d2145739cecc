/* The handshake: checks whether a Hello fits this fleet, creates the worker that it announces, and
 * sends the answer.
 *
 * The first worker that joins an empty fleet settles the fleet's terms. A worker that differs from
 * them is refused, because a context can only move between workers with the same terms.
 *
 * Ownership: a worker created here belongs to the caller.
 * Threading: loop thread; judge is a pure function.
 * Errors:    a Hello that does not fit gets Refused with a reason; a Hello without the token gets
 *            no answer.
 */
#ifndef BATON_GATEWAY_FLEET_HANDSHAKE_H
#define BATON_GATEWAY_FLEET_HANDSHAKE_H

#include "common/wire/cluster_token.h"
#include "gateway/fleet/worker.h"

/* This gateway's identity, with which a Hello is compared. */
struct gw_identity {
    uint64_t epoch;
    int64_t connect_ns; /* a worker that cannot be dialled within it is lost */
    const char *gateway_id;
    const struct baton_cluster_token *token;
    const struct baton_fingerprint *fingerprint; /* weights "" when this host has none */
    const struct baton_model_facts *facts;
};

/* The terms that all workers of a fleet share. */
struct gw_fleet_terms {
    char weights[BATON_SHA256_HEX], dtype[BATON_MAX_ID_BYTES + 1], kv_dtype[BATON_MAX_ID_BYTES + 1];
    char kv_layout[BATON_SHA256_HEX];
    uint32_t kv_block_tokens; /* 0: the fleet is empty, and nothing is settled */
};

/* Why a worker may not join. */
struct gw_refusal {
    Baton__V1__Refused__Code code;
    char reason[256];
};

/* Whether the Hello carries the fleet's token. For a Hello without it nothing may be opened or
 * dialled. */
bool gw_handshake_has_token(const struct gw_identity *identity, const Baton__V1__Hello *hello);

/* Whether the worker of a Hello with the token fits. False: for the reason in *refusal. */
bool gw_handshake_judge(const struct gw_identity *identity, const struct gw_fleet_terms *terms,
                        const Baton__V1__Hello *hello, struct gw_refusal *refusal);

/* Writes a reason; always false. */
bool gw_handshake_refuse(struct gw_refusal *refusal, Baton__V1__Refused__Code code, const char *fmt,
                         ...) BATON_PRINTF(3, 4);

/* Settles the terms of a fleet by the Hello of its first worker. */
void gw_handshake_settle(struct gw_fleet_terms *terms, const Baton__V1__Hello *hello);

/* Creates the worker that a Hello announces, in state JOINING, with the gateway's half of the link
 * open; wake is called when the link changes. NULL without memory, or if the Hello cannot be
 * answered: see why. */
struct gw_worker *gw_handshake_worker(const struct gw_identity *identity,
                                      const struct baton_message *message, void (*wake)(void *arg),
                                      void *wake_arg, struct baton_why *why);

void gw_handshake_send_welcome(const struct gw_identity *identity, struct gw_worker *worker);
void gw_handshake_send_refused(struct gw_worker *worker, struct gw_refusal *refusal);

#endif
