#include <string.h>

#include "tests/support/test.h"

#include "common/base/array.h"
#include "gateway/api/access/hosts.h"

static struct gw_hosts read_list(const char *list, const char *bound)
{
    struct gw_hosts hosts = {0};
    struct baton_why why = {""};
    if (gw_hosts_read(list, bound, &hosts, &why))
        fail_msg("%s", why.text);
    return hosts;
}

TEST(localhost_addresses_and_listed_names_are_this_server)
{
    static const char *const ours[] = {"",
                                       "localhost",
                                       "localhost:8000",
                                       "LocalHost",
                                       "localhost.:8000",
                                       "127.0.0.1",
                                       "127.1.2.3:8",
                                       "[::1]:8000",
                                       "[::1]",
                                       "app.localhost:8000",
                                       "10.0.0.5:80",
                                       "[fe80::1]",
                                       "llm.example:443",
                                       "LLM.Example",
                                       "gateway",
                                       "llm.example.",
                                       "0.0.0.0"};
    static const char *const others[] = {"evil.example",   "evil.example:8000",
                                         "localhost.evil", "evillocalhost",
                                         "127.0.0.1.evil", "127.0.0.1.nip.io:8000",
                                         "x.llm.example",  "llm.example.evil",
                                         "127.1",          "0x7f000001",
                                         "[evil]",         ":8000",
                                         "1.2.3.4.5",      "llm.example@evil.example"};
    struct gw_hosts hosts = read_list(" llm.example , gateway", "127.0.0.1");
    for (size_t i = 0; i < BATON_N_OF(ours); i++)
        if (!gw_hosts_has(&hosts, ours[i]))
            fail_msg("refused: %s", ours[i]);
    for (size_t i = 0; i < BATON_N_OF(others); i++)
        if (gw_hosts_has(&hosts, others[i]))
            fail_msg("accepted: %s", others[i]);
}

TEST(a_text_that_is_no_host_is_not_the_empty_bound_address)
{
    static const char *const texts[] = {"h;ttp:x", ":8000", "evil.example:http", "."};
    struct gw_hosts hosts = read_list("llm.example", "");
    for (size_t i = 0; i < BATON_N_OF(texts); i++)
        assert_false(gw_hosts_has(&hosts, texts[i]));
}

TEST(hosts_are_checked_on_loopback_or_with_a_list)
{
    assert_true(read_list("", "127.0.0.1").are_checked);
    assert_true(read_list("", "127.5.0.1").are_checked);
    assert_true(read_list("", "::1").are_checked);
    assert_false(read_list("", "0.0.0.0").are_checked);
    assert_false(read_list("", "::").are_checked);
    assert_false(read_list("", "10.0.0.1").are_checked);
    assert_true(read_list("llm.example", "0.0.0.0").are_checked);
}

TEST(a_star_allows_every_name)
{
    struct gw_hosts hosts = read_list("*", "127.0.0.1");
    assert_true(gw_hosts_has(&hosts, "evil.example"));
}

TEST(a_text_that_is_no_name_is_a_mistake_that_is_named)
{
    static const char *const bad[] = {
        "http://llm.example", "llm.example:80", "*.example", "a,", ",a", "a b", "a,*", "[::1]"};
    struct gw_hosts hosts;
    for (size_t i = 0; i < BATON_N_OF(bad); i++) {
        struct baton_why why = {""};
        if (gw_hosts_read(bad[i], "127.0.0.1", &hosts, &why) != BATON_INVALID)
            fail_msg("accepted: %s", bad[i]);
        assert_non_null(strstr(why.text, "allowed-hosts: "));
    }
}

static bool is_local(const char *text)
{
    return gw_host_is_local((struct gw_view){text, strlen(text)});
}

TEST(a_loopback_address_is_local_and_a_name_is_not)
{
    assert_true(is_local("127.0.0.1:51234"));
    assert_true(is_local("[::1]:51234"));
    assert_true(is_local("[::ffff:127.0.0.1]:51234"));
    assert_false(is_local("10.0.0.1:51234"));
    assert_false(is_local("[::ffff:10.0.0.1]:51234"));
    assert_false(is_local("127.0.0.1.evil:80"));
    assert_false(is_local("localhost:80/"));
    assert_false(is_local("[::1]evil"));
    assert_false(is_local("[::1]:80/"));
    assert_false(is_local(""));
    assert_true(gw_address_is_loopback("localhost"));
    assert_false(gw_address_is_loopback("localhost.example"));
    assert_false(gw_address_is_loopback("*"));
}
