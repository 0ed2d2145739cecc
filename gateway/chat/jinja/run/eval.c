/* Evaluates names, attributes and expressions. */
#include "gateway/chat/jinja/run/eval.h"

#include <string.h>

#include "gateway/chat/jinja/value/text.h"

bool jinja_enter(struct jinja_run *run)
{
    if (run->depth >= run->limits.max_depth)
        jinja_fail_limit(run, "levels of evaluation", run->limits.max_depth);
    else
        run->depth++;
    return !jinja_failed(run);
}

/* ---- names ---- */

/* Finds a name in a scope. The search through many names counts as work. */
static const struct jinja_binding *find(struct jinja_run *run, const struct jinja_binding *binding,
                                        const struct jinja_string *name)
{
    size_t n = 0;
    for (; binding && binding->name != name; n++)
        binding = binding->next;
    return jinja_step(run, n / 32) ? binding : NULL;
}

void jinja_bind(struct jinja_run *run, struct jinja_scope *scope, const struct jinja_string *name,
                struct jinja_value value)
{
    struct jinja_binding *binding = (struct jinja_binding *)find(run, scope->first, name);
    if (!binding) {
        binding = jinja_alloc(run, 1, sizeof *binding);
        if (!binding)
            return;
        *binding = (struct jinja_binding){.name = name, .next = scope->first};
        scope->first = binding;
    }
    binding->value = value;
}

static struct jinja_value function_value(struct jinja_run *run, const struct jinja_builtin *builtin,
                                         struct jinja_value self)
{
    struct jinja_function *function = jinja_alloc(run, 1, sizeof *function);
    if (!function)
        return jinja_undefined(NULL);
    function->builtin = builtin;
    function->self = self;
    return (struct jinja_value){.kind = JINJA_FUNCTION, .function = function};
}

static struct jinja_value absent(struct jinja_run *run, const char *type,
                                 const struct jinja_string *name)
{
    struct jinja_absence *absence = name ? jinja_alloc(run, 1, sizeof *absence) : NULL;
    if (!absence)
        return jinja_undefined(NULL);
    *absence = (struct jinja_absence){.type = type, .name = *name};
    return (struct jinja_value){.kind = JINJA_UNDEFINED, .has_absence = true, .absence = absence};
}

struct jinja_value jinja_lookup(struct jinja_run *run, const struct jinja_scope *scope,
                                const struct jinja_string *name)
{
    for (; scope; scope = scope->parent) {
        const struct jinja_binding *binding = find(run, scope->first, name);
        if (binding)
            return binding->value;
    }
    /* Last, so that a variable may have the name of a function. */
    const struct jinja_builtin *builtin = jinja_find_builtin(jinja_globals, name);
    return builtin ? function_value(run, builtin, jinja_none()) : absent(run, NULL, name);
}

/* ---- attributes ---- */

struct jinja_value jinja_missing(struct jinja_run *run, struct jinja_value of,
                                 struct jinja_value key)
{
    return absent(run, jinja_type_name(of), jinja_str(run, key));
}

static struct jinja_value method(struct jinja_run *run, struct jinja_value of,
                                 const struct jinja_string *name)
{
    bool unsafe = false;
    const struct jinja_builtin *builtin = jinja_find_method(of, name, &unsafe);
    if (builtin)
        return function_value(run, builtin, of);
    if (unsafe)
        return jinja_undefined("a template may not change lists and maps");
    return (struct jinja_value){.kind = JINJA_ABSENT};
}

static struct jinja_value space_attribute(const struct jinja_namespace *space,
                                          const struct jinja_string *name)
{
    const struct jinja_binding *binding = space->first;
    while (binding && !jinja_string_equal(binding->name, name))
        binding = binding->next;
    return binding ? binding->value : (struct jinja_value){.kind = JINJA_ABSENT};
}

/* Returns of.name as far as it is not an item; ABSENT when there is no such attribute. */
static struct jinja_value own_attribute(struct jinja_run *run, struct jinja_value of,
                                        const struct jinja_string *name)
{
    if (of.kind == JINJA_NAMESPACE)
        return space_attribute(of.space, name);
    if (of.kind == JINJA_LOOP)
        return jinja_loop_attribute(run, of.loop, name);
    return method(run, of, name);
}

