/* Pools of other workers on this host that contexts are copied out of.
 *
 * A sender offers its pool once per link (offer.h). Its KvChunks then say where blocks lie, and
 * this worker copies them: nobody but a pool's owner ever writes to it, so a sender that is late,
 * stopped or gone can do no harm to blocks that were given to somebody else. Where the sender has
 * given its blocks to another sequence meanwhile, the copy is found out (engine/kv/view.c), and the
 * transfer fails.
 *
 * Ownership: the share owns the socket that offers come by; views are their takers'.
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

/* Lets in whoever waits with an offer, and turns strangers away. To be called now and then. */
void baton_kv_share_look(struct baton_kv_share *share);

/* Connections with offers that were refused. share may be NULL. */
uint64_t baton_kv_share_n_refused(const struct baton_kv_share *share);

/* The pool that was offered for the link of this KvBegin; NULL: none, contexts travel. */
struct baton_kv_view *baton_kv_share_take(struct baton_kv_share *share,
                                          const baton_envelope *begin);

/* Copies what the chunk says into the sequence's blocks, which it fits. view may be NULL. */
enum baton_err baton_kv_share_copy(const struct baton_kv_view *view,
                                   const Baton__V1__KvChunk *chunk,
                                   const struct baton_seq *seq) BATON_MUST_CHECK;

#endif
