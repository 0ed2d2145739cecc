#include "tests/support/test.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "common/wire/transport/known_pipes.h"

static struct baton_known_pipes known;

static struct baton_peer_key ip4(const char *host, uint16_t port)
{
    struct sockaddr_storage peer = {.ss_family = AF_INET};
    struct sockaddr_in *in = (struct sockaddr_in *)(void *)&peer;
    in->sin_port = htons(port);
    assert_int_equal(inet_pton(AF_INET, host, &in->sin_addr), 1);
    return baton_peer_key_of(&peer);
}

static struct baton_peer_key ip6(const char *host, uint16_t port)
{
    struct sockaddr_storage peer = {.ss_family = AF_INET6};
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)(void *)&peer;
    in6->sin6_port = htons(port);
    in6->sin6_scope_id = port; /* no part of the key */
    assert_int_equal(inet_pton(AF_INET6, host, &in6->sin6_addr), 1);
    return baton_peer_key_of(&peer);
}

SETUP(begin)
{
    baton_known_pipes_init(&known);
}

static bool has(struct baton_peer_key peer)
{
    return baton_known_pipes_see(&known, &peer, 0);
}

static void add(uint32_t pipe, struct baton_peer_key peer)
{
    assert_ok(baton_known_pipes_add(&known, pipe, &peer, 0));
}

TEST(a_pipe_is_known_by_address_port_and_family_until_it_is_removed)
{
    add(7, ip4("10.0.0.1", 80));
    add(8, ip6("fd00::1", 80));
    assert_true(has(ip4("10.0.0.1", 80)) && has(ip6("fd00::1", 80)));
    assert_false(has(ip4("10.0.0.1", 81)) || has(ip4("10.0.0.2", 80)) || has(ip6("a00:1::", 80)));
    baton_known_pipes_remove(&known, 7);
    baton_known_pipes_remove(&known, 7);
    assert_false(has(ip4("10.0.0.1", 80)));
    baton_known_pipes_remove(&known, 8);
    assert_false(has(ip6("fd00::1", 80)));
}

/* A peer that connects again may take the port of a pipe that is not quite gone. */
TEST(a_peer_with_two_pipes_is_known_until_both_are_removed)
{
    add(1, ip4("10.0.0.1", 80));
    add(2, ip4("10.0.0.1", 80));
    baton_known_pipes_remove(&known, 1);
    assert_true(has(ip4("10.0.0.1", 80)));
    baton_known_pipes_remove(&known, 2);
    assert_false(has(ip4("10.0.0.1", 80)));
}

TEST(a_pipe_that_is_not_seen_for_long_is_taken_once_in_that_time)
{
    struct baton_peer_key first = ip4("10.0.0.1", 80), second = ip4("10.0.0.2", 80);
    add(1, first);
    add(2, second);
    assert_int_equal(baton_known_pipes_take_unseen(&known, 0, 1), 0);
    assert_true(baton_known_pipes_see(&known, &first, 5));
    assert_int_equal(baton_known_pipes_take_unseen(&known, 5, 9), 2);
    assert_int_equal(baton_known_pipes_take_unseen(&known, 5, 9), 0);
    assert_int_equal(baton_known_pipes_take_unseen(&known, 6, 9), 1);
    assert_int_equal(baton_known_pipes_take_unseen(&known, 10, 11), 2);
    baton_known_pipes_remove(&known, 1);
    baton_known_pipes_remove(&known, 2);
    assert_int_equal(baton_known_pipes_take_unseen(&known, 100, 100), 0);
}

EACH_TEST(begin, NULL)
