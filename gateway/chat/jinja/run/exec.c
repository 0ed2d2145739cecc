/* Executes statements, which write to a text. */
#include <string.h>

#include "gateway/chat/jinja/run/eval.h"
#include "gateway/chat/jinja/value/text.h"

enum flow { NEXT, BREAK, CONTINUE };

static enum flow exec(struct jinja_run *run, struct jinja_scope *scope,
                      const struct jinja_node *node, struct jinja_text *out);

struct jinja_scope *jinja_scope_new(struct jinja_run *run, struct jinja_scope *parent)
{
    struct jinja_scope *scope = jinja_alloc(run, 1, sizeof *scope);
    if (scope)
        scope->parent = parent;
    return scope;
}

/* Executes a body in a new scope and returns its text. */
static struct jinja_value body_text(struct jinja_run *run, struct jinja_scope *around,
                                    const struct jinja_node *body)
{
    struct jinja_text text = {0};
    struct jinja_scope *scope = jinja_scope_new(run, around);
    if (scope)
        (void)exec(run, scope, body, &text);
    return jinja_text_end(run, &text);
}

/* Returns the text of a block after its filter. */
static struct jinja_value filtered_text(struct jinja_run *run, struct jinja_scope *scope,
                                        const struct jinja_node *node)
{
    struct jinja_value text = body_text(run, scope, node->b);
    if (!node->c)
        return text;
    /* Blocks nest, so the outer text is restored. */
    struct jinja_value around = run->block_text;
    run->block_text = text;
    text = jinja_eval(run, scope, node->c);
    run->block_text = around;
    return text;
}

static void print(struct jinja_run *run, struct jinja_value value, struct jinja_text *out)
{
    const struct jinja_string *text = jinja_str(run, value);
    if (!jinja_failed(run))
        jinja_text_put_string(run, out, text);
}

/* ---- assignment ---- */

static void set_attribute(struct jinja_run *run, struct jinja_value of,
                          const struct jinja_string *name, struct jinja_value value)
{
    if (of.kind != JINJA_NAMESPACE) {
        jinja_fail(run, "attributes of a namespace can be set only, not of '%s'",
                   jinja_type_name(of));
        return;
    }
    struct jinja_binding *binding = of.space->first;
    while (binding && !jinja_string_equal(binding->name, name))
        binding = binding->next;
    if (!binding && (binding = jinja_alloc(run, 1, sizeof *binding))) {
        *binding = (struct jinja_binding){.name = name, .next = of.space->first};
        of.space->first = binding;
    }
    if (binding)
        binding->value = value;
}

void jinja_assign(struct jinja_run *run, struct jinja_scope *scope, const struct jinja_node *target,
                  struct jinja_value value)
{
    if (jinja_failed(run))
        return;
    if (target->kind == JINJA_N_NAME) {
        jinja_bind(run, scope, target->name, value);
        return;
    }
    if (target->kind == JINJA_N_ATTRIBUTE) {
        set_attribute(run, jinja_eval(run, scope, target->a), target->name, value);
        return;
    }
    struct jinja_list list = jinja_elements(run, value);
    if (list.n != target->n_items)
        jinja_fail(run, "%zu values cannot be unpacked to %zu names", list.n, target->n_items);
    for (size_t i = 0; i < target->n_items && !jinja_failed(run); i++)
        jinja_assign(run, scope, target->items[i], list.items[i]);
}

/* ---- loops ---- */

static enum flow exec_for(struct jinja_run *run, struct jinja_scope *scope,
                          const struct jinja_node *node, struct jinja_text *out)
{
    /* The name is bound only when the template has it. */
    const struct jinja_string *loop_name = jinja_find_name(run->jinja, "loop", 4);
    const struct jinja_value absent = {.kind = JINJA_ABSENT};
    struct jinja_loop *loop = jinja_alloc(run, 1, sizeof *loop);
    struct jinja_value source = jinja_eval(run, scope, node->b);
    if (jinja_failed(run))
        return NEXT;
    *loop = (struct jinja_loop){.source = jinja_elements(run, source),
                                .node = node,
                                .around = scope,
                                .previous = absent,
                                .current = absent,
                                .next = absent,
                                .changed = absent,
                                .index0 = -1,
                                .n = -1};
    struct jinja_value value;
    enum flow flow = NEXT;
    bool completed = false; /* an iteration ran to its end, so else is not executed */
    while (flow != BREAK && !jinja_failed(run) &&
           (value = jinja_loop_advance(run, loop)).kind != JINJA_ABSENT) {
        struct jinja_scope *inner = jinja_scope_new(run, scope);
        if (!inner)
            return NEXT;
        if (loop_name)
            jinja_bind(run, inner, loop_name,
                       (struct jinja_value){.kind = JINJA_LOOP, .loop = loop});
        jinja_assign(run, inner, node->a, value);
        flow = jinja_failed(run) ? NEXT : exec(run, inner, node->d, out);
        completed |= flow == NEXT;
    }
    struct jinja_scope *last = !completed && node->e ? jinja_scope_new(run, scope) : NULL;
    return last ? exec(run, last, node->e, out) : NEXT;
}

