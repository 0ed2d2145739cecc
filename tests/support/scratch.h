/* A temporary directory per test: setup and teardown for cmocka, and files in it. */
#ifndef BATON_TESTS_SUPPORT_SCRATCH_H
#define BATON_TESTS_SUPPORT_SCRATCH_H

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/test.h"

static char scratch[64];

static inline int make_scratch(void **state)
{
    (void)state;
    (void)strcpy(scratch, "/tmp/baton-test-XXXXXX");
    return mkdtemp(scratch) ? 0 : -1;
}

static inline int remove_scratch(void **state)
{
    char command[128];
    (void)state;
    (void)snprintf(command, sizeof command, "rm -r %s", scratch);
    return system(command); /* NOLINT(cert-env33-c): a path of our own */
}

/* The path of a file there, in a buffer that the next call but one uses again. */
static inline const char *in_scratch(const char *name)
{
    static char paths[2][PATH_MAX];
    static int turn;
    turn = !turn;
    (void)snprintf(paths[turn], sizeof paths[turn], "%s/%s", scratch, name);
    return paths[turn];
}

static inline void write_scratch(const char *name, const char *text)
{
    FILE *file = fopen(in_scratch(name), "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

#endif
