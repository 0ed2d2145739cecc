/* The limits per second of one address and of one API key. */
#include "tests/support/test.h"

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "gateway/http/addresses.h"
#include "server_fixture.h"

/* ---- accounts ---- */

static const struct gw_limits two_requests = {.per_s = {[GW_LIMIT_requests] = 2}};

static bool allows(const struct gw_account *account, int64_t now_ns, struct gw_error *refusal)
{
    static char text[GW_LIMIT_TEXT_BYTES];
    return gw_account_allows(account, GW_LIMIT_requests, now_ns, text, refusal);
}

TEST(a_quiet_client_may_take_ten_seconds_worth_at_once_and_then_its_rate)
{
    struct gw_account *account = gw_account_create(GW_OF_KEY, &two_requests);
    struct gw_error refusal;
    int64_t now_ns = 1000 * BATON_SECOND;
    for (int i = 0; i < 2 * GW_BURST_S; i++) {
        assert_true(allows(account, now_ns, &refusal));
        gw_account_charge(account, GW_LIMIT_requests, 1, now_ns);
    }
    assert_false(allows(account, now_ns, &refusal));
    assert_true(allows(account, now_ns + BATON_SECOND, &refusal));
    gw_account_charge(account, GW_LIMIT_requests, 2, now_ns + BATON_SECOND);
    assert_false(allows(account, now_ns + BATON_SECOND, &refusal));
    gw_account_put(account);
}

TEST(a_refusal_names_the_limit_and_when_to_come_back)
{
    struct gw_account *account = gw_account_create(GW_OF_KEY, &two_requests);
    struct gw_error refusal;
    gw_account_charge(account, GW_LIMIT_requests, 2 * GW_BURST_S + 5, 0);
    assert_false(allows(account, 0, &refusal));
    assert_int_equal(refusal.status, 429);
    assert_string_equal(refusal.code, "request_rate");
    assert_string_equal(refusal.message, "this API key is limited to 2 requests a second; "
                                         "try again in 3 s");
    assert_int_equal(refusal.retry_after_s, 3);
    assert_true(allows(account, 3 * BATON_SECOND, &refusal));
    gw_account_put(account);
}

TEST(what_has_no_limit_is_allowed)
{
    struct gw_account *account = gw_account_create(GW_OF_KEY, &two_requests);
    struct gw_error refusal;
    char text[GW_LIMIT_TEXT_BYTES];
    gw_account_charge(account, GW_LIMIT_tokens, 1e18, 0);
    assert_true(gw_account_allows(account, GW_LIMIT_tokens, 0, text, &refusal));
    assert_true(allows(NULL, 0, &refusal));
    gw_account_charge(account, GW_LIMIT_requests, 1e18, 0); /* a debt, but not for ever */
    assert_false(allows(account, 0, &refusal));
    assert_int_equal(refusal.retry_after_s, GW_MAX_RETRY_S);
    assert_true(allows(account, 2 * 3600 * BATON_SECOND, &refusal));
    gw_account_put(account);
}

/* ---- addresses ---- */

static struct sockaddr_storage address(const char *text)
{
    struct sockaddr_storage from = {0};
    if (uv_ip4_addr(text, 1, (struct sockaddr_in *)&from))
        assert_int_equal(uv_ip6_addr(text, 1, (struct sockaddr_in6 *)&from), 0);
    return from;
}

static struct gw_addresses addresses;

static struct gw_address *enter(const char *text, int64_t now_ns)
{
    struct sockaddr_storage from = address(text);
    return gw_addresses_enter(&addresses, &from, now_ns);
}

TEST(an_address_is_an_ipv4_one_or_an_ipv6_network)
{
    static const char *const texts[] = {"10.0.0.1",        "::ffff:10.0.0.1", "10.0.0.2",
                                        "2001:db8:0:1::5", "2001:db8:0:1::6", "2001:db8:0:2::5"};
    struct gw_address *found[6];
    gw_addresses_init(&addresses, &two_requests);
    for (int i = 0; i < 6; i++)
        found[i] = enter(texts[i], 0);
    assert_ptr_equal(found[0], found[1]);
    assert_ptr_not_equal(found[0], found[2]);
    assert_ptr_equal(found[3], found[4]);
    assert_ptr_not_equal(found[3], found[5]);
    assert_int_equal(found[0]->n_connections, 2);
    for (int i = 0; i < 6; i++)
        gw_addresses_leave(&addresses, found[i], 0);
    gw_addresses_fini(&addresses);
}

TEST(an_address_that_left_in_debt_is_remembered_until_it_is_paid)
{
    gw_addresses_init(&addresses, &two_requests);
    struct gw_address *first = enter("10.0.0.1", 0);
    gw_account_charge(first->account, GW_LIMIT_requests, 20, 0);
    gw_addresses_leave(&addresses, first, 0);
    assert_int_equal(addresses.gone.n, 1);
    assert_ptr_equal(enter("10.0.0.1", BATON_SECOND), first);
    gw_addresses_leave(&addresses, first, BATON_SECOND);
    struct gw_address *other = enter("10.0.0.2", 11 * BATON_SECOND);
    assert_int_equal(addresses.gone.n, 0);
    gw_addresses_leave(&addresses, other, 11 * BATON_SECOND);
    gw_addresses_fini(&addresses);
}

