/* What an inbox does with senders that speak no protocol, or lie about what they send. */
#include "tests/unit/wire/peer_fixture.h"

#include <string.h>
#include <unistd.h>

#include "common/wire/frame.h"

/* A well-behaved sender, to show that the inbox still works. */
static void expect_inbox_alive(void)
{
    struct baton_message message;
    struct baton_link *link = mailbox_dial(&box, baton_inbox_url(box.inbox), 1001, 2002, 0);
    assert_non_null(link);
    assert_int_equal(send_kind(link, BATON__V1__ENVELOPE__BODY_STATUS, NULL, 0), BATON_OK);
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
        for (size_t i = 0; i < sizeof garbage / sizeof *garbage; i++) {
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

TEST(an_announced_huge_message_is_not_waited_for)
{
    const char *url = baton_inbox_url(box.inbox);
    size_t max_bytes = baton_frame_size(BATON_FRAME_MAX_HEADER, BATON_FRAME_MAX_PAYLOAD);
    expect_hung_up(connect_push(url, max_bytes + 1));
    expect_hung_up(connect_push(url, UINT64_C(1) << 40));
    expect_hung_up(connect_push(url, UINT64_MAX));
    expect_inbox_alive();
}

#define RUN(f) cmocka_unit_test_setup_teardown(f, peer_set_up, peer_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RUN(garbage_on_the_port_disturbs_no_peer),
        RUN(a_garbage_message_costs_its_sender_the_connection),
        RUN(an_announced_huge_message_is_not_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
