#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "gateway/observe/span_exporter.h"
#include "tests/support/test.h"

enum { GROUP_BYTES = 64 << 10, N_GROUPS = 400 };

/* Takes connections, as far as the kernel does, and never a byte. */
static int silent_server(char *url, size_t size)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, n), 0);
    assert_int_equal(listen(fd, 8), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &n), 0);
    (void)snprintf(url, size, "http://127.0.0.1:%d", ntohs(address.sin_port));
    return fd;
}

TEST(the_queue_has_an_end_and_put_never_waits)
{
    static char group[GROUP_BYTES];
    struct gw_otlp_endpoint endpoint;
    struct gw_span_exporter *exporter;
    struct baton_why why;
    char url[64];
    int fd = silent_server(url, sizeof url);
    memset(group, ' ', sizeof group);
    assert_ok(gw_otlp_endpoint_parse(&endpoint, url, "", "", &why));
    assert_ok(gw_span_exporter_start(&endpoint, "[", "]", &exporter, &why));
    for (int i = 0; i < N_GROUPS; i++) {
        gw_span_exporter_put(exporter, group, sizeof group, 2);
        assert_true(gw_span_exporter_queued_bytes(exporter) <= GW_SPANS_QUEUED_BYTES);
    }
    /* A span that is not in the queue is in the one running batch, or was dropped. */
    uint64_t n_dropped = gw_span_exporter_count(exporter, GW_SPANS_queue_full) / 2;
    uint64_t n_at_most = GW_SPANS_QUEUED_BYTES / GROUP_BYTES + GW_SPANS_BATCH_BYTES / GROUP_BYTES;
    assert_true(n_dropped >= N_GROUPS - n_at_most);
    assert_int_equal(gw_span_exporter_count(exporter, GW_SPANS_sent), 0);
    gw_span_exporter_stop(exporter);
    (void)close(fd);
}

TEST(what_is_too_large_is_dropped)
{
    static char group[GROUP_BYTES + 1];
    struct gw_otlp_endpoint endpoint;
    struct gw_span_exporter *exporter;
    struct baton_why why;
    assert_ok(gw_otlp_endpoint_parse(&endpoint, "http://127.0.0.1:1", "", "", &why));
    assert_ok(gw_span_exporter_start(&endpoint, "[", "]", &exporter, &why));
    gw_span_exporter_put(exporter, group, sizeof group, 3);
    assert_int_equal(gw_span_exporter_count(exporter, GW_SPANS_queue_full), 3);
    assert_int_equal(gw_span_exporter_queued_bytes(exporter), 0);
    gw_span_exporter_stop(exporter);
}

TEST(pauses_grow_to_half_a_minute_and_differ)
{
    for (int n = 1; n < 100; n++) {
        int64_t longest_ns = (n > 5 ? 30 : 1LL << (n - 1)) * BATON_SECOND;
        for (uint64_t random = 0; random < 1000; random++) {
            int64_t ns = gw_span_backoff_ns(n, -1, random * 0x9e3779b97f4a7c15);
            assert_true(ns >= longest_ns / 2 && ns < longest_ns);
        }
        assert_int_equal(gw_span_backoff_ns(n, 7, 12345), 7 * BATON_SECOND);
        assert_int_equal(gw_span_backoff_ns(n, 0, 12345), BATON_SECOND / 2);
    }
    assert_true(gw_span_backoff_ns(1, -1, 1) != gw_span_backoff_ns(1, -1, 2));
}

SETUP(ignore_sigpipe)
{
    (void)signal(SIGPIPE, SIG_IGN);
}

EACH_TEST(ignore_sigpipe, NULL)
