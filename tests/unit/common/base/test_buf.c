#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"

TEST(appended_bytes_are_there_and_terminated)
{
    struct baton_buf buf;
    baton_buf_init(&buf, 1000);
    assert_string_equal(baton_buf_text(&buf), "");
    baton_buf_puts(&buf, "ab");
    baton_buf_putc(&buf, 'c');
    baton_buf_printf(&buf, "%d-%s", 42, "x");
    baton_buf_append(&buf, "\0z", 2);
    assert_int_equal(buf.len, 9);
    assert_memory_equal(buf.data, "abc42-x\0z", 10);
    baton_buf_fini(&buf);
}

TEST(the_maximum_is_exact_and_its_failure_sticks)
{
    struct baton_buf buf;
    baton_buf_init(&buf, 5);
    baton_buf_puts(&buf, "12345");
    assert_ok(baton_buf_err(&buf));
    baton_buf_puts(&buf, "6");
    assert_int_equal(baton_buf_err(&buf), BATON_LIMIT);
    baton_buf_append(&buf, "", 0);
    assert_string_equal(baton_buf_text(&buf), "12345");
    baton_buf_reset(&buf);
    assert_ok(baton_buf_err(&buf));
    baton_buf_printf(&buf, "%s", "123456");
    assert_int_equal(baton_buf_err(&buf), BATON_LIMIT);
    baton_buf_fini(&buf);
}

TEST(consuming_keeps_the_rest)
{
    struct baton_buf buf;
    baton_buf_init(&buf, 100);
    baton_buf_puts(&buf, "hello world");
    baton_buf_consume(&buf, 6);
    assert_string_equal(baton_buf_text(&buf), "world");
    baton_buf_consume(&buf, 5);
    assert_string_equal(baton_buf_text(&buf), "");
    baton_buf_consume(&buf, 0);
    baton_buf_fini(&buf);
}

TEST(taking_moves_the_bytes_out)
{
    struct baton_buf buf;
    baton_buf_init(&buf, 100);
    baton_buf_puts(&buf, "mine");
    char *text = baton_buf_take(&buf);
    assert_string_equal(text, "mine");
    assert_null(baton_buf_take(&buf));
    baton_buf_puts(&buf, "more");
    assert_string_equal(baton_buf_text(&buf), "more");
    free(text);
    baton_buf_fini(&buf);
}
