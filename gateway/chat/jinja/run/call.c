/* Calls functions and binds their arguments. */
#include <string.h>

#include "common/base/array.h"
#include "gateway/chat/jinja/run/eval.h"
#include "gateway/chat/jinja/value/text.h"

enum { MAX_PARAMETERS = 8 };

/* ---- arguments ---- */

struct jinja_args jinja_eval_args(struct jinja_run *run, struct jinja_scope *scope,
                                  const struct jinja_node *node)
{
    struct jinja_args args = {0};
    struct jinja_value *items = jinja_items(run, node->n_items);
    struct jinja_named *named = jinja_alloc(run, node->n_items, sizeof *named);
    for (size_t i = 0; i < node->n_items && !jinja_failed(run); i++) {
        const struct jinja_node *item = node->items[i];
        if (item->kind == JINJA_N_KEYWORD)
            named[args.n_named++] =
                (struct jinja_named){.name = item->name, .value = jinja_eval(run, scope, item->a)};
        else
            items[args.n++] = jinja_eval(run, scope, item);
    }
    args.items = items;
    args.named = named;
    return args;
}

/* Returns the index of a parameter in "width first blank"; SIZE_MAX when there is none. */
static size_t parameter_index(const char *parameters, const struct jinja_string *name)
{
    size_t i = 0;
    for (const char *at = parameters; *at; i++) {
        size_t n = strcspn(at, " ");
        if (n == name->n && !memcmp(at, name->bytes, n))
            return i;
        at += n;
        at += strspn(at, " ");
    }
    return SIZE_MAX;
}

static size_t count_parameters(const char *parameters)
{
    size_t n = *parameters ? 1 : 0;
    for (; *parameters; parameters++)
        n += *parameters == ' ';
    return n;
}

static bool bind_arguments(struct jinja_run *run, const struct jinja_builtin *builtin,
                           const struct jinja_args *args, struct jinja_value *bound)
{
    size_t n = count_parameters(builtin->parameters);
    for (size_t i = 0; i < n; i++)
        bound[i] = (struct jinja_value){.kind = JINJA_ABSENT};
    /* Before anything is copied: bound has room for the parameters only. */
    if (args->n > n) {
        jinja_fail(run, "%s() takes at most %zu arguments, not %zu", builtin->name, n, args->n);
        return false;
    }
    for (size_t i = 0; i < args->n; i++)
        bound[i] = args->items[i];
    for (size_t i = 0; i < args->n_named; i++) {
        size_t at = parameter_index(builtin->parameters, args->named[i].name);
        if (at == SIZE_MAX || bound[at].kind != JINJA_ABSENT) {
            jinja_fail(run, "%s() got an unexpected argument '%.*s'", builtin->name,
                       (int)args->named[i].name->n, args->named[i].name->bytes);
            return false;
        }
        bound[at] = args->named[i].value;
    }
    for (size_t i = 0; i < builtin->n_required; i++)
        if (bound[i].kind == JINJA_ABSENT) {
            jinja_fail(run, "%s() needs %zu arguments", builtin->name, builtin->n_required);
            return false;
        }
    return true;
}

struct jinja_value jinja_call_builtin(struct jinja_run *run, const struct jinja_builtin *builtin,
                                      struct jinja_value self, const struct jinja_args *args)
{
    struct jinja_value bound[MAX_PARAMETERS];
    if (jinja_failed(run))
        return jinja_undefined(NULL);
    if (!builtin->parameters)
        return builtin->call(run, self, args);
    if (!bind_arguments(run, builtin, args, bound))
        return jinja_undefined(NULL);
    return builtin->call(
        run, self,
        &(struct jinja_args){.items = bound, .n = count_parameters(builtin->parameters)});
}

/* Counts the reading of the text that a method or filter works on. Reading is faster than writing,
 * which is counted separately: long conversations must not pay twice. */
static bool step_over(struct jinja_run *run, struct jinja_value self)
{
    return jinja_step(run, self.kind == JINJA_STRING ? 1 + self.string->n / 256 : 1);
}

struct jinja_value jinja_call(struct jinja_run *run, struct jinja_value function,
                              const struct jinja_args *args)
{
    if (function.kind == JINJA_UNDEFINED)
        return jinja_fail_undefined(run, function);
    if (function.kind != JINJA_FUNCTION)
        return jinja_fail(run, "'%s' object is not callable", jinja_type_name(function));
    if (function.function->builtin && !step_over(run, function.function->self))
        return jinja_undefined(NULL);
    if (function.function->builtin)
        return jinja_call_builtin(run, function.function->builtin, function.function->self, args);
    return jinja_call_macro(run, function.function, args);
}

/* ---- arguments of built-ins ---- */

int64_t jinja_int_arg(struct jinja_run *run, const struct jinja_args *args, size_t i,
                      int64_t fallback)
{
    if (!jinja_given(args, i))
        return fallback;
    struct jinja_value value = args->items[i];
    if (value.kind != JINJA_INT && value.kind != JINJA_BOOL) {
        jinja_fail(run, "an argument must be an integer, not '%s'", jinja_type_name(value));
        return fallback;
    }
    return jinja_as_int(value);
}

bool jinja_bool_arg(const struct jinja_args *args, size_t i, bool fallback)
{
    return jinja_given(args, i) ? jinja_truth(args->items[i]) : fallback;
}

const struct jinja_string *jinja_string_arg(struct jinja_run *run, const struct jinja_args *args,
                                            size_t i)
{
    if (!jinja_given(args, i) || args->items[i].kind == JINJA_NONE)
        return NULL;
    if (args->items[i].kind != JINJA_STRING) {
        jinja_fail(run, "an argument must be text, not '%s'", jinja_type_name(args->items[i]));
        return NULL;
    }
    return args->items[i].string;
}

const struct jinja_builtin *jinja_find_builtin(const struct jinja_builtin *table,
                                               const struct jinja_string *name)
{
    for (; table->name; table++)
        if (jinja_string_is(name, table->name))
            return table;
    return NULL;
}

const struct jinja_builtin *jinja_find_filter(const struct jinja_string *name)
{
    const struct jinja_builtin *const tables[] = {jinja_filters, jinja_sequence_filters,
                                                  jinja_order_filters};
    const struct jinja_builtin *filter = NULL;
    for (size_t i = 0; i < BATON_N_OF(tables) && !filter; i++)
        filter = jinja_find_builtin(tables[i], name);
    return filter;
}

struct jinja_value jinja_apply_filter(struct jinja_run *run, const struct jinja_string *name,
                                      struct jinja_value value, const struct jinja_args *args)
{
    const struct jinja_builtin *filter = jinja_find_filter(name);
    if (!filter)
        return jinja_fail(run, "no filter is named '%.*s'", (int)name->n, name->bytes);
    if (!step_over(run, value))
        return jinja_undefined(NULL);
    return jinja_call_builtin(run, filter, value, args);
}

bool jinja_apply_test(struct jinja_run *run, const struct jinja_string *name,
                      struct jinja_value value, const struct jinja_args *args)
{
    const struct jinja_builtin *test = jinja_find_builtin(jinja_tests, name);
    if (!test) {
        jinja_fail(run, "no test is named '%.*s'", (int)name->n, name->bytes);
        return false;
    }
    return jinja_truth(jinja_call_builtin(run, test, value, args));
}
