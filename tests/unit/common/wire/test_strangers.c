/* An inbox against senders that do not speak the protocol or lie about their messages. */
#include "common/base/array.h"
#include "tests/unit/common/wire/peer_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"

#include "common/wire/frame.h"
#include "common/wire/transport/strangers.h"

/* A well-behaved sender, to show that the inbox still works. */
static void expect_inbox_alive(void)
{
    struct baton_message message;
    struct baton_link *link = mailbox_dial(&box, baton_inbox_url(box.inbox), 1001, 2002, 0);
    assert_non_null(link);
    assert_ok(send_kind(link, BATON__V1__ENVELOPE__BODY_STATUS, NULL, 0));
    assert_true(mailbox_take(&box, &message, PATIENCE_MS));
    assert_int_equal(message.envelope->link, baton_link_id(link));
    baton_message_fini(&message);
    baton_link_release(link);
}

TEST(garbage_on_the_port_disturbs_no_peer)
{
    static const char *const garbage[] = {"", "\0", "GET / HTTP/1.1\r\n\r\n", "\0SP\0\0\x31\0\0",
                                          "\xff\xff\xff\xff\xff\xff\xff\xff\xff"};
    for (int round = 0; round < 4; round++)
        for (size_t i = 0; i < BATON_N_OF(garbage); i++) {
            int fd = connect_raw(baton_inbox_url(box.inbox));
            ssize_t n = write(fd, garbage[i], i == 3 ? 8 : strlen(garbage[i]));
            (void)n;
            close(fd);
        }
    expect_inbox_alive();
}

TEST(a_garbage_message_costs_its_sender_the_connection)
{
    struct baton_message message;
    struct baton_inbox_stats stats;
    const char *url = baton_inbox_url(box.inbox);
    uint8_t bytes[100];
    memset(bytes, 0x5a, sizeof bytes);
    int fd = connect_push(url, sizeof bytes);
    assert_int_equal(write(fd, bytes, sizeof bytes), sizeof bytes);
    assert_false(mailbox_take(&box, &message, 300));
    expect_hung_up(fd);
    fd = connect_push(url, 0); /* an empty message is no better */
    assert_false(mailbox_take(&box, &message, 300));
    expect_hung_up(fd);
    baton_inbox_get_stats(box.inbox, &stats);
    assert_int_equal(stats.n_rejected, 2);
    expect_inbox_alive();
}

TEST(an_envelope_with_a_wrong_field_costs_its_sender_the_connection)
{
    struct sample_envelope s;
    struct baton_message message;
    struct baton_inbox_stats stats;
    sample_envelope_init(&s, BATON__V1__ENVELOPE__BODY_STATUS);
    s.body.status.last_step_s = -1;
    int fd = push_raw(baton_inbox_url(box.inbox), &s.envelope);
    assert_false(mailbox_take(&box, &message, 300));
    expect_hung_up(fd);
    baton_inbox_get_stats(box.inbox, &stats);
    assert_int_equal(stats.n_rejected, 1);
    assert_int_equal(stats.n_received, 0);
}

TEST(an_announced_huge_message_is_not_waited_for)
{
    const char *url = baton_inbox_url(box.inbox);
    size_t max_bytes = baton_frame_size(BATON_FRAME_MAX_HEADER, BATON_FRAME_MAX_PAYLOAD);
    expect_hung_up(connect_push(url, max_bytes + 1));
    expect_hung_up(connect_push(url, UINT64_C(1) << 40));
    expect_hung_up(connect_push(url, UINT64_MAX));
    expect_inbox_alive();
}

/* ---- those that show no right to be here ---- */

/* In place of the fixture's inbox: one of that patience. */
static const char *open_patient(int64_t patience_ms)
{
    baton_inbox_close(box.inbox);
    const struct baton_inbox_options options = {.url = "tcp://127.0.0.1:0",
                                                .max_queued = 64,
                                                .patience_ns = patience_ms * BATON_MS,
                                                .wake = baton_doorbell_ring,
                                                .wake_arg = &box.bell};
    assert_ok(baton_inbox_open(&options, &box.inbox, NULL));
    return baton_inbox_url(box.inbox);
}

enum { FOR_EVER_MS = 3600 * 1000 };

