/* Parses tokens into a tree; private to gateway/chat/jinja.
 *
 *     statements (statements.c) -> expressions (expressions.c)
 *                                     -> operands (primaries.c)
 *
 * After the first failure the parser is at the end of the tokens, and its results must not be used.
 *
 * Ownership: nodes and names are the template's.
 * Threading: one thread for one template.
 * Errors:    the first failure, with its line, stays in err.
 */
#ifndef BATON_GATEWAY_CHAT_JINJA_PARSE_PARSER_H
#define BATON_GATEWAY_CHAT_JINJA_PARSE_PARSER_H

#include "gateway/chat/jinja/parse/lexer.h"
#include "gateway/chat/jinja/parse/node.h"

struct jinja_parser {
    struct baton_jinja *jinja;
    struct jinja_tokens tokens;
    size_t at;
    size_t depth, n_loops; /* loops around, within the same macro */
    enum baton_err err;
    struct baton_why *why;
};

/* Parses the whole template into its tree. */
enum baton_err jinja_parse_template(struct jinja_parser *parser) BATON_MUST_CHECK;

/* ---- shared by the files of the parser ---- */

void jinja_parse_fail(struct jinja_parser *parser, const char *fmt, ...) BATON_PRINTF(2, 3);
static inline const struct jinja_token *jinja_token(const struct jinja_parser *parser)
{
    return &parser->tokens.items[parser->at];
}
/* Returns the current token and skips it. */
const struct jinja_token *jinja_next(struct jinja_parser *parser);
bool jinja_at_op(const struct jinja_parser *parser, int op);
bool jinja_at_word(const struct jinja_parser *parser, const char *word);
/* Skip an operator or a word, if it is next. */
bool jinja_take_op(struct jinja_parser *parser, int op);
bool jinja_take_word(struct jinja_parser *parser, const char *word);
/* Skip it; fail when it is not next. */
void jinja_expect_op(struct jinja_parser *parser, int op);
const struct jinja_string *jinja_expect_name(struct jinja_parser *parser);

struct jinja_node *jinja_node_new(struct jinja_parser *parser, enum jinja_node_kind kind);
/* Appends to the items of a node under construction. */
void jinja_node_add(struct jinja_parser *parser, struct jinja_node *node,
                    const struct jinja_node *item);
const struct jinja_string *jinja_intern(struct jinja_parser *parser, const char *text, size_t n);

/* Enters a level; false, with a failure, when the template is nested too deeply. Leave after
 * true. */
bool jinja_parse_enter(struct jinja_parser *parser);
void jinja_parse_leave(struct jinja_parser *parser);

/* Leaves a level and returns node, at the end of a nested call. */
static inline const struct jinja_node *jinja_parse_left(struct jinja_parser *parser,
                                                        const struct jinja_node *node)
{
    jinja_parse_leave(parser);
    return node;
}
/* Calls a function of the grammar one level deeper. */
#define JINJA_NESTED(parser, call)                                                                 \
    (jinja_parse_enter(parser) ? jinja_parse_left(parser, call)                                    \
                               : jinja_node_new(parser, JINJA_N_CONST))

/* Parses a primary with its sign and its suffixes. */
const struct jinja_node *jinja_parse_operand(struct jinja_parser *parser);
const struct jinja_node *jinja_parse_expression(struct jinja_parser *parser);
/* Parses one expression, or several separated by commas, which form a tuple. with_cond false: a
 * conditional needs brackets, as in "for x in a if b". */
const struct jinja_node *jinja_parse_tuple(struct jinja_parser *parser, bool with_cond);
/* Parses |filter|filter ... after node. */
const struct jinja_node *jinja_parse_filters(struct jinja_parser *parser,
                                             const struct jinja_node *node);
/* Parses a block's filter, which begins with its name: filter|filter. */
const struct jinja_node *jinja_parse_block_filter(struct jinja_parser *parser);
/* Parses the target of an assignment: a name, ns.name, or several separated by commas. */
const struct jinja_node *jinja_parse_target(struct jinja_parser *parser);
/* Parses name, name=default, ... up to ). */
void jinja_parse_parameters(struct jinja_parser *parser, struct jinja_node *node);

#endif
