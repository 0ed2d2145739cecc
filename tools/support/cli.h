/* The parts that the command line tools share: options, lists of numbers, subcommands, outputs.
 *
 * Ownership: each command owns the files that it opens.
 * Threading: main thread.
 * Errors:    a message that names the option; a program prints it and ends with a status of
 *            exit_status.h.
 */
#ifndef BATON_TOOLS_SUPPORT_CLI_H
#define BATON_TOOLS_SUPPORT_CLI_H

#include <stdio.h>

#include "common/base/json.h"
#include "common/base/options/config.h"

/* A subcommand of a program: argv[0] is its name. */
struct cli_command {
    const char *name, *summary;
    enum baton_err (*run)(int argc, char **argv, struct baton_why *why);
    const char *becomes; /* the program or script that it executes; NULL for a function of ours */
};

/* Another name of a subcommand. */
struct cli_alias {
    const char *name, *command;
};

/* A program with subcommands. */
struct cli_program {
    const char *name, *summary;
    const struct cli_command *commands;
    int n_commands;
    const struct cli_alias *aliases;
    int n_aliases;
};

/* Runs the subcommand that argv[1] names, and prints its error to stderr. --help lists the
 * subcommands, and --version prints the program's version. Returns the program's exit status, of
 * enum baton_exit: MISUSED when no subcommand has that name. */
int cli_dispatch(const struct cli_program *program, int argc, char **argv);

/* Prints the error, if any, and returns the program's exit status: MISUSED after options that
 * cli_run could not load. */
int cli_status(const char *program, enum baton_err err, const struct baton_why *why);

/* Fills *options from config's sources, such as the command line, and calls `run`, unless --help or
 * the like was the whole answer. */
enum baton_err cli_run(struct baton_config *config, void *options, int argc, char **argv,
                       enum baton_err (*run)(const void *options, struct baton_why *why),
                       struct baton_why *why) BATON_MUST_CHECK;

/* Options that exclude each other. INVALID names the first ones given. */
struct cli_clash {
    bool given;
    const char *names;
};
enum baton_err cli_check_clashes(const struct cli_clash *clashes, size_t n,
                                 struct baton_why *why) BATON_MUST_CHECK;

/* Opens a file for results. Without a path *file stays as it is. IO names the option. */
enum baton_err cli_open_output(const char *option, const char *path, FILE **file,
                               struct baton_why *why) BATON_MUST_CHECK;
/* Closes all files and flushes stdout; skips NULLs. IO when a part was not written. */
enum baton_err cli_close_outputs(FILE *const files[], size_t n,
                                 struct baton_why *why) BATON_MUST_CHECK;

/* Writes the members of a JSON object: each option's value, given or default. */
void cli_put_options(const struct baton_option *table, size_t n, const void *options,
                     struct baton_json_out *out);

/* Writes the buffer and a newline to stdout, and frees the buffer. */
enum baton_err cli_print(struct baton_buf *json) BATON_MUST_CHECK;

/* Returns the median, and sorts the values. n >= 1. */
double cli_median(double *values, int n);

enum { CLI_LIST_MAX = 16 };

struct cli_list {
    int values[CLI_LIST_MAX], n;
};

/* Parses numbers between commas, as in "16,64,256". INVALID names the option and its range. */
enum baton_err cli_list_parse(const char *option, const char *text, int min, int max,
                              struct cli_list *list, struct baton_why *why) BATON_MUST_CHECK;
int cli_list_greatest(const struct cli_list *list);

/* Finds the index of text in words [n], n >= 2. INVALID names the option and the words. */
enum baton_err cli_word_parse(const char *option, const char *text, const char *const *words, int n,
                              int *which, struct baton_why *why) BATON_MUST_CHECK;

#endif
