#include "tests/support/test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/wire/frame.h"
#include "tests/support/mailbox.h"
#include "tests/support/sample_envelope.h"

enum { PATIENCE_MS = 120000, QUEUE = 64 };

static enum baton_err send_kind(struct baton_link *link, Baton__V1__Envelope__BodyCase kind,
                                const void *payload, size_t n)
{
    struct sample_envelope s;
    sample_envelope_init(&s, kind);
    return baton_link_send(link, &s.envelope, payload, n);
}

/* Two mailboxes and a link from the first to the second. */
static struct {
    struct mailbox from, to;
    struct baton_link *link;
} pair;

SETUP(open_pair)
{
    assert_false(mailbox_open(&pair.from, NULL, QUEUE) || mailbox_open(&pair.to, NULL, QUEUE));
    pair.link = mailbox_dial(&pair.from, baton_inbox_url(pair.to.inbox), 1001, 2002, 0);
    assert_non_null(pair.link);
}

TEARDOWN(close_pair)
{
    baton_link_release(pair.link);
    mailbox_close(&pair.from);
    if (pair.to.inbox)
        mailbox_close(&pair.to);
}

TEST(an_envelope_and_its_payload_arrive_as_sent)
{
    struct baton_message message;
    uint8_t payload[1000];
    for (size_t i = 0; i < sizeof payload; i++)
        payload[i] = (uint8_t)(i * 31);
    assert_ok(send_kind(pair.link, BATON__V1__ENVELOPE__BODY_KV_CHUNK, payload, sizeof payload));
    assert_true(mailbox_take(&pair.to, &message, PATIENCE_MS));
    assert_int_equal(message.envelope->body_case, BATON__V1__ENVELOPE__BODY_KV_CHUNK);
    assert_int_equal(message.envelope->link, baton_link_id(pair.link));
    assert_int_equal(message.payload_bytes, sizeof payload);
    assert_memory_equal(message.payload, payload, sizeof payload);
    assert_int_equal((uintptr_t)message.payload % 4, 0);
    assert_string_equal(message.peer_host, "127.0.0.1");
    baton_message_fini(&message);
    struct baton_inbox_stats stats;
    baton_inbox_get_stats(pair.to.inbox, &stats);
    assert_int_equal(stats.n_received, 1);
    assert_true(stats.n_bytes > sizeof payload);
}

TEST(a_link_comes_up_and_goes_down_for_good_with_its_peer)
{
    assert_true(mailbox_await(&pair.from, pair.link, BATON_OUTBOX_UP, PATIENCE_MS));
    char url[64];
    (void)snprintf(url, sizeof url, "%s", baton_inbox_url(pair.to.inbox));
    mailbox_close(&pair.to);
    pair.to.inbox = NULL;
    assert_true(mailbox_await(&pair.from, pair.link, BATON_OUTBOX_DOWN, PATIENCE_MS));
    assert_int_equal(send_kind(pair.link, BATON__V1__ENVELOPE__BODY_STATUS, NULL, 0), BATON_CLOSED);

    /* Another life on the same port gets nothing from the old link, though NNG dials again. */
    struct baton_message message;
    assert_ok(mailbox_open(&pair.to, url, QUEUE));
    assert_false(mailbox_take(&pair.to, &message, 500));
    assert_int_equal(baton_link_state(pair.link), BATON_OUTBOX_DOWN);
}

TEST(what_was_sent_before_the_peer_listens_arrives_once_it_does)
{
    char url[64];
    struct baton_message message;
    (void)snprintf(url, sizeof url, "%s", baton_inbox_url(pair.to.inbox));
    mailbox_close(&pair.to);
    struct baton_link *early = mailbox_dial(&pair.from, url, 1001, 2002, 0);
    assert_non_null(early);
    assert_ok(send_kind(early, BATON__V1__ENVELOPE__BODY_STATUS, NULL, 0));
    assert_int_equal(baton_link_state(early), BATON_OUTBOX_CONNECTING);
    assert_int_equal(baton_link_n_unacked(early), 1);
    assert_ok(mailbox_open(&pair.to, url, QUEUE));
    assert_true(mailbox_take(&pair.to, &message, PATIENCE_MS));
    baton_message_fini(&message);
    baton_link_release(early);
}

/* A port that nobody listens on, and that nobody else can take while it is held. */
static int hold_port(char url[64])
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, n), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &n), 0);
    (void)snprintf(url, 64, "tcp://127.0.0.1:%u", (unsigned)ntohs(address.sin_port));
    return fd;
}

TEST(a_peer_that_is_not_reached_in_time_is_given_up)
{
    struct baton_link *link;
    char url[64];
    int held = hold_port(url);
    struct baton_link_options options = {.url = url,
                                         .local_epoch = 1001,
                                         .connect_ns = 20 * BATON_MS,
                                         .wake = baton_doorbell_ring,
                                         .wake_arg = &pair.from.bell};
    assert_ok(baton_link_open(&options, &link, NULL));
    for (int64_t end_ns = baton_now_ns() + PATIENCE_MS * BATON_MS;
         baton_link_state(link) != BATON_OUTBOX_DOWN;)
        assert_true(baton_now_ns() < end_ns && !sched_yield());
    assert_int_equal(send_kind(link, BATON__V1__ENVELOPE__BODY_HELLO, NULL, 0), BATON_CLOSED);
    baton_link_release(link);
    (void)close(held);
}

