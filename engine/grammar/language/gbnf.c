/* Reads GBNF with llama.cpp's syntax: rules "name ::= alternatives", literals, classes, groups, * +
 * ? {m,n}, comments. A rule ends where the next one begins, as in XGrammar's EBNF, so it may go on
 * in further lines. */
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/grammar/grammar.h"
#include "engine/grammar/language/reader.h"

enum { MAX_NAME = 128 };

struct name {
    char text[MAX_NAME];
    uint32_t rule;
    bool is_defined;
    struct name *next; /* in the order of first use */
};

struct parser {
    struct baton_reader reader;
    void *tree; /* the names, by their texts: tsearch(3) */
    struct name *first, **end;
};

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
}

/* Skips white space and comments; line ends only where they are allowed. */
static void skip_space(struct baton_reader *r, bool newlines)
{
    for (char c; (c = baton_reader_peek(r, 0));) {
        if (c == '#')
            while (baton_reader_peek(r, 0) && !strchr("\r\n", baton_reader_peek(r, 0)))
                r->at++;
        else if (c == ' ' || c == '\t' || (newlines && (c == '\r' || c == '\n')))
            r->at++;
        else
            return;
    }
}

static void read_name(struct baton_reader *r, char name[MAX_NAME])
{
    size_t n = 0;
    for (; is_name_char(baton_reader_peek(r, 0)) && n < MAX_NAME - 1; r->at++)
        name[n++] = baton_reader_peek(r, 0);
    name[n] = '\0';
    if (!n || is_name_char(baton_reader_peek(r, 0)))
        baton_reader_fail(r, "expected a rule's name of 1 to 127 letters, digits, - and _");
}

static int compare_names(const void *x, const void *y)
{
    return strcmp(((const struct name *)x)->text, ((const struct name *)y)->text);
}

static struct name *find_name(struct parser *p, const char *text)
{
    /* tsearch needs the node first; it is freed when the name is known. */
    struct name *made = calloc(1, sizeof *made);
    if (made)
        (void)snprintf(made->text, sizeof made->text, "%s", text);
    struct name **found = made ? tsearch(made, &p->tree, compare_names) : NULL;
    if (found && *found == made) {
        made->rule = baton_expr_rule_add(p->reader.exprs, text);
        *p->end = made;
        p->end = &made->next;
        return made;
    }
    free(made);
    if (!found)
        p->reader.err = BATON_NO_MEMORY;
    return found ? *found : NULL;
}

/* ---- the parts of a rule ---- */

static uint32_t read_char(struct baton_reader *r)
{
    static const char controls[] = "n\nr\rt\ta\ab\bf\fv\ve\033";
    if (!baton_reader_take(r, "\\"))
        return baton_reader_char(r);
    uint32_t c = baton_reader_char(r);
    for (size_t i = 0; i + 1 < sizeof controls; i += 2)
        if ((uint32_t)controls[i] == c)
            return (uint8_t)controls[i + 1];
    if (c == 'x')
        return baton_reader_hex(r, 2);
    if (c == 'u')
        return baton_reader_hex(r, 4);
    if (c == 'U')
        return baton_reader_hex(r, 8);
    if (!c || c >= 0x80 || !strchr("\"'?[]\\-^", (int)c))
        baton_reader_fail(r, "this escape is not supported");
    return c;
}

static uint32_t one_char(struct baton_reader *r, uint32_t c)
{
    struct baton_chars chars = {0};
    baton_chars_add(&chars, c, c);
    return baton_expr_chars(r->exprs, &chars);
}

/* Reads a literal after its quote. */
static uint32_t read_literal(struct baton_reader *r)
{
    size_t n = r->n_list;
    while (!baton_reader_take(r, "\"") && !r->err)
        baton_reader_push(r, one_char(r, read_char(r)));
    return baton_reader_seq(r, n);
}

/* Reads a class after its "[". */
static uint32_t read_class(struct baton_reader *r)
{
    struct baton_chars chars = {0};
    bool negated = baton_reader_take(r, "^");
    while (!baton_reader_take(r, "]") && !r->err) {
        uint32_t low = read_char(r), high = low;
        if (baton_reader_peek(r, 0) == '-' && baton_reader_peek(r, 1) != ']') {
            r->at++;
            high = read_char(r);
        }
        if (high < low)
            baton_reader_fail(r, "a range of characters must go from a lower to a higher one");
        else
            baton_chars_add(&chars, low, high);
    }
    if (negated)
        baton_chars_negate(&chars);
    if (chars.full)
        baton_reader_fail(r, "the class has too many ranges");
    return baton_expr_chars(r->exprs, &chars);
}

static uint32_t parse_choice(struct parser *p);

static uint32_t parse_group(struct parser *p)
{
    struct baton_reader *r = &p->reader;
    if (++r->depth > BATON_READER_MAX_DEPTH)
        baton_reader_fail(r, "groups are nested too deeply");
    uint32_t expr = r->err ? 0 : parse_choice(p);
    r->depth--;
    if (!baton_reader_take(r, ")"))
        baton_reader_fail(r, "a ) is missing");
    return expr;
}

static uint32_t parse_reference(struct parser *p)
{
    char text[MAX_NAME];
    read_name(&p->reader, text);
    const struct name *name = p->reader.err ? NULL : find_name(p, text);
    return name ? baton_expr_rule(p->reader.exprs, name->rule) : 0;
}

