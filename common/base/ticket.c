#include "common/base/ticket.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

void baton_ticket_key_init(struct baton_ticket_key *key)
{
    if (getrandom(key->bytes, sizeof key->bytes, 0) != (ssize_t)sizeof key->bytes)
        abort();
}

struct baton_ticket baton_ticket_issue(const struct baton_ticket_key *key, uint64_t request_id,
                                       uint32_t attempt)
{
    uint8_t named[sizeof request_id + sizeof attempt], mac[EVP_MAX_MD_SIZE];
    unsigned n_mac = 0;
    struct baton_ticket ticket;
    /* Both parts have a fixed size, so that no other pair gives the same bytes. */
    memcpy(named, &request_id, sizeof request_id);
    memcpy(named + sizeof request_id, &attempt, sizeof attempt);
    if (!HMAC(EVP_sha256(), key->bytes, sizeof key->bytes, named, sizeof named, mac, &n_mac) ||
        n_mac < sizeof ticket.bytes)
        abort();
    memcpy(ticket.bytes, mac, sizeof ticket.bytes);
    return ticket;
}

bool baton_ticket_is_valid(const struct baton_ticket_key *key, uint64_t request_id,
                           uint32_t attempt, const uint8_t *bytes, size_t n)
{
    struct baton_ticket right = baton_ticket_issue(key, request_id, attempt);
    return n == sizeof right.bytes && !CRYPTO_memcmp(bytes, right.bytes, n);
}