struct jinja_value jinja_attribute(struct jinja_run *run, struct jinja_value of,
                                   const struct jinja_string *name)
{
    struct jinja_value key = jinja_string_value(name);
    if (of.kind == JINJA_UNDEFINED)
        return jinja_fail_undefined(run, of);
    struct jinja_value found = own_attribute(run, of, name);
    if (found.kind != JINJA_ABSENT || jinja_failed(run))
        return found;
    const struct jinja_value *item =
        of.kind == JINJA_DICT ? jinja_dict_find(run, of.dict, key) : NULL;
    return item ? *item : jinja_missing(run, of, key);
}

/* Returns an element by its index, negative ones from the end; ABSENT when there is none. */
static struct jinja_value element(struct jinja_run *run, struct jinja_value of, int64_t i)
{
    size_t n = jinja_length(run, of);
    i += i < 0 ? (int64_t)n : 0;
    if (i < 0 || (uint64_t)i >= n)
        return (struct jinja_value){.kind = JINJA_ABSENT};
    if (of.kind != JINJA_STRING)
        return of.list->items[i];
    size_t at = jinja_char_at(of.string, (size_t)i);
    return jinja_part(run, of.string, at,
                      jinja_char_bytes(of.string->bytes + at, of.string->n - at));
}

struct jinja_value jinja_subscript(struct jinja_run *run, struct jinja_value of,
                                   struct jinja_value key)
{
    struct jinja_value found = {.kind = JINJA_ABSENT};
    bool is_index = key.kind == JINJA_INT || key.kind == JINJA_BOOL;
    bool is_indexed = of.kind == JINJA_STRING || (jinja_is_listed(of) && of.kind != JINJA_VIEW);
    const struct jinja_value *item = NULL;
    if (of.kind == JINJA_UNDEFINED)
        return jinja_fail_undefined(run, of);
    if (of.kind == JINJA_DICT && (key.kind != JINJA_LIST && key.kind != JINJA_DICT))
        item = jinja_dict_find(run, of.dict, key);
    if (item)
        return *item;
    if (is_indexed && is_index)
        found = element(run, of, jinja_as_int(key));
    else if (key.kind == JINJA_STRING)
        found = own_attribute(run, of, key.string);
    return found.kind != JINJA_ABSENT ? found : jinja_missing(run, of, key);
}

/* ---- expressions ---- */

static struct jinja_value eval_list(struct jinja_run *run, struct jinja_scope *scope,
                                    const struct jinja_node *node)
{
    struct jinja_value *items = jinja_items(run, node->n_items);
    for (size_t i = 0; i < node->n_items && !jinja_failed(run); i++)
        items[i] = jinja_eval(run, scope, node->items[i]);
    return jinja_list_value(run, node->kind == JINJA_N_LIST ? JINJA_LIST : JINJA_TUPLE, items,
                            node->n_items);
}

static struct jinja_value eval_dict(struct jinja_run *run, struct jinja_scope *scope,
                                    const struct jinja_node *node)
{
    struct jinja_dict *dict = jinja_dict_new(run);
    for (size_t i = 0; i + 1 < node->n_items && !jinja_failed(run); i += 2) {
        struct jinja_value key = jinja_eval(run, scope, node->items[i]);
        jinja_dict_put(run, dict, key, jinja_eval(run, scope, node->items[i + 1]));
    }
    return jinja_dict_value(dict);
}

static struct jinja_value eval_concat(struct jinja_run *run, struct jinja_scope *scope,
                                      const struct jinja_node *node)
{
    struct jinja_text text = {0};
    for (size_t i = 0; i < node->n_items && !jinja_failed(run); i++) {
        const struct jinja_string *piece = jinja_str(run, jinja_eval(run, scope, node->items[i]));
        if (!jinja_failed(run))
            jinja_text_put_string(run, &text, piece);
    }
    return jinja_text_end(run, &text);
}

/* Evaluates a < b < c: each operand once, and only as far as needed. */
static struct jinja_value eval_compare(struct jinja_run *run, struct jinja_scope *scope,
                                       const struct jinja_node *node)
{
    struct jinja_value left = jinja_eval(run, scope, node->a);
    for (size_t i = 0; i < node->n_items && !jinja_failed(run); i++) {
        struct jinja_value right = jinja_eval(run, scope, node->items[i]->a);
        if (!jinja_compare_op(run, node->items[i]->op, left, right))
            return jinja_bool(false);
        left = right;
    }
    return jinja_bool(true);
}

