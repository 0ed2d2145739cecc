#include "common/base/options/config.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/closest.h"
#include "common/base/json.h"
#include "common/base/options/config_env.h"
#include "common/base/options/config_show.h"
#include "common/base/version.h"

enum { CONFIG_FILE_MAX_BYTES = 1 << 20 };

static const struct baton_option *find(const struct baton_config *config, const char *name,
                                       size_t n)
{
    for (size_t i = 0; i < config->n_options; i++) {
        const char *own = config->options[i].name;
        size_t k = 0;
        while (k < n && own[k] && (own[k] == name[k] || (own[k] == '-' && name[k] == '_')))
            k++;
        if (k == n && !own[k])
            return &config->options[i];
    }
    return NULL;
}

static enum baton_err keep_text(struct baton_config *config, const char *value, const char **kept)
{
    char *text =
        BATON_RESERVE(config->texts, config->cap_texts, config->n_texts + 1) ? NULL : strdup(value);
    if (!text)
        return BATON_NO_MEMORY;
    *kept = config->texts[config->n_texts++] = text;
    return BATON_OK;
}

/* What a number of bytes is multiplied by for its unit, "K", "KB", "KiB" or "k" and so on, all of
 * which count 1024; 0: the text is no unit. */
static double multiple(const char *unit)
{
    static const char letters[] = "KMGT";
    static const char *const ends[] = {"", "B", "b", "iB", "ib"};
    const char *letter = strchr(letters, toupper((unsigned char)*unit));
    if (!*unit)
        return 1;
    for (size_t i = 0; letter && i < BATON_N_OF(ends); i++)
        if (!strcmp(unit + 1, ends[i]))
            return exp2(10.0 * (double)(letter - letters + 1));
    return 0;
}

/* Reads a number of an option in bytes that has a unit, or a fraction of one: "1.5G". False: it is
 * none. */
static bool read_bytes(const struct baton_option *option, const char *value, double *bytes)
{
    char *end;
    double number = strtod(value, &end);
    double factor = end == value ? 0 : multiple(end);
    *bytes = number * factor;
    return !strcmp(option->unit, "bytes") && factor > 1 && isfinite(number) &&
           strspn(value, "0123456789.") == (size_t)(end - value);
}

static enum baton_err set_number(const struct baton_option *option, void *field, const char *source,
                                 const char *value, struct baton_why *why)
{
    char *end;
    errno = 0;
    bool is_int = option->kind == BATON_OPTION_INT;
    long long integer = is_int ? strtoll(value, &end, 10) : 0;
    double real = is_int ? (double)integer : strtod(value, &end);
    bool has_unit = read_bytes(option, value, &real);
    if ((!has_unit && (end == value || *end || errno)) || isnan(real) || real < option->min ||
        real > option->max)
        return baton_fail(
            why, BATON_INVALID, "%s: %s must be %s from %.15g to %.15g%s%s%s, not \"%s\"", source,
            option->name, is_int ? "an integer" : "a number", option->min, option->max,
            *option->unit ? " " : "", option->unit,
            strcmp(option->unit, "bytes") ? "" : ", or with a unit, such as 512M or 2G", value);
    if (has_unit)
        integer = (long long)real;
    if (is_int)
        *(int64_t *)field = integer;
    else
        *(double *)field = real;
    return BATON_OK;
}

const char *baton_option_word(const struct baton_option *option, int choice, size_t *n)
{
    const char *word = option->unit;
    for (; choice > 0; choice--)
        word = strchr(word, '|') + 1;
    *n = strcspn(word, "|");
    return word;
}

static int n_words(const struct baton_option *option)
{
    int n = 1;
    for (const char *p = option->unit; *p; p++)
        n += *p == '|';
    return n;
}

/* Writes "on, off or auto". */
static void list_words(const struct baton_option *option, char *text, size_t size)
{
    int n_listed = n_words(option);
    size_t used = 0;
    for (int i = 0; i < n_listed && used < size; i++) {
        size_t n;
        const char *word = baton_option_word(option, i, &n);
        const char *before = i == 0 ? "" : i == n_listed - 1 ? " or " : ", ";
        used += (size_t)snprintf(text + used, size - used, "%s%.*s", before, (int)n, word);
    }
}

