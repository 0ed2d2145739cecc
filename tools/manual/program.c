#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/array.h"
#include "tools/manual/manual.h"

enum { ANSWER_MAX_BYTES = 4 << 20 };

const struct mn_extra mn_extras[] = {
    {"config", "FILE", "a JSON object with any of these options"},
    {"print-config", NULL, "print the options in force as such a file, and exit"},
    {"help", NULL, "list the options, and exit (also -h)"},
    {"version", NULL, "print the version, and exit"},
};
const int mn_n_extras = BATON_N_OF(mn_extras);

const char *mn_text(const struct baton_json *object, const char *key)
{
    const char *text = baton_json_string(baton_json_get(object, key), NULL);
    return text ? text : "";
}

_Noreturn static void execute(const char *path, const char *command, int out_fd)
{
    const char *const words[] = {path, command ? command : "--print-options",
                                 command ? "--print-options" : NULL, NULL};
    (void)dup2(out_fd, STDOUT_FILENO);
    (void)execv(path, (char *const *)words);
    _exit(127);
}

/* Reads everything that the program writes to stdout; PEER when it fails. */
static enum baton_err read_output(const char *path, const char *command, struct baton_buf *text,
                                  struct baton_why *why)
{
    int ends[2], status = 0;
    char bytes[4096];
    ssize_t n;
    if (pipe(ends))
        return BATON_IO;
    pid_t pid = fork();
    if (pid == 0)
        execute(path, command, ends[1]);
    (void)close(ends[1]);
    while (pid > 0 && (n = read(ends[0], bytes, sizeof bytes)) > 0)
        baton_buf_append(text, bytes, (size_t)n);
    (void)close(ends[0]);
    /* Only after the last read: a program that waits on a full pipe would never end. */
    if (pid < 0 || waitpid(pid, &status, 0) < 0 || status)
        return baton_fail(why, BATON_PEER, "%s %s --print-options failed", path,
                          command ? command : "");
    return baton_buf_err(text);
}

static enum baton_err read_options(const char *path, const char *command, struct baton_json **root,
                                   struct baton_why *why)
{
    struct baton_buf text;
    baton_buf_init(&text, ANSWER_MAX_BYTES);
    enum baton_err err = read_output(path, command, &text, why);
    if (!err)
        err = baton_json_parse(baton_buf_text(&text), text.len, root, why);
    baton_buf_fini(&text);
    return err;
}

static enum baton_err add_command(struct mn_program *program, const char *path,
                                  const struct baton_json *description, struct baton_why *why)
{
    if (program->n_commands == MN_MAX_COMMANDS)
        return baton_fail(why, BATON_LIMIT, "%s: more than %d commands", path, MN_MAX_COMMANDS);
    struct mn_command *command = &program->commands[program->n_commands++];
    *command = (struct mn_command){
        .name = mn_text(description, "name"),
        .summary = mn_text(description, "summary"),
        .becomes = *mn_text(description, "becomes") ? mn_text(description, "becomes") : NULL};
    if (command->becomes)
        return BATON_OK;
    enum baton_err err = read_options(path, command->name, &command->root, why);
    command->description = command->root;
    return err;
}

enum baton_err mn_program_open(const char *path, struct mn_program *program, struct baton_why *why)
{
    *program = (struct mn_program){.name = NULL};
    enum baton_err err = read_options(path, NULL, &program->root, why);
    const struct baton_json *commands = baton_json_get(program->root, "commands");
    program->name = mn_text(program->root, "process");
    program->summary = mn_text(program->root, "summary");
    program->has_commands = commands != NULL;
    for (size_t i = 0; i < baton_json_size(commands) && !err; i++)
        err = add_command(program, path, baton_json_at(commands, i), why);
    if (!program->has_commands)
        program->commands[program->n_commands++] = (struct mn_command){
            .name = "", .summary = program->summary, .description = program->root};
    return err;
}

void mn_program_close(struct mn_program *program)
{
    for (int i = 0; i < program->n_commands; i++)
        baton_json_free(program->commands[i].root);
    baton_json_free(program->root);
}