/* ---- macros ---- */

static void define_macro(struct jinja_run *run, struct jinja_scope *scope, struct jinja_scope *home,
                         const struct jinja_node *node)
{
    struct jinja_function *function = jinja_alloc(run, 1, sizeof *function);
    if (!function)
        return;
    function->macro = node;
    function->scope = home;
    jinja_bind(run, scope, node->name,
               (struct jinja_value){.kind = JINJA_FUNCTION, .function = function});
}

/* Returns the value given for parameter i; ABSENT when it is missing. */
static struct jinja_value given(const struct jinja_args *args, size_t i,
                                const struct jinja_string *name)
{
    if (i < args->n)
        return args->items[i];
    for (size_t k = 0; k < args->n_named; k++)
        if (args->named[k].name == name)
            return args->named[k].value;
    return (struct jinja_value){.kind = JINJA_ABSENT};
}

static bool knows_parameter(const struct jinja_node *macro, const struct jinja_string *name)
{
    for (size_t i = 0; i < macro->n_items; i++)
        if (macro->items[i]->name == name)
            return true;
    return jinja_string_is(name, "caller");
}

static bool check_arguments(struct jinja_run *run, const struct jinja_node *macro,
                            const struct jinja_args *args)
{
    if (args->n > macro->n_items)
        jinja_fail(run, "macro '%.*s' takes at most %zu arguments", (int)macro->name->n,
                   macro->name->bytes, macro->n_items);
    for (size_t i = 0; i < args->n_named; i++) {
        const struct jinja_string *name = args->named[i].name;
        if (!knows_parameter(macro, name))
            jinja_fail(run, "macro '%.*s' takes no argument '%.*s'", (int)macro->name->n,
                       macro->name->bytes, (int)name->n, name->bytes);
        for (size_t k = 0; k < args->n && k < macro->n_items; k++)
            if (macro->items[k]->name == name)
                jinja_fail(run, "macro '%.*s' got '%.*s' twice", (int)macro->name->n,
                           macro->name->bytes, (int)name->n, name->bytes);
    }
    return !jinja_failed(run);
}

static void bind_parameters(struct jinja_run *run, struct jinja_scope *scope,
                            const struct jinja_node *macro, const struct jinja_args *args)
{
    for (size_t i = 0; i < macro->n_items && !jinja_failed(run); i++) {
        const struct jinja_node *parameter = macro->items[i];
        struct jinja_value value = given(args, i, parameter->name);
        if (value.kind == JINJA_ABSENT)
            value = parameter->a ? jinja_eval(run, scope, parameter->a)
                                 : jinja_undefined("a parameter was not given");
        jinja_bind(run, scope, parameter->name, value);
    }
    for (size_t i = 0; i < args->n_named; i++)
        if (jinja_string_is(args->named[i].name, "caller"))
            jinja_bind(run, scope, args->named[i].name, args->named[i].value);
}

struct jinja_value jinja_call_macro(struct jinja_run *run, const struct jinja_function *function,
                                    const struct jinja_args *args)
{
    struct jinja_text text = {0};
    if (!check_arguments(run, function->macro, args) || !jinja_enter(run))
        return jinja_undefined(NULL);
    /* Macros see the scope of their definition, not that of their call, as in Jinja. */
    struct jinja_scope *scope = jinja_scope_new(run, function->scope);
    if (scope)
        bind_parameters(run, scope, function->macro, args);
    if (!jinja_failed(run))
        (void)exec(run, scope, function->macro->b, &text);
    jinja_leave(run);
    return jinja_text_end(run, &text);
}

