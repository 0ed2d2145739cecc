#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/closest.h"
#include "common/base/exit_status.h"
#include "common/base/version.h"
#include "tools/support/cli.h"

enum { COMMANDS_MAX_BYTES = 64 << 10 };

/* The options of this process's command could not be loaded. */
static bool is_misused;

int cli_status(const char *program, enum baton_err err, const struct baton_why *why)
{
    if (err)
        (void)fprintf(stderr, "%s: %s\n", program, why->text[0] ? why->text : baton_err_text(err));
    return !err ? BATON_EXIT_OK : is_misused ? BATON_EXIT_MISUSED : BATON_EXIT_FAILED;
}

static void put_usage(FILE *out, const struct cli_program *program)
{
    (void)fprintf(out, "usage: %s COMMAND [OPTION...]   (%s COMMAND --help lists them)\n",
                  program->name, program->name);
    for (int i = 0; i < program->n_commands; i++)
        (void)fprintf(out, "  %-10s %s\n", program->commands[i].name, program->commands[i].summary);
    for (int i = 0; i < program->n_aliases; i++)
        (void)fprintf(out, "  %-10s the same as %s\n", program->aliases[i].name,
                      program->aliases[i].command);
}

/* Prints the commands in the way of baton_config_print_options. */
static void print_commands(const struct cli_program *program)
{
    struct baton_buf text;
    baton_buf_init(&text, COMMANDS_MAX_BYTES);
    struct baton_json_out out = baton_json_out(&text);
    baton_json_open(&out, NULL, '{');
    baton_json_put_string(&out, "process", program->name);
    baton_json_put_string(&out, "summary", program->summary);
    baton_json_open(&out, "commands", '[');
    for (int i = 0; i < program->n_commands; i++) {
        const struct cli_command *command = &program->commands[i];
        baton_json_open(&out, NULL, '{');
        baton_json_put_string(&out, "name", command->name);
        baton_json_put_string(&out, "summary", command->summary);
        if (command->becomes)
            baton_json_put_string(&out, "becomes", command->becomes);
        baton_json_close(&out, '}');
    }
    baton_json_close(&out, ']');
    baton_json_close(&out, '}');
    (void)puts(baton_buf_text(&text));
    baton_buf_fini(&text);
}

static bool is_one_of(const char *word, const char *a, const char *b, const char *c)
{
    return !strcmp(word, a) || !strcmp(word, b) || !strcmp(word, c);
}

/* Answers --help and the like. False when word is none of these. */
static bool run_builtin(const struct cli_program *program, const char *word)
{
    if (is_one_of(word, "--help", "-h", "help"))
        put_usage(stdout, program);
    else if (is_one_of(word, "--version", "-V", "version"))
        baton_version_print(program->name);
    else if (!strcmp(word, "--print-options"))
        print_commands(program);
    else
        return false;
    return true;
}

static const char *resolve_alias(const struct cli_program *program, const char *word)
{
    for (int i = 0; i < program->n_aliases; i++)
        if (!strcmp(word, program->aliases[i].name))
            return program->aliases[i].command;
    return word;
}

static void refuse_command(const struct cli_program *program, const char *word)
{
    struct baton_closest closest = {.word = word};
    for (int i = 0; i < program->n_commands; i++)
        baton_closest_try(&closest, program->commands[i].name);
    for (int i = 0; i < program->n_aliases; i++)
        baton_closest_try(&closest, program->aliases[i].name);
    (void)fprintf(stderr, "%s: '%s' is not a command", program->name, word);
    if (closest.best)
        (void)fprintf(stderr, "; did you mean '%s'?", closest.best);
    (void)fputc('\n', stderr);
}

int cli_dispatch(const struct cli_program *program, int argc, char **argv)
{
    struct baton_why why = {.text = ""};
    char name[64];
    const char *word = argc > 1 ? resolve_alias(program, argv[1]) : NULL;
    /* A command comes before the words of run_builtin, which only help when there is none. */
    for (int i = 0; word && i < program->n_commands; i++) {
        if (strcmp(word, program->commands[i].name) != 0)
            continue;
        (void)snprintf(name, sizeof name, "%s %s", program->name, word);
        return cli_status(name, program->commands[i].run(argc - 1, argv + 1, &why), &why);
    }
    if (word && run_builtin(program, word))
        return BATON_EXIT_OK;
    if (word)
        refuse_command(program, word);
    put_usage(stderr, program);
    return BATON_EXIT_MISUSED;
}

enum baton_err cli_run(struct baton_config *config, void *options, int argc, char **argv,
                       enum baton_err (*run)(const void *options, struct baton_why *why),
                       struct baton_why *why)
{
    bool done = false;
    enum baton_err err = baton_config_load(config, options, argc, argv, &done, why);
    is_misused = err != BATON_OK;
    if (!err && !done)
        err = run(options, why);
    baton_config_fini(config);
    return err;
}

