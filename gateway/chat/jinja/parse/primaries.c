/* Parses the operands of expressions: constants, names, lists; attributes, calls, filters and
 * tests. */
#include <string.h>

#include "gateway/chat/jinja/parse/parser.h"
#include "gateway/chat/jinja/value/text.h"

static struct jinja_node *node_of(struct jinja_parser *parser, enum jinja_node_kind kind,
                                  const struct jinja_node *a, const struct jinja_node *b)
{
    struct jinja_node *node = jinja_node_new(parser, kind);
    node->a = a;
    node->b = b;
    return node;
}

static const struct jinja_node *constant(struct jinja_parser *parser, struct jinja_value value)
{
    struct jinja_node *node = jinja_node_new(parser, JINJA_N_CONST);
    node->value = value;
    return node;
}

static struct jinja_value text_constant(struct jinja_parser *parser, const char *text, size_t n)
{
    struct jinja_string *string = baton_arena_alloc(parser->jinja->arena, sizeof *string);
    if (!string) {
        jinja_parse_fail(parser, "the template is too large");
        return jinja_none();
    }
    *string = (struct jinja_string){.bytes = text, .n = n, .own = true};
    return jinja_string_value(string);
}

/* ---- primaries ---- */

/* Joins adjacent strings into one. */
static const struct jinja_node *parse_strings(struct jinja_parser *parser)
{
    const struct jinja_token *first = jinja_next(parser);
    size_t n = first->n, n_more = 0;
    /* The tokens stay in memory, so the texts are copied in a second pass. */
    while (jinja_token(parser)->kind == JINJA_T_STRING) {
        n += jinja_next(parser)->n;
        n_more++;
    }
    if (!n_more)
        return constant(parser, text_constant(parser, first->text, first->n));
    char *text = baton_arena_alloc(parser->jinja->arena, n ? n : 1);
    if (!text) {
        jinja_parse_fail(parser, "the template is too large");
        return jinja_node_new(parser, JINJA_N_CONST);
    }
    for (size_t i = 0, at = 0; i <= n_more; at += first[i].n, i++)
        if (first[i].n)
            memcpy(text + at, first[i].text, first[i].n);
    return constant(parser, text_constant(parser, text, n));
}

static const struct jinja_node *parse_list(struct jinja_parser *parser)
{
    struct jinja_node *list = jinja_node_new(parser, JINJA_N_LIST);
    while (!parser->err && !jinja_at_op(parser, ']')) {
        if (list->n_items) {
            jinja_expect_op(parser, ',');
            if (jinja_at_op(parser, ']'))
                break;
        }
        jinja_node_add(parser, list, jinja_parse_expression(parser));
    }
    jinja_expect_op(parser, ']');
    return list;
}

static const struct jinja_node *parse_dict(struct jinja_parser *parser)
{
    struct jinja_node *dict = jinja_node_new(parser, JINJA_N_DICT);
    while (!parser->err && !jinja_at_op(parser, '}')) {
        if (dict->n_items) {
            jinja_expect_op(parser, ',');
            if (jinja_at_op(parser, '}'))
                break;
        }
        jinja_node_add(parser, dict, jinja_parse_expression(parser));
        jinja_expect_op(parser, ':');
        jinja_node_add(parser, dict, jinja_parse_expression(parser));
    }
    jinja_expect_op(parser, '}');
    return dict;
}

/* Parses after '(': () is an empty tuple. */
static const struct jinja_node *parse_brackets(struct jinja_parser *parser)
{
    if (jinja_take_op(parser, ')'))
        return jinja_node_new(parser, JINJA_N_TUPLE);
    const struct jinja_node *node = jinja_parse_tuple(parser, true);
    jinja_expect_op(parser, ')');
    return node;
}

static const struct jinja_node *parse_word(struct jinja_parser *parser)
{
    if (jinja_take_word(parser, "true") || jinja_take_word(parser, "True"))
        return constant(parser, jinja_bool(true));
    if (jinja_take_word(parser, "false") || jinja_take_word(parser, "False"))
        return constant(parser, jinja_bool(false));
    if (jinja_take_word(parser, "none") || jinja_take_word(parser, "None"))
        return constant(parser, jinja_none());
    struct jinja_node *node = jinja_node_new(parser, JINJA_N_NAME);
    node->name = jinja_expect_name(parser);
    return node;
}