TEST(a_stranger_has_a_time_to_show_its_right_and_who_has_shown_it_stays)
{
    struct baton_message message;
    struct baton_inbox_stats stats;
    const char *url = open_patient(1000);
    struct baton_link *friend = mailbox_dial(&box, url, 1001, 2002, 0);
    assert_non_null(friend);
    assert_ok(send_kind(friend, BATON__V1__ENVELOPE__BODY_STATUS, NULL, 0));
    assert_true(mailbox_take(&box, &message, PATIENCE_MS));
    baton_inbox_admit(box.inbox, &message);
    baton_message_fini(&message);
    expect_hung_up(connect_push(url, 100)); /* it announces a message, and no more */
    assert_ok(send_kind(friend, BATON__V1__ENVELOPE__BODY_STATUS, NULL, 0));
    assert_true(mailbox_take(&box, &message, PATIENCE_MS));
    baton_message_fini(&message);
    do /* it is counted soon after */
        baton_inbox_get_stats(box.inbox, &stats);
    while (!stats.strangers.n_silent && !sched_yield());
    assert_int_equal(stats.strangers.n_silent, 1);
    baton_link_release(friend);
}

static uint64_t n_silent(void)
{
    struct baton_inbox_stats stats;
    baton_inbox_get_stats(box.inbox, &stats);
    return stats.strangers.n_silent;
}

/* NNG reports no pipe before that. */
TEST(a_stranger_has_no_more_time_for_its_greeting)
{
    int fd = connect_raw(open_patient(200));
    expect_hung_up(fd);
    while (!n_silent() && !sched_yield())
        ;
    assert_int_equal(n_silent(), 1);
    expect_inbox_alive();
}

TEST(a_message_alone_shows_no_right)
{
    struct baton_message message;
    struct baton_link *link = mailbox_dial(&box, open_patient(200), 1001, 2002, 0);
    assert_ok(send_kind(link, BATON__V1__ENVELOPE__BODY_STATUS, NULL, 0));
    assert_true(mailbox_take(&box, &message, PATIENCE_MS));
    baton_message_fini(&message);
    assert_true(mailbox_await(&box, link, BATON_OUTBOX_DOWN, PATIENCE_MS));
    baton_link_release(link);
}

/* How many of fds [n] were hung up; those are closed, and become -1. */
static int count_hung_up(int *fds, int n)
{
    int n_ended = 0;
    for (int i = 0; i < n; i++) {
        struct pollfd polled = {.fd = fds[i], .events = POLLRDHUP};
        if (fds[i] < 0 || !poll(&polled, 1, 0))
            continue;
        close(fds[i]);
        fds[i] = -1;
        n_ended++;
    }
    return n_ended;
}

/* Waits until n connections were counted, in the order in which they came. */
static void await_counted(uint64_t n)
{
    struct baton_inbox_stats stats;
    int64_t end_ns = baton_now_ns() + PATIENCE_MS * BATON_MS;
    do {
        assert_true(baton_now_ns() < end_ns && !sched_yield());
        baton_inbox_get_stats(box.inbox, &stats);
    } while (n <= BATON_MAX_STRANGERS_OF_ADDRESS
                 ? stats.strangers.n_open < n
                 : stats.strangers.n_crowded < n - BATON_MAX_STRANGERS_OF_ADDRESS);
}

