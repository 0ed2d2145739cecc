#include <stdio.h>
#include <string.h>

#include "tests/support/test.h"
#include "tools/support/sse_reader.h"

static struct baton_buf seen; /* "name|data;" of each event */

static enum baton_err note(void *arg, const struct ld_event *event)
{
    (void)arg;
    assert_int_equal(strlen(event->data), event->n_data);
    baton_buf_printf(&seen, "%s|%s;", event->name, event->data);
    return strcmp(event->data, "stop") ? BATON_OK : BATON_CANCELED;
}

/* The events of a text that comes in pieces of step bytes. */
static enum baton_err read_in_steps(const char *text, size_t step)
{
    struct ld_sse sse;
    enum baton_err err = BATON_OK;
    size_t n = strlen(text);
    ld_sse_init(&sse);
    baton_buf_reset(&seen);
    for (size_t at = 0; at < n && !err; at += step)
        err = ld_sse_feed(&sse, text + at, n - at < step ? n - at : step, note, NULL);
    ld_sse_fini(&sse);
    return err;
}

static void expect(const char *text, const char *events)
{
    for (size_t step = 1; step <= strlen(text); step++) {
        assert_ok(read_in_steps(text, step));
        assert_string_equal(baton_buf_text(&seen), events);
    }
}

TEST(events_come_out_however_they_were_cut)
{
    expect("event: meta\ndata: {\"a\":1}\n\nevent: token\ndata:  the\n\ndata: [DONE]\n\n",
           "meta|{\"a\":1};token| the;|[DONE];");
}

TEST(every_line_end_ends_a_line)
{
    expect("data: a\r\n\r\ndata: b\r\rdata: c\n\n", "|a;|b;|c;");
    expect("event: x\r\ndata: a\rdata: b\n\r\n", "x|a\nb;");
}

TEST(lines_of_data_are_joined)
{
    expect("data: a\ndata:\ndata: b\n\n", "|a\n\nb;");
    expect("data:\n\n", "|;");
    expect("data\n\n", "|;");
}

TEST(comments_and_other_fields_are_skipped)
{
    expect(": keep-alive\n\nid: 7\nretry: 10\ndata: a\ndatum: b\n\n", "|a;");
}

TEST(an_event_without_data_is_none)
{
    expect("event: token\n\ndata: a\n\n", "|a;");
    expect("data: never ended", "");
}

TEST(a_byte_order_mark_is_skipped)
{
    expect("\xef\xbb\xbf"
           "data: a\n\n",
           "|a;");
}

TEST(the_callback_can_end_it)
{
    assert_int_equal(read_in_steps("data: stop\n\ndata: a\n\n", 100), BATON_CANCELED);
    assert_string_equal(baton_buf_text(&seen), "|stop;");
}

TEST(a_line_without_end_is_bounded)
{
    static char block[64 << 10];
    struct ld_sse sse;
    enum baton_err err = BATON_OK;
    size_t n_fed = 0;
    ld_sse_init(&sse);
    memset(block, 'a', sizeof block);
    for (; !err && n_fed < 4 * (size_t)LD_SSE_MAX_BYTES; n_fed += sizeof block)
        err = ld_sse_feed(&sse, block, sizeof block, note, NULL);
    assert_int_equal(err, BATON_LIMIT);
    assert_true(n_fed <= LD_SSE_MAX_BYTES + sizeof block);
    ld_sse_fini(&sse);
}

SETUP(begin)
{
    baton_buf_init(&seen, 4096);
}

TEARDOWN(end)
{
    baton_buf_fini(&seen);
}

EACH_TEST(begin, end)
