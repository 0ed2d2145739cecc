/* Parses expressions, by Jinja's order of precedence. */
#include "common/base/array.h"
#include "gateway/chat/jinja/parse/parser.h"

static struct jinja_node *node_of(struct jinja_parser *parser, enum jinja_node_kind kind,
                                  const struct jinja_node *a, const struct jinja_node *b)
{
    struct jinja_node *node = jinja_node_new(parser, kind);
    node->a = a;
    node->b = b;
    return node;
}

typedef const struct jinja_node *(*parse_operand)(struct jinja_parser *parser);

/* Parses operands of the next higher precedence with one of these operators in between, from the
 * left. A chain of operators is deep on its left side, so it counts as nested. */
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

static const struct jinja_node *parse_power(struct jinja_parser *parser)
{
    static const int ops[] = {JINJA_OP('*', '*')};
    return parse_binary(parser, jinja_parse_operand, ops, 1);
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

/* Skips the comparison operator at the parser and returns it; 0 when there is none. */
static int take_comparison(struct jinja_parser *parser)
{
    static const int ops[] = {
        JINJA_OP('=', '='), JINJA_OP('!', '='), JINJA_OP('<', '='), JINJA_OP('>', '='), '<', '>'};
    for (size_t i = 0; i < BATON_N_OF(ops); i++)
        if (jinja_take_op(parser, ops[i]))
            return ops[i];
    if (jinja_take_word(parser, "in"))
        return JINJA_OP_IN;
    /* Two tokens form one operator: "not" alone begins another expression. */
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
    return node_of(parser, JINJA_N_NOT, JINJA_NESTED(parser, parse_not(parser)), NULL);
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
            cond->c = JINJA_NESTED(parser, parse_conditional(parser));
        node = cond;
    }
    return node;
}

const struct jinja_node *jinja_parse_expression(struct jinja_parser *parser)
{
    return JINJA_NESTED(parser, parse_conditional(parser));
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
        const struct jinja_node *inner = JINJA_NESTED(parser, jinja_parse_target(parser));
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
