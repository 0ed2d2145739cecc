/* What every unit test includes: cmocka wants these headers before its own. */
#ifndef BATON_TESTS_SUPPORT_TEST_H
#define BATON_TESTS_SUPPORT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* TEST(name) {...}: a test. Its name is a sentence. */
#define TEST(name) static void name(__attribute__((unused)) void **unused_state)

/* TEST_WITH(state, name) {...}: a test that reads what its SETUP left in *state. */
#define TEST_WITH(state, name) static void name(void **state)

/* SETUP(name) {...} and TEARDOWN(name) {...} stand around a test or a group; 0 is success. */
#define SETUP(name)    static int name(__attribute__((unused)) void **unused_state)
#define TEARDOWN(name) static int name(__attribute__((unused)) void **unused_state)

#endif
