/* The subcommands that are programs of their own, and how users call this one. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/baton/commands.h"
#include "tools/baton/fleet/install.h"

const char *bt_called_as(void)
{
    const char *name = getenv("BATON_CALLED_AS");
    return name && *name ? name : "baton";
}

/* Replaces this process by the program, with the words after argv[0]. */
static enum baton_err execute(const char *path, int argc, char **argv, struct baton_why *why)
{
    char **words = calloc((size_t)argc + 1, sizeof *words);
    if (!words)
        return BATON_NO_MEMORY;
    words[0] = (char *)path;
    for (int i = 1; i < argc; i++)
        words[i] = argv[i];
    (void)execv(path, words);
    int failure = errno;
    free(words);
    return baton_fail(why, BATON_IO, "%s: %s", path, strerror(failure));
}

enum baton_err bt_pull(int argc, char **argv, struct baton_why *why)
{
    char path[PATH_MAX];
    enum baton_err err = bt_find_data("get-model", "deploy/get-model", path, why);
    /* The script's hints name the command that the user typed. */
    if (!err && setenv("BATON_CALLED_AS", bt_called_as(), 1))
        err = BATON_NO_MEMORY;
    return err ? err : execute(path, argc, argv, why);
}

static enum baton_err execute_program(const char *name, int argc, char **argv,
                                      struct baton_why *why)
{
    char path[PATH_MAX];
    enum baton_err err = bt_find_program(NULL, name, path, why);
    return err ? err : execute(path, argc, argv, why);
}

enum baton_err bt_bench(int argc, char **argv, struct baton_why *why)
{
    return execute_program("baton-bench", argc, argv, why);
}

enum baton_err bt_load(int argc, char **argv, struct baton_why *why)
{
    return execute_program("baton-load", argc, argv, why);
}
