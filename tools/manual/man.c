/* Writes a page for man(1), in the macros of man(7). */
#include <ctype.h>
#include <string.h>

#include "common/base/version.h"
#include "tools/manual/manual.h"

/* Writes text with every character escaped that roff would interpret. */
static void put(const char *text, FILE *out)
{
    for (const char *p = text; *p; p++)
        switch (*p) {
        case '\\':
            (void)fputs("\\e", out);
            break;
        case '-':
            (void)fputs("\\-", out);
            break;
        case '\'':
            (void)fputs("\\(aq", out);
            break;
        case '.':
            /* Only at the beginning of a line a point starts a request. */
            (void)fputs(p == text ? "\\&." : ".", out);
            break;
        case '~':
            (void)fputs("\\(ti", out);
            break;
        case '^':
            (void)fputs("\\(ha", out);
            break;
        default:
            (void)fputc(*p, out);
        }
}

/* Writes a placeholder for the value: INT, or the words of a choice. */
static void put_value(const struct baton_json *option, FILE *out)
{
    const struct baton_json *words = baton_json_get(option, "words");
    if (!baton_json_size(words)) {
        for (const char *p = mn_text(option, "kind"); *p; p++)
            (void)fputc(toupper((unsigned char)*p), out);
        return;
    }
    for (size_t i = 0; i < baton_json_size(words); i++) {
        (void)fputs(i ? "|" : "", out);
        put(baton_json_string(baton_json_at(words, i), NULL), out);
    }
}

static void put_range(const struct baton_json *option, FILE *out)
{
    const struct baton_json *min = baton_json_get(option, "min");
    const char *unit = mn_text(option, "unit");
    char range[96];
    if (!min)
        return;
    (void)snprintf(range, sizeof range, "%.15g to %.15g%s%s%s", baton_json_number(min),
                   baton_json_number(baton_json_get(option, "max")), *unit ? " " : "", unit,
                   strcmp(unit, "bytes") ? "" : ", such as 2G");
    (void)fputs(" (", out);
    put(range, out);
    (void)fputs(")", out);
}

static void put_option(const struct baton_json *option, FILE *out)
{
    const char *fallback = mn_text(option, "default");
    (void)fputs(".TP\n\\fB\\-\\-", out);
    put(mn_text(option, "name"), out);
    (void)fputs("\\fR \\fI", out);
    put_value(option, out);
    (void)fputs("\\fR\n", out);
    put(mn_text(option, "help"), out);
    put_range(option, out);
    (void)fputs(".", out);
    if (*fallback) {
        (void)fputs(" Default: ", out);
        put(fallback, out);
        (void)fputs(".", out);
    }
    (void)fputs("\n", out);
}

static void put_extras(FILE *out)
{
    for (int i = 0; i < mn_n_extras; i++) {
        (void)fputs(".TP\n\\fB\\-\\-", out);
        put(mn_extras[i].name, out);
        (void)fprintf(out, "\\fR%s%s%s\n", mn_extras[i].value ? " \\fI" : "",
                      mn_extras[i].value ? mn_extras[i].value : "",
                      mn_extras[i].value ? "\\fR" : "");
        put(mn_extras[i].help, out);
        (void)fputs(".\n", out);
    }
}

static void put_options(const struct mn_command *command, FILE *out)
{
    const struct baton_json *options = baton_json_get(command->description, "options");
    for (size_t i = 0; i < baton_json_size(options); i++)
        put_option(baton_json_at(options, i), out);
}

static void put_command(const struct mn_program *program, const struct mn_command *command,
                        FILE *out)
{
    const char *operands = mn_text(command->description, "operands");
    (void)fputs(".SS ", out);
    put(program->name, out);
    (void)fprintf(out, " %s", command->name);
    if (*operands) {
        (void)fputs(" ", out);
        put(operands, out);
    }
    (void)fputs("\n", out);
    put(command->summary, out);
    if (command->becomes)
        (void)fprintf(out, ". Its options:\n\\fB%s %s \\-\\-help\\fR", program->name,
                      command->name);
    (void)fputs(".\n", out);
    put_options(command, out);
}

static void put_environment(const struct mn_program *program, FILE *out)
{
    (void)fputs(".SH ENVIRONMENT\nEach option is also a variable and a key of the file that "
                "\\fB\\-\\-config\\fR names. A flag wins over the environment, that over the file, "
                "that over the default. Names of variables begin with\n",
                out);
    for (int i = 0; i < program->n_commands; i++) {
        const char *prefix = mn_text(program->commands[i].description, "env_prefix");
        if (!*prefix)
            continue;
        (void)fprintf(out, "\\fB%s_\\fR:\n\\fB%s_", prefix, prefix);
        /* The first option serves as the example. */
        const struct baton_json *options =
            baton_json_get(program->commands[i].description, "options");
        for (const char *p = mn_text(baton_json_at(options, 0), "name"); *p; p++)
            (void)fputc(*p == '-' ? '_' : toupper((unsigned char)*p), out);
        (void)fputs("\\fR is the first.\n", out);
        return;
    }
}

void mn_write_man(const struct mn_program *program, FILE *out)
{
    (void)fputs(".TH \"", out);
    for (const char *p = program->name; *p; p++)
        (void)fputc(toupper((unsigned char)*p), out);
    (void)fprintf(out, "\" 1 \"\" \"Baton %s\" \"Baton\"\n.nh\n.ad l\n.SH NAME\n", baton_release);
    put(program->name, out);
    (void)fputs(" \\- ", out);
    put(program->summary, out);
    (void)fputs("\n.SH SYNOPSIS\n.B ", out);
    put(program->name, out);
    (void)fputs(program->has_commands ? "\n\\fICOMMAND\\fR [\\fIOPTION\\fR]...\n"
                                      : "\n[\\fIOPTION\\fR]...\n",
                out);
    (void)fprintf(out, ".SH %s\n", program->has_commands ? "COMMANDS" : "OPTIONS");
    for (int i = 0; i < program->n_commands; i++)
        if (program->has_commands)
            put_command(program, &program->commands[i], out);
        else
            put_options(&program->commands[i], out);
    if (program->has_commands)
        (void)fputs(".SH \"OPTIONS OF EVERY COMMAND\"\n", out);
    put_extras(out);
    put_environment(program, out);
}