static enum baton_err set_choice(const struct baton_option *option, int *field, const char *source,
                                 const char *value, struct baton_why *why)
{
    char words[160];
    for (int i = 0; i < n_words(option); i++) {
        size_t n;
        const char *word = baton_option_word(option, i, &n);
        if (strlen(value) == n && !memcmp(word, value, n)) {
            *field = i;
            return BATON_OK;
        }
    }
    list_words(option, words, sizeof words);
    return baton_fail(why, BATON_INVALID, "%s: %s must be %s, not \"%s\"", source, option->name,
                      words, value);
}

static enum baton_err set(struct baton_config *config, void *target,
                          const struct baton_option *option, const char *source, const char *value,
                          struct baton_why *why)
{
    void *field = (char *)target + option->offset;
    switch (option->kind) {
    case BATON_OPTION_TEXT:
        return keep_text(config, value, (const char **)field);
    case BATON_OPTION_BOOL:
        if (strcmp(value, "true") != 0 && strcmp(value, "false") != 0)
            return baton_fail(why, BATON_INVALID, "%s: %s must be true or false, not \"%s\"",
                              source, option->name, value);
        *(bool *)field = !strcmp(value, "true");
        return BATON_OK;
    case BATON_OPTION_CHOICE:
        return set_choice(option, field, source, value, why);
    case BATON_OPTION_INT:
    case BATON_OPTION_REAL:
        break;
    }
    return set_number(option, field, source, value, why);
}

static enum baton_err set_defaults(struct baton_config *config, void *target, struct baton_why *why)
{
    for (size_t i = 0; i < config->n_options; i++) {
        const struct baton_option *option = &config->options[i];
        enum baton_err err = BATON_OK;
        if (option->fallback)
            err = set(config, target, option, "default", option->fallback, why);
        else
            *(const char **)((char *)target + option->offset) = NULL;
        if (err)
            return err;
    }
    return BATON_OK;
}

static enum baton_err set_from_file(struct baton_config *config, void *target, const char *path,
                                    struct baton_why *why)
{
    struct baton_json *root = NULL;
    enum baton_err err = baton_json_read_file(path, CONFIG_FILE_MAX_BYTES, &root, why);
    if (err)
        return err;
    if (baton_json_kind(root) != BATON_JSON_OBJECT)
        err = baton_fail(why, BATON_INVALID, "%s: must hold one JSON object", path);
    for (void *it = err ? NULL : baton_json_first(root); it && !err;
         it = baton_json_next(root, it)) {
        const char *key = baton_json_key(it);
        const struct baton_json *member = baton_json_member(it);
        const struct baton_option *option = find(config, key, strlen(key));
        char number[40];
        const char *value = NULL;
        switch (baton_json_kind(member)) {
        case BATON_JSON_STRING:
            value = baton_json_string(member, NULL);
            break;
        case BATON_JSON_BOOL:
            value = baton_json_bool(member) ? "true" : "false";
            break;
        case BATON_JSON_INT:
            (void)snprintf(number, sizeof number, "%lld", (long long)baton_json_int(member));
            value = number;
            break;
        case BATON_JSON_REAL:
            (void)snprintf(number, sizeof number, "%.17g", baton_json_number(member));
            value = number;
            break;
        default:
            break;
        }
        if (!option)
            err = baton_fail(why, BATON_INVALID, "%s: unknown option \"%s\"", path, key);
        else if (!value)
            err = baton_fail(why, BATON_INVALID, "%s: %s must be a text, number or boolean", path,
                             key);
        else
            err = set(config, target, option, path, value, why);
    }
    baton_json_free(root);
    return err;
}

static enum baton_err set_from_env(struct baton_config *config, void *target, struct baton_why *why)
{
    for (size_t i = 0; i < config->n_options; i++) {
        char name[96];
        baton_config_env_name(config, config->options[i].name, name, sizeof name);
        const char *value = getenv(name);
        enum baton_err err = BATON_OK;
        if (value)
            err = set(config, target, &config->options[i], name, value, why);
        if (err)
            return err;
    }
    return BATON_OK;
}

static enum baton_err add_operand(struct baton_config *config, const char *arg,
                                  struct baton_why *why)
{
    if (!config->operands)
        return baton_fail(why, BATON_INVALID, "\"%s\": options start with --; see --help", arg);
    if (config->n_operands == config->max_operands)
        return baton_fail(why, BATON_INVALID, "\"%s\" is one word too many; see --help", arg);
    config->operand[config->n_operands++] = arg;
    return BATON_OK;
}

