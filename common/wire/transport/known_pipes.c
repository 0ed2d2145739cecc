#include "common/wire/transport/known_pipes.h"

#include <netinet/in.h>
#include <stdlib.h>

struct baton_peer_key baton_peer_key_of(const struct sockaddr_storage *peer)
{
    struct baton_peer_key key = {{0}};
    if (peer->ss_family == AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)peer;
        memcpy(key.bytes, &in->sin_port, 2);
        memcpy(key.bytes + 4, &in->sin_addr, 4);
    } else if (peer->ss_family == AF_INET6) {
        const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)(const void *)peer;
        memcpy(key.bytes, &in6->sin6_port, 2);
        key.bytes[2] = 1; /* no address of the other family */
        memcpy(key.bytes + 4, &in6->sin6_addr, 16);
    }
    return key;
}

static uint64_t hash_of(const struct baton_peer_key *key)
{
    return baton_hash_bytes(key->bytes, sizeof key->bytes);
}

void baton_known_pipes_init(struct baton_known_pipes *known)
{
    *known = (struct baton_known_pipes){0};
    baton_pipes_by_sight_init(&known->by_sight);
}

enum baton_err baton_known_pipes_add(struct baton_known_pipes *known, uint32_t pipe,
                                     const struct baton_peer_key *peer, int64_t now_ns)
{
    struct baton_known_pipe *added = calloc(1, sizeof *added);
    if (!added)
        return BATON_NO_MEMORY;
    added->pipe = pipe;
    added->peer = *peer;
    added->seen_ns = now_ns;
    baton_pipes_by_id_put(&known->by_id, added, pipe);
    baton_pipes_by_peer_put(&known->by_peer, added, hash_of(peer));
    baton_pipes_by_sight_push_back(&known->by_sight, added);
    return BATON_OK;
}

static void see(struct baton_known_pipes *known, struct baton_known_pipe *seen, int64_t now_ns)
{
    seen->seen_ns = now_ns;
    baton_pipes_by_sight_remove(&known->by_sight, seen);
    baton_pipes_by_sight_push_back(&known->by_sight, seen);
}

bool baton_known_pipes_see(struct baton_known_pipes *known, const struct baton_peer_key *peer,
                           int64_t now_ns)
{
    bool any = false;
    struct baton_known_pipe *found = baton_pipes_by_peer_first(&known->by_peer, hash_of(peer));
    for (; found; found = baton_pipes_by_peer_next(found))
        if (baton_peer_key_is(&found->peer, peer)) {
            see(known, found, now_ns);
            any = true;
        }
    return any;
}

uint32_t baton_known_pipes_take_unseen(struct baton_known_pipes *known, int64_t since_ns,
                                       int64_t now_ns)
{
    struct baton_known_pipe *first = baton_pipes_by_sight_first(&known->by_sight);
    if (!first || first->seen_ns >= since_ns)
        return 0;
    see(known, first, now_ns);
    return first->pipe;
}

void baton_known_pipes_remove(struct baton_known_pipes *known, uint32_t pipe)
{
    struct baton_known_pipe *found = baton_pipes_by_id_first(&known->by_id, pipe);
    if (!found)
        return;
    baton_pipes_by_id_remove(&known->by_id, found);
    baton_pipes_by_peer_remove(&known->by_peer, found);
    baton_pipes_by_sight_remove(&known->by_sight, found);
    free(found);
}
