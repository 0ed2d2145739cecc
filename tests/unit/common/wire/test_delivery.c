/* The promises of a link to a sender: order, no loss, back-pressure, and notice of a dead peer. The
 * peer is a process that only counts. */
#include "tests/unit/common/wire/peer_fixture.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/digest.h"

/* Waits until the queue has drained; for senders that outrun their receiver. */
static void send_patiently(struct baton_link *link, Baton__V1__Envelope__BodyCase kind,
                           const void *payload, size_t n)
{
    enum baton_err err;
    int64_t until_ns = baton_now_ns() + PATIENCE_MS * BATON_MS;
    while ((err = send_kind(link, kind, payload, n)) == BATON_AGAIN && baton_now_ns() < until_ns)
        baton_doorbell_wait(&box.bell, BATON_SECOND);
    assert_ok(err);
}

static struct baton_link *open_sink(bool hold)
{
    const char *const argv[] = {WIRE_PEER, "sink", hold ? "hold" : NULL, NULL};
    char url[128];
    peer_start(argv, url, sizeof url);
    struct baton_link *link = mailbox_dial(&box, url, 1001, 2002, 0);
    assert_non_null(link);
    assert_true(mailbox_await(&box, link, BATON_OUTBOX_UP, PATIENCE_MS));
    return link;
}

static void expect_end(uint64_t n, uint64_t bytes, uint32_t crc)
{
    char line[256], wanted[256];
    assert_true(process_expect(&peer, "end ", line, sizeof line, PATIENCE_MS));
    (void)snprintf(wanted, sizeof wanted, "end n=%" PRIu64 " bytes=%" PRIu64 " gaps=0 crc=%08x", n,
                   bytes, crc);
    assert_string_equal(line, wanted);
}

/* By its pipe: nothing is sent, and no heartbeat is due. */
TEST(a_killed_peer_is_noticed)
{
    struct baton_link *link = open_sink(false);
    (void)kill(peer.pid, SIGKILL);
    assert_true(mailbox_await(&box, link, BATON_OUTBOX_DOWN, PATIENCE_MS));
    assert_int_equal(send_kind(link, BATON__V1__ENVELOPE__BODY_STATUS, NULL, 0), BATON_CLOSED);
    baton_link_release(link);
    process_end(&peer);
}

TEST(a_stopped_peer_makes_no_event)
{
    struct baton_link *link = open_sink(false);
    (void)kill(peer.pid, SIGSTOP);
    assert_false(mailbox_await(&box, link, BATON_OUTBOX_DOWN, 1000));
    (void)kill(peer.pid, SIGCONT);
    assert_ok(send_kind(link, BATON__V1__ENVELOPE__BODY_KV_END, NULL, 0));
    expect_end(1, 0, 0);
    baton_link_release(link);
}

TEST(many_messages_arrive_in_order)
{
    enum { N = 50000 };
    struct baton_link *link = open_sink(false);
    for (int i = 1; i < N; i++)
        send_patiently(link, BATON__V1__ENVELOPE__BODY_TOKENS, NULL, 0);
    send_patiently(link, BATON__V1__ENVELOPE__BODY_KV_END, NULL, 0);
    expect_end(N, 0, 0);
    baton_link_release(link);
}

TEST(forty_megabytes_of_context_arrive_intact)
{
    enum { CHUNK = 256 << 10, N_CHUNKS = 160 };
    struct baton_link *link = open_sink(false);
    uint8_t *data = malloc((size_t)CHUNK * N_CHUNKS);
    assert_non_null(data);
    uint64_t x = 88172645463325252;
    for (size_t i = 0; i < (size_t)CHUNK * N_CHUNKS; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        data[i] = (uint8_t)x;
    }
    for (size_t i = 0; i < N_CHUNKS; i++)
        send_patiently(link, BATON__V1__ENVELOPE__BODY_KV_CHUNK, data + i * CHUNK, CHUNK);
    send_patiently(link, BATON__V1__ENVELOPE__BODY_KV_END, NULL, 0);
    expect_end(N_CHUNKS + 1, (uint64_t)CHUNK * N_CHUNKS,
               baton_crc32c(0, data, (size_t)CHUNK * N_CHUNKS));
    baton_link_release(link);
    free(data);
}

TEST(back_pressure_reaches_the_sender_and_loses_nothing)
{
    enum { CHUNK = 64 << 10, N_CHUNKS = 3000 }; /* 188 MiB: more than every buffer on the way */
    struct baton_link *link = open_sink(true);
    uint8_t *chunk = calloc(1, CHUNK);
    assert_non_null(chunk);
    uint32_t crc = 0;
    int n = 0;
    for (; n < N_CHUNKS; n++) {
        memset(chunk, n, CHUNK);
        if (send_kind(link, BATON__V1__ENVELOPE__BODY_KV_CHUNK, chunk, CHUNK) == BATON_AGAIN)
            break;
        crc = baton_crc32c(crc, chunk, CHUNK);
    }
    assert_true(n < N_CHUNKS);
    process_order(&peer, "go\n");
    for (; n < N_CHUNKS; n++) {
        memset(chunk, n, CHUNK);
        send_patiently(link, BATON__V1__ENVELOPE__BODY_KV_CHUNK, chunk, CHUNK);
        crc = baton_crc32c(crc, chunk, CHUNK);
    }
    send_patiently(link, BATON__V1__ENVELOPE__BODY_KV_END, NULL, 0);
    expect_end(N_CHUNKS + 1, (uint64_t)CHUNK * N_CHUNKS, crc);
    baton_link_release(link);
    free(chunk);
}

TEST(links_closed_and_peers_killed_under_load_leave_the_rest_working)
{
    uint8_t *chunk = calloc(1, 256 << 10);
    assert_non_null(chunk);
    for (int round = 0; round < 20; round++) {
        struct baton_link *link = open_sink(false);
        for (int i = 0; i < 20; i++)
            send_patiently(link, BATON__V1__ENVELOPE__BODY_KV_CHUNK, chunk, 256 << 10);
        if (round % 2)
            baton_link_close(link);
        process_end(&peer);
        assert_true(mailbox_await(&box, link, BATON_OUTBOX_DOWN, PATIENCE_MS));
        baton_link_release(link);
    }
    free(chunk);
}

EACH_TEST(peer_set_up, peer_tear_down)
