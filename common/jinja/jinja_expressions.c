/* Expressions, by Jinja's order of precedence. */
#include "common/jinja/jinja_parser.h"

#include <string.h>

#include "common/jinja/jinja_text.h"

static const struct jinja_node *parse_unary(struct jinja_parser *parser, bool with_filter);

/* A depth-guarded call of a function of the grammar. */
#define NESTED(parser, call)                                                                       \
    (jinja_parse_enter(parser) ? leave(parser, call) : jinja_node_new(parser, JINJA_N_CONST))

static const struct jinja_node *leave(struct jinja_parser *parser, const struct jinja_node *node)
{
    jinja_parse_leave(parser);
    return node;
}

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

/* Strings in a row are one. */
static const struct jinja_node *parse_strings(struct jinja_parser *parser)
{
    const struct jinja_token *first = jinja_next(parser);
    size_t n = first->n, n_more = 0;
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

/* Behind '(': () is an empty tuple. */
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
            return NESTED(parser, parse_brackets(parser));
        if (jinja_take_op(parser, '['))
            return NESTED(parser, parse_list(parser));
        if (jinja_take_op(parser, '{'))
            return NESTED(parser, parse_dict(parser));
        jinja_parse_fail(parser, "an expression is missing or incomplete");
        return jinja_node_new(parser, JINJA_N_CONST);
    }
}

/* ---- behind a primary ---- */

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

/* Behind '('. */
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

/* Behind '['. */
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

/* Behind '.': a name, or an index as in a.0 */
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

static const struct jinja_node *parse_postfix(struct jinja_parser *parser,
                                              const struct jinja_node *node)
{
    while (!parser->err) {
        if (jinja_take_op(parser, '.'))
            node = parse_attribute(parser, node);
        else if (jinja_take_op(parser, '['))
            node = NESTED(parser, parse_subscript(parser, node));
        else if (jinja_take_op(parser, '('))
            node = NESTED(parser, parse_call(parser, node));
        else
            break;
    }
    return node;
}

static const struct jinja_node *parse_filter(struct jinja_parser *parser,
                                             const struct jinja_node *of)
{
    struct jinja_node *filter = node_of(parser, JINJA_N_FILTER, of, NULL);
    filter->name = jinja_expect_name(parser);
    if (jinja_take_op(parser, '('))
        return NESTED(parser, (parse_arguments(parser, filter), filter));
    return filter;
}

/* An argument of a test may stand without brackets: x is divisibleby 3. */
static bool at_test_argument(const struct jinja_parser *parser)
{
    const struct jinja_token *token = jinja_token(parser);
    if (token->kind == JINJA_T_NAME)
        return !jinja_at_word(parser, "else") && !jinja_at_word(parser, "or") &&
               !jinja_at_word(parser, "and");
    return (token->kind >= JINJA_T_STRING && token->kind <= JINJA_T_FLOAT) ||
           jinja_at_op(parser, '[') || jinja_at_op(parser, '{');
}

/* Behind "is". */
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
    while (!parser->err) {
        if (jinja_take_op(parser, '|'))
            node = parse_filter(parser, node);
        else if (jinja_take_word(parser, "is"))
            node = parse_test(parser, node);
        else if (jinja_take_op(parser, '('))
            node = NESTED(parser, parse_call(parser, node));
        else
            break;
    }
    return node;
}

const struct jinja_node *jinja_parse_block_filter(struct jinja_parser *parser)
{
    const struct jinja_node *text = jinja_node_new(parser, JINJA_N_BLOCK_TEXT);
    return jinja_parse_filters(parser, parse_filter(parser, text));
}

/* ---- operators ---- */

static const struct jinja_node *parse_unary(struct jinja_parser *parser, bool with_filter)
{
    const struct jinja_node *node;
    int op = jinja_at_op(parser, '-') ? '-' : jinja_at_op(parser, '+') ? '+' : 0;
    if (op) {
        struct jinja_node *unary = jinja_node_new(parser, JINJA_N_UNARY);
        (void)jinja_next(parser);
        unary->op = op;
        unary->a = NESTED(parser, parse_unary(parser, false));
        node = unary;
    } else {
        node = parse_primary(parser);
    }
    node = parse_postfix(parser, node);
    return with_filter ? jinja_parse_filters(parser, node) : node;
}