/* As the peer that has the message. */
static void acknowledge(struct baton_link *link, const struct baton_message *message)
{
    struct sample_envelope s;
    sample_envelope_init(&s, BATON__V1__ENVELOPE__BODY_STATUS);
    s.envelope.src_epoch = message->envelope->dst_epoch;
    s.envelope.dst_epoch = message->envelope->src_epoch;
    s.envelope.link = message->envelope->link;
    s.envelope.link_seq = message->envelope->link_seq; /* an answer to each */
    s.envelope.link_ack = message->envelope->link_seq;
    assert_int_equal(baton_link_accept(link, &s.envelope, baton_now_ns()), BATON_LINK_FRESH);
}

TEST(a_link_without_unacknowledged_messages_may_be_closed_without_losing_its_last_words)
{
    struct baton_message message;
    const int n_messages = 50;
    for (int i = 0; i < n_messages; i++)
        assert_ok(send_kind(pair.link, BATON__V1__ENVELOPE__BODY_STATUS, NULL, 0));
    int taken = 0;
    for (; baton_link_n_unacked(pair.link); taken++) {
        assert_true(mailbox_take(&pair.to, &message, PATIENCE_MS));
        acknowledge(pair.link, &message);
        baton_message_fini(&message);
    }
    assert_int_equal(taken, n_messages);
    baton_link_close(pair.link);
    assert_false(mailbox_take(&pair.to, &message, 0));
}

TEST(too_much_for_a_frame_is_refused_and_counts_for_nothing)
{
    struct baton_message message;
    uint8_t *huge = calloc(1, BATON_FRAME_MAX_PAYLOAD + 1);
    assert_non_null(huge);
    assert_int_equal(
        send_kind(pair.link, BATON__V1__ENVELOPE__BODY_KV_CHUNK, huge, BATON_FRAME_MAX_PAYLOAD + 1),
        BATON_LIMIT);
    assert_ok(
        send_kind(pair.link, BATON__V1__ENVELOPE__BODY_KV_CHUNK, huge, BATON_FRAME_MAX_PAYLOAD));
    assert_true(mailbox_take(&pair.to, &message, PATIENCE_MS));
    assert_int_equal(message.envelope->link_seq, 1);
    assert_int_equal(message.payload_bytes, BATON_FRAME_MAX_PAYLOAD);
    baton_message_fini(&message);
    free(huge);
}

TEST(what_the_peer_would_refuse_is_not_sent_and_harms_nothing)
{
    enum { N = 300000 }; /* of two bytes each, and of 152 once they are unpacked */
    static Baton__V1__Logprobs *many[N];
    struct sample_envelope s;
    struct baton_message message;
    sample_envelope_init(&s, BATON__V1__ENVELOPE__BODY_STATUS);
    s.body.status.last_step_s = -1;
    assert_int_equal(baton_link_send(pair.link, &s.envelope, NULL, 0), BATON_INVALID);
    sample_envelope_init(&s, BATON__V1__ENVELOPE__BODY_PROMPT_LOGPROBS);
    baton__v1__logprobs__init(&s.logprobs);
    for (int i = 0; i < N; i++)
        many[i] = &s.logprobs;
    s.body.prompt_logprobs.logprobs = many;
    s.body.prompt_logprobs.n_logprobs = N;
    assert_int_equal(baton_link_send(pair.link, &s.envelope, NULL, 0), BATON_LIMIT);
    assert_ok(send_kind(pair.link, BATON__V1__ENVELOPE__BODY_STATUS, NULL, 0));
    assert_true(mailbox_take(&pair.to, &message, PATIENCE_MS));
    assert_int_equal(message.envelope->link_seq, 1);
    baton_message_fini(&message);
}

TEST(rejecting_a_message_drops_what_came_with_it_and_nothing_else)
{
    struct baton_message message;
    struct baton_link *other =
        mailbox_dial(&pair.from, baton_inbox_url(pair.to.inbox), 1001, 2002, 0);
    assert_non_null(other);
    for (int i = 0; i < 5; i++)
        assert_ok(send_kind(pair.link, BATON__V1__ENVELOPE__BODY_STATUS, NULL, 0));
    assert_true(mailbox_take(&pair.to, &message, PATIENCE_MS));
    baton_inbox_reject(pair.to.inbox, &message);
    baton_message_fini(&message);
    assert_true(mailbox_await(&pair.from, pair.link, BATON_OUTBOX_DOWN, PATIENCE_MS));
    assert_ok(send_kind(other, BATON__V1__ENVELOPE__BODY_STATUS, NULL, 0));
    bool heard_other = false;
    while (!heard_other && mailbox_take(&pair.to, &message, PATIENCE_MS)) {
        heard_other = message.envelope->link == baton_link_id(other);
        baton_message_fini(&message);
    }
    assert_true(heard_other);
    baton_link_release(other);
}

