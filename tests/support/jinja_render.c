/* Renders templates for tests: one JSON object a line on stdin, one on stdout.
 *
 *     {"template": text, "values": {name: value, ...}, "own": [text, ...], "now": seconds}
 *     {"text": text, "own": text}, or {"error": text, "raised": bool}
 *
 * Values are foreign text, but for the names in "own". "own" of the answer is the text with each
 * foreign byte as "?". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gateway/chat/jinja/jinja.h"

enum { LINE_MAX_BYTES = 64 << 20 };

struct output {
    struct baton_buf text, own;
};

static void put(void *arg, const char *bytes, size_t n, bool own)
{
    struct output *output = arg;
    baton_buf_append(&output->text, bytes, n);
    for (size_t i = 0; i < n; i++)
        baton_buf_putc(&output->own, own ? bytes[i] : '?');
}

static bool is_own(const struct baton_json *names, const char *name)
{
    for (size_t i = 0; i < baton_json_size(names); i++)
        if (!strcmp(baton_json_string(baton_json_at(names, i), NULL), name))
            return true;
    return false;
}

static void set_values(struct jinja_run *run, const struct baton_json *job)
{
    const struct baton_json *values = baton_json_get(job, "values");
    for (void *it = baton_json_first(values); it; it = baton_json_next(values, it)) {
        const struct baton_json *json = baton_json_member(it);
        const char *name = baton_json_key(it);
        size_t n;
        const char *text = baton_json_string(json, &n);
        if (text && is_own(baton_json_get(job, "own"), name))
            baton_jinja_set(run, name, jinja_text_value(run, text, n, true));
        else
            baton_jinja_set(run, name, jinja_json_value(run, json));
    }
}

static enum baton_err render(const struct baton_json *job, struct output *output, bool *raised,
                             struct baton_why *why)
{
    static const struct baton_jinja_limits limits = {.max_steps = 20000000,
                                                     .max_depth = 800,
                                                     .max_text_bytes = 16 << 20,
                                                     .max_memory_bytes = 256 << 20};
    struct baton_jinja *jinja = NULL;
    size_t n;
    const char *source = baton_json_string(baton_json_get(job, "template"), &n);
    enum baton_err err = baton_jinja_parse(source, n, &jinja, why);
    if (err)
        return err;
    struct jinja_run *run =
        baton_jinja_begin(jinja, &limits, (time_t)baton_json_int(baton_json_get(job, "now")));
    if (!run)
        abort();
    set_values(run, job);
    err = baton_jinja_render(run, put, output, raised, why);
    baton_jinja_end(run);
    baton_jinja_free(jinja);
    return err;
}

static void answer(const struct baton_json *job)
{
    struct output output;
    struct baton_why why = {""};
    struct baton_buf line;
    bool raised = false;
    baton_buf_init(&output.text, LINE_MAX_BYTES);
    baton_buf_init(&output.own, LINE_MAX_BYTES);
    baton_buf_init(&line, 8 * (size_t)LINE_MAX_BYTES);
    enum baton_err err = render(job, &output, &raised, &why);
    struct baton_json_out out = baton_json_out(&line);
    baton_json_open(&out, NULL, '{');
    if (err) {
        baton_json_put_string(&out, "error", why.text);
        baton_json_put_bool(&out, "raised", raised);
    } else {
        baton_json_put_text(&out, "text", baton_buf_text(&output.text), output.text.len);
        baton_json_put_text(&out, "own", baton_buf_text(&output.own), output.own.len);
    }
    baton_json_close(&out, '}');
    (void)puts(baton_buf_text(&line));
    (void)fflush(stdout);
    baton_buf_fini(&line);
    baton_buf_fini(&output.text);
    baton_buf_fini(&output.own);
}

int main(void)
{
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;
    while ((n = getline(&line, &cap, stdin)) > 0) {
        struct baton_json *job = NULL;
        struct baton_why why;
        if (baton_json_parse(line, (size_t)n, &job, &why)) {
            (void)fprintf(stderr, "jinja_render: %s\n", why.text);
            return 1;
        }
        answer(job);
        baton_json_free(job);
    }
    free(line);
    return 0;
}
