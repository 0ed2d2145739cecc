#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>

struct test_case *test_cases;
struct test_fixtures test_fixtures;

/* In the order of the file, whatever the order of the constructors. */
void test_add(struct test_case *test)
{
    struct test_case **at = &test_cases;
    while (*at && (*at)->line <= test->line)
        at = &(*at)->next;
    test->next = *at;
    *at = test;
}

int test_run(const char *group)
{
    size_t n = 0, i = 0;
    for (const struct test_case *test = test_cases; test; test = test->next)
        n++;
    struct CMUnitTest *units = calloc(n + 1, sizeof *units);
    if (!units || !n) {
        (void)fprintf(stderr, "%s: no tests, or no memory\n", group);
        free(units);
        return 2;
    }
    for (const struct test_case *test = test_cases; test; test = test->next, i++) {
        units[i] = test->unit;
        if (!test->alone) {
            units[i].setup_func = test_fixtures.each_set_up;
            units[i].teardown_func = test_fixtures.each_tear_down;
        }
    }
    int failed = _cmocka_run_group_tests(group, units, n, test_fixtures.all_set_up,
                                         test_fixtures.all_tear_down);
    free(units);
    return failed;
}
