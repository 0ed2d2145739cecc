/* A template as a syntax tree; private to gateway/chat/jinja.
 *
 * Ownership: the template's arena.
 * Threading: immutable once parsed.
 * Errors:    none.
 */
#ifndef BATON_GATEWAY_CHAT_JINJA_PARSE_NODE_H
#define BATON_GATEWAY_CHAT_JINJA_PARSE_NODE_H

#include "common/base/arena.h"
#include "common/base/hash.h"
#include "gateway/chat/jinja/value/value.h"

/* An operator of one or two characters as one number. */
#define JINJA_OP(a, b) ((a) | (b) << 8)

enum jinja_node_kind {
    /* expressions */
    JINJA_N_CONST,      /* value */
    JINJA_N_NAME,       /* name */
    JINJA_N_LIST,       /* [items] */
    JINJA_N_TUPLE,      /* (items) */
    JINJA_N_DICT,       /* items: key, value, key, value, ... */
    JINJA_N_UNARY,      /* op a */
    JINJA_N_BINARY,     /* a op b */
    JINJA_N_CONCAT,     /* items with ~ between */
    JINJA_N_COMPARE,    /* a, then items: OPERANDs */
    JINJA_N_OPERAND,    /* op a, of a comparison */
    JINJA_N_AND,        /* a and b */
    JINJA_N_OR,         /* a or b */
    JINJA_N_NOT,        /* not a */
    JINJA_N_COND,       /* b if a else c; c may be NULL */
    JINJA_N_ATTRIBUTE,  /* a.name */
    JINJA_N_SUBSCRIPT,  /* a[b] */
    JINJA_N_SLICE,      /* a[b:c:d]; each may be NULL */
    JINJA_N_CALL,       /* a(items) */
    JINJA_N_FILTER,     /* a|name(items) */
    JINJA_N_TEST,       /* a is name(items) */
    JINJA_N_KEYWORD,    /* name=a, in the items of a call */
    JINJA_N_BLOCK_TEXT, /* the text that a block's filter works on */
    /* statements */
    JINJA_N_DATA,      /* value: text */
    JINJA_N_PRINT,     /* {{ a }} */
    JINJA_N_BODY,      /* items in their order */
    JINJA_N_SCOPE,     /* body b in a scope of its own */
    JINJA_N_IF,        /* a: b, else c */
    JINJA_N_FOR,       /* a in b if c: d, else e */
    JINJA_N_SET,       /* a = b */
    JINJA_N_SET_BLOCK, /* a = body b, filtered by c (NULL: not) */
    JINJA_N_FILTERED,  /* body b, filtered by c */
    JINJA_N_WITH,      /* items: KEYWORDs; body b */
    JINJA_N_MACRO,     /* name, items: KEYWORDs with defaults or NULL; body b */
    JINJA_N_CALLER,    /* call a, with a macro caller: items, body b */
    JINJA_N_BREAK,
    JINJA_N_CONTINUE
};

enum {
    JINJA_OP_IN = 1, /* comparisons without characters of their own */
    JINJA_OP_NOT_IN
};

struct jinja_node {
    enum jinja_node_kind kind;
    int line, op;
    const struct jinja_string *name; /* interned */
    const struct jinja_node *a, *b, *c, *d, *e;
    const struct jinja_node **items;
    size_t n_items;
    struct jinja_value value;
};

/* One spelling of a name, stored once. */
struct jinja_name {
    struct jinja_string string; /* first: a pointer to a name is a pointer to its string */
    struct baton_hash_node in_names;
};

BATON_HASH_TABLE(jinja_names, struct jinja_name, in_names)

struct baton_jinja {
    struct baton_arena *arena;
    const struct jinja_node *root;
    struct jinja_names names;
};

/* Returns the interned name of this spelling; NULL: the template does not have it. */
const struct jinja_string *jinja_find_name(const struct baton_jinja *jinja, const char *text,
                                           size_t n);

#endif
