/* How a worker and a gateway find, refuse, lose and find each other again. The worker is a process
 * that is killed and stopped; the gateway is played here. */
#include "tests/unit/common/wire/peer_fixture.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/random.h"

enum { BEAT_MS = 50, SILENCE_MS = 1500 };

static const char *const good_token = "s3cret";
static const char good_digit = 'a';

struct gateway {
    uint64_t epoch;
    struct baton_link *link; /* to the one worker; NULL before and after */
    bool mute;               /* says nothing, not even a heartbeat */
    int64_t beat_ns;
};

static void beat(struct gateway *gateway)
{
    Baton__V1__Status status = BATON__V1__STATUS__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    if (!gateway->link || gateway->mute || baton_now_ns() < gateway->beat_ns)
        return;
    envelope.body_case = BATON__V1__ENVELOPE__BODY_STATUS;
    envelope.status = &status;
    if (baton_link_send(gateway->link, &envelope, NULL, 0))
        return;
    gateway->beat_ns = baton_now_ns() + BEAT_MS * BATON_MS;
}

/* Drops what is not for us, as gateways do: what belongs to no link costs its sender the pipe. */
static bool is_fresh(struct gateway *gateway, const struct baton_message *message)
{
    bool hello = message->envelope->body_case == BATON__V1__ENVELOPE__BODY_HELLO;
    if (gateway->link && message->envelope->link == baton_link_id(gateway->link))
        return baton_link_accept(gateway->link, message->envelope, baton_now_ns()) ==
               BATON_LINK_FRESH;
    if (!hello)
        baton_inbox_reject(box.inbox, message);
    return hello;
}

/* Beats and takes until a message of one of these kinds comes, which is then the caller's to
 * finish. */
static bool take_either(struct gateway *gateway, Baton__V1__Envelope__BodyCase kind,
                        Baton__V1__Envelope__BodyCase other, struct baton_message *message,
                        int timeout_ms)
{
    int64_t until_ns = baton_now_ns() + timeout_ms * BATON_MS;
    while (baton_now_ns() < until_ns) {
        beat(gateway);
        if (!mailbox_take(&box, message, BEAT_MS))
            continue;
        if (is_fresh(gateway, message) &&
            (message->envelope->body_case == kind || message->envelope->body_case == other))
            return true;
        baton_message_fini(message);
    }
    return false;
}

static bool gateway_take(struct gateway *gateway, Baton__V1__Envelope__BodyCase kind,
                         struct baton_message *message, int timeout_ms)
{
    return take_either(gateway, kind, kind, message, timeout_ms);
}

static void open_back(struct gateway *gateway, const struct baton_message *hello)
{
    char url[128];
    assert_ok(baton_link_resolve_url(hello->envelope->hello->inbox_url, hello->peer_host, url,
                                     sizeof url, NULL));
    gateway->link =
        mailbox_dial(&box, url, gateway->epoch, hello->envelope->src_epoch, hello->envelope->link);
    assert_non_null(gateway->link);
    assert_int_equal(baton_link_accept(gateway->link, hello->envelope, baton_now_ns()),
                     BATON_LINK_FRESH);
}

static void drop_link(struct gateway *gateway)
{
    if (gateway->link)
        baton_link_close(gateway->link);
    baton_link_release(gateway->link);
    gateway->link = NULL;
}

/* Opens a link back and answers. Returns the worker's epoch. */
static uint64_t answer_hello(struct gateway *gateway, const struct baton_message *hello)
{
    drop_link(gateway);
    open_back(gateway, hello);
    assert_ok(send_kind(gateway->link, BATON__V1__ENVELOPE__BODY_WELCOME, NULL, 0));
    return hello->envelope->src_epoch;
}

/* Answers Hellos until something else of that kind comes. A worker whose Hello this process,
 * starved, answered too late has given that link up, and says another. Returns the worker's epoch,
 * 0 when it said no Hello. */
