#include <netinet/tcp.h>

#include "tests/support/test.h"

#include "common/base/clock.h"
#include "common/wire/transport/tcp_path.h"

/* A connection that was last acknowledged so long ago. */
static struct tcp_info quiet_for_ms(uint32_t ms)
{
    return (struct tcp_info){.tcpi_last_ack_recv = ms};
}

TEST(a_connection_with_nothing_to_acknowledge_is_not_silent)
{
    struct tcp_info info = quiet_for_ms(60000);
    assert_int_equal(baton_tcp_path_judge(&info), 0);
}

TEST(what_was_sent_a_moment_ago_after_a_pause_is_not_silence)
{
    struct tcp_info info = quiet_for_ms(5000);
    info.tcpi_unacked = 3;
    assert_int_equal(baton_tcp_path_judge(&info), 0);
    info = quiet_for_ms(5000);
    info.tcpi_probes = 1; /* the receiver takes nothing, and has answered the probes before */
    assert_int_equal(baton_tcp_path_judge(&info), 0);
}

TEST(what_was_sent_again_and_has_no_answer_is_silence_since_the_last_one)
{
    struct tcp_info info = quiet_for_ms(900);
    info.tcpi_unacked = info.tcpi_retransmits = 1;
    assert_int_equal(baton_tcp_path_judge(&info), 900 * BATON_MS);
    info = quiet_for_ms(900);
    info.tcpi_probes = 2;
    assert_int_equal(baton_tcp_path_judge(&info), 900 * BATON_MS);
}
