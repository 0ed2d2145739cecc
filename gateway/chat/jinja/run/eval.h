/* Evaluates a template's tree: expressions, statements, calls; private to gateway/chat/jinja.
 *
 *     exec.c  statements, scopes, macros  loop.c  for, and its loop
 *     eval.c  expressions                operators.c  + - * / % in < [] ...
 *     call.c  functions and their arguments
 *     builtin/filters.c, builtin/sequences.c, value/order.c, builtin/tests.c,
 *     builtin/globals.c, builtin/methods.c, builtin/string_methods.c, builtin/split.c: built in
 *     value/repr.c, builtin/json.c, builtin/format.c: values as text
 *
 * Ownership: the run's arena.
 * Threading: that of the run.
 * Errors:    sticky in the run; results after a failure are undefined.
 */
#ifndef BATON_GATEWAY_CHAT_JINJA_RUN_EVAL_H
#define BATON_GATEWAY_CHAT_JINJA_RUN_EVAL_H

#include "gateway/chat/jinja/parse/node.h"
#include "gateway/chat/jinja/value/run.h"

struct jinja_named {
    const struct jinja_string *name;
    struct jinja_value value;
};

struct jinja_args {
    const struct jinja_value *items;
    size_t n;
    const struct jinja_named *named;
    size_t n_named;
};

/* A filter, test, method or global function. With parameters ("width first blank") the call gets
 * one argument for each, ABSENT where it is missing; without (NULL) it gets the caller's
 * arguments. */
struct jinja_builtin {
    const char *name, *parameters;
    size_t n_required;
    struct jinja_value (*call)(struct jinja_run *run, struct jinja_value self,
                               const struct jinja_args *args);
};

/* A built-in with the value it belongs to, or a macro with the scope of its definition. */
struct jinja_function {
    const struct jinja_builtin *builtin;
    struct jinja_value self;
    const struct jinja_node *macro;
    struct jinja_scope *scope;
};

struct jinja_namespace {
    struct jinja_binding *first;
};

/* A running for. Elements are taken when they are needed, so that its filter sees the changes of
 * the body. */
struct jinja_loop {
    struct jinja_list source;
    size_t at;
    const struct jinja_node *node;
    struct jinja_scope *around;
    struct jinja_value previous, current, next; /* ABSENT: none; next: an element taken ahead */
    struct jinja_value changed;                 /* the last argument of changed() */
    int64_t index0, n, depth;                   /* n: -1: not counted yet */
};

/* ---- evaluation ---- */

struct jinja_value jinja_eval(struct jinja_run *run, struct jinja_scope *scope,
                              const struct jinja_node *node);
struct jinja_value jinja_call(struct jinja_run *run, struct jinja_value function,
                              const struct jinja_args *args);
struct jinja_value jinja_call_builtin(struct jinja_run *run, const struct jinja_builtin *builtin,
                                      struct jinja_value self, const struct jinja_args *args);
/* Calls a macro, with a caller for {% call %}. */
struct jinja_value jinja_call_macro(struct jinja_run *run, const struct jinja_function *function,
                                    const struct jinja_args *args);
struct jinja_value jinja_run_template(struct jinja_run *run);

/* True unless there are too many levels; pair it with jinja_leave. */
bool jinja_enter(struct jinja_run *run);
static inline void jinja_leave(struct jinja_run *run)
{
    run->depth--;
}

struct jinja_value jinja_lookup(struct jinja_run *run, const struct jinja_scope *scope,
                                const struct jinja_string *name);
void jinja_bind(struct jinja_run *run, struct jinja_scope *scope, const struct jinja_string *name,
                struct jinja_value value);
/* Evaluates the arguments of a CALL, FILTER or TEST. */
struct jinja_args jinja_eval_args(struct jinja_run *run, struct jinja_scope *scope,
                                  const struct jinja_node *node);

struct jinja_scope *jinja_scope_new(struct jinja_run *run, struct jinja_scope *parent);
/* Sets a name, ns.name, or several names to the elements of value. */
void jinja_assign(struct jinja_run *run, struct jinja_scope *scope, const struct jinja_node *target,
                  struct jinja_value value);

/* Advances to the next element and returns it; ABSENT when there is none. */
struct jinja_value jinja_loop_advance(struct jinja_run *run, struct jinja_loop *loop);
/* Returns loop.name; ABSENT when there is no such attribute. */
struct jinja_value jinja_loop_attribute(struct jinja_run *run, struct jinja_loop *loop,
                                        const struct jinja_string *name);

/* ---- operators ---- */

struct jinja_value jinja_binary(struct jinja_run *run, int op, struct jinja_value a,
                                struct jinja_value b);
struct jinja_value jinja_unary(struct jinja_run *run, int op, struct jinja_value a);
bool jinja_compare_op(struct jinja_run *run, int op, struct jinja_value a, struct jinja_value b);
bool jinja_contains(struct jinja_run *run, struct jinja_value in, struct jinja_value item);
/* Return of.name and of[key]. */
struct jinja_value jinja_attribute(struct jinja_run *run, struct jinja_value of,
                                   const struct jinja_string *name);