TEST(addresses_that_left_take_bounded_memory)
{
    gw_addresses_init(&addresses, &two_requests);
    for (int i = 0; i < GW_MAX_GONE + 5000; i++) {
        char text[32];
        (void)snprintf(text, sizeof text, "10.%d.%d.%d", i >> 16, i >> 8 & 255, i & 255);
        struct gw_address *each = enter(text, 0);
        gw_account_charge(each->account, GW_LIMIT_requests, 1000, 0);
        gw_addresses_leave(&addresses, each, 0);
    }
    assert_true(addresses.gone.n <= GW_MAX_GONE);
    gw_addresses_fini(&addresses);
}

/* ---- the server ---- */

static struct fixture f;

SETUP(setup)
{
    fixture_init(&f);
}

TEARDOWN(teardown)
{
    fixture_stop(&f);
}

static const char show[] = "GET /show HTTP/1.1\r\nHost: a\r\n\r\n";

TEST_IN(setup, teardown, an_address_has_so_many_connections)
{
    f.options.max_connections_per_address = 2;
    fixture_start(&f);
    int first = client_open(&f, 0), second = client_open(&f, 0);
    fixture_wait_connections(&f, 2);
    int third = client_open(&f, 0);
    const char *reply = client_read_all(&f, third);
    assert_non_null(strstr(reply, "HTTP/1.1 429 "));
    assert_non_null(strstr(reply, "connection_limit"));
    assert_non_null(strstr(reply, "Retry-After: 1\r\n"));
    close(third);
    close(first);
    fixture_wait_connections(&f, 1);
    third = client_open(&f, 0);
    client_say(&f, third, show);
    client_read(&f, third, "GET|/show");
    assert_int_equal(gw_http_stats(f.server)->n_connections_limited, 1);
    close(second);
    close(third);
}

TEST_IN(setup, teardown, an_address_asks_so_often)
{
    f.options.address_limits.per_s[GW_LIMIT_requests] = 0.001; /* no stall of the test is as long */
    fixture_start(&f);
    int fd = client_open(&f, 0);
    client_say(&f, fd, show);
    client_read(&f, fd, "GET|/show");
    client_say(&f, fd, show);
    const char *reply = client_read_all(&f, fd);
    assert_non_null(strstr(reply, "HTTP/1.1 429 "));
    assert_non_null(strstr(reply, "this address is limited to 0.001 requests a second"));
    close(fd);
    assert_int_equal(gw_http_stats(f.server)->n_limited[GW_OF_ADDRESS][GW_LIMIT_requests], 1);
    fixture_pass_ms(&f, 1000000);
    fd = client_open(&f, 0);
    client_say(&f, fd, show);
    client_read(&f, fd, "GET|/show");
    close(fd);
}

TEST_IN(setup, teardown, an_address_sends_and_receives_so_much)
{
    static char body[5000];
    f.options.address_limits.per_s[GW_LIMIT_bytes] = 10;
    fixture_start(&f);
    memset(body, 'b', sizeof body);
    int fd = client_open(&f, 0);
    client_say(&f, fd, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\n");
    client_send(&f, fd, body, sizeof body); /* there and back: 1000 seconds' worth */
    client_read(&f, fd, "bbbb");
    client_say(&f, fd, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\n");
    const char *reply = client_read_all(&f, fd);
    assert_non_null(strstr(reply, "HTTP/1.1 429 ")); /* before the body was sent */
    assert_non_null(strstr(reply, "byte_rate"));
    close(fd);
}

enum { N_SENDERS = 20, SENT_BYTES = 10000 };

/* Sends all of a body but its last byte. */
static int send_most(const char *host)
{
    static char body[SENT_BYTES];
    int fd = client_open_from(&f, host);
    memset(body, 'b', sizeof body);
    client_say(&f, fd, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 10001\r\n\r\n");
    client_send(&f, fd, body, sizeof body);
    fixture_settle(&f);
    return fd;
}

TEST_IN(setup, teardown, the_oldest_bodies_give_way_to_new_ones)
{
    int fds[N_SENDERS];
    f.options.max_arriving_bytes = 100000;
    fixture_start(&f);
    for (int i = 0; i < N_SENDERS; i++)
        fds[i] = send_most("127.0.0.1");
    assert_non_null(strstr(client_read_all(&f, fds[0]), "HTTP/1.1 503 "));
    assert_int_equal(gw_http_stats(f.server)->n_bodies_dropped, 10);
    client_say(&f, fds[N_SENDERS - 1], "b");
    client_read(&f, fds[N_SENDERS - 1], "HTTP/1.1 200 ");
    for (int i = 0; i < N_SENDERS; i++)
        close(fds[i]);
}

TEST_IN(setup, teardown, bodies_give_way_to_those_of_addresses_that_send_less)
{
    int fds[N_SENDERS];
    f.options.max_arriving_bytes = 100000;
    fixture_start(&f);
    int first = send_most("127.0.0.2"), second = send_most("127.0.0.2");
    for (int i = 0; i < N_SENDERS; i++)
        fds[i] = send_most("127.0.0.1");
    assert_int_equal(gw_http_stats(f.server)->n_bodies_dropped, 2 + N_SENDERS - 10);
    client_say(&f, first, "b");
    client_read(&f, first, "HTTP/1.1 200 ");
    client_say(&f, second, "b");
    client_read(&f, second, "HTTP/1.1 200 ");
    close(first);
    close(second);
    for (int i = 0; i < N_SENDERS; i++)
        close(fds[i]);
}
