/* The offer of a KV pool to a worker on the same host: one message over a Unix socket, with the
 * pool's file. Afterwards the sender's contexts need not travel (engine/kv/view.c): KvChunk only
 * has the place of a piece.
 *
 *     sender                                    receiver
 *     connects to @baton-kv-<digest>  ------->  listens
 *     sends the offer and the file, closes
 *     KvBegin(shares), on the link that the offer names  ---->  takes the offer of that link, and
 *                                                               confirms it in KvAck
 *
 * The offer arrives before the KvBegin that refers to it, so nobody waits. The socket's name is
 * abstract: it needs no directory, leaves no file behind, and is visible where both share a network
 * namespace. It is a digest of the receiver's epoch: all users of the host can read the name, and
 * learn no epoch from it. Each side checks the other's user (SO_PEERCRED): a pool contains users'
 * prompts, and is given to processes of the same user only. The ticket of the reservation
 * (common/base/ticket.h) proves that a gateway of the fleet sent the sender here.
 *
 *     bytes   0 magic         8 version   12 n_blocks         16 link         24 sender_epoch
 *            32 receiver_epoch  40 request_id  48 attempt       52 zero
 *            56 ticket          72 kv_layout, to 136;           integers are little-endian
 *
 * Ownership: plain data; files are borrowed, except the one that take returns.
 * Threading: one thread.
 * Errors:    parse: INVALID, with the field. send: NOT_FOUND (nobody listens: another host), AGAIN
 *            (too many wait there), PEER (another user's process), IO, NO_MEMORY.
 */
#ifndef BATON_WORKER_KV_OFFER_H
#define BATON_WORKER_KV_OFFER_H

#include "common/base/digest.h"
#include "common/base/error.h"
#include "common/base/ticket.h"

enum { BATON_KV_OFFER_BYTES = 136, BATON_KV_OFFER_MAX_BLOCKS = (1 << 24) - 1 };

/* Offers that wait for their KvBegin; connections of other users are closed at once. */
enum { BATON_KV_OFFERS_MAX = 16 };

struct baton_kv_offer {
    uint64_t link; /* on which the contexts come */
    uint64_t sender_epoch, receiver_epoch;
    uint64_t request_id; /* the first of them */
    uint32_t attempt;
    uint32_t n_blocks; /* of the pool */
    struct baton_ticket ticket;
    char kv_layout[BATON_SHA256_HEX]; /* of the pool */
};

void baton_kv_offer_pack(const struct baton_kv_offer *offer, uint8_t bytes[BATON_KV_OFFER_BYTES]);
enum baton_err baton_kv_offer_parse(const uint8_t *bytes, size_t n, struct baton_kv_offer *offer,
                                    struct baton_why *why) BATON_MUST_CHECK;

/* The socket's abstract name, without its leading zero byte. NO_MEMORY. */
enum { BATON_KV_OFFER_NAME_BYTES = 32 };
enum baton_err baton_kv_offer_name(uint64_t epoch,
                                   char name[BATON_KV_OFFER_NAME_BYTES]) BATON_MUST_CHECK;

/* Sends the offer with the file fd to the life receiver_epoch of a worker. Does not wait. */
enum baton_err baton_kv_offer_send(const struct baton_kv_offer *offer, int fd,
                                   struct baton_why *why) BATON_MUST_CHECK;

/* The receiving end. */
struct baton_kv_offers;

/* Listens under the name of this life. IO. */
enum baton_err baton_kv_offers_open(uint64_t epoch, struct baton_kv_offers **offers,
                                    struct baton_why *why) BATON_MUST_CHECK;
/* NULL is harmless. */
void baton_kv_offers_close(struct baton_kv_offers *offers);

/* Accepts connections, at most 64, and reads their offers. Called periodically: otherwise strangers
 * would keep the queue of connections full. */
void baton_kv_offers_poll(struct baton_kv_offers *offers);

/* Polls, and returns the file of the link's offer, which the caller owns then; -1:
 * there is none. */
int baton_kv_offers_take(struct baton_kv_offers *offers, uint64_t link,
                         struct baton_kv_offer *offer);

/* Connections that were closed: of other users, without a valid offer, or too many. */
uint64_t baton_kv_offers_n_refused(const struct baton_kv_offers *offers);

#endif
