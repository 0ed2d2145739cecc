/* A chunked body decodes the same however it is cut, and never to more than its limit. */
#include "tests/fuzz/fuzz.h"

#include "common/http/chunked.h"

enum { MAX_BODY_BYTES = 512 };

struct result {
    enum baton_err err;
    size_t n_used;
    struct baton_buf body;
};

static void decode(struct result *result, const char *bytes, size_t size, size_t step)
{
    struct baton_chunked chunked;
    baton_chunked_init(&chunked);
    *result = (struct result){.err = BATON_AGAIN};
    baton_buf_init(&result->body, MAX_BODY_BYTES);
    for (size_t at = 0; at < size && result->err == BATON_AGAIN; at += step) {
        size_t used = 0, n = size - at < step ? size - at : step;
        result->err = baton_chunked_feed(&chunked, bytes + at, n, &used, &result->body);
        result->n_used += used;
        check(result->err != BATON_AGAIN || used == n);
    }
}

FUZZ(data, size)
{
    struct result whole, cut;
    if (!size)
        return;
    decode(&whole, (const char *)data + 1, size - 1, size);
    decode(&cut, (const char *)data + 1, size - 1, 1 + data[0] % 32);
    check(whole.err == cut.err && whole.body.len == cut.body.len &&
          memcmp(baton_buf_text(&whole.body), baton_buf_text(&cut.body), whole.body.len) == 0);
    check((whole.err != BATON_OK && whole.err != BATON_AGAIN) || whole.n_used == cut.n_used);
    baton_buf_fini(&whole.body);
    baton_buf_fini(&cut.body);
}
