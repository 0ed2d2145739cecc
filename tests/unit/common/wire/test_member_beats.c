/* When a worker beats whose gateway has asked for long pauses. Sockets are real; the time that the
 * member is told is the test's. */
#include "tests/support/test.h"

#include <string.h>

#include "common/base/clock.h"
#include "common/base/random.h"
#include "common/wire/member.h"
#include "tests/support/mailbox.h"

enum { BEAT_MS = 250, SILENCE_MS = 1500, ASKED_MS = 10000, PATIENCE_MS = 120000 };

static struct mailbox gateway, worker;
static struct baton_member *member;
static struct baton_link *to_worker;
static Baton__V1__Status state;
static int64_t now_ns;
static int n_lost;

static void put_status(void *arg, Baton__V1__Status *status)
{
    (void)arg;
    *status = state;
}

static void on_lost(void *arg, uint64_t gateway_epoch)
{
    (void)arg;
    (void)gateway_epoch;
    n_lost++;
}

static void take_one(void)
{
    struct baton_message message;
    assert_true(mailbox_take(&worker, &message, PATIENCE_MS));
    assert_null(baton_member_receive(member, worker.inbox, &message, now_ns));
    baton_message_fini(&message);
}

static void tell(baton_envelope *envelope)
{
    assert_ok(baton_link_send(to_worker, envelope, NULL, 0));
    take_one();
}

/* The gateway's beat, as the worker takes it. */
static void ask_for(double beat_s)
{
    Baton__V1__Status status = BATON__V1__STATUS__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    status.beat_s = beat_s;
    envelope.body_case = BATON__V1__ENVELOPE__BODY_STATUS;
    envelope.status = &status;
    tell(&envelope);
}

/* Time passes, and the member has its ticks when it wants them. */
static void pass_ms(int ms)
{
    int64_t end_ns = now_ns + ms * BATON_MS;
    for (int64_t due_ns = now_ns; due_ns < end_ns;) {
        now_ns = due_ns;
        due_ns = baton_member_tick(member, now_ns);
        if (due_ns <= now_ns)
            due_ns = now_ns + BATON_MS;
    }
    now_ns = end_ns;
    (void)baton_member_tick(member, now_ns);
}

/* The next message that the gateway gets is a beat, the n-th message of the link. */
static void expect_beat(uint64_t n, bool is_stalled)
{
    struct baton_message message;
    assert_true(mailbox_take(&gateway, &message, PATIENCE_MS));
    assert_int_equal(message.envelope->body_case, BATON__V1__ENVELOPE__BODY_STATUS);
    assert_int_equal(message.envelope->link_seq, n);
    assert_true((message.envelope->status->stalled_s > 0) == is_stalled);
    assert_int_equal(baton_link_accept(to_worker, message.envelope, now_ns), BATON_LINK_FRESH);
    baton_message_fini(&message);
}

static void welcome(void)
{
    Baton__V1__Welcome welcome = BATON__V1__WELCOME__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    struct baton_message hello;
    int64_t end_ns = baton_now_ns() + PATIENCE_MS * BATON_MS;
    bool has_hello = false;
    while (!has_hello && baton_now_ns() < end_ns) { /* connecting takes real time */
        (void)baton_member_tick(member, now_ns);
        has_hello = mailbox_take(&gateway, &hello, 1);
    }
    assert_true(has_hello);
    assert_true(hello.envelope->hello->max_beat_s > 59.9);
    to_worker = mailbox_dial(&gateway, baton_inbox_url(worker.inbox), 77, hello.envelope->src_epoch,
                             hello.envelope->link);
    assert_non_null(to_worker);
    assert_int_equal(baton_link_accept(to_worker, hello.envelope, now_ns), BATON_LINK_FRESH);
    baton_message_fini(&hello);
    welcome.gateway_id = baton_envelope_text("gateway-0");
    envelope.body_case = BATON__V1__ENVELOPE__BODY_WELCOME;
    envelope.welcome = &welcome;
    tell(&envelope);
    assert_int_equal(baton_member_n_joined(member), 1);
    expect_beat(2, false);
}

