/* The pipes of an inbox and the addresses of their peers: which connections to its port NNG has
 * reported.
 *
 * A connection whose peer has no pipe here is still in its handshake, and a pipe whose connection
 * is not seen any more is one that NNG has forgotten (strangers.h).
 *
 * Ownership: the table owns its entries. It needs no end after the last pipe was removed.
 * Threading: one thread at a time.
 * Errors:    add: NO_MEMORY.
 */
#ifndef BATON_COMMON_WIRE_TRANSPORT_KNOWN_PIPES_H
#define BATON_COMMON_WIRE_TRANSPORT_KNOWN_PIPES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include "common/base/error.h"
#include "common/base/hash.h"
#include "common/base/list.h"

/* Port and address, without what else differs between two structs of one peer. */
struct baton_peer_key {
    char bytes[20];
};

struct baton_peer_key baton_peer_key_of(const struct sockaddr_storage *peer);

static inline bool baton_peer_key_is(const struct baton_peer_key *a, const struct baton_peer_key *b)
{
    return !memcmp(a->bytes, b->bytes, sizeof a->bytes);
}

struct baton_known_pipe {
    struct baton_hash_node by_pipe, by_peer;
    struct baton_node by_sight;
    uint32_t pipe;
    struct baton_peer_key peer;
    int64_t seen_ns; /* when it was added or its connection seen, last */
};

BATON_HASH_TABLE(baton_pipes_by_id, struct baton_known_pipe, by_pipe)
BATON_HASH_TABLE(baton_pipes_by_peer, struct baton_known_pipe, by_peer)

BATON_LIST(baton_pipes_by_sight, struct baton_known_pipe, by_sight)

struct baton_known_pipes {
    struct baton_pipes_by_id by_id;
    struct baton_pipes_by_peer by_peer;
    struct baton_pipes_by_sight by_sight; /* the one not seen for longest is first */
};

void baton_known_pipes_init(struct baton_known_pipes *known);

enum baton_err baton_known_pipes_add(struct baton_known_pipes *known, uint32_t pipe,
                                     const struct baton_peer_key *peer,
                                     int64_t now_ns) BATON_MUST_CHECK;
/* The peer's connection was seen. False: it has no pipe. */
bool baton_known_pipes_see(struct baton_known_pipes *known, const struct baton_peer_key *peer,
                           int64_t now_ns);
/* Returns a pipe that was not seen since then, and counts it as seen now; 0: there is none. */
uint32_t baton_known_pipes_take_unseen(struct baton_known_pipes *known, int64_t since_ns,
                                       int64_t now_ns);
/* Harmless for a pipe that is not there. */
void baton_known_pipes_remove(struct baton_known_pipes *known, uint32_t pipe);

#endif
