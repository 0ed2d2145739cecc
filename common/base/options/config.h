/* One table per process declares every option; the command line, the environment, a JSON file and
 * the defaults fill it, in that order of precedence.
 *
 * A row names the option as on the command line ("kv-tokens"): the flag is --kv-tokens, the
 * environment variable PREFIX_KV_TOKENS, the key in the file "kv-tokens" ("kv_tokens" is accepted).
 * Words after a lone "--" are not options. Unknown flags and keys are errors. --help and
 * --print-config are generated from the table.
 *
 * Ownership: text values are owned by the struct baton_config until baton_config_fini.
 * Threading: filled once, before threads start; read-only after.
 * Errors:    INVALID names the source (flag, variable or file), the option, the value and its
 *            range.
 */
#ifndef BATON_COMMON_BASE_OPTIONS_CONFIG_H
#define BATON_COMMON_BASE_OPTIONS_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

enum baton_option_kind {
    BATON_OPTION_TEXT,
    BATON_OPTION_INT,
    BATON_OPTION_REAL,
    BATON_OPTION_BOOL,
    BATON_OPTION_CHOICE
};

/* BATON_OPTION_BOOL accepts "true" or "false"; the bare flag means true. BATON_OPTION_CHOICE
 * accepts one of its words and stores its index: 0 for the first. */
struct baton_option {
    const char *name;
    enum baton_option_kind kind;
    size_t offset; /* in the process's option struct: of a const char *, int64_t, double, bool or,
                      for a CHOICE, int */
    const char *fallback; /* the default, as text; NULL for a text option that may stay unset */
    double min, max;      /* INT and REAL */
    const char *unit;     /* "" when it has none; "bytes": values may have units, such as 512M, 2G
                             or 1.5 GiB without the space, of 1024; for a CHOICE its words:
                             "on|off|auto" */
    const char *help;
};

/* Rows of a table by kind: the field of the struct that holds the value, then the row's columns. */
#define BATON_ROW_TEXT(type, field, name, fallback, help)                                          \
    {                                                                                              \
        (name), BATON_OPTION_TEXT, offsetof(type, field), (fallback), 0, 0, "", (help)             \
    }
#define BATON_ROW_INT(type, field, name, fallback, min, max, unit, help)                           \
    {                                                                                              \
        (name), BATON_OPTION_INT, offsetof(type, field), (fallback), (min), (max), (unit), (help)  \
    }
#define BATON_ROW_REAL(type, field, name, fallback, min, max, unit, help)                          \
    {                                                                                              \
        (name), BATON_OPTION_REAL, offsetof(type, field), (fallback), (min), (max), (unit), (help) \
    }
#define BATON_ROW_BOOL(type, field, name, fallback, help)                                          \
    {                                                                                              \
        (name), BATON_OPTION_BOOL, offsetof(type, field), (fallback), 0, 0, "", (help)             \
    }
#define BATON_ROW_CHOICE(type, field, name, fallback, words, help)                                 \
    {                                                                                              \
        (name), BATON_OPTION_CHOICE, offsetof(type, field), (fallback), 0, 0, (words), (help)      \
    }

/* Returns word `choice` of a CHOICE, n bytes without a terminating zero. */
const char *baton_option_word(const struct baton_option *option, int choice, size_t *n);

struct baton_config {
    const char *process;    /* "baton-gateway" */
    const char *summary;    /* one line for --help */
    const char *env_prefix; /* "BATON_GATEWAY" */
    const struct baton_option *options;
    size_t n_options;
    /* Words that are not options, as in "logs NAME": their names in --help, NULL when none are
     * allowed, and an array for them, borrowed from argv. */
    const char *operands;
    const char **operand;
    size_t max_operands, n_operands;
    char **texts; /* owned copies of text values */
    size_t n_texts, cap_texts;
};

/* Fills target. Sets *done when --help, --version or --print-config was answered on stdout and the
 * process should exit with 0. --config FILE or PREFIX_CONFIG names the file. */
enum baton_err baton_config_load(struct baton_config *config, void *target, int argc, char **argv,
                                 bool *done, struct baton_why *why) BATON_MUST_CHECK;
void baton_config_fini(struct baton_config *config);

#endif
