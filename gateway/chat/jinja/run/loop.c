/* A running for: its elements, and the attributes of the name loop. */
#include "gateway/chat/jinja/run/eval.h"
#include "gateway/chat/jinja/value/text.h"

/* Takes the next element that passes the loop's filter; ABSENT when there is none. */
static struct jinja_value take(struct jinja_run *run, struct jinja_loop *loop)
{
    while (loop->at < loop->source.n && jinja_step(run, 1)) {
        struct jinja_value value = loop->source.items[loop->at++];
        if (!loop->node->c)
            return value;
        struct jinja_scope *scope = jinja_scope_new(run, loop->around);
        if (!scope)
            break;
        jinja_assign(run, scope, loop->node->a, value);
        if (!jinja_failed(run) && jinja_truth(jinja_eval(run, scope, loop->node->c)))
            return value;
    }
    return (struct jinja_value){.kind = JINJA_ABSENT};
}

static struct jinja_value peek(struct jinja_run *run, struct jinja_loop *loop)
{
    if (loop->next.kind == JINJA_ABSENT)
        loop->next = take(run, loop);
    return loop->next;
}

struct jinja_value jinja_loop_advance(struct jinja_run *run, struct jinja_loop *loop)
{
    loop->previous = loop->current;
    loop->current = peek(run, loop);
    loop->next = (struct jinja_value){.kind = JINJA_ABSENT};
    loop->index0++;
    return loop->current;
}

/* Counts all elements. The filter must be evaluated for those that are left. */
static int64_t count(struct jinja_run *run, struct jinja_loop *loop)
{
    if (loop->n < 0 && !loop->node->c) {
        loop->n = (int64_t)loop->source.n;
    } else if (loop->n < 0) {
        struct jinja_value ahead = peek(run, loop), *rest = jinja_items(run, loop->source.n);
        size_t n = 0;
        for (struct jinja_value value = ahead; value.kind != JINJA_ABSENT && rest;
             value = take(run, loop))
            rest[n++] = value;
        loop->n = loop->index0 + 1 + (int64_t)n;
        loop->source = (struct jinja_list){.items = rest, .n = n};
        loop->at = 0;
        loop->next = (struct jinja_value){.kind = JINJA_ABSENT};
        /* These elements passed the filter already; it must not run twice. */
        struct jinja_node *unfiltered = jinja_alloc(run, 1, sizeof *unfiltered);
        if (unfiltered) {
            *unfiltered = *loop->node;
            unfiltered->c = NULL;
            loop->node = unfiltered;
        }
    }
    return loop->n;
}

static struct jinja_value neighbour(struct jinja_value value, const char *why)
{
    return value.kind == JINJA_ABSENT ? jinja_undefined(why) : value;
}

static struct jinja_value call_cycle(struct jinja_run *run, struct jinja_value self,
                                     const struct jinja_args *args)
{
    if (!args->n)
        return jinja_fail(run, "no items for cycling given");
    return args->items[(size_t)self.loop->index0 % args->n];
}

static struct jinja_value call_changed(struct jinja_run *run, struct jinja_value self,
                                       const struct jinja_args *args)
{
    struct jinja_value value = jinja_list_value(run, JINJA_TUPLE, args->items, args->n);
    bool same =
        self.loop->changed.kind != JINJA_ABSENT && jinja_equal(run, self.loop->changed, value);
    self.loop->changed = value;
    return jinja_bool(!same);
}

static const struct jinja_builtin loop_methods[] = {
    {"cycle", NULL, 0, call_cycle}, {"changed", NULL, 0, call_changed}, {NULL, NULL, 0, NULL}};

static struct jinja_value loop_method(struct jinja_run *run, struct jinja_loop *loop,
                                      const struct jinja_string *name)
{
    const struct jinja_builtin *builtin = jinja_find_builtin(loop_methods, name);
    struct jinja_function *function = builtin ? jinja_alloc(run, 1, sizeof *function) : NULL;
    if (!function)
        return (struct jinja_value){.kind = JINJA_ABSENT};
    function->builtin = builtin;
    function->self = (struct jinja_value){.kind = JINJA_LOOP, .loop = loop};
    return (struct jinja_value){.kind = JINJA_FUNCTION, .function = function};
}

struct jinja_value jinja_loop_attribute(struct jinja_run *run, struct jinja_loop *loop,
                                        const struct jinja_string *name)
{
    if (jinja_string_is(name, "index0"))
        return jinja_int(loop->index0);
    if (jinja_string_is(name, "index"))
        return jinja_int(loop->index0 + 1);
    if (jinja_string_is(name, "first"))
        return jinja_bool(!loop->index0);
    if (jinja_string_is(name, "last"))
        return jinja_bool(peek(run, loop).kind == JINJA_ABSENT);
    if (jinja_string_is(name, "length"))
        return jinja_int(count(run, loop));
    if (jinja_string_is(name, "revindex"))
        return jinja_int(count(run, loop) - loop->index0);
    if (jinja_string_is(name, "revindex0"))
        return jinja_int(count(run, loop) - loop->index0 - 1);
    if (jinja_string_is(name, "previtem"))
        return neighbour(loop->previous, "there is no previous item");
    if (jinja_string_is(name, "nextitem"))
        return neighbour(peek(run, loop), "there is no next item");
    if (jinja_string_is(name, "depth"))
        return jinja_int(1);
    if (jinja_string_is(name, "depth0"))
        return jinja_int(0);
    return loop_method(run, loop, name);
}