typedef const struct jinja_node *(*parse_operand)(struct jinja_parser *parser);

/* Operands of the next higher precedence with one of these operators between, from the left. A tree
 * of many operators is deep on its left side only, and counts as nested. */
static const struct jinja_node *parse_binary(struct jinja_parser *parser, parse_operand next,
                                             const int *ops, size_t n_ops)
{
    const struct jinja_node *left = next(parser);
    size_t n_entered = 0;
    for (size_t i = 0; i < n_ops && !parser->err;) {
        if (!jinja_at_op(parser, ops[i])) {
            i++;
            continue;
        }
        if (!jinja_parse_enter(parser))
            break;
        n_entered++;
        struct jinja_node *node = node_of(parser, JINJA_N_BINARY, left, NULL);
        node->op = jinja_next(parser)->op;
        node->b = next(parser);
        left = node;
        i = 0;
    }
    parser->depth -= n_entered;
    return left;
}

static const struct jinja_node *parse_filtered(struct jinja_parser *parser)
{
    return parse_unary(parser, true);
}

static const struct jinja_node *parse_power(struct jinja_parser *parser)
{
    static const int ops[] = {JINJA_OP('*', '*')};
    return parse_binary(parser, parse_filtered, ops, 1);
}

static const struct jinja_node *parse_product(struct jinja_parser *parser)
{
    static const int ops[] = {'*', '/', JINJA_OP('/', '/'), '%'};
    return parse_binary(parser, parse_power, ops, 4);
}

static const struct jinja_node *parse_concat(struct jinja_parser *parser)
{
    const struct jinja_node *first = parse_product(parser);
    if (!jinja_at_op(parser, '~'))
        return first;
    struct jinja_node *concat = jinja_node_new(parser, JINJA_N_CONCAT);
    jinja_node_add(parser, concat, first);
    while (jinja_take_op(parser, '~'))
        jinja_node_add(parser, concat, parse_product(parser));
    return concat;
}

static const struct jinja_node *parse_sum(struct jinja_parser *parser)
{
    static const int ops[] = {'+', '-'};
    return parse_binary(parser, parse_concat, ops, 2);
}

/* The comparison that the parser is on, left behind; 0: none. */
static int take_comparison(struct jinja_parser *parser)
{
    static const int ops[] = {
        JINJA_OP('=', '='), JINJA_OP('!', '='), JINJA_OP('<', '='), JINJA_OP('>', '='), '<', '>'};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (jinja_take_op(parser, ops[i]))
            return ops[i];
    if (jinja_take_word(parser, "in"))
        return JINJA_OP_IN;
    if (jinja_at_word(parser, "not") && jinja_token(parser)[1].kind == JINJA_T_NAME) {
        parser->at++;
        if (jinja_take_word(parser, "in"))
            return JINJA_OP_NOT_IN;
        parser->at--;
    }
    return 0;
}

static const struct jinja_node *parse_comparison(struct jinja_parser *parser)
{
    const struct jinja_node *first = parse_sum(parser);
    int op = take_comparison(parser);
    if (!op)
        return first;
    struct jinja_node *comparison = node_of(parser, JINJA_N_COMPARE, first, NULL);
    for (; op && !parser->err; op = take_comparison(parser)) {
        struct jinja_node *operand = jinja_node_new(parser, JINJA_N_OPERAND);
        operand->op = op;
        operand->a = parse_sum(parser);
        jinja_node_add(parser, comparison, operand);
    }
    return comparison;
}

static const struct jinja_node *parse_not(struct jinja_parser *parser)
{
    if (!jinja_take_word(parser, "not"))
        return parse_comparison(parser);
    return node_of(parser, JINJA_N_NOT, NESTED(parser, parse_not(parser)), NULL);
}

static const struct jinja_node *parse_logic(struct jinja_parser *parser, const char *word,
                                            enum jinja_node_kind kind, parse_operand next)
{
    const struct jinja_node *left = next(parser);
    size_t n_entered = 0;
    while (jinja_take_word(parser, word) && jinja_parse_enter(parser)) {
        left = node_of(parser, kind, left, next(parser));
        n_entered++;
    }
    parser->depth -= n_entered;
    return left;
}