static uint32_t parse_atom(struct parser *p)
{
    struct baton_reader *r = &p->reader;
    struct baton_chars all = {0};
    if (baton_reader_take(r, "\""))
        return read_literal(r);
    if (baton_reader_take(r, "["))
        return read_class(r);
    if (baton_reader_peek(r, 0) == '(' && baton_reader_peek(r, 1) == '=')
        baton_reader_fail(r, "look-ahead is not supported");
    if (baton_reader_take(r, "("))
        return parse_group(p);
    if (!baton_reader_take(r, "."))
        return parse_reference(p);
    baton_chars_add(&all, 0, BATON_LAST_CHAR);
    return baton_expr_chars(r->exprs, &all);
}

static uint32_t parse_term(struct parser *p)
{
    struct baton_reader *r = &p->reader;
    uint32_t expr = parse_atom(p), min = 0, max = BATON_NO_MAX;
    for (;; min = 0, max = BATON_NO_MAX) {
        skip_space(r, r->depth > 0);
        if (baton_reader_take(r, "+"))
            min = 1;
        else if (baton_reader_take(r, "?"))
            max = 1;
        else if (baton_reader_take(r, "{"))
            baton_reader_bounds(r, &min, &max);
        else if (!baton_reader_take(r, "*"))
            return expr;
        if (r->err)
            return 0;
        expr = baton_expr_repeat(r->exprs, expr, min, max);
    }
}

/* True when a rule begins here: a name and "::=". */
static bool begins_rule(const struct baton_reader *r)
{
    size_t n = 0;
    while (is_name_char(baton_reader_peek(r, n)))
        n++;
    while (baton_reader_peek(r, n) == ' ' || baton_reader_peek(r, n) == '\t')
        n++;
    return r->n - r->at >= n + 3 && !memcmp(r->text + r->at + n, "::=", 3);
}

/* Skips to the rule's next line, if it has one: EBNF divides rules by their "::=" alone. */
static void skip_to_next_line(struct baton_reader *r)
{
    size_t end = r->at;
    skip_space(r, true);
    if (begins_rule(r))
        r->at = end;
}

static uint32_t parse_sequence(struct parser *p)
{
    struct baton_reader *r = &p->reader;
    size_t n = r->n_list;
    skip_to_next_line(r);
    for (char c; (c = baton_reader_peek(r, 0)) && !strchr("|)\r\n", c);) {
        baton_reader_push(r, parse_term(p));
        skip_to_next_line(r);
    }
    return baton_reader_seq(r, n);
}

static uint32_t parse_choice(struct parser *p)
{
    struct baton_reader *r = &p->reader;
    size_t n = r->n_list;
    for (bool more = true; more && !r->err;) {
        baton_reader_push(r, parse_sequence(p));
        size_t end = r->at;
        skip_space(r, true);
        more = baton_reader_take(r, "|");
        /* Outside a group only a "|" continues the rule on the next line. */
        if (!more && !r->depth)
            r->at = end;
    }
    return baton_reader_alt(r, n);
}

static void parse_rule(struct parser *p)
{
    struct baton_reader *r = &p->reader;
    char text[MAX_NAME];
    read_name(r, text);
    skip_space(r, false);
    if (!baton_reader_take(r, "::="))
        baton_reader_fail(r, "a ::= is missing");
    struct name *name = r->err ? NULL : find_name(p, text);
    if (!name)
        return;
    uint32_t rule = name->rule;
    if (name->is_defined)
        baton_reader_fail(r, "this rule is defined twice");
    name->is_defined = true;
    uint32_t expr = parse_choice(p);
    if (!r->err)
        baton_expr_rule_set(r->exprs, rule, expr);
    skip_space(r, false);
    if (!baton_reader_at_end(r) && !strchr("\r\n", baton_reader_peek(r, 0)))
        baton_reader_fail(r, "the rule must end here");
}

static void check_names(struct parser *p)
{
    struct baton_reader *r = &p->reader;
    for (const struct name *name = p->first; name && !r->err; name = name->next)
        if (!name->is_defined)
            r->err = baton_fail(r->why, BATON_INVALID, "the rule %s is not defined", name->text);
}

enum baton_err baton_gbnf_parse(struct baton_exprs *exprs, const char *text, size_t n,
                                uint32_t *expr, struct baton_why *why)
{
    struct parser p = {.reader = {.exprs = exprs, .text = text, .n = n, .why = why}};
    p.end = &p.first;
    /* The first rule is root's, wherever the text defines it. */
    const struct name *root = find_name(&p, "root");
    *expr = root ? baton_expr_rule(exprs, root->rule) : 0;
    for (skip_space(&p.reader, true); !baton_reader_at_end(&p.reader); skip_space(&p.reader, true))
        parse_rule(&p);
    check_names(&p);
    enum baton_err err = baton_reader_err(&p.reader);
    baton_reader_fini(&p.reader);
    tdestroy(p.tree, free);
    return err;
}

enum baton_err baton_gbnf_read(struct baton_exprs *exprs, const char *text, size_t n,
                               struct baton_why *why)
{
    uint32_t root; /* rule 0, which is the language */
    return baton_gbnf_parse(exprs, text, n, &root, why);
}
