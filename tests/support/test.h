/* The header of every unit test: cmocka, and tests that register themselves. test_main.c runs them
 * in the order of the file; a main of its own may call test_run more than once.
 *
 *     SETUP(open_it) {...}
 *     TEARDOWN(close_it) {...}
 *     TEST(it_does_this) {...}
 *     EACH_TEST(open_it, close_it)
 */
#ifndef BATON_TESTS_SUPPORT_TEST_H
#define BATON_TESTS_SUPPORT_TEST_H

/* cmocka wants these before its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* One test; a file's tests are linked in a list. */
struct test_case {
    struct CMUnitTest unit;
    bool alone; /* EACH_TEST is not for it */
    int line;   /* of its file: constructors run in an order of the compiler's */
    struct test_case *next;
};

struct test_fixtures {
    CMFixtureFunction each_set_up, each_tear_down, all_set_up, all_tear_down;
};

extern struct test_case *test_cases;
extern struct test_fixtures test_fixtures;

void test_add(struct test_case *test);

/* Runs the tests in the order of the file; for a main of its own. Returns how many failed. */
int test_run(const char *group);

#define TEST_REGISTERED(name, set_up, tear_down, is_alone)                                         \
    static void name(void **);                                                                     \
    __attribute__((constructor)) static void register_##name(void)                                 \
    {                                                                                              \
        static struct test_case test = {                                                           \
            {#name, name, set_up, tear_down, NULL}, is_alone, __LINE__, NULL};                     \
        test_add(&test);                                                                           \
    }                                                                                              \
    static void name(

/* TEST(name) {...}: a test. Its name is a sentence. */
#define TEST(name) TEST_REGISTERED(name, NULL, NULL, false) __attribute__((unused)) void **unused)

/* TEST_IN(set_up, tear_down, name) {...}: a test with a fixture that other tests have not. */
#define TEST_IN(set_up, tear_down, name)                                                           \
    TEST_REGISTERED(name, set_up, tear_down, true) __attribute__((unused)) void **unused)

/* TEST_ALONE(name) {...}: a test without the fixture of EACH_TEST. */
#define TEST_ALONE(name)                                                                           \
    TEST_REGISTERED(name, NULL, NULL, true) __attribute__((unused)) void **unused)

/* SETUP(name) {...} and TEARDOWN(name) {...} stand around a test or a group. An assertion that
 * fails in one fails the test. */
#define SETUP(name)                                                                                \
    static void body_of_##name(void);                                                              \
    static int name(__attribute__((unused)) void **unused_state)                                   \
    {                                                                                              \
        body_of_##name();                                                                          \
        return 0;                                                                                  \
    }                                                                                              \
    static void body_of_##name(void)
#define TEARDOWN(name) SETUP(name)

/* A call that returns an enum baton_err succeeds. */
#define assert_ok(call) assert_int_equal((call), BATON_OK)

/* EACH_TEST(set_up, tear_down): the fixture of every test of the file; NULL: none. */
#define EACH_TEST(set_up, tear_down)                                                               \
    __attribute__((constructor)) static void fixture_of_each(void)                                 \
    {                                                                                              \
        test_fixtures.each_set_up = set_up;                                                        \
        test_fixtures.each_tear_down = tear_down;                                                  \
    }

/* ALL_TESTS(set_up, tear_down): what stands once around all of them. */
#define ALL_TESTS(set_up, tear_down)                                                               \
    __attribute__((constructor)) static void fixture_of_all(void)                                  \
    {                                                                                              \
        test_fixtures.all_set_up = set_up;                                                         \
        test_fixtures.all_tear_down = tear_down;                                                   \
    }

#endif
