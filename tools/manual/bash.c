/* Writes completions for bash: commands, options, and the words of options that accept words. */
#include <ctype.h>
#include <string.h>

#include "tools/manual/manual.h"

/* Writes the name as a function of the shell: baton-gateway becomes _baton_gateway. */
static void put_function(const char *name, FILE *out)
{
    (void)fputc('_', out);
    for (const char *p = name; *p; p++)
        (void)fputc(isalnum((unsigned char)*p) ? *p : '_', out);
}

static void put_flags(const struct mn_command *command, FILE *out)
{
    const struct baton_json *options = baton_json_get(command->description, "options");
    for (size_t i = 0; i < baton_json_size(options); i++)
        (void)fprintf(out, "--%s ", mn_text(baton_json_at(options, i), "name"));
    for (int i = 0; i < mn_n_extras; i++)
        (void)fprintf(out, "--%s%s", mn_extras[i].name, i + 1 < mn_n_extras ? " " : "");
}

static void put_words(const struct baton_json *option, FILE *out)
{
    const struct baton_json *words = baton_json_get(option, "words");
    for (size_t i = 0; i < baton_json_size(words); i++)
        (void)fprintf(out, "%s%s", i ? " " : "", baton_json_string(baton_json_at(words, i), NULL));
}

/* Writes the words that follow an option. Nothing follows a number. */
static void put_option(const struct mn_command *command, const struct baton_json *option, FILE *out)
{
    const char *kind = mn_text(option, "kind"), *name = mn_text(option, "name");
    bool is_number = !strcmp(kind, "int") || !strcmp(kind, "number");
    /* A text is completed as a file, and a flag has no value. */
    if (!strcmp(kind, "text") || !strcmp(kind, "bool"))
        return;
    (void)fprintf(out, "    %s:--%s) ", command->name, name);
    /* `complete -o default` would offer files, which are no numbers. */
    if (is_number) {
        (void)fputs("compopt +o default; return ;;\n", out);
        return;
    }
    (void)fputs("words='", out);
    put_words(option, out);
    (void)fputs("' ;;\n", out);
}

static void put_text_options(const struct mn_command *command, FILE *out)
{
    const struct baton_json *options = baton_json_get(command->description, "options");
    (void)fprintf(out, "    %s:--config", command->name);
    for (size_t i = 0; i < baton_json_size(options); i++) {
        const struct baton_json *option = baton_json_at(options, i);
        if (!strcmp(mn_text(option, "kind"), "text"))
            (void)fprintf(out, " | %s:--%s", command->name, mn_text(option, "name"));
    }
    (void)fputs(") return ;;\n", out);
}

static void put_values(const struct mn_command *command, FILE *out)
{
    const struct baton_json *options = baton_json_get(command->description, "options");
    if (!command->description)
        return;
    put_text_options(command, out);
    for (size_t i = 0; i < baton_json_size(options); i++)
        put_option(command, baton_json_at(options, i), out);
}

static void put_commands(const struct mn_program *program, FILE *out)
{
    (void)fputs("    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        words='", out);
    for (int i = 0; i < program->n_commands; i++)
        (void)fprintf(out, "%s ", program->commands[i].name);
    (void)fputs("--help --version'\n    else\n        case $command in\n", out);
    for (int i = 0; i < program->n_commands; i++) {
        if (!program->commands[i].description)
            continue;
        (void)fprintf(out, "        %s) words='", program->commands[i].name);
        put_flags(&program->commands[i], out);
        (void)fputs("' ;;\n", out);
    }
    (void)fputs("        esac\n    fi\n", out);
}

void mn_write_bash(const struct mn_program *program, FILE *out)
{
    (void)fprintf(out, "# Completion of %s for bash, generated from its option tables.\n",
                  program->name);
    put_function(program->name, out);
    (void)fputs(
        "() {\n"
        "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}\n"
        "    local command='' words=''\n",
        out);
    if (program->has_commands) {
        (void)fputs("    command=${COMP_WORDS[1]}\n", out);
        put_commands(program, out);
    } else {
        (void)fputs("    words='", out);
        put_flags(&program->commands[0], out);
        (void)fputs("'\n", out);
    }
    (void)fputs("    case $command:$previous in\n", out);
    for (int i = 0; i < program->n_commands; i++)
        put_values(&program->commands[i], out);
    (void)fputs(
        "    esac\n"
        /* Without words bash offers files, which must not happen in place of an empty command. */
        "    [ -n \"$current\" ] || [ \"$COMP_CWORD\" -eq 1 ] || [ -n \"$words\" ] || return\n"
        "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n}\n"
        "complete -o default -F ",
        out);
    put_function(program->name, out);
    (void)fprintf(out, " %s\n", program->name);
}
