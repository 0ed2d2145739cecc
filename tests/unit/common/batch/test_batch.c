/* Lines of a batch and of its answers, and how many requests are in flight. */
#include "tests/support/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/array.h"
#include "common/batch/lines.h"
#include "common/batch/pace.h"
#include "common/batch/request.h"

static struct baton_batch_request request;
static struct baton_buf text;

SETUP(init)
{
    baton_batch_request_init(&request);
    baton_buf_init(&text, BATON_BATCH_LINE_MAX_BYTES);
}

TEARDOWN(fini)
{
    baton_batch_request_fini(&request);
    baton_buf_fini(&text);
}

static enum baton_err read_line(const char *line, struct baton_why *why)
{
    baton_buf_reset(&text);
    baton_buf_puts(&text, line);
    return baton_batch_request_read(&request, 7, &text, why);
}

TEST(a_request_keeps_its_body_and_gets_the_lowest_priority)
{
    assert_ok(read_line("{\"custom_id\":\"a\",\"method\":\"POST\",\"url\":\"/v1/completions\","
                        "\"body\":{\"prompt\":\"x\",\"seed\":9007199254740993,\"t\":0.5}}",
                        NULL));
    assert_string_equal(baton_buf_text(&request.body),
                        "{\"prompt\":\"x\",\"seed\":9007199254740993,\"t\":0.5,"
                        "\"priority\":\"batch\"}");
    assert_string_equal(request.url, "/v1/completions");
}

TEST(a_request_may_say_its_own_priority)
{
    static const char *const bodies[] = {"{\"priority\":0}", "{\"service_tier\":\"auto\"}"};
    char line[200];
    for (size_t i = 0; i < 2; i++) {
        (void)snprintf(line, sizeof line,
                       "{\"custom_id\":\"a\",\"method\":\"POST\",\"url\":\"/x\",\"body\":%s}",
                       bodies[i]);
        assert_ok(read_line(line, NULL));
        assert_string_equal(baton_buf_text(&request.body), bodies[i]);
    }
}

TEST(an_answer_tells_which_request_it_answers)
{
    struct baton_buf body, line;
    uint64_t number;
    uint32_t mark;
    assert_ok(read_line("{\"custom_id\":\"a\\\"\\\\,\\u00e9\",\"method\":\"POST\","
                        "\"url\":\"/x\",\"body\":{}}",
                        NULL));
    baton_buf_init(&body, 1000);
    baton_buf_init(&line, 1000);
    baton_buf_puts(&body, "{\"a\":\n [1]}\n");
    baton_batch_put_answer(&line, &request, 200, "r-1", &body);
    assert_string_equal(baton_buf_text(&line),
                        "{\"id\":\"batch_req_7\",\"custom_id\":\"a\\\"\\\\,\u00e9\",\"response\":"
                        "{\"status_code\":200,\"request_id\":\"r-1\",\"body\":{\"a\":  [1]} },"
                        "\"error\":null}\n");
    assert_ok(baton_batch_read_answer(&line, &number, &mark));
    assert_int_equal(number, 7);
    assert_int_equal(mark,
                     baton_batch_mark(baton_buf_text(&request.custom_id), request.custom_id.len));
    baton_buf_reset(&line);
    baton_buf_reset(&body);
    baton_buf_puts(&body, "<html>");
    baton_batch_put_answer(&line, &request, 502, "r-1", &body);
    assert_non_null(strstr(baton_buf_text(&line), "\"body\":\"<html>\"}"));
    baton_buf_fini(&body);
    baton_buf_fini(&line);
}

TEST(what_is_no_answer_is_refused)
{
    static const char *const bad[] = {"",
                                      "{}",
                                      "{\"id\":\"batch_req_\",\"custom_id\":\"a\"",
                                      "{\"id\":\"batch_req_0\",\"custom_id\":\"a\"",
                                      "{\"id\":\"batch_req_1\",\"custom_id\":null",
                                      "{\"id\":\"batch_req_1\",\"custom_id\":\"a\\\"",
                                      "{\"id\":\"batch_req_1x\",\"custom_id\":\"a\""};
    uint64_t number;
    uint32_t mark;
    for (size_t i = 0; i < BATON_N_OF(bad); i++) {
        baton_buf_reset(&text);
        baton_buf_puts(&text, bad[i]);
        assert_int_equal(baton_batch_read_answer(&text, &number, &mark), BATON_INVALID);
    }
}

