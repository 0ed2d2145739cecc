/* Parses text, printed expressions and blocks. */
#include "common/base/array.h"
#include "gateway/chat/jinja/parse/parser.h"

#include <string.h>

#include "gateway/chat/jinja/value/text.h"

static const struct jinja_node *parse_body(struct jinja_parser *parser, const char *const *ends,
                                           size_t n_ends);

/* Parses a body up to one of the words, at which the parser then is. */
#define BODY(parser, ...)                                                                          \
    parse_body(parser, (const char *const[]){__VA_ARGS__},                                         \
               sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

static void end_block(struct jinja_parser *parser)
{
    (void)jinja_take_op(parser, ':');
    if (jinja_token(parser)->kind != JINJA_T_BLOCK_END)
        jinja_parse_fail(parser, "a block tag holds more than its statement");
    (void)jinja_next(parser);
}

/* Parses the body after the tag that the parser is in, including its {% end %}. */
static const struct jinja_node *parse_block_body(struct jinja_parser *parser, const char *end)
{
    end_block(parser);
    const struct jinja_node *body = BODY(parser, end);
    (void)jinja_next(parser);
    return body;
}

/* ---- blocks ---- */

/* Parses after "if" or "elif". */
static const struct jinja_node *parse_if(struct jinja_parser *parser)
{
    struct jinja_node *node = jinja_node_new(parser, JINJA_N_IF);
    /* Each elif nests in the one before, so a long chain is refused before it exhausts the
     * stack. */
    if (!jinja_parse_enter(parser))
        return node;
    node->a = jinja_parse_tuple(parser, false);
    end_block(parser);
    node->b = BODY(parser, "elif", "else", "endif");
    if (jinja_take_word(parser, "elif")) {
        node->c = parse_if(parser);
    } else if (jinja_take_word(parser, "else")) {
        node->c = parse_block_body(parser, "endif");
    } else {
        (void)jinja_next(parser);
    }
    jinja_parse_leave(parser);
    return node;
}

static const struct jinja_node *parse_for(struct jinja_parser *parser)
{
    struct jinja_node *node = jinja_node_new(parser, JINJA_N_FOR);
    node->a = jinja_parse_target(parser);
    if (!jinja_take_word(parser, "in"))
        jinja_parse_fail(parser, "expected \"in\" in a for");
    node->b = jinja_parse_tuple(parser, false);
    if (jinja_take_word(parser, "if"))
        node->c = jinja_parse_expression(parser);
    if (jinja_at_word(parser, "recursive"))
        jinja_parse_fail(parser, "a recursive for is not supported");
    end_block(parser);
    parser->n_loops++;
    node->d = BODY(parser, "else", "endfor");
    parser->n_loops--;
    if (jinja_take_word(parser, "else"))
        node->e = parse_block_body(parser, "endfor");
    else
        (void)jinja_next(parser);
    return node;
}

static const struct jinja_node *parse_set(struct jinja_parser *parser)
{
    struct jinja_node *node = jinja_node_new(parser, JINJA_N_SET);
    node->a = jinja_parse_target(parser);
    if (jinja_take_op(parser, '=')) {
        node->b = jinja_parse_tuple(parser, true);
        return node;
    }
    node->kind = JINJA_N_SET_BLOCK;
    if (jinja_take_op(parser, '|'))
        node->c = jinja_parse_block_filter(parser);
    node->b = parse_block_body(parser, "endset");
    return node;
}

/* Parses a macro's body, in which break and continue cannot leave the macro. */
static const struct jinja_node *parse_macro_body(struct jinja_parser *parser, const char *end)
{
    size_t n_loops = parser->n_loops;
    parser->n_loops = 0;
    const struct jinja_node *body = parse_block_body(parser, end);
    parser->n_loops = n_loops;
    return body;
}

static const struct jinja_node *parse_macro(struct jinja_parser *parser)
{
    struct jinja_node *node = jinja_node_new(parser, JINJA_N_MACRO);
    node->name = jinja_expect_name(parser);
    jinja_parse_parameters(parser, node);
    node->b = parse_macro_body(parser, "endmacro");
    return node;
}

static const struct jinja_node *parse_caller(struct jinja_parser *parser)
{
    struct jinja_node *node = jinja_node_new(parser, JINJA_N_CALLER);
    node->name = jinja_intern(parser, "caller", strlen("caller"));
    if (jinja_at_op(parser, '('))
        jinja_parse_parameters(parser, node);
    node->a = jinja_parse_expression(parser);
    if (!parser->err && node->a->kind != JINJA_N_CALL)
        jinja_parse_fail(parser, "expected a call in {%% call %%}");
    node->b = parse_macro_body(parser, "endcall");
    return node;
}

static const struct jinja_node *parse_filter_block(struct jinja_parser *parser)
{
    struct jinja_node *node = jinja_node_new(parser, JINJA_N_FILTERED);
    node->c = jinja_parse_block_filter(parser);
    node->b = parse_block_body(parser, "endfilter");
    return node;
}

static const struct jinja_node *parse_with(struct jinja_parser *parser)
{
    struct jinja_node *node = jinja_node_new(parser, JINJA_N_WITH);
    while (!parser->err && jinja_token(parser)->kind != JINJA_T_BLOCK_END) {
        if (node->n_items)
            jinja_expect_op(parser, ',');
        struct jinja_node *binding = jinja_node_new(parser, JINJA_N_KEYWORD);
        binding->name = jinja_expect_name(parser);
        jinja_expect_op(parser, '=');
        binding->a = jinja_parse_expression(parser);
        jinja_node_add(parser, node, binding);
    }
    node->b = parse_block_body(parser, "endwith");
    return node;
}

static const struct jinja_node *parse_generation(struct jinja_parser *parser)
{
    struct jinja_node *node = jinja_node_new(parser, JINJA_N_SCOPE);
    node->b = parse_block_body(parser, "endgeneration");
    return node;
}

static const struct jinja_node *parse_print(struct jinja_parser *parser)
{
    struct jinja_node *node = jinja_node_new(parser, JINJA_N_BODY);
    while (!parser->err && jinja_token(parser)->kind != JINJA_T_BLOCK_END) {
        if (node->n_items)
            jinja_expect_op(parser, ',');
        struct jinja_node *print = jinja_node_new(parser, JINJA_N_PRINT);
        print->a = jinja_parse_expression(parser);
        jinja_node_add(parser, node, print);
    }
    return node;
}

static const struct jinja_node *parse_jump(struct jinja_parser *parser, enum jinja_node_kind kind)
{
    if (!parser->n_loops)
        jinja_parse_fail(parser, "break or continue outside of a for");
    return jinja_node_new(parser, kind);
}

static const struct jinja_node *parse_break(struct jinja_parser *parser)
{
    return parse_jump(parser, JINJA_N_BREAK);
}

static const struct jinja_node *parse_continue(struct jinja_parser *parser)
{
    return parse_jump(parser, JINJA_N_CONTINUE);
}

static const struct {
    const char *word;
    const struct jinja_node *(*parse)(struct jinja_parser *parser);
} statements[] = {
    {"if", parse_if},
    {"for", parse_for},
    {"set", parse_set},
    {"macro", parse_macro},
    {"call", parse_caller},
    {"filter", parse_filter_block},
    {"with", parse_with},
    {"generation", parse_generation},
    {"print", parse_print},
    {"break", parse_break},
    {"continue", parse_continue},
};

/* Parses a statement after {%. */
static const struct jinja_node *parse_statement(struct jinja_parser *parser)
{
    const struct jinja_token *token = jinja_token(parser);
    const struct jinja_node *node = NULL;
    for (size_t i = 0; i < BATON_N_OF(statements) && !node; i++)
        if (jinja_take_word(parser, statements[i].word))
            node = statements[i].parse(parser);
    if (!node) {
        jinja_parse_fail(parser, "{%% %.*s %%} is not known or not supported here",
                         (int)(token->n < 40 ? token->n : 40), token->text ? token->text : "");
        return jinja_node_new(parser, JINJA_N_BODY);
    }
    end_block(parser);
    return node;
}

/* ---- bodies ---- */

static const struct jinja_node *parse_data(struct jinja_parser *parser)
{
    const struct jinja_token *token = jinja_next(parser);
    struct jinja_node *node = jinja_node_new(parser, JINJA_N_DATA);
    struct jinja_string *string = baton_arena_alloc(parser->jinja->arena, sizeof *string);
    if (!string) {
        jinja_parse_fail(parser, "the template is too large");
        return node;
    }
    *string = (struct jinja_string){.bytes = token->text, .n = token->n, .own = true};
    node->value = jinja_string_value(string);
    return node;
}

static const struct jinja_node *parse_printed(struct jinja_parser *parser)
{
    struct jinja_node *node = jinja_node_new(parser, JINJA_N_PRINT);
    (void)jinja_next(parser);
    node->a = jinja_parse_tuple(parser, true);
    if (jinja_token(parser)->kind != JINJA_T_PRINT_END)
        jinja_parse_fail(parser, "{{ holds more than one expression");
    (void)jinja_next(parser);
    return node;
}

static bool at_end_word(const struct jinja_parser *parser, const char *const *ends, size_t n_ends)
{
    for (size_t i = 0; i < n_ends; i++)
        if (jinja_at_word(parser, ends[i]))
            return true;
    return false;
}

/* Parses up to a block that begins with one of the words, at which the parser then is; without
 * words up to the end of the template. */
static const struct jinja_node *parse_body(struct jinja_parser *parser, const char *const *ends,
                                           size_t n_ends)
{
    struct jinja_node *body = jinja_node_new(parser, JINJA_N_BODY);
    if (!jinja_parse_enter(parser))
        return body;
    for (;;) {
        const struct jinja_token *token = jinja_token(parser);
        if (token->kind == JINJA_T_END) {
            if (n_ends)
                jinja_parse_fail(parser, "{%% %s %%} is missing", ends[n_ends - 1]);
            break;
        }
        if (token->kind == JINJA_T_DATA) {
            jinja_node_add(parser, body, parse_data(parser));
        } else if (token->kind == JINJA_T_PRINT_BEGIN) {
            jinja_node_add(parser, body, parse_printed(parser));
        } else {
            (void)jinja_next(parser);
            if (at_end_word(parser, ends, n_ends))
                break;
            jinja_node_add(parser, body, parse_statement(parser));
        }
    }
    jinja_parse_leave(parser);
    return body;
}

enum baton_err jinja_parse_template(struct jinja_parser *parser)
{
    parser->jinja->root = parse_body(parser, NULL, 0);
    return parser->err;
}
