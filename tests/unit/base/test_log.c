/* What reaches stderr. */
#include "tests/support/test.h"

#include <stdio.h>
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_strangers_can_cause_is_logged_a_few_times_and_then_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
