/* Manual pages and completions of shells, generated from the options that programs print.
 *
 *     PROGRAM --print-options                  {"process", "summary", "options": [...]}
 *                                         or   {"process", "summary", "commands": [...]}
 *     PROGRAM COMMAND --print-options          for each command that is not another program
 *
 * Ownership: a program's tree is its own until mn_program_close.
 * Threading: one thread.
 * Errors:    PEER (the program did not answer), IO, and those of the JSON reader.
 */
#ifndef BATON_TOOLS_MANUAL_MANUAL_H
#define BATON_TOOLS_MANUAL_MANUAL_H

#include <stdio.h>

#include "common/base/json.h"

enum { MN_MAX_COMMANDS = 24 };

struct mn_program {
    struct baton_json *root;
    const char *name, *summary;
    /* A program without commands has one entry without a name. */
    struct mn_command {
        const char *name, *summary;
        const char *becomes;     /* the program that it executes, or NULL */
        struct baton_json *root; /* NULL if it executes another program */
        /* printed by the command: "options", "operands", "env_prefix" */
        const struct baton_json *description;
    } commands[MN_MAX_COMMANDS];
    int n_commands;
    bool has_commands;
};

enum baton_err mn_program_open(const char *path, struct mn_program *program,
                               struct baton_why *why) BATON_MUST_CHECK;
void mn_program_close(struct mn_program *program);

/* Returns a text member, "" when it is missing or null. */
const char *mn_text(const struct baton_json *object, const char *key);

/* An option that every table's reader adds: --help, --version and the like. */
struct mn_extra {
    const char *name, *value, *help; /* value: NULL for a flag */
};
extern const struct mn_extra mn_extras[];
extern const int mn_n_extras;

void mn_write_man(const struct mn_program *program, FILE *out);
void mn_write_bash(const struct mn_program *program, FILE *out);
void mn_write_zsh(const struct mn_program *program, FILE *out);

#endif
