#include "common/base/version.h"

#include <stdio.h>

const char baton_release[] = BATON_RELEASE;

/* Programs link baton_version, which defines the real one. It is not part of this library, so that
 * a new commit relinks a few programs and not every test. */
__attribute__((weak)) const char baton_commit[] = "unknown";

void baton_version_print(const char *program)
{
    (void)printf("%s %s (%s)\n", program, baton_release, baton_commit);
}
