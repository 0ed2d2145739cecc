/* A stream has the same events however it is cut. */
#include "tests/fuzz/fuzz.h"

#include "tools/support/sse_reader.h"

enum { SEEN_MAX_BYTES = 8 << 20 };

struct result {
    enum baton_err err;
    struct baton_buf seen;
};

static enum baton_err note(void *arg, const struct ld_event *event)
{
    struct baton_buf *seen = arg;
    baton_buf_puts(seen, event->name);
    baton_buf_putc(seen, 0);
    baton_buf_append(seen, event->data, event->n_data);
    baton_buf_putc(seen, 0);
    return BATON_OK;
}

static void read_stream(struct result *result, const char *bytes, size_t size, size_t step)
{
    struct ld_sse sse;
    ld_sse_init(&sse);
    result->err = BATON_OK;
    baton_buf_init(&result->seen, SEEN_MAX_BYTES);
    for (size_t at = 0; at < size && !result->err; at += step)
        result->err =
            ld_sse_feed(&sse, bytes + at, size - at < step ? size - at : step, note, &result->seen);
    ld_sse_fini(&sse);
}

FUZZ(data, size)
{
    struct result whole, cut;
    if (!size)
        return;
    read_stream(&whole, (const char *)data + 1, size - 1, size);
    read_stream(&cut, (const char *)data + 1, size - 1, 1 + data[0] % 32);
    check(whole.err == cut.err && whole.seen.len == cut.seen.len &&
          memcmp(baton_buf_text(&whole.seen), baton_buf_text(&cut.seen), whole.seen.len) == 0);
    baton_buf_fini(&whole.seen);
    baton_buf_fini(&cut.seen);
}