enum baton_err cli_print(struct baton_buf *json)
{
    enum baton_err err = baton_buf_err(json);
    if (!err && (puts(baton_buf_text(json)) == EOF || fflush(stdout)))
        err = BATON_IO;
    baton_buf_fini(json);
    return err;
}

static int compare_reals(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

double cli_median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof *values, compare_reals);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* Reads the number at *text and moves *text past it. Returns -1 when there is none of at most
 * max. */
static int read_number(const char **text, int max)
{
    int64_t number = 0;
    const char *p = *text;
    if (*p < '0' || *p > '9')
        return -1;
    /* It stops growing before it can overflow; the digits are still skipped. */
    for (; *p >= '0' && *p <= '9'; p++)
        if (number <= INT_MAX)
            number = 10 * number + (*p - '0');
    *text = p;
    return number <= max ? (int)number : -1;
}

enum baton_err cli_list_parse(const char *option, const char *text, int min, int max,
                              struct cli_list *list, struct baton_why *why)
{
    struct cli_list parsed = {.n = 0};
    bool more = true;
    for (const char *p = text; more; p++) {
        int number = read_number(&p, max);
        if (number < min || (*p && *p != ',') || parsed.n == CLI_LIST_MAX)
            return baton_fail(why, BATON_INVALID,
                              "%s: must be integers from %d to %d with commas between, at most "
                              "%d, not \"%.60s\"",
                              option, min, max, CLI_LIST_MAX, text);
        parsed.values[parsed.n++] = number;
        more = *p == ',';
    }
    *list = parsed;
    return BATON_OK;
}

int cli_list_greatest(const struct cli_list *list)
{
    int greatest = list->values[0];
    for (int i = 1; i < list->n; i++)
        if (list->values[i] > greatest)
            greatest = list->values[i];
    return greatest;
}

enum baton_err cli_word_parse(const char *option, const char *text, const char *const *words, int n,
                              int *which, struct baton_why *why)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(words[i], text)) {
            *which = i;
            return BATON_OK;
        }
    return baton_fail(why, BATON_INVALID, "%s: must be %s%s%s or %s, not \"%.60s\"", option,
                      words[0], n > 2 ? ", " : "", n > 2 ? words[1] : "", words[n - 1], text);
}

static void put_option(const struct baton_option *option, const void *field,
                       struct baton_json_out *out)
{
    const char *text;
    size_t n;
    switch (option->kind) {
    case BATON_OPTION_TEXT:
        text = *(const char *const *)field;
        if (text)
            baton_json_put_string(out, option->name, text);
        else
            baton_json_put_null(out, option->name);
        break;
    case BATON_OPTION_INT:
        baton_json_put_int(out, option->name, *(const int64_t *)field);
        break;
    case BATON_OPTION_REAL:
        baton_json_put_exact(out, option->name, *(const double *)field);
        break;
    case BATON_OPTION_BOOL:
        baton_json_put_bool(out, option->name, *(const bool *)field);
        break;
    case BATON_OPTION_CHOICE:
        text = baton_option_word(option, *(const int *)field, &n);
        baton_json_put_text(out, option->name, text, n);
        break;
    }
}

void cli_put_options(const struct baton_option *table, size_t n, const void *options,
                     struct baton_json_out *out)
{
    for (size_t i = 0; i < n; i++)
        put_option(&table[i], (const char *)options + table[i].offset, out);
}

enum baton_err cli_check_clashes(const struct cli_clash *clashes, size_t n, struct baton_why *why)
{
    for (size_t i = 0; i < n; i++)
        if (clashes[i].given)
            return baton_fail(why, BATON_INVALID, "%s: give one of them", clashes[i].names);
    return BATON_OK;
}

enum baton_err cli_open_output(const char *option, const char *path, FILE **file,
                               struct baton_why *why)
{
    if (!path)
        return BATON_OK;
    *file = fopen(path, "we");
    if (!*file)
        return baton_fail(why, BATON_IO, "%s: %s: %s", option, path, strerror(errno));
    return BATON_OK;
}

static bool failed_to_close(FILE *file)
{
    /* A full disk may only show when the buffer is flushed. */
    bool failed = ferror(file) || fflush(file);
    if (file != stdout)
        failed |= fclose(file) != 0;
    return failed;
}

enum baton_err cli_close_outputs(FILE *const files[], size_t n, struct baton_why *why)
{
    bool failed = false;
    for (size_t i = 0; i < n; i++)
        failed |= files[i] && failed_to_close(files[i]);
    return failed ? baton_fail(why, BATON_IO, "the results could not all be written") : BATON_OK;
}
