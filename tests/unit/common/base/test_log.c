/* The output on stderr. */
#include "tests/support/scratch.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/log.h"

static int64_t clock_ns;
static char written[1 << 16];

int64_t __wrap_baton_now_ns(void);

int64_t __wrap_baton_now_ns(void)
{
    return clock_ns;
}

/* Runs act with stderr going into written[]; how many lines it wrote. */
static int lines_of(void (*act)(void))
{
    int ends[2], n_lines = 0;
    assert_int_equal(pipe(ends), 0);
    int saved = dup(STDERR_FILENO);
    assert_true(saved >= 0 && dup2(ends[1], STDERR_FILENO) >= 0);
    act();
    assert_true(dup2(saved, STDERR_FILENO) >= 0);
    close(saved);
    close(ends[1]);
    size_t n = 0;
    for (ssize_t got; (got = read(ends[0], written + n, sizeof written - 1 - n)) > 0;)
        n += (size_t)got;
    close(ends[0]);
    written[n] = 0;
    for (const char *c = written; *c; c++)
        n_lines += *c == '\n';
    return n_lines;
}

static struct baton_log_limit limit;

static void log_often(void)
{
    for (int i = 0; i < 100; i++)
        baton_log_limited(&limit, BATON_LOG_WARN, "stranger_refused", BATON_I("i", i));
}

static void log_debug(void)
{
    baton_log_limited(&limit, BATON_LOG_DEBUG, "unseen", BATON_I("i", 1));
}

TEST(what_strangers_can_cause_is_logged_a_few_times_and_then_counted)
{
    clock_ns = BATON_SECOND;
    assert_int_equal(lines_of(log_often), 5);
    assert_null(strstr(written, "not_shown"));
    clock_ns += 9 * BATON_SECOND;
    assert_int_equal(lines_of(log_often), 0);
    clock_ns += BATON_SECOND;
    assert_int_equal(lines_of(log_debug), 0); /* takes no line's place */
    assert_int_equal(lines_of(log_often), 5);
    assert_non_null(strstr(written, "i=0 not_shown=195\n"));
    assert_null(strstr(strstr(written, "i=1"), "not_shown"));
}

static void log_kinds(void)
{
    baton_log(BATON_LOG_INFO, "kinds", BATON_S("text", "a \"b\"\n\xff"), BATON_S("none", NULL),
              BATON_O("left_out", ""), BATON_O("here", "x"), BATON_I("n", -7),
              BATON_X("req", 0xabcULL), BATON_F("s", 0.25), BATON_F("nan", NAN));
}

static void log_too_much(void)
{
    char text[8000];
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = 0;
    baton_log(BATON_LOG_INFO, "long", BATON_S("text", text));
}

TEST(a_line_is_logfmt_or_json)
{
    assert_int_equal(lines_of(log_kinds), 1);
    assert_non_null(strstr(written, " ev=kinds text=\"a \\\"b\\\"\\n\xff\" none=\"\" here=x n=-7 "
                                    "req=0000000000000abc s=0.25 nan=nan\n"));
    assert_ok(baton_log_open(BATON_LOG_JSON, "", NULL));
    assert_int_equal(lines_of(log_kinds), 1);
    assert_non_null(strstr(written, ",\"ev\":\"kinds\",\"text\":\"a \\\"b\\\"\\n\xef\xbf\xbd\","
                                    "\"none\":\"\",\"here\":\"x\",\"n\":-7,"
                                    "\"req\":\"0000000000000abc\",\"s\":0.25,\"nan\":null}\n"));
    assert_int_equal(lines_of(log_too_much), 1);
    assert_non_null(strstr(written, ",\"ev\":\"long\",\"cut\":\"the line was too long\"}\n"));
    assert_ok(baton_log_open(BATON_LOG_LOGFMT, "", NULL));
    assert_int_equal(lines_of(log_too_much), 1);
    assert_non_null(strstr(written, " ev=long "));
}

static int lines_in(const char *path)
{
    FILE *file = fopen(path, "r");
    int n = 0;
    assert_non_null(file);
    for (int c; (c = fgetc(file)) != EOF;)
        n += c == '\n';
    assert_int_equal(fclose(file), 0);
    return n;
}

/* Last: the log stays in the file. */
TEST_IN(make_scratch, remove_scratch, a_signal_opens_the_file_anew)
{
    const char *path = in_scratch("log"), *moved = in_scratch("log.1");
    struct baton_why why;
    assert_int_equal(baton_log_open(BATON_LOG_LOGFMT, "/nowhere/at/all", &why), BATON_IO);
    assert_string_equal(why.text, "log-file: /nowhere/at/all: No such file or directory");
    assert_ok(baton_log_open(BATON_LOG_LOGFMT, path, &why));
    log_kinds();
    assert_int_equal(rename(path, moved), 0);
    log_kinds();
    assert_int_equal(raise(SIGUSR1), 0);
    log_kinds();
    assert_int_equal(lines_in(moved), 2);
    assert_int_equal(lines_in(path), 1);
}