SETUP(join)
{
    static struct baton_fingerprint fingerprint;
    memset(fingerprint.config, '0', BATON_SHA256_HEX - 1);
    memset(fingerprint.tokenizer, '0', BATON_SHA256_HEX - 1);
    memset(fingerprint.weights, 'a', BATON_SHA256_HEX - 1);
    assert_ok(mailbox_open(&gateway, NULL, 64));
    assert_ok(mailbox_open(&worker, NULL, 64));
    state = (Baton__V1__Status)BATON__V1__STATUS__INIT;
    n_lost = 0;
    now_ns = baton_now_ns();
    const struct baton_member_options options = {.gateways = baton_inbox_url(gateway.inbox),
                                                 .epoch = baton_random_id(),
                                                 .beat_ns = BEAT_MS * BATON_MS,
                                                 .max_beat_ns = 60 * BATON_SECOND,
                                                 .silence_ns = SILENCE_MS * BATON_MS,
                                                 .retry_ns = 3600 * BATON_SECOND,
                                                 .role = BATON__V1__ROLE__ROLE_PREFILL,
                                                 .worker_id = "prefill-0",
                                                 .inbox_url = baton_inbox_url(worker.inbox),
                                                 .bulk_url = "",
                                                 .fingerprint = &fingerprint,
                                                 .model = "none",
                                                 .dtype = "f32",
                                                 .kv_dtype = "f32",
                                                 .kv_layout = fingerprint.config,
                                                 .numeric_class = "0123456789abcdef",
                                                 .kernels = "none",
                                                 .cluster_token = "",
                                                 .kv_block_tokens = 16,
                                                 .n_context_tokens = 512,
                                                 .n_cores = 1,
                                                 .status = put_status,
                                                 .lost = on_lost,
                                                 .wake = baton_doorbell_ring,
                                                 .wake_arg = &worker.bell};
    assert_ok(baton_member_create(&options, &member, NULL));
    welcome();
}

TEARDOWN(leave)
{
    baton_link_close(to_worker);
    baton_link_release(to_worker);
    baton_member_destroy(member);
    mailbox_close(&worker);
    mailbox_close(&gateway);
}

TEST(a_worker_beats_as_its_options_say_until_it_is_asked_for_less)
{
    pass_ms(BEAT_MS);
    expect_beat(3, false);
    ask_for(ASKED_MS / 1e3);
    pass_ms(ASKED_MS - 1);
    ask_for(ASKED_MS / 1e3); /* the gateway's beat is answered */
    pass_ms(1);
    expect_beat(4, false);
}

TEST(a_worker_whose_gateway_asks_for_more_beats_again_begins_at_once)
{
    ask_for(ASKED_MS / 1e3);
    pass_ms(2000);
    expect_beat(3, false); /* which was due already */
    ask_for(0);
    pass_ms(BEAT_MS);
    expect_beat(4, false);
    pass_ms(BEAT_MS);
    expect_beat(5, false);
}

TEST(news_does_not_wait_for_the_next_beat)
{
    ask_for(ASKED_MS / 1e3);
    pass_ms(2000);
    expect_beat(3, false); /* which was due already */
    state.stalled_s = 1.5;
    pass_ms(BEAT_MS);
    expect_beat(4, true);
    pass_ms(2000); /* once */
    state.stalled_s = 0;
    pass_ms(BEAT_MS);
    expect_beat(5, false);
}

TEST(a_gateway_that_asked_for_long_pauses_may_be_silent_for_six)
{
    ask_for(ASKED_MS / 1e3);
    pass_ms(6 * ASKED_MS - 1);
    assert_int_equal(baton_member_n_joined(member), 1);
    assert_int_equal(n_lost, 0);
    pass_ms(2 * BEAT_MS);
    assert_int_equal(n_lost, 1);
}

TEST(no_gateway_gets_longer_pauses_than_the_worker_takes)
{
    ask_for(1e9);
    pass_ms(75 * 1000); /* a minute, and a quarter of it for the gateway's beat to come first */
    expect_beat(3, false);
}

EACH_TEST(join, leave)