/* Lines of all lengths around that of the reader's buffer. */
TEST(lines_are_read_whole_whatever_their_length)
{
    static struct baton_lines lines;
    char path[] = "/tmp/baton-lines-XXXXXX";
    int fd = mkstemp(path);
    FILE *file = fdopen(dup(fd), "w");
    assert_int_equal(unlink(path), 0);
    for (int n = BATON_LINES_READ_BYTES - 2; n <= BATON_LINES_READ_BYTES + 2; n++)
        (void)fprintf(file, "%*d\n\n", n, n);
    (void)fprintf(file, "end");
    assert_int_equal(fclose(file), 0);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    baton_lines_init(&lines, fd);
    for (int n = BATON_LINES_READ_BYTES - 2; n <= BATON_LINES_READ_BYTES + 2; n++) {
        assert_ok(baton_lines_next(&lines, &text));
        assert_int_equal(text.len, n);
        assert_ok(baton_lines_next(&lines, &text));
        assert_int_equal(text.len, 0);
        assert_true(lines.is_whole);
    }
    assert_ok(baton_lines_next(&lines, &text));
    assert_string_equal(baton_buf_text(&text), "end");
    assert_false(lines.is_whole);
    assert_int_equal(lines.number, 11);
    assert_int_equal(baton_lines_next(&lines, &text), BATON_NOT_FOUND);
    close(fd);
}

TEST(a_line_that_is_too_long_is_skipped_and_the_next_is_read)
{
    static struct baton_lines lines;
    struct baton_buf line;
    char path[] = "/tmp/baton-lines-XXXXXX";
    int fd = mkstemp(path);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(dprintf(fd, "a\n%*d\nb\n", 3 * BATON_LINES_READ_BYTES, 1),
                     3 * BATON_LINES_READ_BYTES + 5);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    baton_buf_init(&line, 1000);
    baton_lines_init(&lines, fd);
    assert_ok(baton_lines_next(&lines, &line));
    assert_int_equal(baton_lines_next(&lines, &line), BATON_LIMIT);
    assert_ok(baton_lines_next(&lines, &line));
    assert_string_equal(baton_buf_text(&line), "b");
    assert_int_equal(lines.number, 3);
    assert_int_equal(baton_lines_next(&lines, &line), BATON_NOT_FOUND);
    baton_buf_fini(&line);
    close(fd);
}

TEST(the_pace_falls_to_what_the_server_took_and_rises_by_one_a_round)
{
    struct baton_pace pace = baton_pace_of(8);
    for (int i = 0; i < 8; i++) {
        assert_true(baton_pace_may_begin(&pace));
        baton_pace_begin(&pace);
    }
    assert_false(baton_pace_may_begin(&pace));
    for (int i = 0; i < 5; i++)
        baton_pace_refused(&pace);
    assert_int_equal(pace.n_in_flight, 3);
    assert_false(baton_pace_may_begin(&pace));
    for (int i = 0; i < 4; i++) { /* 3, 3.33, 3.63, 3.91, 4.16 */
        baton_pace_answered(&pace);
        assert_true(baton_pace_may_begin(&pace));
        baton_pace_begin(&pace);
    }
    assert_true(baton_pace_may_begin(&pace));
    for (int i = 0; i < 3; i++)
        baton_pace_refused(&pace);
    assert_true(baton_pace_may_begin(&pace)); /* one at least */
}

TEST(a_wait_is_the_servers_or_doubles)
{
    assert_true(baton_pace_wait_s(7, 3) == 7);
    assert_true(baton_pace_wait_s(700, 0) == 60);
    assert_true(baton_pace_wait_s(-1, 0) == 1);
    assert_true(baton_pace_wait_s(-1, 3) == 8);
    assert_true(baton_pace_wait_s(-1, 1000) == 60);
}

EACH_TEST(init, fini)
