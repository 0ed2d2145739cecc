/* Requests that the gateway sends to itself. */
#include "tests/support/test.h"

#include <string.h>

#include "gateway/http/local.h"
#include "server_fixture.h"

static struct fixture f;
static struct baton_buf body;
static struct {
    int n, status;
    double retry_after_s;
    char id[64], text[256];
} told;

static void answered(void *arg, const struct gw_local_answer *answer)
{
    assert_ptr_equal(arg, &told);
    told.n++;
    told.status = answer->status;
    told.retry_after_s = answer->retry_after_s;
    (void)snprintf(told.id, sizeof told.id, "%s", answer->request_id);
    (void)snprintf(told.text, sizeof told.text, "%s", baton_buf_text(answer->body));
}

static struct gw_exchange *begin(const char *path)
{
    static const uint8_t key[32] = {9};
    const struct gw_local_request request = {.path = path,
                                             .id = "batch-1",
                                             .key = key,
                                             .body = &body,
                                             .answered = answered,
                                             .arg = &told};
    return gw_local_begin(f.server, &request);
}

SETUP(init)
{
    memset(&told, 0, sizeof told);
    baton_buf_init(&body, 1000);
    baton_buf_puts(&body, "{\"a\":1}");
    fixture_init(&f);
    fixture_start(&f);
}

TEARDOWN(fini)
{
    fixture_stop(&f);
    baton_buf_fini(&body);
}

TEST(an_answer_comes_by_the_loop_with_what_the_handler_wrote)
{
    assert_non_null(begin("/echo"));
    assert_int_equal(told.n, 0); /* never from inside the call */
    fixture_wait_count(&f, &told.n, 1);
    assert_int_equal(told.status, 200);
    assert_string_equal(told.text, "{\"a\":1}");
    assert_string_equal(told.id, "batch-1");
}

TEST(the_handler_sees_a_post_with_the_owners_key)
{
    struct gw_exchange *exchange = begin("/hold");
    assert_ptr_equal(exchange, f.held);
    assert_string_equal(gw_exchange_method(exchange), "POST");
    assert_int_equal(gw_local_key(exchange)[0], 9);
    gw_exchange_respond(exchange, 404, "text/plain", "", "no", 2);
    fixture_wait_count(&f, &told.n, 1);
    assert_int_equal(told.status, 404);
    assert_string_equal(told.text, "no");
}

TEST(a_refusal_tells_when_to_come_again)
{
    const struct gw_error error = {
        .status = 429, .code = "queue_full", .message = "wait", .retry_after_s = 7};
    gw_exchange_respond_error(begin("/hold"), &error);
    fixture_wait_count(&f, &told.n, 1);
    assert_int_equal(told.status, 429);
    assert_true(told.retry_after_s == 7);
    assert_holds(told.text, "queue_full");
}

TEST(a_canceled_request_is_gone_without_an_answer)
{
    gw_local_cancel(begin("/hold"), "its batch ends");
    assert_int_equal(f.n_gone, 1);
    assert_string_equal(f.gone_reason, "its batch ends");
    gw_local_cancel(begin("/echo"), "too late"); /* answered, but not told yet */
    assert_int_equal(f.n_gone, 1);
    fixture_settle(&f);
    assert_int_equal(told.n, 0);
}

EACH_TEST(init, fini)
