#include "tests/support/test.h"

#include <stdbool.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/wire/url.h"
#include "tests/support/mailbox.h"
#include "tests/support/sample_envelope.h"

#include "common/base/array.h"

enum { LOCAL = 2002, PEER = 1001, LINK = 3003 };

static const char *const no_listener = "tcp://127.0.0.1:1";

static struct mailbox box;

SETUP(open_box)
{
    assert_false(mailbox_open(&box, NULL, 64));
}

TEARDOWN(close_box)
{
    mailbox_close(&box);
}

static struct baton_link *open_link(uint64_t peer_epoch)
{
    struct baton_link *link = mailbox_dial(&box, no_listener, LOCAL, peer_epoch, LINK);
    assert_non_null(link);
    return link;
}

static enum baton_link_verdict accept_seq(struct baton_link *link, uint64_t seq)
{
    struct sample_envelope s;
    sample_envelope_init(&s, BATON__V1__ENVELOPE__BODY_STATUS);
    s.envelope.link_seq = seq;
    return baton_link_accept(link, &s.envelope, 12345);
}

TEST(messages_in_sequence_are_fresh_and_a_hole_is_a_gap_for_good)
{
    struct baton_link *link = open_link(PEER);
    assert_int_equal(accept_seq(link, 1), BATON_LINK_FRESH);
    assert_int_equal(accept_seq(link, 2), BATON_LINK_FRESH);
    assert_int_equal(accept_seq(link, 4), BATON_LINK_GAP);
    assert_int_equal(accept_seq(link, 5), BATON_LINK_GAP);
    baton_link_release(link);
}

TEST(a_repeated_message_is_stale)
{
    struct baton_link *link = open_link(PEER);
    assert_int_equal(accept_seq(link, 1), BATON_LINK_FRESH);
    assert_int_equal(accept_seq(link, 1), BATON_LINK_STALE);
    assert_int_equal(accept_seq(link, 2), BATON_LINK_FRESH);
    baton_link_release(link);
}

TEST(messages_of_another_life_or_link_are_stale_and_change_nothing)
{
    struct baton_link *link = open_link(PEER);
    int64_t opened_ns = baton_link_heard_ns(link);
    for (int i = 0; i < 3; i++) {
        struct sample_envelope s;
        sample_envelope_init(&s, BATON__V1__ENVELOPE__BODY_STATUS);
        *(i == 0 ? &s.envelope.src_epoch : i == 1 ? &s.envelope.dst_epoch : &s.envelope.link) = 77;
        assert_int_equal(baton_link_accept(link, &s.envelope, opened_ns + 5), BATON_LINK_STALE);
    }
    assert_int_equal(baton_link_heard_ns(link), opened_ns);
    assert_int_equal(accept_seq(link, 1), BATON_LINK_FRESH);
    assert_int_equal(baton_link_heard_ns(link), 12345);
    baton_link_release(link);
}

TEST(the_dialling_side_learns_its_peer_from_the_first_answer)
{
    struct baton_link *link = open_link(0);
    struct sample_envelope s;
    sample_envelope_init(&s, BATON__V1__ENVELOPE__BODY_STATUS);
    assert_int_equal(baton_link_peer_epoch(link), 0);
    assert_int_equal(baton_link_accept(link, &s.envelope, 1), BATON_LINK_FRESH);
    assert_int_equal(baton_link_peer_epoch(link), PEER);
    s.envelope.link_seq = 2;
    s.envelope.src_epoch = PEER + 1;
    assert_int_equal(baton_link_accept(link, &s.envelope, 1), BATON_LINK_STALE);
    baton_link_release(link);
}

TEST(a_first_message_may_leave_the_receiver_open)
{
    struct baton_link *link = open_link(PEER);
    struct sample_envelope s;
    sample_envelope_init(&s, BATON__V1__ENVELOPE__BODY_HELLO);
    s.envelope.dst_epoch = 0;
    assert_int_equal(baton_link_accept(link, &s.envelope, 1), BATON_LINK_FRESH);
    baton_link_release(link);
}