static void count_wake(void *n_wakes)
{
    atomic_fetch_add((atomic_int *)n_wakes, 1);
}

static enum baton_err send_chunk(struct baton_outbox *outbox)
{
    static const uint8_t payload[1 << 16];
    struct sample_envelope s;
    sample_envelope_init(&s, BATON__V1__ENVELOPE__BODY_KV_CHUNK);
    return baton_outbox_send(outbox, &s.envelope, payload, sizeof payload);
}

static void take_chunk(uint64_t seq)
{
    struct baton_message message;
    assert_true(mailbox_take(&pair.to, &message, PATIENCE_MS));
    assert_int_equal(message.envelope->link_seq, seq);
    baton_message_fini(&message);
}

TEST(a_full_queue_says_again_and_wakes_the_sender_when_it_has_drained)
{
    struct baton_outbox *outbox;
    atomic_int n_wakes = 0;
    struct baton_outbox_options options = {.url = baton_inbox_url(pair.to.inbox),
                                           .max_queued = 8,
                                           .max_queued_bytes = 1 << 20,
                                           .wake = count_wake,
                                           .wake_arg = &n_wakes};
    assert_ok(baton_outbox_open(&options, &outbox, NULL));
    int64_t until_ns = baton_now_ns() + PATIENCE_MS * BATON_MS;
    while (baton_outbox_state(outbox) != BATON_OUTBOX_UP && baton_now_ns() < until_ns)
        sched_yield();
    while (!send_chunk(outbox)) /* nothing is taken: the buffers on the way fill up */
        assert_true(baton_now_ns() < until_ns);
    uint64_t n_sent = baton_outbox_n_sent(outbox), n_taken = 0;
    int n_wakes_full = atomic_load(&n_wakes);
    while (atomic_load(&n_wakes) == n_wakes_full && n_taken < n_sent)
        take_chunk(++n_taken);
    assert_ok(send_chunk(outbox));
    while (n_taken < n_sent + 1)
        take_chunk(++n_taken);
    assert_int_equal(atomic_load(&n_wakes), n_wakes_full + 1);
    baton_outbox_close(outbox);
}

/* ---- several threads ---- */

enum { N_SENDERS = 4, N_EACH = 2000 };

static void *send_many(void *arg)
{
    struct baton_link *link = arg;
    for (int i = 0; i < N_EACH;) {
        enum baton_err err = send_kind(link, BATON__V1__ENVELOPE__BODY_TOKENS, NULL, 0);
        if (err == BATON_CLOSED)
            break;
        i += !err;
    }
    baton_link_release(link);
    return NULL;
}

static void start_senders(pthread_t *threads)
{
    for (int i = 0; i < N_SENDERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, send_many, baton_link_hold(pair.link)),
                         0);
}

static void join_senders(const pthread_t *threads)
{
    for (int i = 0; i < N_SENDERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
}

TEST(many_senders_make_one_sequence_without_a_hole)
{
    pthread_t threads[N_SENDERS];
    start_senders(threads);
    for (uint64_t seq = 1; seq <= N_SENDERS * N_EACH; seq++) {
        struct baton_message message;
        assert_true(mailbox_take(&pair.to, &message, PATIENCE_MS));
        assert_int_equal(message.envelope->link_seq, seq);
        baton_message_fini(&message);
    }
    join_senders(threads);
}

TEST(closing_a_link_under_its_senders_ends_them_all)
{
    pthread_t threads[N_SENDERS];
    struct baton_message message;
    start_senders(threads);
    for (int i = 0; i < 100; i++) {
        assert_true(mailbox_take(&pair.to, &message, PATIENCE_MS));
        baton_message_fini(&message);
    }
    baton_link_close(pair.link);
    join_senders(threads);
}

/* ---- opening ---- */

TEST(a_used_port_and_a_bad_address_are_told_with_the_url)
{
    struct baton_inbox *inbox;
    struct baton_why why;
    struct baton_inbox_options options = {.url = baton_inbox_url(pair.to.inbox),
                                          .max_queued = 1,
                                          .wake = baton_doorbell_ring,
                                          .wake_arg = &pair.to.bell};
    assert_int_equal(baton_inbox_open(&options, &inbox, &why), BATON_IO);
    assert_non_null(strstr(why.text, options.url));
    options.url = "ipc:///tmp/never";
    assert_int_equal(baton_inbox_open(&options, &inbox, &why), BATON_INVALID);
    assert_non_null(strstr(why.text, options.url));
}

TEST(a_free_port_is_named_in_the_url)
{
    int port = 0;
    assert_int_equal(sscanf(baton_inbox_url(pair.to.inbox), "tcp://127.0.0.1:%d", &port), 1);
    assert_true(port > 0);
}

TEST(a_mailbox_in_use_closes)
{
    assert_true(mailbox_await(&pair.from, pair.link, BATON_OUTBOX_UP, PATIENCE_MS));
    baton_link_close(pair.link);
}

EACH_TEST(open_pair, close_pair)
