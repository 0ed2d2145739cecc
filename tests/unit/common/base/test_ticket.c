#include "tests/support/test.h"

#include "common/base/ticket.h"

static bool is_valid(const struct baton_ticket_key *key, uint64_t request_id, uint32_t attempt,
                     const struct baton_ticket *ticket)
{
    return baton_ticket_is_valid(key, request_id, attempt, ticket->bytes, sizeof ticket->bytes);
}

TEST(a_ticket_is_good_for_its_attempt_and_its_issuer_alone)
{
    struct baton_ticket_key key, other;
    baton_ticket_key_init(&key);
    baton_ticket_key_init(&other);
    struct baton_ticket ticket = baton_ticket_issue(&key, 42, 1);
    assert_true(is_valid(&key, 42, 1, &ticket));
    assert_false(is_valid(&key, 42, 2, &ticket));
    assert_false(is_valid(&key, 43, 1, &ticket));
    assert_false(is_valid(&other, 42, 1, &ticket));
}

TEST(no_bit_of_a_ticket_may_differ_and_none_may_lack)
{
    struct baton_ticket_key key;
    baton_ticket_key_init(&key);
    struct baton_ticket ticket = baton_ticket_issue(&key, 7, 3);
    for (size_t bit = 0; bit < 8 * sizeof ticket.bytes; bit++) {
        struct baton_ticket forged = ticket;
        forged.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_false(is_valid(&key, 7, 3, &forged));
    }
    for (size_t n = 0; n < sizeof ticket.bytes; n++)
        assert_false(baton_ticket_is_valid(&key, 7, 3, ticket.bytes, n));
}
