#include "common/base/options/config_show.h"

#include <stdio.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/options/config_env.h"
#include "common/base/version.h"

enum { SHOWN_MAX_BYTES = 1 << 20 };

static const char *const kind_words[] = {"TEXT", "INT", "NUMBER", "BOOL"};

static void print_precedence(const struct baton_config *config)
{
    const char *option = config->options[0].name;
    char variable[128];
    baton_config_env_name(config, option, variable, sizeof variable);
    (void)printf("\nPrecedence: flag, environment (%s for --%s), file, default.\n", variable,
                 option);
}

void baton_config_print_help(const struct baton_config *config)
{
    (void)printf("%s %s - %s\n\n", config->process, baton_release, config->summary);
    if (config->operands)
        (void)printf("usage: %s [OPTION...] %s\n\n", config->process, config->operands);
    for (size_t i = 0; i < config->n_options; i++) {
        const struct baton_option *option = &config->options[i];
        char left[64];
        (void)snprintf(left, sizeof left, "--%s %s", option->name,
                       option->kind == BATON_OPTION_CHOICE ? option->unit
                                                           : kind_words[option->kind]);
        (void)printf("  %-28s %s", left, option->help);
        if (option->kind == BATON_OPTION_INT || option->kind == BATON_OPTION_REAL)
            (void)printf(" (%.15g..%.15g%s%s%s)", option->min, option->max,
                         *option->unit ? " " : "", option->unit,
                         strcmp(option->unit, "bytes") ? "" : ", such as 2G");
        (void)printf(option->fallback ? " [%s]\n" : "\n", option->fallback);
    }
    (void)printf("  %-28s a JSON object with any of these options\n"
                 "  %-28s print the options in force as such a file, and exit\n"
                 "  %-28s print the version, and exit\n",
                 "--config FILE", "--print-config", "--version");
    if (config->n_options)
        print_precedence(config);
}

static void put_word(struct baton_json_out *out, const struct baton_option *option, int choice)
{
    size_t n;
    const char *word = baton_option_word(option, choice, &n);
    baton_json_put_text(out, option->name, word, n);
}

void baton_config_print(const struct baton_config *config, const void *target)
{
    struct baton_buf text;
    baton_buf_init(&text, SHOWN_MAX_BYTES);
    struct baton_json_out out = baton_json_out(&text);
    baton_json_open(&out, NULL, '{');
    for (size_t i = 0; i < config->n_options; i++) {
        const struct baton_option *option = &config->options[i];
        const void *field = (const char *)target + option->offset;
        baton_buf_puts(&text, i ? ",\n " : "\n ");
        /* Each option stands on its own line, so the comma is written here. */
        out.comma = false;
        switch (option->kind) {
        case BATON_OPTION_TEXT:
            if (*(const char *const *)field)
                baton_json_put_string(&out, option->name, *(const char *const *)field);
            else
                baton_json_put_null(&out, option->name);
            break;
        case BATON_OPTION_INT:
            baton_json_put_int(&out, option->name, *(const int64_t *)field);
            break;
        case BATON_OPTION_REAL:
            baton_json_put_real(&out, option->name, *(const double *)field);
            break;
        case BATON_OPTION_BOOL:
            baton_json_put_bool(&out, option->name, *(const bool *)field);
            break;
        case BATON_OPTION_CHOICE:
            put_word(&out, option, *(const int *)field);
            break;
        }
    }
    baton_json_close(&out, '}');
    (void)puts(baton_buf_text(&text));
    baton_buf_fini(&text);
}

/* ---- the table ---- */

static void put_words(struct baton_json_out *out, const struct baton_option *option)
{
    baton_json_open(out, "words", '[');
    for (const char *word = option->unit; *word;) {
        size_t n = strcspn(word, "|");
        baton_json_put_text(out, NULL, word, n);
        word += n + (word[n] == '|');
    }
    baton_json_close(out, ']');
}

static void put_option(struct baton_json_out *out, const struct baton_option *option)
{
    static const char *const kinds[] = {"text", "int", "number", "bool", "choice"};
    bool is_number = option->kind == BATON_OPTION_INT || option->kind == BATON_OPTION_REAL;
    baton_json_open(out, NULL, '{');
    baton_json_put_string(out, "name", option->name);
    baton_json_put_string(out, "kind", kinds[option->kind]);
    if (option->fallback)
        baton_json_put_string(out, "default", option->fallback);
    if (is_number) {
        baton_json_put_real(out, "min", option->min);
        baton_json_put_real(out, "max", option->max);
        baton_json_put_string(out, "unit", option->unit);
    } else if (option->kind == BATON_OPTION_CHOICE) {
        put_words(out, option);
    }
    baton_json_put_string(out, "help", option->help);
    baton_json_close(out, '}');
}

void baton_config_print_options(const struct baton_config *config)
{
    struct baton_buf text;
    baton_buf_init(&text, SHOWN_MAX_BYTES);
    struct baton_json_out out = baton_json_out(&text);
    baton_json_open(&out, NULL, '{');
    baton_json_put_string(&out, "process", config->process);
    baton_json_put_string(&out, "summary", config->summary);
    baton_json_put_string(&out, "env_prefix", config->env_prefix);
    if (config->operands)
        baton_json_put_string(&out, "operands", config->operands);
    baton_json_open(&out, "options", '[');
    for (size_t i = 0; i < config->n_options; i++)
        put_option(&out, &config->options[i]);
    baton_json_close(&out, ']');
    baton_json_close(&out, '}');
    (void)puts(baton_buf_text(&text));
    baton_buf_fini(&text);
}
