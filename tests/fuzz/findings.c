/* What a fuzzer finds goes into the build tree, whoever runs it and from wherever: libFuzzer's own
 * choice is the current directory. -artifact_prefix on the command line still has the last word. */
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);

/* libFuzzer reads its flags after this. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    static char flag[] = "-artifact_prefix=" BATON_FUZZ_FINDINGS;
    static char **longer; /* libFuzzer keeps what it points to */
    longer = calloc((size_t)*argc + 2, sizeof *longer);
    if (!longer)
        abort();
    longer[0] = (*argv)[0];
    longer[1] = flag;
    memcpy(longer + 2, *argv + 1, (size_t)(*argc - 1) * sizeof *longer);
    *argv = longer;
    ++*argc;
    return 0;
}