static const struct jinja_node *parse_primary(struct jinja_parser *parser)
{
    const struct jinja_token *token = jinja_token(parser);
    switch (token->kind) {
    case JINJA_T_NAME:
        return parse_word(parser);
    case JINJA_T_STRING:
        return parse_strings(parser);
    case JINJA_T_INT:
        return constant(parser, jinja_int(jinja_next(parser)->integer));
    case JINJA_T_FLOAT:
        return constant(parser, jinja_real(jinja_next(parser)->real));
    default:
        if (jinja_take_op(parser, '('))
            return JINJA_NESTED(parser, parse_brackets(parser));
        if (jinja_take_op(parser, '['))
            return JINJA_NESTED(parser, parse_list(parser));
        if (jinja_take_op(parser, '{'))
            return JINJA_NESTED(parser, parse_dict(parser));
        jinja_parse_fail(parser, "an expression is missing or incomplete");
        return jinja_node_new(parser, JINJA_N_CONST);
    }
}

/* ---- suffixes of a primary ---- */

static bool is_keyword(const struct jinja_parser *parser)
{
    const struct jinja_token *token = jinja_token(parser);
    return token->kind == JINJA_T_NAME && token[1].kind == JINJA_T_OP && token[1].op == '=';
}

static void parse_argument(struct jinja_parser *parser, struct jinja_node *call)
{
    bool keyword = is_keyword(parser);
    const struct jinja_node *last = call->n_items ? call->items[call->n_items - 1] : NULL;
    if (jinja_at_op(parser, '*') || jinja_at_op(parser, JINJA_OP('*', '*'))) {
        jinja_parse_fail(parser, "* and ** in a call are not supported");
    } else if (!keyword) {
        if (last && last->kind == JINJA_N_KEYWORD)
            jinja_parse_fail(parser, "an argument without a name follows one with a name");
        jinja_node_add(parser, call, jinja_parse_expression(parser));
    } else {
        struct jinja_node *node = jinja_node_new(parser, JINJA_N_KEYWORD);
        node->name = jinja_expect_name(parser);
        jinja_expect_op(parser, '=');
        node->a = jinja_parse_expression(parser);
        jinja_node_add(parser, call, node);
    }
}

/* Parses arguments after '('. */
static void parse_arguments(struct jinja_parser *parser, struct jinja_node *call)
{
    while (!parser->err && !jinja_at_op(parser, ')')) {
        if (call->n_items) {
            jinja_expect_op(parser, ',');
            if (jinja_at_op(parser, ')'))
                break;
        }
        parse_argument(parser, call);
    }
    jinja_expect_op(parser, ')');
}

static const struct jinja_node *parse_slice(struct jinja_parser *parser,
                                            const struct jinja_node *of,
                                            const struct jinja_node *start)
{
    struct jinja_node *slice = node_of(parser, JINJA_N_SLICE, of, start);
    jinja_expect_op(parser, ':');
    if (!jinja_at_op(parser, ']') && !jinja_at_op(parser, ':'))
        slice->c = jinja_parse_expression(parser);
    if (jinja_take_op(parser, ':') && !jinja_at_op(parser, ']'))
        slice->d = jinja_parse_expression(parser);
    return slice;
}

/* Parses a subscript or a slice after '['. */
static const struct jinja_node *parse_subscript(struct jinja_parser *parser,
                                                const struct jinja_node *of)
{
    const struct jinja_node *node, *index = NULL;
    if (!jinja_at_op(parser, ':'))
        index = jinja_parse_tuple(parser, true);
    if (jinja_at_op(parser, ':'))
        node = parse_slice(parser, of, index);
    else
        node = node_of(parser, JINJA_N_SUBSCRIPT, of, index);
    jinja_expect_op(parser, ']');
    return node;
}

/* Parses an attribute after '.': a name, or an index as in a.0. */
static const struct jinja_node *parse_attribute(struct jinja_parser *parser,
                                                const struct jinja_node *of)
{
    if (jinja_token(parser)->kind == JINJA_T_INT)
        return node_of(parser, JINJA_N_SUBSCRIPT, of,
                       constant(parser, jinja_int(jinja_next(parser)->integer)));
    struct jinja_node *node = node_of(parser, JINJA_N_ATTRIBUTE, of, NULL);
    node->name = jinja_expect_name(parser);
    return node;
}

static const struct jinja_node *parse_call(struct jinja_parser *parser, const struct jinja_node *of)
{
    struct jinja_node *call = node_of(parser, JINJA_N_CALL, of, NULL);
    parse_arguments(parser, call);
    return call;
}

