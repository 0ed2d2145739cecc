/* The pipes of an inbox and the addresses of their peers: which connections to its port NNG has
 * reported.
 *
 * A connection whose peer has no pipe here is still in its handshake (strangers.h).
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
    uint32_t pipe;
    struct baton_peer_key peer;
};

BATON_HASH_TABLE(baton_pipes_by_id, struct baton_known_pipe, by_pipe)
BATON_HASH_TABLE(baton_pipes_by_peer, struct baton_known_pipe, by_peer)

/* Zeroed it is empty. */
struct baton_known_pipes {
    struct baton_pipes_by_id by_id;
    struct baton_pipes_by_peer by_peer;
};

enum baton_err baton_known_pipes_add(struct baton_known_pipes *known, uint32_t pipe,
                                     const struct baton_peer_key *peer) BATON_MUST_CHECK;
bool baton_known_pipes_have_peer(const struct baton_known_pipes *known,
                                 const struct baton_peer_key *peer);
/* Harmless for a pipe that is not there. */
void baton_known_pipes_remove(struct baton_known_pipes *known, uint32_t pipe);

#endif
