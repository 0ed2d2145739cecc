#include "tests/support/test.h"

#include <string.h>

#include "common/base/json.h"
#include "gateway/http/status.h"

#include "common/base/array.h"

TEST(every_status_of_the_contract_has_a_reason)
{
    static const int statuses[] = {200, 400, 401, 404, 405, 408, 413, 414, 415, 417,
                                   429, 431, 499, 500, 501, 502, 503, 504, 505};
    for (size_t i = 0; i < BATON_N_OF(statuses); i++)
        assert_string_not_equal(gw_status_reason(statuses[i]), "Unknown");
    assert_string_equal(gw_status_reason(777), "Unknown");
}

static void assert_type(int status, const char *type)
{
    struct baton_buf out;
    struct baton_json *root = NULL;
    baton_buf_init(&out, 1024);
    gw_error_put(&out,
                 &(struct gw_error){.status = status, .code = "a_code", .message = "why \"so\""});
    assert_ok(baton_json_parse(out.data, out.len, &root, NULL));
    const struct baton_json *error = baton_json_get(root, "error");
    assert_string_equal(baton_json_string(baton_json_get(error, "type"), NULL), type);
    assert_string_equal(baton_json_string(baton_json_get(error, "message"), NULL), "why \"so\"");
    assert_string_equal(baton_json_string(baton_json_get(error, "code"), NULL), "a_code");
    assert_int_equal(baton_json_kind(baton_json_get(error, "param")), BATON_JSON_NULL);
    assert_int_equal(baton_json_size(error), 4);
    baton_json_free(root);
    baton_buf_fini(&out);
}

TEST(the_type_of_an_error_follows_from_its_status)
{
    static const int requests[] = {400, 404, 405, 408, 413, 415, 431};
    for (size_t i = 0; i < BATON_N_OF(requests); i++)
        assert_type(requests[i], "invalid_request_error");
    assert_type(401, "authentication_error");
    assert_type(429, "rate_limit_error");
    assert_type(500, "server_error");
    assert_type(503, "server_error");
}

TEST(an_error_says_what_else_is_known)
{
    struct baton_buf out, usage;
    struct baton_json *root = NULL;
    baton_buf_init(&out, 1024);
    baton_buf_init(&usage, 1024);
    baton_buf_puts(&usage, "{\"output_tokens\":3}");
    gw_error_put(
        &out, &(struct gw_error){
                  .status = 429, .message = "", .param = "n", .retry_after_s = 7, .usage = &usage});
    assert_ok(baton_json_parse(out.data, out.len, &root, NULL));
    const struct baton_json *error = baton_json_get(root, "error");
    assert_string_equal(baton_json_string(baton_json_get(error, "param"), NULL), "n");
    assert_int_equal(baton_json_kind(baton_json_get(error, "code")), BATON_JSON_NULL);
    assert_int_equal(baton_json_int(baton_json_get(error, "retry_after_s")), 7);
    const struct baton_json *told = baton_json_get(error, "usage");
    assert_int_equal(baton_json_int(baton_json_get(told, "output_tokens")), 3);
    baton_json_free(root);
    baton_buf_fini(&usage);
    baton_buf_fini(&out);
}

static void assert_headers(struct gw_error error, const char *expected)
{
    char text[GW_ERROR_HEADERS_BYTES];
    assert_string_equal(gw_error_headers(&error, text), expected);
}

TEST(headers_say_whether_another_try_may_help)
{
    static const char soon[] = "Retry-After: 1\r\nx-should-retry: true\r\n";
    assert_headers((struct gw_error){.status = 429}, soon);
    assert_headers((struct gw_error){.status = 503}, soon);
    assert_headers((struct gw_error){.status = 429, .retry_after_s = 60},
                   "Retry-After: 60\r\nx-should-retry: true\r\n");
    assert_headers((struct gw_error){.status = 408}, "x-should-retry: true\r\n");
    assert_headers((struct gw_error){.status = 502}, "x-should-retry: true\r\n");
    assert_headers((struct gw_error){.status = 500}, "x-should-retry: false\r\n");
    assert_headers((struct gw_error){.status = 504}, "x-should-retry: false\r\n");
    assert_headers((struct gw_error){.status = 400}, "");
    assert_headers((struct gw_error){.status = 413}, "");
    assert_headers((struct gw_error){.status = 405, .allow = "POST"}, "Allow: POST\r\n");
}
