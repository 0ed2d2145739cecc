#include "gateway/chat/jinja/jinja.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/utf8.h"
#include "gateway/chat/jinja/parse/parser.h"
#include "gateway/chat/jinja/run/eval.h"
#include "gateway/chat/jinja/value/text.h"

/* The tree may take 64 bytes for each byte of the longest source. */
enum { SOURCE_MAX_BYTES = 4 << 20, TREE_MAX_BYTES = 256 << 20 };

/* Copies the source and turns line breaks of all kinds into \n. */
static size_t copy_source(char *to, const char *from, size_t n)
{
    size_t length = 0;
    for (size_t i = 0; i < n; i++) {
        if (from[i] != '\r')
            to[length++] = from[i];
        else if (i + 1 == n || from[i + 1] != '\n')
            to[length++] = '\n';
    }
    return length;
}

static enum baton_err parse(struct baton_jinja *jinja, const char *source, size_t n,
                            struct baton_why *why)
{
    struct jinja_parser parser = {.jinja = jinja, .why = why};
    char *copy = baton_arena_alloc(jinja->arena, n + 1);
    if (!copy)
        return baton_fail(why, BATON_NO_MEMORY, "out of memory");
    n = copy_source(copy, source, n);
    enum baton_err err = jinja_lex(jinja->arena, copy, n, &parser.tokens, why);
    return err ? err : jinja_parse_template(&parser);
}

enum baton_err baton_jinja_parse(const char *source, size_t n, struct baton_jinja **jinja,
                                 struct baton_why *why)
{
    if (n > SOURCE_MAX_BYTES)
        return baton_fail(why, BATON_LIMIT, "a template may have at most %d bytes",
                          SOURCE_MAX_BYTES);
    if (!baton_utf8_valid(source, n))
        return baton_fail(why, BATON_INVALID, "the template is not UTF-8");
    size_t n_mark = n >= 3 && !memcmp(source, "\xef\xbb\xbf", 3) ? 3 : 0; /* some editors' */
    struct baton_jinja *made = calloc(1, sizeof *made);
    if (made)
        made->arena = baton_arena_create(TREE_MAX_BYTES);
    if (!made || !made->arena) {
        free(made);
        return baton_fail(why, BATON_NO_MEMORY, "out of memory");
    }
    enum baton_err err = parse(made, source + n_mark, n - n_mark, why);
    if (err)
        baton_jinja_free(made);
    else
        *jinja = made;
    return err;
}

void baton_jinja_free(struct baton_jinja *jinja)
{
    if (!jinja)
        return;
    jinja_names_fini(&jinja->names);
    baton_arena_destroy(jinja->arena);
    free(jinja);
}

/* ---- a run ---- */

struct jinja_run *baton_jinja_begin(const struct baton_jinja *jinja,
                                    const struct baton_jinja_limits *limits, time_t now)
{
    struct jinja_run *run = calloc(1, sizeof *run);
    if (!run)
        return NULL;
    *run = (struct jinja_run){.jinja = jinja, .limits = *limits, .now = now};
    run->arena = baton_arena_create(limits->max_memory_bytes);
    if (run->arena)
        return run;
    free(run);
    return NULL;
}

void baton_jinja_end(struct jinja_run *run)
{
    if (!run)
        return;
    baton_arena_destroy(run->arena);
    free(run);
}

void baton_jinja_set(struct jinja_run *run, const char *name, struct jinja_value value)
{
    const struct jinja_string *known = jinja_find_name(run->jinja, name, strlen(name));
    if (known && !jinja_failed(run))
        jinja_bind(run, &run->globals, known, value);
}

/* Passes on the output in pieces of one origin each. */
static void give(const struct jinja_string *text, baton_jinja_put put, void *arg)
{
    for (size_t at = 0, end; at < text->n; at = end) {
        bool own = text->marks ? text->marks[at] : text->own;
        for (end = at; end < text->n && (!text->marks || text->marks[end] == own);)
            end = text->marks ? end + 1 : text->n;
        put(arg, text->bytes + at, end - at, own);
    }
}

enum baton_err baton_jinja_render(struct jinja_run *run, baton_jinja_put put, void *arg,
                                  bool *raised, struct baton_why *why)
{
    struct jinja_value text = jinja_run_template(run);
    if (!jinja_failed(run))
        give(text.string, put, arg);
    if (raised)
        *raised = run->raised;
    if (why && run->err)
        *why = run->why;
    return run->err;
}
