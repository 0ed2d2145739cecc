/* Tickets: 16 bytes that prove that this process itself promised something to a request.
 *
 * A ticket is a MAC (HMAC-SHA-256, cut to 128 bits) of the request and its attempt, by a key that
 * never leaves the process and lives as long. A process that did not receive the ticket cannot
 * guess it, and the issuer recognises it without storing it, even after the request has ended.
 *
 * Ownership: plain data.
 * Threading: pure functions.
 * Errors:    none; the process aborts if the kernel has no randomness (it always has).
 */
#ifndef BATON_COMMON_BASE_TICKET_H
#define BATON_COMMON_BASE_TICKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BATON_TICKET_BYTES = 16, BATON_TICKET_KEY_BYTES = 32 };

struct baton_ticket {
    uint8_t bytes[BATON_TICKET_BYTES];
};

struct baton_ticket_key {
    uint8_t bytes[BATON_TICKET_KEY_BYTES];
};

/* Draws a new random key. */
void baton_ticket_key_init(struct baton_ticket_key *key);

struct baton_ticket baton_ticket_issue(const struct baton_ticket_key *key, uint64_t request_id,
                                       uint32_t attempt);

/* True when bytes [n] are the ticket of that attempt. The time does not depend on where they
 * differ. */
bool baton_ticket_is_valid(const struct baton_ticket_key *key, uint64_t request_id,
                           uint32_t attempt, const uint8_t *bytes, size_t n);

#endif
