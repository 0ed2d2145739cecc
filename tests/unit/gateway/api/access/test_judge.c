#include <string.h>

#include "tests/support/test.h"

#include "common/base/array.h"
#include "gateway/api/access/judge.h"

#define OWN  "http://localhost:8000"
#define APP  "https://app.example"
#define EVIL "http://evil.example"

static struct gw_judge judge;

static void open_judge(const char *origins, const char *hosts, const char *bound, bool is_https)
{
    struct baton_why why = {""};
    judge.is_https = is_https;
    if (gw_cors_read(origins, &judge.cors, &why) || gw_hosts_read(hosts, bound, &judge.hosts, &why))
        fail_msg("%s", why.text);
}

/* The status of the refusal; 0: the request is accepted. */
static int status_of(const char *method, const char *host, const char *origin, const char *site,
                     const char *type)
{
    const struct gw_source source = {.method = method,
                                     .host = host,
                                     .origin = origin,
                                     .fetch_site = site,
                                     .content_type = type,
                                     .has_body = !strcmp(method, "POST")};
    const struct gw_error *error = gw_judge_head(&judge, &source);
    return error ? error->status : 0;
}

TEST(a_head_is_judged_by_host_then_origin_then_type)
{
    static const struct {
        const char *method, *host, *origin, *site, *type;
        int status;
    } cases[] = {
        /* programs */
        {"POST", "localhost:8000", "", "", "application/json", 0},
        {"POST", "127.0.0.1:8000", "", "", "", 0},
        {"DELETE", "", "", "", "", 0},
        {"GET", "evil.example:8000", "", "", "", 421},
        {"POST", "evil.example:8000", EVIL ":8000", "", "application/json", 421},
        /* our own page */
        {"POST", "localhost:8000", OWN, "same-origin", "application/json", 0},
        {"POST", "localhost:8000", OWN, "", "application/json", 0},
        {"POST", "LOCALHOST:8000", OWN, "", "application/json", 0},
        {"POST", "localhost:8000", "https://localhost:8000", "", "application/json", 0},
        {"POST", "127.0.0.1:8000", "https://llm.example", "same-origin", "application/json", 0},
        {"DELETE", "localhost:8000", "", "none", "", 0},
        /* listed pages */
        {"POST", "localhost:8000", APP, "cross-site", "application/json", 0},
        {"DELETE", "localhost:8000", APP, "cross-site", "", 0},
        /* other pages */
        {"POST", "localhost:8000", EVIL, "cross-site", "application/json", 403},
        {"POST", "localhost:8000", EVIL, "", "application/json", 403},
        {"POST", "localhost:8000", "http://localhost:9000", "same-site", "text/plain", 403},
        {"POST", "localhost:8000", "http://localhost:9000", "", "", 403},
        {"POST", "localhost:8000", "null", "cross-site", "", 403},
        {"POST", "localhost:8000", "", "cross-site", "application/json", 403},
        {"POST", "localhost:8000", "", "same-site", "application/json", 403},
        {"DELETE", "localhost:8000", EVIL, "", "", 403},
        {"PUT", "localhost:8000", EVIL, "", "", 403},
        {"POST", "localhost:8000", "localhost:8000", "", "application/json", 403},
        {"POST", "localhost:8000", "ftp://localhost:8000", "", "application/json", 403},
        {"POST", "localhost:8000", APP ".evil", "", "application/json", 403},
        /* pages may read what they may read, and follow links */
        {"GET", "localhost:8000", EVIL, "cross-site", "", 0},
        {"HEAD", "localhost:8000", EVIL, "", "", 0},
        {"OPTIONS", "localhost:8000", EVIL, "cross-site", "", 0},
        {"GET", "localhost:8000", "", "cross-site", "", 0},
        /* a body whose type no page had to ask for */
        {"POST", "localhost:8000", OWN, "same-origin", "", 415},
        {"POST", "localhost:8000", APP, "", "", 415},
        {"POST", "localhost:8000", "", "same-origin", "", 415},
    };
    open_judge(APP, "", "127.0.0.1", false);
    for (size_t i = 0; i < BATON_N_OF(cases); i++) {
        int status = status_of(cases[i].method, cases[i].host, cases[i].origin, cases[i].site,
                               cases[i].type);
        if (status != cases[i].status)
            fail_msg("case %zu: %s of %s: %d and not %d", i, cases[i].method, cases[i].origin,
                     status, cases[i].status);
    }
}

TEST(a_server_with_tls_has_no_page_without)
{
    open_judge("", "llm.example", "0.0.0.0", true);
    assert_int_equal(status_of("DELETE", "llm.example", "https://llm.example", "", ""), 0);
    assert_int_equal(status_of("DELETE", "llm.example", "http://llm.example", "", ""), 403);
}

TEST(elsewhere_than_on_loopback_any_host_is_served_without_a_list)
{
    open_judge("", "", "0.0.0.0", false);
    assert_int_equal(status_of("GET", "gateway.baton.svc:8000", "", "", ""), 0);
    assert_int_equal(status_of("POST", "llm.example", "http://llm.example", "", "text/plain"), 0);
}

TEST(localhost_means_pages_of_this_host_of_any_port)
{
    open_judge("localhost", "", "127.0.0.1", false);
    assert_int_equal(status_of("DELETE", "localhost:8000", "http://localhost:3000", "", ""), 0);
    assert_int_equal(status_of("DELETE", "localhost:8000", "http://127.0.0.1:5173", "", ""), 0);
    assert_int_equal(status_of("DELETE", "localhost:8000", "https://[::1]", "", ""), 0);
    assert_int_equal(status_of("DELETE", "localhost:8000", "http://localhost.evil", "", ""), 403);
    assert_int_equal(status_of("DELETE", "localhost:8000", "http://10.0.0.1:3000", "", ""), 403);
    assert_int_equal(status_of("DELETE", "localhost:8000", "null", "", ""), 403);
}

TEST(a_refusal_names_the_header_and_what_to_do)
{
    open_judge("", "", "127.0.0.1", false);
    struct gw_source source = {.method = "POST",
                               .host = "evil.example",
                               .origin = EVIL,
                               .fetch_site = "",
                               .content_type = ""};
    assert_non_null(strstr(gw_judge_head(&judge, &source)->message, "--allowed-hosts"));
    source.host = "localhost";
    assert_non_null(strstr(gw_judge_head(&judge, &source)->message, "--cors-origins"));
}