static uint64_t answer_until(struct gateway *gateway, Baton__V1__Envelope__BodyCase kind,
                             struct baton_message *message)
{
    uint64_t epoch = 0;
    for (;;) {
        assert_true(
            take_either(gateway, BATON__V1__ENVELOPE__BODY_HELLO, kind, message, PATIENCE_MS));
        if (message->envelope->body_case == kind)
            return epoch;
        epoch = answer_hello(gateway, message);
        baton_message_fini(message);
    }
}

/* Waits for a Hello, answers it, and sees the worker joined. Returns the worker's epoch. */
static uint64_t welcome(struct gateway *gateway)
{
    struct baton_message message;
    uint64_t epoch = answer_until(gateway, BATON__V1__ENVELOPE__BODY_STATUS, &message);
    baton_message_fini(&message);
    assert_true(process_expect(&peer, "joined 1", NULL, 0, PATIENCE_MS));
    return epoch;
}

static void start_worker(const char *token, char digit, const char *inbox_url, char *url,
                         size_t size)
{
    const char digits[2] = {digit, 0};
    const char *const argv[] = {WIRE_PEER, "member", baton_inbox_url(box.inbox), token, digits,
                                inbox_url, NULL};
    peer_start(argv, url, size);
}

static uint64_t start_joined(struct gateway *gateway, char *url, size_t size)
{
    *gateway = (struct gateway){.epoch = baton_random_id()};
    start_worker(good_token, good_digit, "tcp://127.0.0.1:0", url, size);
    return welcome(gateway);
}

/* Returns when it stands still. */
static void stop_peer(void)
{
    siginfo_t info;
    assert_int_equal(kill(peer.pid, SIGSTOP), 0);
    assert_int_equal(waitid(P_PID, (id_t)peer.pid, &info, WSTOPPED), 0);
}

/* Asks again when the worker has left meanwhile: for it, a test that is starved is a silent
 * gateway. */
static void expect_answer(struct gateway *gateway)
{
    struct baton_message message;
    bool has_left;
    do {
        (void)send_kind(gateway->link, BATON__V1__ENVELOPE__BODY_RESERVE, NULL, 0);
        assert_true(take_either(gateway, BATON__V1__ENVELOPE__BODY_HELLO,
                                BATON__V1__ENVELOPE__BODY_RESERVED, &message, PATIENCE_MS));
        has_left = message.envelope->body_case == BATON__V1__ENVELOPE__BODY_HELLO;
        if (has_left) {
            (void)answer_hello(gateway, &message);
            baton_message_fini(&message);
        }
    } while (has_left);
    assert_int_equal(message.envelope->request_id, 42);
    baton_message_fini(&message);
}

TEST(a_worker_joins_answers_and_leaves_when_everything_is_acked)
{
    struct gateway gateway;
    struct baton_message message;
    char url[128];
    start_joined(&gateway, url, sizeof url);
    expect_answer(&gateway);
    process_order(&peer, "leave\n");
    assert_true(gateway_take(&gateway, BATON__V1__ENVELOPE__BODY_GOODBYE, &message, PATIENCE_MS));
    baton_message_fini(&message);
    assert_false(gateway_take(&gateway, BATON__V1__ENVELOPE__BODY_HELLO, &message, 4 * BEAT_MS));
    assert_true(process_expect(&peer, "drained", NULL, 0, PATIENCE_MS));
    drop_link(&gateway);
}

static void refuse(const char *token, char digit, Baton__V1__Refused__Code code, const char *reason)
{
    struct gateway gateway = {.epoch = baton_random_id()};
    struct baton_message message;
    struct sample_envelope s;
    char url[128], line[512];
    start_worker(token, digit, "tcp://127.0.0.1:0", url, sizeof url);
    assert_true(gateway_take(&gateway, BATON__V1__ENVELOPE__BODY_HELLO, &message, PATIENCE_MS));
    const Baton__V1__Hello *hello = message.envelope->hello;
    assert_true(strcmp(hello->cluster_token, good_token) != 0 ||
                hello->fingerprint->weights[0] != good_digit);
    open_back(&gateway, &message);
    baton_message_fini(&message);
    sample_envelope_init(&s, BATON__V1__ENVELOPE__BODY_REFUSED);
    s.body.refused.code = code;
    s.body.refused.reason = baton_envelope_text(reason);
    assert_ok(baton_link_send(gateway.link, &s.envelope, NULL, 0));
    assert_true(process_expect(&peer, "ev=gateway_refused", line, sizeof line, PATIENCE_MS));
    assert_non_null(strstr(line, reason));
    drop_link(&gateway);
    assert_true(/* it tries again */
                gateway_take(&gateway, BATON__V1__ENVELOPE__BODY_HELLO, &message, PATIENCE_MS));
    baton_message_fini(&message);
    process_end(&peer);
}

