/* Manual pages and completions of shells, generated from what programs tell of their options.
 *
 *     PROGRAM --print-options                  {"process", "summary", "options": [...]}
 *                                         or   {"process", "summary", "commands": [...]}
 *     PROGRAM COMMAND --print-options          for each command that is not another program
 *
 * Ownership: a program's tree is its own until mn_program_close.
 * Threading: one thread.
 * Errors:    PEER: the program did not answer; IO; what the JSON reader says.
 */
#ifndef BATON_TOOLS_MANUAL_MANUAL_H
#define BATON_TOOLS_MANUAL_MANUAL_H

#include <stdio.h>

#include "common/base/json.h"

enum { MN_MAX_COMMANDS = 24 };

struct mn_program {
    struct baton_json *root;
    const char *name, *summary;
    /* One entry without a name for a program without commands. */
    struct mn_command {
        const char *name, *summary;
        const char *becomes;           /* the program that it is, or NULL */
        struct baton_json *root;       /* NULL for one of these */
        const struct baton_json *told; /* what it tells: "options", "operands", "env_prefix" */
    } commands[MN_MAX_COMMANDS];
    int n_commands;
    bool has_commands;
};

enum baton_err mn_program_open(const char *path, struct mn_program *program,
                               struct baton_why *why) BATON_MUST_CHECK;
void mn_program_close(struct mn_program *program);

/* A text member, "" when it is missing or null. */
const char *mn_text(const struct baton_json *object, const char *key);

/* Options that every table's reader adds, for --help, --version and the like. */
struct mn_extra {
    const char *name, *value, *help; /* value: NULL for a flag */
};
extern const struct mn_extra mn_extras[];
extern const int mn_n_extras;

void mn_write_man(const struct mn_program *program, FILE *out);
void mn_write_bash(const struct mn_program *program, FILE *out);
void mn_write_zsh(const struct mn_program *program, FILE *out);

#endif