/* Executes {% call f(x) %}body{% endcall %}: f gets the body as a macro caller. */
static void exec_caller(struct jinja_run *run, struct jinja_scope *scope,
                        const struct jinja_node *node, struct jinja_text *out)
{
    struct jinja_scope *inner = jinja_scope_new(run, scope);
    if (!inner)
        return;
    /* The macro's home is the outer scope: the body must not see the name caller. */
    define_macro(run, inner, scope, node);
    struct jinja_value function = jinja_eval(run, scope, node->a->a);
    struct jinja_args args = jinja_eval_args(run, scope, node->a);
    struct jinja_named *named = jinja_alloc(run, args.n_named + 1, sizeof *named);
    if (jinja_failed(run))
        return;
    if (args.n_named)
        memcpy(named, args.named, args.n_named * sizeof *named);
    named[args.n_named++] = (struct jinja_named){.name = node->name, .value = inner->first->value};
    args.named = named;
    print(run, jinja_call(run, function, &args), out);
}

/* ---- statements ---- */

static enum flow exec_body(struct jinja_run *run, struct jinja_scope *scope,
                           const struct jinja_node *body, struct jinja_text *out)
{
    for (size_t i = 0; i < body->n_items && !jinja_failed(run); i++) {
        enum flow flow = exec(run, scope, body->items[i], out);
        if (flow != NEXT)
            return flow;
    }
    return NEXT;
}

static enum flow exec_if(struct jinja_run *run, struct jinja_scope *scope,
                         const struct jinja_node *node, struct jinja_text *out)
{
    bool is_true = jinja_truth(jinja_eval(run, scope, node->a));
    const struct jinja_node *branch = is_true ? node->b : node->c;
    return branch && !jinja_failed(run) ? exec(run, scope, branch, out) : NEXT;
}

static enum flow exec_with(struct jinja_run *run, struct jinja_scope *scope,
                           const struct jinja_node *node, struct jinja_text *out)
{
    struct jinja_scope *inner = jinja_scope_new(run, scope);
    for (size_t i = 0; i < node->n_items && !jinja_failed(run); i++)
        jinja_bind(run, inner, node->items[i]->name, jinja_eval(run, scope, node->items[i]->a));
    return jinja_failed(run) ? NEXT : exec(run, inner, node->b, out);
}

static enum flow exec_scope(struct jinja_run *run, struct jinja_scope *scope,
                            const struct jinja_node *node, struct jinja_text *out)
{
    struct jinja_scope *inner = jinja_scope_new(run, scope);
    return inner ? exec(run, inner, node->b, out) : NEXT;
}

static enum flow exec_node(struct jinja_run *run, struct jinja_scope *scope,
                           const struct jinja_node *node, struct jinja_text *out)
{
    switch (node->kind) {
    case JINJA_N_DATA:
        jinja_text_put_string(run, out, node->value.string);
        return NEXT;
    case JINJA_N_PRINT:
        print(run, jinja_eval(run, scope, node->a), out);
        return NEXT;
    case JINJA_N_BODY:
        return exec_body(run, scope, node, out);
    case JINJA_N_SCOPE:
        return exec_scope(run, scope, node, out);
    case JINJA_N_IF:
        return exec_if(run, scope, node, out);
    case JINJA_N_FOR:
        return exec_for(run, scope, node, out);
    case JINJA_N_SET:
        jinja_assign(run, scope, node->a, jinja_eval(run, scope, node->b));
        return NEXT;
    case JINJA_N_SET_BLOCK:
        jinja_assign(run, scope, node->a, filtered_text(run, scope, node));
        return NEXT;
    case JINJA_N_FILTERED:
        print(run, filtered_text(run, scope, node), out);
        return NEXT;
    case JINJA_N_WITH:
        return exec_with(run, scope, node, out);
    case JINJA_N_MACRO:
        define_macro(run, scope, scope, node);
        return NEXT;
    case JINJA_N_CALLER:
        exec_caller(run, scope, node, out);
        return NEXT;
    case JINJA_N_BREAK:
        return BREAK;
    case JINJA_N_CONTINUE:
        return CONTINUE;
    default:
        jinja_fail(run, "an expression is not a statement");
        return NEXT;
    }
}

static enum flow exec(struct jinja_run *run, struct jinja_scope *scope,
                      const struct jinja_node *node, struct jinja_text *out)
{
    if (!jinja_step(run, 1) || !jinja_enter(run))
        return NEXT;
    run->line = node->line;
    enum flow flow = exec_node(run, scope, node, out);
    jinja_leave(run);
    /* Checked after each statement, because one statement adds little. */
    if (out->n > run->limits.max_text_bytes)
        jinja_fail_limit(run, "bytes of text", run->limits.max_text_bytes);
    return flow;
}

struct jinja_value jinja_run_template(struct jinja_run *run)
{
    struct jinja_text text = {0};
    struct jinja_scope *scope = jinja_scope_new(run, &run->globals);
    if (scope)
        (void)exec(run, scope, run->jinja->root, &text);
    return jinja_text_end(run, &text);
}