TEST(acks_count_down_what_is_unacked_and_must_not_run_ahead)
{
    struct baton_link *link = open_link(PEER);
    struct sample_envelope s;
    sample_envelope_init(&s, BATON__V1__ENVELOPE__BODY_STATUS);
    for (int i = 0; i < 3; i++)
        assert_ok(baton_link_send(link, &s.envelope, NULL, 0));
    assert_int_equal(s.envelope.link_seq, 3);
    assert_int_equal(baton_link_n_unacked(link), 3);
    sample_envelope_init(&s, BATON__V1__ENVELOPE__BODY_STATUS);
    s.envelope.link_ack = 2;
    assert_int_equal(baton_link_accept(link, &s.envelope, 1), BATON_LINK_FRESH);
    assert_int_equal(baton_link_n_unacked(link), 1);
    s.envelope.link_seq = 2;
    s.envelope.link_ack = 4;
    assert_int_equal(baton_link_accept(link, &s.envelope, 1), BATON_LINK_GAP);
    baton_link_release(link);
}

TEST(sending_stamps_epochs_link_and_ack)
{
    struct baton_link *link = open_link(PEER);
    struct sample_envelope s;
    assert_int_equal(accept_seq(link, 1), BATON_LINK_FRESH);
    sample_envelope_init(&s, BATON__V1__ENVELOPE__BODY_STATUS);
    assert_ok(baton_link_send(link, &s.envelope, NULL, 0));
    assert_int_equal(s.envelope.src_epoch, LOCAL);
    assert_int_equal(s.envelope.dst_epoch, PEER);
    assert_int_equal(s.envelope.link, LINK);
    assert_int_equal(s.envelope.link_ack, 1);
    baton_link_release(link);
}

TEST(a_closed_link_says_closed_to_every_holder)
{
    struct baton_link *link = open_link(PEER);
    struct baton_link *held = baton_link_hold(link);
    struct sample_envelope s;
    sample_envelope_init(&s, BATON__V1__ENVELOPE__BODY_STATUS);
    baton_link_close(link);
    baton_link_close(link);
    baton_link_release(link);
    assert_int_equal(baton_link_send(held, &s.envelope, NULL, 0), BATON_CLOSED);
    assert_int_equal(baton_link_state(held), BATON_OUTBOX_DOWN);
    assert_int_equal(baton_link_n_unacked(held), 0);
    baton_link_release(held);
    baton_link_release(NULL);
}

TEST(the_star_becomes_the_address_the_announcer_was_seen_at)
{
    static const char *const cases[][3] = {
        {"tcp://*:7201", "10.0.0.7", "tcp://10.0.0.7:7201"},
        {"tcp://0.0.0.0:7201", "10.0.0.7", "tcp://10.0.0.7:7201"},
        {"tcp://*:7201", "fd00::7", "tcp://[fd00::7]:7201"},
        {"tcp://decode.example:7201", "10.0.0.7", "tcp://decode.example:7201"},
        {"tcp://[fd00::1]:1", "10.0.0.7", "tcp://[fd00::1]:1"},
        {"tls+tcp://*:7201", "10.0.0.7", "tls+tcp://10.0.0.7:7201"},
    };
    for (size_t i = 0; i < BATON_N_OF(cases); i++) {
        char url[64];
        assert_ok(baton_link_resolve_url(cases[i][0], cases[i][1], url, sizeof url, NULL));
        assert_string_equal(url, cases[i][2]);
    }
}

TEST(text_that_is_no_address_is_invalid_and_leaves_the_output_alone)
{
    static const char *const bad[] = {"",           "ipc:///tmp/x",  "tcp://",       "tcp://*",
                                      "tcp://a:",   "tcp://a:65536", "tcp://a:1 ",   "tcp://a b:1",
                                      "tcp://a:1/", "tcp://**:1",    "tcp://[::1:1", "tcp://a:-1"};
    char url[64] = "unchanged";
    struct baton_why why;
    for (size_t i = 0; i < BATON_N_OF(bad); i++)
        assert_int_equal(baton_link_resolve_url(bad[i], "10.0.0.7", url, sizeof url, &why),
                         BATON_INVALID);
    assert_int_equal(baton_link_resolve_url("tcp://*:1", "", url, sizeof url, &why), BATON_INVALID);
    assert_int_equal(baton_link_resolve_url("tcp://host:1", "", url, 8, &why), BATON_INVALID);
    assert_string_equal(url, "unchanged");
}

ALL_TESTS(open_box, close_box)
