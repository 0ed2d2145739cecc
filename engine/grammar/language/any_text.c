/* Builds the automaton of Aho and Corasick (1975) over the excluded strings, a rule for each state:
 * the longest end of the text that begins one of them. The states at which a string is complete are
 * left out. */
#include "engine/grammar/language/any_text.h"

#include <string.h>

#include "engine/grammar/language/reader.h"

enum { MAX = BATON_EXCLUDES_MAX_CHARS };

/* All strings in a row. A state is the first n characters of one of them. */
struct strings {
    uint32_t chars[MAX];
    int begin[MAX + 1]; /* [n + 1] */
    int n;
};

struct state {
    int string, length;
};

static enum baton_err add_string(struct strings *strings, const struct baton_json *value,
                                 struct baton_why *why)
{
    size_t n = 0;
    const char *text = baton_json_string(value, &n);
    struct baton_exprs none = {0};
    struct baton_reader reader = {.exprs = &none, .text = text, .n = n, .why = why};
    int at = strings->begin[strings->n];
    if (!text || !n)
        return baton_fail(why, BATON_INVALID, "must be non-empty strings");
    while (!baton_reader_at_end(&reader)) {
        if (at == MAX)
            return baton_fail(why, BATON_INVALID,
                              "the strings must have at most %d characters together", MAX);
        strings->chars[at++] = baton_reader_char(&reader);
    }
    strings->begin[++strings->n] = at;
    return baton_reader_err(&reader);
}

static int length_of(const struct strings *strings, int string)
{
    return strings->begin[string + 1] - strings->begin[string];
}

/* Returns the state after the first length characters of chars: the longest end of them that begins
 * a string. */
static struct state state_after(const struct strings *strings, const uint32_t *chars, int length)
{
    for (int from = 0; from < length; from++)
        for (int i = 0; i < strings->n; i++) {
            size_t n = (size_t)(length - from);
            if (length - from <= length_of(strings, i) &&
                !memcmp(strings->chars + strings->begin[i], chars + from, n * sizeof *chars))
                return (struct state){i, length - from};
        }
    return (struct state){0, 0};
}

/* True when a string ends with these characters. */
static bool ends_one(const struct strings *strings, const uint32_t *chars, int length)
{
    for (int i = 0; i < strings->n; i++) {
        int n = length_of(strings, i);
        if (n <= length && !memcmp(strings->chars + strings->begin[i], chars + length - n,
                                   (size_t)n * sizeof *chars))
            return true;
    }
    return false;
}

/* One rule for each state, made when the state is first reached. Equal states share a rule. */
struct maker {
    struct baton_exprs *exprs;
    const struct strings *strings;
    uint32_t rules[MAX + 1]; /* rule plus one, by the state's place in the row; 0: the start */
    struct state waiting[MAX + 1];
    int n_waiting;
};

static uint32_t rule_of(struct maker *m, struct state state)
{
    int at = state.length ? m->strings->begin[state.string] + state.length : 0;
    if (!m->rules[at]) {
        m->rules[at] = 1 + baton_expr_rule_add(m->exprs, "text");
        m->waiting[m->n_waiting++] = state;
    }
    return baton_expr_rule(m->exprs, m->rules[at] - 1);
}

static uint32_t one_char(struct baton_exprs *x, uint32_t c)
{
    struct baton_chars one = {.n = 1, .ranges = {{c, c}}};
    return baton_expr_chars(x, &one);
}

static void make_rule(struct maker *m, struct state state)
{
    struct baton_exprs *x = m->exprs;
    const struct strings *strings = m->strings;
    struct baton_chars others = {.n = 1, .ranges = {{0, BATON_LAST_CHAR}}};
    uint32_t path[MAX + 1],
        rule = m->rules[state.length ? strings->begin[state.string] + state.length : 0] - 1;
    uint32_t expr = baton_expr_empty(x);
    memcpy(path, strings->chars + strings->begin[state.string],
           (size_t)state.length * sizeof *path);
    for (int i = 0; i < strings->begin[strings->n]; i++) {
        uint32_t c = path[state.length] = strings->chars[i];
        if (!baton_chars_has(&others, c))
            continue;
        baton_chars_remove(&others, c, c);
        if (ends_one(strings, path, state.length + 1))
            continue;
        /* Strings are short (BATON_EXCLUDES_MAX_CHARS), so the states are found by comparing
         * all. */
        uint32_t next = rule_of(m, state_after(strings, path, state.length + 1));
        expr = baton_expr_alt(x, baton_expr_seq(x, one_char(x, c), next), expr);
    }
    uint32_t start = rule_of(m, (struct state){0, 0});
    expr = baton_expr_alt(x, baton_expr_seq(x, baton_expr_chars(x, &others), start), expr);
    baton_expr_rule_set(x, rule, expr);
}

enum baton_err baton_any_text(struct baton_exprs *exprs, const struct baton_json *excludes,
                              uint32_t *expr, struct baton_why *why)
{
    struct strings strings = {0};
    struct maker m = {.exprs = exprs, .strings = &strings};
    if (baton_json_size(excludes) > MAX)
        return baton_fail(why, BATON_INVALID, "must have at most %d strings", MAX);
    for (size_t i = 0; i < baton_json_size(excludes); i++) {
        enum baton_err err = add_string(&strings, baton_json_at(excludes, i), why);
        if (err)
            return err;
    }
    *expr = rule_of(&m, (struct state){0, 0});
    while (m.n_waiting && !exprs->err)
        make_rule(&m, m.waiting[--m.n_waiting]);
    return exprs->err;
}
