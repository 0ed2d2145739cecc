/* baton-lab: runs experiments that start whole fleets. They are written in Python; this program
 * finds their package and executes it. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/array.h"
#include "tools/support/cli.h"

/* Writes the path of this program. */
static enum baton_err find_self(char self[PATH_MAX], struct baton_why *why)
{
    ssize_t n = readlink("/proc/self/exe", self, PATH_MAX - 1);
    if (n < 0)
        return baton_fail(why, BATON_IO, "/proc/self/exe: %s", strerror(errno));
    self[n] = '\0';
    return BATON_OK;
}

static bool holds_package(const char *directory)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/__main__.py", directory);
    return n > 0 && n < PATH_MAX && !access(path, R_OK);
}

/* Finds the first directory that exists of: $BATON_LAB, the package installed beside the program,
 * the source tree. */
static enum baton_err find_package(const char *self, char directory[PATH_MAX],
                                   struct baton_why *why)
{
    const char *chosen = getenv("BATON_LAB");
    int n_folder = (int)(strrchr(self, '/') - self);
    if (chosen && *chosen) {
        (void)snprintf(directory, PATH_MAX, "%s", chosen);
        if (!holds_package(directory))
            return baton_fail(why, BATON_NOT_FOUND, "BATON_LAB=%.200s: no __main__.py there",
                              chosen);
        return BATON_OK;
    }
    int n = snprintf(directory, PATH_MAX, "%.*s/../share/baton/lab", n_folder, self);
    if (n < PATH_MAX && holds_package(directory))
        return BATON_OK;
    (void)snprintf(directory, PATH_MAX, "%s", BATON_LAB_SOURCE);
    if (!holds_package(directory))
        return baton_fail(why, BATON_NOT_FOUND,
                          "its scripts are neither in %.*s/../share/baton/lab nor in %s; "
                          "set BATON_LAB to the directory tools/lab of the sources",
                          n_folder, self, BATON_LAB_SOURCE);
    return BATON_OK;
}

/* Executes python3 -B PACKAGE SELF COMMAND OPTION... */
static enum baton_err execute(const char *self, const char *directory, int argc, char **argv,
                              struct baton_why *why)
{
    const char *const head[] = {"python3", "-B", directory, self};
    enum { N_HEAD = BATON_N_OF(head) };
    const char **words = calloc((size_t)argc + N_HEAD + 1, sizeof *words);
    if (!words)
        return BATON_NO_MEMORY;
    memcpy(words, head, sizeof head);
    for (int i = 0; i < argc; i++)
        words[N_HEAD + i] = argv[i];
    execvp(words[0], (char *const *)words);
    int failure = errno;
    free(words);
    if (failure == ENOENT)
        return baton_fail(why, BATON_NOT_FOUND,
                          "needs python3, which is not installed: deploy/packages.sh plots");
    return baton_fail(why, BATON_IO, "python3: %s", strerror(failure));
}

static enum baton_err run(int argc, char **argv, struct baton_why *why)
{
    char self[PATH_MAX], directory[PATH_MAX];
    enum baton_err err = find_self(self, why);
    if (!err)
        err = find_package(self, directory, why);
    return err ? err : execute(self, directory, argc, argv, why);
}

static const struct cli_command commands[] = {
    {"sweep", "fleets of several layouts under several loads: table, report, pictures", run,
     "python3"},
    {"ladder", "what each idea buys, from the naive loop to overlapped hand-off", run, "python3"},
};

static const struct cli_program program = {
    .name = "baton-lab",
    .summary = "runs experiments that start fleets",
    .commands = commands,
    .n_commands = BATON_N_OF(commands),
};

int main(int argc, char **argv)
{
    return cli_dispatch(&program, argc, argv);
}
