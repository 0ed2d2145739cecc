#include "tests/support/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/baton/fleet/log_output.h"

#include "common/base/array.h"

/* The current contents of the pipe. */
static const char *drain(int fd)
{
    static char text[1 << 17];
    size_t used = 0;
    ssize_t n;
    (void)fcntl(fd, F_SETFL, O_NONBLOCK);
    while ((n = read(fd, text + used, sizeof text - 1 - used)) > 0)
        used += (size_t)n;
    text[used] = '\0';
    return text;
}

TEST(a_line_stands_after_its_process_s_name)
{
    int ends[2];
    assert_false(pipe(ends));
    struct bt_log_output output = {.fd = ends[1], .name_width = 9};
    bt_log_output_line(&output, "gateway", "ev=listening", 12);
    assert_string_equal(drain(ends[0]), "gateway   | ev=listening\n");
    bt_log_output_line(&output, "", "as it is", 8);
    assert_string_equal(drain(ends[0]), "as it is\n");
    (void)close(ends[0]);
    (void)close(ends[1]);
}

/* The JSON of a line by bt_log_output_line. */
static const char *as_json(const char *line)
{
    int ends[2];
    assert_false(pipe(ends));
    struct bt_log_output output = {.fd = ends[1], .is_json = true};
    bt_log_output_line(&output, "decode-1", line, strlen(line));
    const char *text = drain(ends[0]);
    (void)close(ends[0]);
    (void)close(ends[1]);
    return text;
}

TEST(an_object_gets_its_process_s_name_and_nothing_else_passes)
{
    static const char *const others[] = {
        "", "ev=listening", "{", "}", "[1]", "{\"a\":1", "{a}", "{} {}", "{\"a\":1,\"a\":2}"};
    char line[5000];
    assert_string_equal(as_json("{\"ev\":\"listening\"}"),
                        "{\"process\":\"decode-1\",\"ev\":\"listening\"}\n");
    assert_string_equal(as_json("{}"), "{\"process\":\"decode-1\"}\n");
    for (size_t i = 0; i < BATON_N_OF(others); i++)
        assert_string_equal(as_json(others[i]), "");
    /* With the name it would not go into the pipe at once. */
    (void)snprintf(line, sizeof line, "{\"a\":\"%04080d\"}", 7);
    assert_string_equal(as_json(line), "");
}

TEST(lines_that_nobody_reads_are_dropped_and_counted)
{
    int ends[2];
    char line[1000];
    assert_false(pipe(ends));
    struct bt_log_output output = {.fd = ends[1], .name_width = 4};
    memset(line, 'x', sizeof line);
    for (int i = 0; i < 100; i++) /* more than a pipe holds */
        bt_log_output_line(&output, "some", line, sizeof line);
    uint64_t n_dropped = output.n_dropped;
    assert_true(n_dropped > 0 && n_dropped < 100);
    (void)drain(ends[0]);
    bt_log_output_line(&output, "some", "again", 5);
    const char *text = drain(ends[0]);
    char expected[80];
    (void)snprintf(expected, sizeof expected,
                   "some | ev=log_lines_dropped lines=%d\nsome | again\n", (int)n_dropped);
    assert_string_equal(text, expected);
    assert_int_equal(output.n_dropped, 0);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

TEST(the_lines_of_a_pipe_come_whole_and_the_last_one_without_its_end_too)
{
    int from[2], to[2];
    uv_loop_t loop;
    struct bt_log_input input = {.is_open = false};
    struct bt_log_output output;
    assert_false(pipe(from));
    assert_false(pipe(to));
    assert_false(uv_loop_init(&loop));
    output = (struct bt_log_output){.fd = to[1], .name_width = 1};
    assert_ok(bt_log_input_open(&input, &loop, &output, "p", from[0], NULL));
    assert_int_equal(write(from[1], "one\ntw", 6), 6);
    (void)uv_run(&loop, UV_RUN_ONCE);
    assert_string_equal(drain(to[0]), "p | one\n");
    assert_int_equal(write(from[1], "o\nthree", 7), 7);
    (void)close(from[1]);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    assert_string_equal(drain(to[0]), "p | two\np | three\n");
    assert_false(uv_loop_close(&loop));
}
