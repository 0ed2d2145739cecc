/* Runs the tests that registered themselves. A program with a main of its own does not link it. */
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/test.h"

int main(int argc, char **argv)
{
    size_t n = 0, i = 0;
    for (const struct test_case *test = test_cases; test; test = test->next)
        n++;
    struct CMUnitTest *units = calloc(n + 1, sizeof *units);
    if (!units || !n || argc > 1) {
        (void)fprintf(stderr, "%s: no tests, no memory, or an argument\n", argv[0]);
        return 2;
    }
    for (const struct test_case *test = test_cases; test; test = test->next, i++) {
        units[i] = test->unit;
        if (!test->alone) {
            units[i].setup_func = test_fixtures.each_set_up;
            units[i].teardown_func = test_fixtures.each_tear_down;
        }
    }
    int failed = _cmocka_run_group_tests(basename(argv[0]), units, n, test_fixtures.all_set_up,
                                         test_fixtures.all_tear_down);
    free(units);
    return failed;
}
