/* Runs the tests that registered themselves. A program with a main of its own does not link it. */
#include <libgen.h>
#include <stdio.h>

#include "tests/support/test.h"

int main(int argc, char **argv)
{
    if (argc == 1)
        return test_run(basename(argv[0]));
    (void)fprintf(stderr, "%s takes no arguments\n", argv[0]);
    return 2;
}