TEST(the_wrong_model_is_refused_with_the_reason)
{
    refuse(good_token, 'b', BATON__V1__REFUSED__CODE__OTHER_MODEL,
           "weights bbbb are not aaaa, which this fleet serves");
}

TEST(a_worker_without_an_answer_names_the_token_and_tries_again)
{
    struct gateway gateway = {.epoch = baton_random_id()};
    struct baton_message message;
    char url[128];
    start_worker("guess", good_digit, "tcp://127.0.0.1:0", url, sizeof url);
    for (int i = 0; i < 3; i++) {
        assert_true(gateway_take(&gateway, BATON__V1__ENVELOPE__BODY_HELLO, &message, PATIENCE_MS));
        assert_string_equal(message.envelope->hello->cluster_token, "guess");
        baton_inbox_reject(box.inbox, &message);
        baton_message_fini(&message);
    }
    assert_true(process_expect(&peer, "is the cluster token the gateway's?", NULL, 0, PATIENCE_MS));
}

TEST(a_restarted_worker_is_another_life_and_nothing_of_the_old_one_reaches_it)
{
    struct gateway gateway, old;
    struct baton_message message;
    struct sample_envelope s;
    char url[128];
    uint64_t old_epoch = start_joined(&gateway, url, sizeof url);
    old = gateway;
    process_end(&peer);
    assert_true(mailbox_await(&box, old.link, BATON_OUTBOX_DOWN, PATIENCE_MS));

    gateway.link = NULL;
    start_worker(good_token, good_digit, url, url, sizeof url); /* the same port */
    assert_true(welcome(&gateway) != old_epoch);
    assert_int_equal(send_kind(old.link, BATON__V1__ENVELOPE__BODY_RESERVE, NULL, 0), BATON_CLOSED);

    /* A message of the old life that was on its way all the time: dropped without an answer. */
    struct baton_link *late = mailbox_dial(&box, url, gateway.epoch, old_epoch, 0);
    assert_ok(send_kind(late, BATON__V1__ENVELOPE__BODY_RESERVE, NULL, 0));
    assert_false(gateway_take(&gateway, BATON__V1__ENVELOPE__BODY_RESERVED, &message, 300));
    expect_answer(&gateway);

    /* And one the other way. */
    sample_envelope_init(&s, BATON__V1__ENVELOPE__BODY_STATUS);
    s.envelope.src_epoch = old_epoch;
    s.envelope.dst_epoch = gateway.epoch;
    s.envelope.link = baton_link_id(gateway.link);
    s.envelope.link_seq = 1000;
    assert_int_equal(baton_link_accept(gateway.link, &s.envelope, baton_now_ns()),
                     BATON_LINK_STALE);
    baton_link_release(late);
    baton_link_release(old.link);
    drop_link(&gateway);
}

TEST(a_stopped_worker_falls_silent_and_joins_again_when_it_goes_on)
{
    struct gateway gateway;
    struct baton_message message;
    char url[128];
    uint64_t epoch = start_joined(&gateway, url, sizeof url);
    uint64_t link_id = baton_link_id(gateway.link);
    stop_peer();
    while (gateway_take(&gateway, BATON__V1__ENVELOPE__BODY_STATUS, &message, 2 * BEAT_MS))
        baton_message_fini(&message); /* what it said before */
    while (baton_now_ns() - baton_link_heard_ns(gateway.link) < SILENCE_MS * BATON_MS)
        assert_false(gateway_take(&gateway, BATON__V1__ENVELOPE__BODY_STATUS, &message, BEAT_MS));
    assert_int_equal(baton_link_state(gateway.link), BATON_OUTBOX_UP); /* only silence tells */
    drop_link(&gateway);
    (void)kill(peer.pid, SIGCONT);
    assert_true(welcome(&gateway) == epoch);
    assert_true(baton_link_id(gateway.link) != link_id);
    expect_answer(&gateway);
    drop_link(&gateway);
}