static const struct jinja_node *parse_and(struct jinja_parser *parser)
{
    return parse_logic(parser, "and", JINJA_N_AND, parse_not);
}

static const struct jinja_node *parse_or(struct jinja_parser *parser)
{
    return parse_logic(parser, "or", JINJA_N_OR, parse_and);
}

static const struct jinja_node *parse_conditional(struct jinja_parser *parser)
{
    const struct jinja_node *node = parse_or(parser);
    while (!parser->err && jinja_take_word(parser, "if")) {
        struct jinja_node *cond = jinja_node_new(parser, JINJA_N_COND);
        cond->a = parse_or(parser);
        cond->b = node;
        if (jinja_take_word(parser, "else"))
            cond->c = NESTED(parser, parse_conditional(parser));
        node = cond;
    }
    return node;
}

const struct jinja_node *jinja_parse_expression(struct jinja_parser *parser)
{
    return NESTED(parser, parse_conditional(parser));
}

/* ---- tuples, targets, parameters ---- */

static bool at_tuple_end(const struct jinja_parser *parser)
{
    enum jinja_token_kind kind = jinja_token(parser)->kind;
    return kind == JINJA_T_END || kind == JINJA_T_PRINT_END || kind == JINJA_T_BLOCK_END ||
           jinja_at_op(parser, ')');
}

const struct jinja_node *jinja_parse_tuple(struct jinja_parser *parser, bool with_cond)
{
    struct jinja_node *tuple = NULL;
    const struct jinja_node *node = with_cond ? jinja_parse_expression(parser) : parse_or(parser);
    while (jinja_take_op(parser, ',')) {
        if (!tuple) {
            tuple = jinja_node_new(parser, JINJA_N_TUPLE);
            jinja_node_add(parser, tuple, node);
        }
        if (at_tuple_end(parser))
            break;
        jinja_node_add(parser, tuple,
                       with_cond ? jinja_parse_expression(parser) : parse_or(parser));
    }
    return tuple ? tuple : node;
}

static const struct jinja_node *parse_one_target(struct jinja_parser *parser)
{
    struct jinja_node *node = jinja_node_new(parser, JINJA_N_NAME);
    if (jinja_take_op(parser, '(')) {
        const struct jinja_node *inner = NESTED(parser, jinja_parse_target(parser));
        jinja_expect_op(parser, ')');
        return inner;
    }
    if (jinja_at_word(parser, "true") || jinja_at_word(parser, "false") ||
        jinja_at_word(parser, "none"))
        jinja_parse_fail(parser, "a constant cannot be set");
    node->name = jinja_expect_name(parser);
    if (!jinja_take_op(parser, '.'))
        return node;
    struct jinja_node *attribute = node_of(parser, JINJA_N_ATTRIBUTE, node, NULL);
    attribute->name = jinja_expect_name(parser);
    return attribute;
}

const struct jinja_node *jinja_parse_target(struct jinja_parser *parser)
{
    struct jinja_node *tuple = NULL;
    const struct jinja_node *node = parse_one_target(parser);
    while (jinja_take_op(parser, ',')) {
        if (!tuple) {
            tuple = jinja_node_new(parser, JINJA_N_TUPLE);
            jinja_node_add(parser, tuple, node);
        }
        if (at_tuple_end(parser) || jinja_at_op(parser, '=') || jinja_at_word(parser, "in"))
            break;
        jinja_node_add(parser, tuple, parse_one_target(parser));
    }
    return tuple ? tuple : node;
}

void jinja_parse_parameters(struct jinja_parser *parser, struct jinja_node *node)
{
    jinja_expect_op(parser, '(');
    while (!parser->err && !jinja_at_op(parser, ')')) {
        if (node->n_items)
            jinja_expect_op(parser, ',');
        struct jinja_node *parameter = jinja_node_new(parser, JINJA_N_KEYWORD);
        parameter->name = jinja_expect_name(parser);
        if (jinja_take_op(parser, '='))
            parameter->a = jinja_parse_expression(parser);
        else if (node->n_items && node->items[node->n_items - 1]->a)
            jinja_parse_fail(parser, "a parameter without a default follows one with a default");
        jinja_node_add(parser, node, parameter);
    }
    jinja_expect_op(parser, ')');
}
