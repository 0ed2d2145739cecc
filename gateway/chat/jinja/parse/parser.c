/* The helpers that the parts of the parser share. */
#include "gateway/chat/jinja/parse/parser.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "gateway/chat/jinja/value/text.h"

enum { MAX_DEPTH = 200 };

void jinja_parse_fail(struct jinja_parser *parser, const char *fmt, ...)
{
    char reason[200];
    va_list args;
    int line = jinja_token(parser)->line;
    if (parser->err)
        return;
    va_start(args, fmt);
    (void)vsnprintf(reason, sizeof reason, fmt, args);
    va_end(args);
    parser->err = baton_fail(parser->why, BATON_INVALID, "line %d: %s", line, reason);
    /* At the end of the tokens, every loop of the parser stops. */
    parser->at = parser->tokens.n - 1;
}

static void *alloc(struct jinja_parser *parser, size_t n)
{
    void *memory = baton_arena_alloc(parser->jinja->arena, n);
    if (!memory && !parser->err) {
        parser->err = baton_fail(parser->why, BATON_LIMIT, "the template is too large");
        parser->at = parser->tokens.n - 1;
    }
    if (memory)
        memset(memory, 0, n);
    return memory;
}

/* ---- tokens ---- */

const struct jinja_token *jinja_next(struct jinja_parser *parser)
{
    const struct jinja_token *token = jinja_token(parser);
    parser->at += token->kind != JINJA_T_END;
    return token;
}

bool jinja_at_op(const struct jinja_parser *parser, int op)
{
    const struct jinja_token *token = jinja_token(parser);
    return token->kind == JINJA_T_OP && token->op == op;
}

bool jinja_at_word(const struct jinja_parser *parser, const char *word)
{
    const struct jinja_token *token = jinja_token(parser);
    return token->kind == JINJA_T_NAME && token->n == strlen(word) &&
           !memcmp(token->text, word, token->n);
}

bool jinja_take_op(struct jinja_parser *parser, int op)
{
    bool there = jinja_at_op(parser, op);
    parser->at += there;
    return there;
}

bool jinja_take_word(struct jinja_parser *parser, const char *word)
{
    bool there = jinja_at_word(parser, word);
    parser->at += there;
    return there;
}

static void fail_expected(struct jinja_parser *parser, const char *what)
{
    const struct jinja_token *token = jinja_token(parser);
    static const char *const kinds[] = {"the end of the template",
                                        "text",
                                        "{{",
                                        "}}",
                                        "{%",
                                        "%}",
                                        "a name",
                                        "a text",
                                        "a number",
                                        "a number",
                                        "an operator"};
    if (token->kind == JINJA_T_NAME)
        jinja_parse_fail(parser, "expected %s, not \"%.*s\"", what,
                         (int)(token->n < 40 ? token->n : 40), token->text);
    else if (token->kind == JINJA_T_OP)
        jinja_parse_fail(parser, "expected %s, not '%c%.1s'", what, token->op & 0xff,
                         token->op >> 8 ? (const char[]){(char)(token->op >> 8), 0} : "");
    else
        jinja_parse_fail(parser, "expected %s, not %s", what, kinds[token->kind]);
}

void jinja_expect_op(struct jinja_parser *parser, int op)
{
    char what[8];
    if (jinja_take_op(parser, op))
        return;
    (void)snprintf(what, sizeof what, "'%c'", op & 0xff);
    fail_expected(parser, what);
}

const struct jinja_string *jinja_expect_name(struct jinja_parser *parser)
{
    const struct jinja_token *token = jinja_token(parser);
    if (token->kind != JINJA_T_NAME) {
        fail_expected(parser, "a name");
        return NULL;
    }
    parser->at++;
    return jinja_intern(parser, token->text, token->n);
}

/* ---- nodes and names ---- */

struct jinja_node *jinja_node_new(struct jinja_parser *parser, enum jinja_node_kind kind)
{
    static struct jinja_node nowhere;
    struct jinja_node *node = alloc(parser, sizeof *node);
    if (!node) {
        nowhere = (struct jinja_node){0};
        return &nowhere;
    }
    node->kind = kind;
    node->line = jinja_token(parser)->line;
    return node;
}

void jinja_node_add(struct jinja_parser *parser, struct jinja_node *node,
                    const struct jinja_node *item)
{
    size_t n = node->n_items;
    if (!(n & (n - 1))) { /* full: the capacity is a power of 2 */
        const struct jinja_node **items = alloc(parser, (n ? 2 * n : 1) * sizeof *items);
        if (!items)
            return;
        if (n)
            memcpy(items, node->items, n * sizeof *items);
        node->items = items;
    }
    node->items[node->n_items++] = item;
}

static struct jinja_name *find_name(const struct baton_jinja *jinja, uint64_t hash,
                                    const char *text, size_t n)
{
    struct jinja_name *name = jinja_names_first(&jinja->names, hash);
    while (name && (name->string.n != n || memcmp(name->string.bytes, text, n) != 0))
        name = jinja_names_next(name);
    return name;
}

const struct jinja_string *jinja_find_name(const struct baton_jinja *jinja, const char *text,
                                           size_t n)
{
    const struct jinja_name *name = find_name(jinja, baton_hash_bytes(text, n), text, n);
    return name ? &name->string : NULL;
}

const struct jinja_string *jinja_intern(struct jinja_parser *parser, const char *text, size_t n)
{
    struct baton_jinja *jinja = parser->jinja;
    uint64_t hash = baton_hash_bytes(text, n);
    struct jinja_name *name = find_name(jinja, hash, text, n);
    if (name)
        return &name->string;
    name = alloc(parser, sizeof *name);
    if (!name)
        return NULL;
    name->string = (struct jinja_string){.bytes = text, .n = n, .own = true};
    jinja_names_put(&jinja->names, name, hash);
    return &name->string;
}

bool jinja_parse_enter(struct jinja_parser *parser)
{
    if (parser->depth == MAX_DEPTH)
        jinja_parse_fail(parser, "nested more than %d levels deep", MAX_DEPTH);
    else
        parser->depth++;
    return !parser->err;
}

void jinja_parse_leave(struct jinja_parser *parser)
{
    parser->depth--;
}
