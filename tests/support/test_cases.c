#include "tests/support/test.h"

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
