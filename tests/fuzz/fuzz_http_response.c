/* A response is read the same however it is cut, and never past its end. */
#include "tests/fuzz/fuzz.h"

#include "common/http/response.h"

enum { BODY_MAX_BYTES = 512 };

struct result {
    enum baton_err err;
    size_t n_used;
    struct baton_http_response response;
    struct baton_buf body;
};

static void read_response(struct result *result, const char *bytes, size_t size, size_t step)
{
    struct baton_why why;
    *result = (struct result){.err = BATON_AGAIN};
    baton_http_response_init(&result->response);
    baton_buf_init(&result->body, BODY_MAX_BYTES);
    for (size_t at = 0; at < size && result->err == BATON_AGAIN; at += step) {
        size_t used = 0, n = size - at < step ? size - at : step;
        result->err =
            baton_http_response_feed(&result->response, bytes + at, n, &used, &result->body, &why);
        result->n_used += used;
        check(used <= n && (result->err != BATON_AGAIN || used == n));
    }
}

static void end(struct result *result)
{
    baton_http_response_fini(&result->response);
    baton_buf_fini(&result->body);
}

FUZZ(data, size)
{
    struct result whole, cut;
    if (!size)
        return;
    read_response(&whole, (const char *)data + 1, size - 1, size);
    read_response(&cut, (const char *)data + 1, size - 1, 1 + data[0] % 32);
    bool is_good = whole.err == BATON_OK || whole.err == BATON_AGAIN;
    check(whole.err == cut.err && whole.response.status == cut.response.status);
    check(!is_good ||
          (whole.n_used == cut.n_used && whole.body.len == cut.body.len &&
           whole.response.keep_alive == cut.response.keep_alive &&
           memcmp(baton_buf_text(&whole.body), baton_buf_text(&cut.body), whole.body.len) == 0));
    end(&whole);
    end(&cut);
}
