/* Writes completions for zsh: as for bash, with each option's help beside it. */
#include <string.h>

#include "tools/manual/manual.h"

/* Writes text inside a specification of _arguments, which itself stands in single quotes. */
static void put(const char *text, FILE *out)
{
    for (const char *p = text; *p; p++) {
        if (*p == '\'')
            (void)fputs("'\\'", out);
        else if (strchr("[]:\\", *p))
            (void)fputc('\\', out);
        (void)fputc(*p, out);
    }
}

static void put_option(const struct baton_json *option, FILE *out)
{
    const struct baton_json *words = baton_json_get(option, "words");
    const char *kind = mn_text(option, "kind");
    (void)fprintf(out, " \\\n            '--%s[", mn_text(option, "name"));
    put(mn_text(option, "help"), out);
    (void)fputs("]", out);
    if (baton_json_size(words)) {
        (void)fputs(":word:(", out);
        for (size_t i = 0; i < baton_json_size(words); i++)
            (void)fprintf(out, "%s%s", i ? " " : "",
                          baton_json_string(baton_json_at(words, i), NULL));
        (void)fputs(")", out);
    } else if (!strcmp(kind, "text")) {
        (void)fputs(":value:_files", out);
    } else if (strcmp(kind, "bool") != 0) {
        (void)fputs(":number:", out);
    }
    (void)fputs("'", out);
}

static void put_arguments(const struct mn_command *command, FILE *out)
{
    const struct baton_json *options = baton_json_get(command->description, "options");
    (void)fputs("        _arguments", out);
    for (size_t i = 0; i < baton_json_size(options); i++)
        put_option(baton_json_at(options, i), out);
    for (int i = 0; i < mn_n_extras; i++) {
        (void)fprintf(out, " \\\n            '--%s[", mn_extras[i].name);
        put(mn_extras[i].help, out);
        (void)fprintf(out, "]%s'", mn_extras[i].value ? ":file:_files" : "");
    }
    if (*mn_text(command->description, "operands"))
        (void)fputs(" \\\n            '*:word:_default'", out);
    (void)fputs("\n", out);
}

static void put_commands(const struct mn_program *program, FILE *out)
{
    (void)fputs("    local -a commands=(\n", out);
    for (int i = 0; i < program->n_commands; i++) {
        (void)fprintf(out, "        '%s:", program->commands[i].name);
        put(program->commands[i].summary, out);
        (void)fputs("'\n", out);
    }
    (void)fputs("    )\n    if ((CURRENT == 2)); then\n        _describe command commands\n"
                "        return\n    fi\n    local command=$words[2]\n    shift words\n"
                "    ((CURRENT--))\n    case $command in\n",
                out);
    for (int i = 0; i < program->n_commands; i++) {
        if (!program->commands[i].description)
            continue;
        (void)fprintf(out, "    %s)\n", program->commands[i].name);
        put_arguments(&program->commands[i], out);
        (void)fputs("        ;;\n", out);
    }
    (void)fputs("    *) _files ;;\n    esac\n", out);
}

void mn_write_zsh(const struct mn_program *program, FILE *out)
{
    (void)fprintf(out, "#compdef %s\n# Generated from its option tables.\n_%s() {\n", program->name,
                  program->name);
    if (program->has_commands)
        put_commands(program, out);
    else
        put_arguments(&program->commands[0], out);
    (void)fprintf(out, "}\n_%s \"$@\"\n", program->name);
}
