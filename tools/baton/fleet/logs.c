/* baton logs: shows the end of each log of a fleet in the background, by tail(1). */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/array.h"
#include "tools/baton/commands.h"
#include "tools/baton/fleet/state.h"
#include "tools/support/cli.h"

enum { MAX_FILES = 1 + 1 + 2 * BT_MAX_WORKERS, MAX_WORDS = 8 + MAX_FILES };

struct options {
    const char *state, *name;
    bool follow;
};

static const char *operand[1];
static struct baton_config config;

static const struct baton_option option_table[] = {
    BATON_ROW_TEXT(struct options, state, "state", NULL,
                   "state directory of the fleet, as given to `baton up`"),
    BATON_ROW_BOOL(struct options, follow, "follow", "false",
                   "print new lines as they come (also -f)"),
};

static int is_log(const struct dirent *entry)
{
    size_t n = strlen(entry->d_name);
    return n > 4 && !strcmp(entry->d_name + n - 4, ".log");
}

static enum baton_err execute_tail(const char *const *words, struct baton_why *why)
{
    (void)execvp(words[0], (char *const *)words);
    return baton_fail(why, BATON_IO, "tail: %s", strerror(errno));
}

static enum baton_err run(const void *arg, struct baton_why *why)
{
    const struct options *options = arg;
    const char *words[MAX_WORDS] = {"tail", "-n", "20"};
    char dir[PATH_MAX], file[NAME_MAX + 1];
    struct bt_state state;
    struct dirent **entries = NULL;
    int n = 3;
    enum baton_err err = bt_state_find(options->state, &state, why);
    if (!err)
        err = bt_state_path(&state, "log", dir, why);
    if (err)
        return err;
    if (options->follow)
        words[n++] = "-F"; /* follows the name: a log that is rotated is opened again */
    if (config.n_operands) {
        (void)snprintf(file, sizeof file, "%s.log", operand[0]);
        words[n++] = file;
    } else {
        int n_entries = scandir(dir, &entries, is_log, alphasort);
        for (int i = 0; i < n_entries && i < MAX_FILES; i++)
            words[n++] = entries[i]->d_name;
    }
    const char *first = words[n - 1];
    /* A name must not become an option of tail or leave the directory. */
    if (*first == '-' || strchr(first, '/') || chdir(dir) || access(first, R_OK))
        return baton_fail(why, BATON_NOT_FOUND,
                          "there is no log %s/%s; a fleet in the foreground writes to its terminal",
                          dir, config.n_operands ? file : "*.log");
    return execute_tail(words, why);
}

enum baton_err bt_logs(int argc, char **argv, struct baton_why *why)
{
    static char follow[] = "--follow";
    struct options options;
    config =
        (struct baton_config){.process = "baton logs",
                              .summary = "shows the ends of the logs of a fleet in the background",
                              .env_prefix = "BATON",
                              .options = option_table,
                              .n_options = BATON_N_OF(option_table),
                              .operands = "[NAME]",
                              .operand = operand,
                              .max_operands = 1};
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "-f"))
            argv[i] = follow;
    return cli_run(&config, &options, argc, argv, run, why);
}
