/* Pools of other workers on this host, out of which contexts are copied.
 *
 * A sender offers its pool once per link (offer.h). Its KvChunks then have the places of blocks,
 * and this worker copies them: nobody but a pool's owner ever writes to it, so a sender that is
 * late, stopped or gone cannot damage the receiver's blocks. If the sender has given its blocks to
 * another sequence meanwhile, the copy is detected (engine/kv/view.c), and the transfer fails.
 *
 * Ownership: the share owns the socket of offers; views belong to their takers.
 * Threading: main thread.
 * Errors:    open: IO. take: NULL, and the log says why. copy: INVALID when the chunk lies outside
 *            the view, CORRUPT when its blocks have another owner.
 */
#ifndef BATON_WORKER_KV_SHARE_H
#define BATON_WORKER_KV_SHARE_H

#include "common/base/ticket.h"
#include "common/wire/envelope/envelope.h"
#include "engine/kv.h"

struct baton_kv_share;

/* own and ticket_key are borrowed until close. epoch: this process's life. */
enum baton_err baton_kv_share_open(const struct baton_kv *own,
                                   const struct baton_ticket_key *ticket_key, uint64_t epoch,
                                   struct baton_kv_share **share,
                                   struct baton_why *why) BATON_MUST_CHECK;
/* NULL is harmless. */
void baton_kv_share_close(struct baton_kv_share *share);

/* Accepts waiting offers and rejects strangers. Called periodically. share may be NULL. */
void baton_kv_share_poll(struct baton_kv_share *share);

/* The number of connections that were rejected. share may be NULL. */
uint64_t baton_kv_share_n_refused(const struct baton_kv_share *share);

/* Maps the pool that was offered for the link of this KvBegin; NULL: there is none, contexts
 * travel. */
struct baton_kv_view *baton_kv_share_take(struct baton_kv_share *share,
                                          const baton_envelope *begin);

/* Copies the chunk's blocks into the sequence's, which it fits. view may be NULL. */
enum baton_err baton_kv_share_copy(const struct baton_kv_view *view,
                                   const Baton__V1__KvChunk *chunk,
                                   const struct baton_seq *seq) BATON_MUST_CHECK;

#endif