static bool at_any_op(const struct jinja_parser *parser, const char *ops)
{
    while (*ops && !jinja_at_op(parser, *ops))
        ops++;
    return *ops;
}

/* Parses suffixes. Each nests the expression before it: a.b.c is (a.b).c. */
static const struct jinja_node *parse_postfix(struct jinja_parser *parser,
                                              const struct jinja_node *node)
{
    size_t n_entered = 0;
    while (at_any_op(parser, ".[(") && jinja_parse_enter(parser)) {
        n_entered++;
        if (jinja_take_op(parser, '.'))
            node = parse_attribute(parser, node);
        else if (jinja_take_op(parser, '['))
            node = parse_subscript(parser, node);
        else if (jinja_take_op(parser, '('))
            node = parse_call(parser, node);
    }
    parser->depth -= n_entered;
    return node;
}

static const struct jinja_node *parse_filter(struct jinja_parser *parser,
                                             const struct jinja_node *of)
{
    struct jinja_node *filter = node_of(parser, JINJA_N_FILTER, of, NULL);
    filter->name = jinja_expect_name(parser);
    if (jinja_take_op(parser, '('))
        return JINJA_NESTED(parser, (parse_arguments(parser, filter), filter));
    return filter;
}

/* True at an argument of a test, which needs no brackets: x is divisibleby 3. */
static bool at_test_argument(const struct jinja_parser *parser)
{
    const struct jinja_token *token = jinja_token(parser);
    if (token->kind == JINJA_T_NAME)
        return !jinja_at_word(parser, "else") && !jinja_at_word(parser, "or") &&
               !jinja_at_word(parser, "and");
    return (token->kind >= JINJA_T_STRING && token->kind <= JINJA_T_FLOAT) ||
           jinja_at_op(parser, '[') || jinja_at_op(parser, '{');
}

/* Parses a test after "is". */
static const struct jinja_node *parse_test(struct jinja_parser *parser, const struct jinja_node *of)
{
    bool negated = jinja_take_word(parser, "not");
    struct jinja_node *test = node_of(parser, JINJA_N_TEST, of, NULL);
    test->name = jinja_expect_name(parser);
    if (jinja_take_op(parser, '(')) {
        if (jinja_parse_enter(parser)) {
            parse_arguments(parser, test);
            jinja_parse_leave(parser);
        }
    } else if (jinja_at_word(parser, "is")) {
        jinja_parse_fail(parser, "one test follows another");
    } else if (at_test_argument(parser)) {
        jinja_node_add(parser, test, parse_postfix(parser, parse_primary(parser)));
    }
    return negated ? node_of(parser, JINJA_N_NOT, test, NULL) : test;
}

const struct jinja_node *jinja_parse_filters(struct jinja_parser *parser,
                                             const struct jinja_node *node)
{
    size_t n_entered = 0;
    while ((at_any_op(parser, "|(") || jinja_at_word(parser, "is")) && jinja_parse_enter(parser)) {
        n_entered++;
        if (jinja_take_op(parser, '|'))
            node = parse_filter(parser, node);
        else if (jinja_take_word(parser, "is"))
            node = parse_test(parser, node);
        else if (jinja_take_op(parser, '('))
            node = parse_call(parser, node);
    }
    parser->depth -= n_entered;
    return node;
}

const struct jinja_node *jinja_parse_block_filter(struct jinja_parser *parser)
{
    const struct jinja_node *text = jinja_node_new(parser, JINJA_N_BLOCK_TEXT);
    return jinja_parse_filters(parser, parse_filter(parser, text));
}

static const struct jinja_node *parse_unary(struct jinja_parser *parser, bool with_filter)
{
    /* The sign binds tighter than a filter, looser than a suffix: -a.b|f is (-(a.b))|f. */
    const struct jinja_node *node;
    int op = jinja_at_op(parser, '-') ? '-' : jinja_at_op(parser, '+') ? '+' : 0;
    if (op) {
        struct jinja_node *unary = jinja_node_new(parser, JINJA_N_UNARY);
        (void)jinja_next(parser);
        unary->op = op;
        unary->a = JINJA_NESTED(parser, parse_unary(parser, false));
        node = unary;
    } else {
        node = parse_primary(parser);
    }
    node = parse_postfix(parser, node);
    return with_filter ? jinja_parse_filters(parser, node) : node;
}

const struct jinja_node *jinja_parse_operand(struct jinja_parser *parser)
{
    return parse_unary(parser, true);
}
