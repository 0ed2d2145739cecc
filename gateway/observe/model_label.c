#include "gateway/observe/model_label.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define HELP "# HELP "
enum { NAME_BYTES = 128 };

/* Copies the name of the family that begins at text. False: there is none, or it is too long. */
static bool read_name(const char *text, char name[NAME_BYTES])
{
    size_t n_help = sizeof HELP - 1;
    if (strncmp(text, HELP, n_help) != 0)
        return false;
    size_t n = strcspn(text + n_help, " \n");
    (void)snprintf(name, NAME_BYTES, "%.*s", (int)(n < NAME_BYTES ? n : 0), text + n_help);
    return *name;
}

static bool begins_with(const char *text, const char *line)
{
    return !strncmp(text, line, strlen(line));
}

/* The family's place in the text; NULL: it has none of that name. Texts have their families in the
 * same order, so the next one is mostly the right one. */
static const char *find(struct gw_model_text *text, const char *name)
{
    char line[sizeof "\n" HELP " " + NAME_BYTES];
    (void)snprintf(line, sizeof line, "\n" HELP "%s ", name);
    if (text->at && begins_with(text->at, line + 1))
        return text->at;
    if (begins_with(text->text, line + 1))
        return text->text;
    const char *found = strstr(text->text, line);
    return found ? found + 1 : NULL;
}

static const char *next_line(const char *line)
{
    line += strcspn(line, "\n");
    return *line ? line + 1 : line;
}

static void put_escaped(struct baton_buf *out, const char *value)
{
    for (; *value; value++) {
        if (*value == '"' || *value == '\\')
            baton_buf_putc(out, '\\');
        baton_buf_putc(out, *value == '\n' ? ' ' : *value);
    }
}

/* Puts a sample with the label before its own ones. */
static void put_sample(struct baton_buf *out, const char *line, const char *model)
{
    size_t n_name = strcspn(line, "{ ");
    bool has_labels = line[n_name] == '{';
    const char *end = next_line(line);
    baton_buf_append(out, line, n_name);
    baton_buf_puts(out, "{model=\"");
    put_escaped(out, model);
    baton_buf_puts(out, has_labels ? "\"," : "\"}");
    const char *rest = line + n_name + has_labels;
    baton_buf_append(out, rest, (size_t)(end - rest));
}

/* Puts the samples of the family at `at`, and leaves the text at the next family. */
static void put_samples(struct baton_buf *out, struct gw_model_text *text, const char *at)
{
    for (at = next_line(next_line(at)); *at && *at != '#'; at = next_line(at))
        put_sample(out, at, text->model);
    text->at = at;
}

static bool is_in_any(struct gw_model_text *texts, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (find(&texts[i], name))
            return true;
    return false;
}

static void put_family(struct baton_buf *out, struct gw_model_text *texts, size_t n,
                       const char *family, const char *name)
{
    baton_buf_append(out, family, (size_t)(next_line(next_line(family)) - family));
    for (size_t i = 0; i < n; i++) {
        const char *at = find(&texts[i], name);
        if (at)
            put_samples(out, &texts[i], at);
    }
}

static const char *next_family(const char *at)
{
    do
        at = next_line(at);
    while (*at && !begins_with(at, HELP));
    return at;
}

void gw_model_label_join(struct baton_buf *out, struct gw_model_text *texts, size_t n)
{
    char name[NAME_BYTES];
    for (size_t i = 0; i < n; i++)
        for (const char *at = texts[i].text; read_name(at, name); at = next_family(at))
            if (!is_in_any(texts, i, name))
                put_family(out, texts + i, n - i, at, name);
}