static struct jinja_value eval_slice(struct jinja_run *run, struct jinja_scope *scope,
                                     const struct jinja_node *node)
{
    struct jinja_value of = jinja_eval(run, scope, node->a), bounds[3];
    const struct jinja_node *nodes[] = {node->b, node->c, node->d};
    for (int i = 0; i < 3; i++)
        bounds[i] = nodes[i] ? jinja_eval(run, scope, nodes[i]) : jinja_none();
    return jinja_failed(run) ? jinja_undefined(NULL) : jinja_slice(run, of, bounds);
}

static struct jinja_value eval_cond(struct jinja_run *run, struct jinja_scope *scope,
                                    const struct jinja_node *node)
{
    if (jinja_truth(jinja_eval(run, scope, node->a)))
        return jinja_eval(run, scope, node->b);
    if (node->c)
        return jinja_eval(run, scope, node->c);
    return jinja_undefined("the condition is false and there is no else");
}

/* Evaluates nodes with two operands, both of which are always needed. */
static struct jinja_value eval_pair(struct jinja_run *run, struct jinja_scope *scope,
                                    const struct jinja_node *node)
{
    struct jinja_value a = jinja_eval(run, scope, node->a);
    struct jinja_value b = jinja_eval(run, scope, node->b);
    if (jinja_failed(run))
        return jinja_undefined(NULL);
    /* The operands may have moved it to another line. */
    run->line = node->line;
    return node->kind == JINJA_N_SUBSCRIPT ? jinja_subscript(run, a, b)
                                           : jinja_binary(run, node->op, a, b);
}

/* Evaluates nodes that call a function. */
static struct jinja_value eval_call(struct jinja_run *run, struct jinja_scope *scope,
                                    const struct jinja_node *node)
{
    struct jinja_value a = jinja_eval(run, scope, node->a);
    struct jinja_args args = jinja_eval_args(run, scope, node);
    if (jinja_failed(run))
        return jinja_undefined(NULL);
    run->line = node->line;
    if (node->kind == JINJA_N_FILTER)
        return jinja_apply_filter(run, node->name, a, &args);
    if (node->kind == JINJA_N_TEST)
        return jinja_bool(jinja_apply_test(run, node->name, a, &args));
    return jinja_call(run, a, &args);
}

static struct jinja_value eval_logic(struct jinja_run *run, struct jinja_scope *scope,
                                     const struct jinja_node *node)
{
    struct jinja_value a = jinja_eval(run, scope, node->a);
    if (node->kind == JINJA_N_NOT)
        return jinja_bool(!jinja_truth(a));
    bool decided = jinja_truth(a) == (node->kind == JINJA_N_OR);
    return decided ? a : jinja_eval(run, scope, node->b);
}

static struct jinja_value eval_node(struct jinja_run *run, struct jinja_scope *scope,
                                    const struct jinja_node *node)
{
    switch (node->kind) {
    case JINJA_N_CONST:
        return node->value;
    case JINJA_N_NAME:
        return jinja_lookup(run, scope, node->name);
    case JINJA_N_LIST:
    case JINJA_N_TUPLE:
        return eval_list(run, scope, node);
    case JINJA_N_DICT:
        return eval_dict(run, scope, node);
    case JINJA_N_UNARY:
        return jinja_unary(run, node->op, jinja_eval(run, scope, node->a));
    case JINJA_N_BINARY:
    case JINJA_N_SUBSCRIPT:
        return eval_pair(run, scope, node);
    case JINJA_N_CONCAT:
        return eval_concat(run, scope, node);
    case JINJA_N_COMPARE:
        return eval_compare(run, scope, node);
    case JINJA_N_AND:
    case JINJA_N_OR:
    case JINJA_N_NOT:
        return eval_logic(run, scope, node);
    case JINJA_N_COND:
        return eval_cond(run, scope, node);
    case JINJA_N_ATTRIBUTE:
        return jinja_attribute(run, jinja_eval(run, scope, node->a), node->name);
    case JINJA_N_SLICE:
        return eval_slice(run, scope, node);
    case JINJA_N_CALL:
    case JINJA_N_FILTER:
    case JINJA_N_TEST:
        return eval_call(run, scope, node);
    case JINJA_N_BLOCK_TEXT:
        return run->block_text;
    default:
        return jinja_fail(run, "a statement is not an expression");
    }
}

struct jinja_value jinja_eval(struct jinja_run *run, struct jinja_scope *scope,
                              const struct jinja_node *node)
{
    if (!jinja_step(run, 1) || !jinja_enter(run))
        return jinja_undefined(NULL);
    run->line = node->line;
    struct jinja_value value = eval_node(run, scope, node);
    jinja_leave(run);
    return jinja_failed(run) ? jinja_undefined(NULL) : value;
}
