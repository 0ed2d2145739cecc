#include <stdio.h>
#include <string.h>

#include "tests/support/test.h"

#include "common/base/array.h"
#include "gateway/api/access/exposure.h"

static struct gw_exposure exposure;
static struct baton_why why;

static enum baton_err check(struct gw_doors doors, const char *token)
{
    struct baton_cluster_token secret = {.path = "", .n = 1};
    (void)snprintf(secret.texts[0], sizeof secret.texts[0], "%s", token);
    return gw_exposure_check(&doors, &secret, &exposure, &why);
}

static const struct gw_doors safe = {
    .host = "127.0.0.1", .inbox = "tcp://127.0.0.1:7100", .api_keys = "", .peer_certfile = ""};

TEST(on_loopback_nothing_is_open)
{
    struct gw_doors doors = safe;
    doors.require_auth = true;
    assert_ok(check(doors, ""));
    assert_int_equal(exposure.n, 0);
    doors.host = "::1";
    doors.inbox = "tls+tcp://[::1]:0";
    assert_ok(check(doors, ""));
    assert_int_equal(exposure.n, 0);
}

TEST(clients_without_a_key_are_a_warning_and_an_error_where_keys_are_required)
{
    static const char *const reachable[] = {"0.0.0.0", "::", "10.0.0.1", "128.0.0.1"};
    for (size_t i = 0; i < BATON_N_OF(reachable); i++) {
        struct gw_doors doors = safe;
        doors.host = reachable[i];
        assert_ok(check(doors, "a-secret-of-ours"));
        assert_int_equal(exposure.n, 1);
        assert_non_null(strstr(exposure.warnings[0], "--api-keys"));
        doors.require_auth = true;
        assert_int_equal(check(doors, "a-secret-of-ours"), BATON_INVALID);
        assert_non_null(strstr(why.text, "require-auth: no API key"));
        doors.api_keys = "keys";
        assert_ok(check(doors, "a-secret-of-ours"));
        assert_int_equal(exposure.n, 0);
    }
}

TEST(a_fleet_whose_token_is_no_secret_is_a_warning_unless_certificates_guard_it)
{
    static const char *const reachable[] = {"tcp://0.0.0.0:7100", "tcp://*:7100",
                                            "tcp://gateway:7100", "tcp://[::]:7100"};
    for (size_t i = 0; i < BATON_N_OF(reachable); i++) {
        struct gw_doors doors = safe;
        doors.inbox = reachable[i];
        assert_ok(check(doors, ""));
        assert_int_equal(exposure.n, 1);
        assert_ok(check(doors, "only-on-the-internal-network"));
        assert_int_equal(exposure.n, 1);
        assert_non_null(strstr(exposure.warnings[0], "--cluster-token-file"));
        assert_ok(check(doors, "a-secret-of-ours"));
        assert_int_equal(exposure.n, 0);
        doors.peer_certfile = "cert.pem";
        assert_ok(check(doors, ""));
        assert_int_equal(exposure.n, 0);
    }
}