TEST(a_crowd_of_one_address_ends_its_oldest_but_for_those_whose_place_is_kept)
{
    enum { N_MORE = 4, N_KEPT = BATON_MAX_STRANGERS_OF_ADDRESS / 2 };
    enum { N = BATON_MAX_STRANGERS_OF_ADDRESS + N_MORE };
    const char *url = open_patient(FOR_EVER_MS);
    int64_t end_ns = baton_now_ns() + PATIENCE_MS * BATON_MS;
    int fds[N], n_ended = 0;
    for (int i = 0; i < N; i++) {
        fds[i] = connect_push(url, 100);
        await_counted((uint64_t)i + 1);
    }
    while ((n_ended += count_hung_up(fds, N)) < N_MORE)
        assert_true(baton_now_ns() < end_ns && !sched_yield());
    assert_int_equal(n_ended, N_MORE);
    for (int i = 0; i < N; i++)
        assert_int_equal(fds[i] < 0, i >= N_KEPT && i < N_KEPT + N_MORE);
    for (int i = 0; i < N; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    expect_inbox_alive();
}

/* Nothing tells of a connection without a greeting but the descriptors of the process. The first
 * one is known by then, since its place is kept; it greets, and is the same stranger. */
TEST(connections_without_a_greeting_are_few_and_one_that_greets_late_is_admitted)
{
    enum { N_MORE = 8, N = BATON_MAX_STRANGERS_OF_ADDRESS + N_MORE };
    struct sample_envelope s;
    struct baton_message message;
    struct baton_inbox_stats stats;
    const char *url = open_patient(FOR_EVER_MS);
    int64_t end_ns = baton_now_ns() + PATIENCE_MS * BATON_MS;
    int fds[N], n_ended = 0;
    for (int i = 0; i < N; i++) {
        fds[i] = connect_raw(url);
        await_counted((uint64_t)i + 1);
    }
    while ((n_ended += count_hung_up(fds, N)) < N_MORE)
        assert_true(baton_now_ns() < end_ns && !sched_yield());
    baton_inbox_get_stats(box.inbox, &stats);
    assert_int_equal(n_ended, N_MORE);
    assert_int_equal(stats.strangers.n_crowded, N_MORE);
    sample_envelope_init(&s, BATON__V1__ENVELOPE__BODY_STATUS);
    push_on(fds[0], &s.envelope);
    assert_true(mailbox_take(&box, &message, PATIENCE_MS));
    baton_inbox_admit(box.inbox, &message);
    baton_message_fini(&message);
    expect_inbox_alive();
    assert_int_equal(count_hung_up(fds, 1), 0);
    for (int i = 0; i < N; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

/* As when many workers begin at once, and the first is slow to speak. */
TEST(who_came_before_a_crowd_is_given_time_to_speak)
{
    enum { N = 3 * BATON_MAX_STRANGERS_OF_ADDRESS };
    struct baton_message message;
    const char *url = open_patient(FOR_EVER_MS);
    struct baton_link *link = mailbox_dial(&box, url, 1001, 2002, 0);
    int fds[N];
    assert_true(mailbox_await(&box, link, BATON_OUTBOX_UP, PATIENCE_MS));
    for (int i = 0; i < N; i++)
        fds[i] = connect_push(url, 100);
    assert_ok(send_kind(link, BATON__V1__ENVELOPE__BODY_STATUS, NULL, 0));
    assert_true(mailbox_take(&box, &message, PATIENCE_MS));
    assert_int_equal(message.envelope->link, baton_link_id(link));
    baton_message_fini(&message);
    for (int i = 0; i < N; i++)
        close(fds[i]);
    baton_link_release(link);
}

static void await_greedy(uint64_t n)
{
    struct baton_inbox_stats stats;
    int64_t end_ns = baton_now_ns() + PATIENCE_MS * BATON_MS;
    do {
        assert_true(baton_now_ns() < end_ns && !sched_yield());
        baton_inbox_get_stats(box.inbox, &stats);
    } while (stats.strangers.n_greedy < n);
}

TEST(unfinished_messages_of_strangers_hold_little_memory_together)
{
    enum { N = 7, BYTES = 4 << 20 }; /* nearly twice what they may hold */
    const char *url = open_patient(FOR_EVER_MS);
    uint8_t *bytes = calloc(1, BYTES);
    int fds[N];
    for (int i = 0; i < N; i++) {
        fds[i] = connect_push(url, BYTES);
        (void)send(fds[i], bytes, BYTES - 1, MSG_NOSIGNAL); /* fails for one that is ended */
    }
    await_greedy(3);
    for (int i = 0; i < N; i++)
        close(fds[i]);
    free(bytes);
    expect_inbox_alive();
}

TEST(a_sender_is_hung_up_when_no_descriptor_is_free)
{
    enum { MAX_FILES = 512 };
    struct rlimit before, few;
    struct baton_message message;
    int fd = connect_push(baton_inbox_url(box.inbox), 100), n = 0, taken[MAX_FILES];
    uint8_t bytes[100] = {0};
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = (struct rlimit){MAX_FILES, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    while (n < MAX_FILES && (taken[n] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
        n++;
    assert_true(n < MAX_FILES);
    assert_int_equal(write(fd, bytes, sizeof bytes), sizeof bytes);
    assert_false(mailbox_take(&box, &message, 300));
    expect_hung_up(fd);
    while (n)
        close(taken[--n]);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    expect_inbox_alive();
}

EACH_TEST(peer_set_up, peer_tear_down)