TEST(a_worker_that_was_stopped_does_not_blame_its_gateway)
{
    struct gateway gateway;
    char url[128];
    start_joined(&gateway, url, sizeof url);
    uint64_t link_id = baton_link_id(gateway.link);
    struct baton_message message;
    stop_peer();
    int64_t until_ns = baton_now_ns() + 2 * SILENCE_MS * BATON_MS; /* but this gateway is patient */
    while (baton_now_ns() < until_ns)
        if (gateway_take(&gateway, BATON__V1__ENVELOPE__BODY_STATUS, &message, BEAT_MS))
            baton_message_fini(&message);
    (void)kill(peer.pid, SIGCONT);
    expect_answer(&gateway);
    assert_true(baton_link_id(gateway.link) == link_id);
    drop_link(&gateway);
}

TEST(a_silent_gateway_is_left_and_found_again)
{
    struct gateway gateway;
    char url[128], wanted[64];
    start_joined(&gateway, url, sizeof url);
    gateway.mute = true;
    (void)snprintf(wanted, sizeof wanted, "lost %016" PRIx64, gateway.epoch);
    assert_true(process_expect(&peer, "reason=silence", NULL, 0, PATIENCE_MS));
    assert_true(process_expect(&peer, wanted, NULL, 0, PATIENCE_MS));
    drop_link(&gateway);
    gateway.mute = false;
    welcome(&gateway);
    expect_answer(&gateway);
    drop_link(&gateway);
}

TEST(a_hole_in_the_sequence_ends_the_link_and_begins_another)
{
    struct gateway gateway;
    struct sample_envelope s;
    char url[128];
    uint64_t epoch = start_joined(&gateway, url, sizeof url);
    sample_envelope_init(&s, BATON__V1__ENVELOPE__BODY_STATUS);
    s.envelope.src_epoch = gateway.epoch;
    s.envelope.dst_epoch = epoch;
    s.envelope.link = baton_link_id(gateway.link);
    s.envelope.link_seq = 1000000;
    expect_hung_up(push_raw(url, &s.envelope));
    assert_true(process_expect(&peer, "a message was lost", NULL, 0, PATIENCE_MS));
    assert_true(process_expect(&peer, "lost ", NULL, 0, PATIENCE_MS));
    drop_link(&gateway);
    welcome(&gateway);
    expect_answer(&gateway);
    drop_link(&gateway);
}

TEST(a_repeated_hello_and_an_old_message_change_nothing)
{
    struct gateway gateway;
    struct sample_envelope s;
    struct baton_message message;
    char url[128];
    uint64_t epoch = start_joined(&gateway, url, sizeof url);
    sample_envelope_init(&s, BATON__V1__ENVELOPE__BODY_HELLO);
    s.envelope.src_epoch = epoch;
    s.envelope.dst_epoch = 0;
    s.envelope.link = baton_link_id(gateway.link);
    int to_gateway = push_raw(baton_inbox_url(box.inbox), &s.envelope);
    sample_envelope_init(&s, BATON__V1__ENVELOPE__BODY_RESERVE);
    s.envelope.src_epoch = gateway.epoch;
    s.envelope.dst_epoch = epoch;
    s.envelope.link = baton_link_id(gateway.link);
    int to_worker = push_raw(url, &s.envelope); /* link_seq 1 was the Welcome */
    assert_false(gateway_take(&gateway, BATON__V1__ENVELOPE__BODY_HELLO, &message, 300));
    assert_false(gateway_take(&gateway, BATON__V1__ENVELOPE__BODY_RESERVED, &message, 300));
    expect_answer(&gateway);
    close(to_gateway);
    close(to_worker);
    drop_link(&gateway);
}

EACH_TEST(peer_set_up, peer_tear_down)