struct jinja_value jinja_subscript(struct jinja_run *run, struct jinja_value of,
                                   struct jinja_value key);
struct jinja_value jinja_slice(struct jinja_run *run, struct jinja_value of,
                               const struct jinja_value bounds[3]);
/* Returns the undefined value of a missing attribute or key. */
struct jinja_value jinja_missing(struct jinja_run *run, struct jinja_value of,
                                 struct jinja_value key);

/* ---- values as text ---- */

/* Returns the text that {{ }} prints; "" for undefined. */
const struct jinja_string *jinja_str(struct jinja_run *run, struct jinja_value value);
/* Append the text of a value inside a list; INT and FLOAT as digits. */
struct jinja_text;
void jinja_put_repr(struct jinja_run *run, struct jinja_text *out, struct jinja_value value);
void jinja_put_number(struct jinja_run *run, struct jinja_text *out, struct jinja_value value);

struct jinja_json_style {
    bool ascii, sort_keys;
    bool indented;
    const struct jinja_string *indent, *item_separator, *key_separator; /* NULL: the usual ones */
};
struct jinja_value jinja_to_json(struct jinja_run *run, struct jinja_value value,
                                 const struct jinja_json_style *style);
/* Returns format % args with Python's meaning: %s %d %i %f %r %x and %%. */
struct jinja_value jinja_percent(struct jinja_run *run, const struct jinja_string *format,
                                 const struct jinja_args *args);
/* Returns "{} {0} {name}".format(...), without format specifications. */
struct jinja_value jinja_braces(struct jinja_run *run, const struct jinja_string *format,
                                const struct jinja_args *args);

/* ---- built in ---- */

/* Methods of text that are also filters of any value. */
struct jinja_value jinja_strip(struct jinja_run *run, struct jinja_value self,
                               const struct jinja_args *args);
struct jinja_value jinja_upper(struct jinja_run *run, struct jinja_value self,
                               const struct jinja_args *args);
struct jinja_value jinja_lower(struct jinja_run *run, struct jinja_value self,
                               const struct jinja_args *args);
struct jinja_value jinja_capitalize(struct jinja_run *run, struct jinja_value self,
                                    const struct jinja_args *args);
/* True by the Unicode category. */
bool jinja_is_letter_or_number(uint32_t c);

/* The last entry's name is NULL. */
extern const struct jinja_builtin jinja_filters[], jinja_sequence_filters[], jinja_order_filters[],
    jinja_tests[], jinja_globals[], jinja_string_methods[], jinja_split_methods[],
    jinja_dict_methods[], jinja_list_methods[];

const struct jinja_builtin *jinja_find_builtin(const struct jinja_builtin *table,
                                               const struct jinja_string *name);
/* Searches all tables of filters. */
const struct jinja_builtin *jinja_find_filter(const struct jinja_string *name);
/* Apply a filter or test by name; fail when there is none. */
struct jinja_value jinja_apply_filter(struct jinja_run *run, const struct jinja_string *name,
                                      struct jinja_value value, const struct jinja_args *args);
bool jinja_apply_test(struct jinja_run *run, const struct jinja_string *name,
                      struct jinja_value value, const struct jinja_args *args);
/* Returns the method of a value; NULL when it has none of this name. *unsafe: the method would
 * change the value. */
const struct jinja_builtin *jinja_find_method(struct jinja_value of,
                                              const struct jinja_string *name, bool *unsafe);

/* ---- items of lists, for filters ---- */

/* Returns "a.b.0" of an item: each part is a key, digits are an index. */
struct jinja_value jinja_path_of(struct jinja_run *run, struct jinja_value item,
                                 struct jinja_value path);
/* Returns the value by which an item is compared: an attribute of it, in lower case unless
 * case_sensitive. */
struct jinja_value jinja_key_of(struct jinja_run *run, struct jinja_value item,
                                struct jinja_value attribute, bool case_sensitive);
/* Returns the (key, value) pairs of a dict as a list. */
struct jinja_value jinja_pairs_of(struct jinja_run *run, struct jinja_value dict);

/* ---- arguments of built-ins ---- */

static inline bool jinja_given(const struct jinja_args *args, size_t i)
{
    return i < args->n && args->items[i].kind != JINJA_ABSENT;
}
/* Return an argument, or the default when it is missing; another type fails. */
int64_t jinja_int_arg(struct jinja_run *run, const struct jinja_args *args, size_t i,
                      int64_t fallback);
bool jinja_bool_arg(const struct jinja_args *args, size_t i, bool fallback);
/* Returns NULL when the argument is missing, none, or of another type. */
const struct jinja_string *jinja_string_arg(struct jinja_run *run, const struct jinja_args *args,
                                            size_t i);

#endif
