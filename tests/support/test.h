/* What every unit test includes: cmocka wants these headers before its own. */
#ifndef BATON_TESTS_SUPPORT_TEST_H
#define BATON_TESTS_SUPPORT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