/* Options of other servers that have no counterpart for a reason that their users should know. */
static const struct {
    const char *name, *why;
} absent[] = {
    {"context-shift",
     "dropping the oldest tokens of a running output would make it depend on its worker, and no "
     "other worker could continue it; a full context ends the answer (finish reason \"length\"). "
     "Prompts are shortened on request: truncate_prompt_tokens, and Ollama's routes by themselves"},
};

static enum baton_err refuse_flag(const struct baton_config *config, const char *arg,
                                  const char *name, size_t n, struct baton_why *why)
{
    char word[64];
    (void)snprintf(word, sizeof word, "%.*s", (int)n, name);
    for (size_t i = 0; i < BATON_N_OF(absent); i++)
        if (!strcmp(absent[i].name, word))
            return baton_fail(why, BATON_INVALID, "%s is not supported: %s", arg, absent[i].why);
    struct baton_closest closest = {.word = word};
    for (size_t i = 0; i < config->n_options; i++)
        baton_closest_try(&closest, config->options[i].name);
    return baton_fail(why, BATON_INVALID, "unknown option \"%s\"%s%s%s; see --help", arg,
                      closest.best ? "; did you mean --" : "", closest.best ? closest.best : "",
                      closest.best ? "?" : "");
}

static enum baton_err set_from_flags(struct baton_config *config, void *target, int argc,
                                     char **argv, struct baton_why *why)
{
    bool only_operands = false;
    for (int i = 1; i < argc; i++) {
        const char *arg = argv[i];
        if (config->operands && !only_operands && !strcmp(arg, "--")) {
            only_operands = true;
            continue;
        }
        if (only_operands || strncmp(arg, "--", 2) != 0) {
            enum baton_err err = add_operand(config, arg, why);
            if (err)
                return err;
            continue;
        }
        const char *name = arg + 2, *equals = strchr(name, '=');
        size_t n = equals ? (size_t)(equals - name) : strlen(name);
        /* config_path() and has_flag() read these two. */
        if ((n == 6 && !strncmp(name, "config", n)) || !strcmp(name, "print-config")) {
            i += !equals && n == 6;
            continue;
        }
        const struct baton_option *option = find(config, name, n);
        if (!option)
            return refuse_flag(config, arg, name, n, why);
        const char *value = equals ? equals + 1 : NULL;
        /* A word after a bare flag may be an operand, so only true and false are its value. */
        if (!value && option->kind == BATON_OPTION_BOOL)
            value = i + 1 < argc && (!strcmp(argv[i + 1], "true") || !strcmp(argv[i + 1], "false"))
                        ? argv[++i]
                        : "true";
        if (!value && i + 1 < argc)
            value = argv[++i];
        if (!value)
            return baton_fail(why, BATON_INVALID, "%s needs a value; see --help", arg);
        enum baton_err err = set(config, target, option, arg, value, why);
        if (err)
            return err;
    }
    return BATON_OK;
}

static const char *config_path(const struct baton_config *config, int argc, char **argv)
{
    char name[96];
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--config") && i + 1 < argc)
            return argv[i + 1];
        if (!strncmp(argv[i], "--config=", 9))
            return argv[i] + 9;
    }
    baton_config_env_name(config, "config", name, sizeof name);
    return getenv(name);
}

static bool has_flag(const char *flag, int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (!strcmp(argv[i], flag))
            return true;
    return false;
}

enum baton_err baton_config_load(struct baton_config *config, void *target, int argc, char **argv,
                                 bool *done, struct baton_why *why)
{
    *done = true;
    if (has_flag("--help", argc, argv) || has_flag("-h", argc, argv)) {
        baton_config_print_help(config);
        return BATON_OK;
    }
    if (has_flag("--version", argc, argv)) {
        baton_version_print(config->process);
        return BATON_OK;
    }
    if (has_flag("--print-options", argc, argv)) {
        baton_config_print_options(config);
        return BATON_OK;
    }
    const char *path = config_path(config, argc, argv);
    enum baton_err err = set_defaults(config, target, why);
    if (!err && path)
        err = set_from_file(config, target, path, why);
    if (!err)
        err = set_from_env(config, target, why);
    if (!err)
        err = set_from_flags(config, target, argc, argv, why);
    if (err)
        return err;
    *done = has_flag("--print-config", argc, argv);
    if (*done)
        baton_config_print(config, target);
    return BATON_OK;
}

void baton_config_fini(struct baton_config *config)
{
    for (size_t i = 0; i < config->n_texts; i++)
        free(config->texts[i]);
    free(config->texts);
    config->texts = NULL;
    config->n_texts = config->cap_texts = 0;
}
