/* Filters of lists and maps. */
#include <stdlib.h>
#include <string.h>

#include "gateway/chat/jinja/run/eval.h"
#include "gateway/chat/jinja/value/text.h"

#define FILTER(name)                                                                               \
    static struct jinja_value name(struct jinja_run *run, struct jinja_value self,                 \
                                   const struct jinja_args *args)

/* ---- attributes of an item ---- */

struct jinja_value jinja_path_of(struct jinja_run *run, struct jinja_value item,
                                 struct jinja_value path)
{
    if (path.kind != JINJA_STRING)
        return jinja_subscript(run, item, path);
    const struct jinja_string *text = path.string;
    for (size_t at = 0; at <= text->n && !jinja_failed(run);) {
        const char *dot = memchr(text->bytes + at, '.', text->n - at);
        size_t end = dot ? (size_t)(dot - text->bytes) : text->n;
        struct jinja_string part = {.bytes = text->bytes + at, .n = end - at, .own = true};
        struct jinja_value key = jinja_string_value(&part);
        /* 9 digits always fit; a longer index is beyond any list. */
        if (part.n && part.n < 10 && strspn(part.bytes, "0123456789") >= part.n)
            key = jinja_int(strtoll(part.bytes, NULL, 10));
        item = jinja_subscript(run, item, key);
        at = end + 1;
    }
    return item;
}

struct jinja_value jinja_key_of(struct jinja_run *run, struct jinja_value item,
                                struct jinja_value attribute, bool case_sensitive)
{
    if (attribute.kind != JINJA_ABSENT && attribute.kind != JINJA_NONE)
        item = jinja_path_of(run, item, attribute);
    if (!case_sensitive && item.kind == JINJA_STRING)
        return jinja_change_case(run, item.string, JINJA_LOWER);
    return item;
}

/* ---- first, last, join, ... ---- */

FILTER(filter_first)
{
    (void)args;
    if (self.kind == JINJA_ITERATOR) {
        struct jinja_iterator *iterator = self.iterator;
        return iterator->at < iterator->list->n ? iterator->list->items[iterator->at++]
                                                : jinja_undefined("there is no first item");
    }
    struct jinja_list list = jinja_elements(run, self);
    return list.n ? list.items[0] : jinja_undefined("there is no first item");
}

FILTER(filter_last)
{
    (void)args;
    if (self.kind == JINJA_ITERATOR)
        return jinja_fail(run, "last: a generator has no last item");
    struct jinja_list list = jinja_elements(run, self);
    return list.n ? list.items[list.n - 1] : jinja_undefined("there is no last item");
}

FILTER(filter_join)
{
    struct jinja_text text = {0};
    struct jinja_value attribute = args->items[1];
    const struct jinja_string *between =
        jinja_given(args, 0) ? jinja_str(run, args->items[0]) : NULL;
    struct jinja_list list = jinja_elements(run, self);
    for (size_t i = 0; i < list.n && !jinja_failed(run); i++) {
        struct jinja_value item = list.items[i];
        if (attribute.kind != JINJA_ABSENT && attribute.kind != JINJA_NONE)
            item = jinja_path_of(run, item, attribute);
        if (i && between)
            jinja_text_put_string(run, &text, between);
        jinja_text_put_string(run, &text, jinja_str(run, item));
    }
    return jinja_text_end(run, &text);
}

FILTER(filter_list)
{
    (void)args;
    struct jinja_list list = jinja_elements(run, self);
    return jinja_list_value(run, JINJA_LIST, list.items, list.n);
}

FILTER(filter_reverse)
{
    (void)args;
    struct jinja_text text = {0};
    struct jinja_list list = jinja_elements(run, self);
    struct jinja_value *items = jinja_items(run, list.n);
    for (size_t i = 0; i < list.n && items; i++)
        items[i] = list.items[list.n - 1 - i];
    if (self.kind != JINJA_STRING)
        return jinja_list_value(run, JINJA_ITERATOR, items, list.n);
    for (size_t i = 0; i < list.n && !jinja_failed(run); i++)
        jinja_text_put_string(run, &text, items[i].string);
    return jinja_text_end(run, &text);
}

struct jinja_value jinja_pairs_of(struct jinja_run *run, struct jinja_value dict)
{
    const struct jinja_string name = {.bytes = "items", .n = 5};
    return jinja_call_builtin(run, jinja_find_builtin(jinja_dict_methods, &name), dict,
                              &(struct jinja_args){0});
}

FILTER(filter_items)
{
    (void)args;
    if (self.kind == JINJA_UNDEFINED)
        return jinja_list_value(run, JINJA_ITERATOR, NULL, 0);
    if (self.kind != JINJA_DICT)
        return jinja_fail(run, "items: needs a map, not '%s'", jinja_type_name(self));
    struct jinja_value view = jinja_pairs_of(run, self);
    if (jinja_failed(run))
        return view;
    return jinja_list_value(run, JINJA_ITERATOR, view.list->items, view.list->n);
}

FILTER(filter_sum)
{
    struct jinja_value sum = jinja_given(args, 1) ? args->items[1] : jinja_int(0);
    struct jinja_value attribute = args->items[0];
    struct jinja_list list = jinja_elements(run, self);
    for (size_t i = 0; i < list.n && !jinja_failed(run); i++)
        sum = jinja_binary(run, '+', sum, jinja_key_of(run, list.items[i], attribute, true));
    return sum;
}

/* ---- select, map ---- */

/* Returns the elements of a value; none for any value that is false. */
static struct jinja_list elements_if_any(struct jinja_run *run, struct jinja_value value)
{
    return jinja_truth(value) ? jinja_elements(run, value) : (struct jinja_list){0};
}

/* Selects the items that pass a test, or without a name the true ones. args: [attribute,] name,
 * arguments of the test. */
static struct jinja_value select_items(struct jinja_run *run, struct jinja_value self,
                                       const struct jinja_args *args, bool by_attribute,
                                       bool wanted)
{
    struct jinja_list list = elements_if_any(run, self);
    struct jinja_value *items = jinja_items(run, list.n);
    size_t skip = by_attribute ? 1 : 0, n = 0;
    bool has_test = args->n > skip;
    struct jinja_args rest = {.named = args->named, .n_named = args->n_named};
    if (args->n < skip || (has_test && args->items[skip].kind != JINJA_STRING))
        return jinja_fail(run, "select and reject need the names of %s",
                          by_attribute ? "an attribute and a test" : "a test");
    if (has_test) {
        rest.items = args->items + skip + 1;
        rest.n = args->n - skip - 1;
    }
    for (size_t i = 0; i < list.n && items && !jinja_failed(run); i++) {
        struct jinja_value value =
            by_attribute ? jinja_path_of(run, list.items[i], args->items[0]) : list.items[i];
        bool passes = has_test ? jinja_apply_test(run, args->items[skip].string, value, &rest)
                               : jinja_truth(value);
        if (passes == wanted)
            items[n++] = list.items[i];
    }
    return jinja_list_value(run, JINJA_ITERATOR, items, n);
}

FILTER(filter_select)
{
    return select_items(run, self, args, false, true);
}

FILTER(filter_reject)
{
    return select_items(run, self, args, false, false);
}

FILTER(filter_selectattr)
{
    return select_items(run, self, args, true, true);
}

FILTER(filter_rejectattr)
{
    return select_items(run, self, args, true, false);
}

static struct jinja_value named(const struct jinja_args *args, const char *name)
{
    for (size_t i = 0; i < args->n_named; i++)
        if (jinja_string_is(args->named[i].name, name))
            return args->named[i].value;
    return (struct jinja_value){.kind = JINJA_ABSENT};
}

/* Maps by map(attribute="a.b", default=x) or map("filter", arguments). */
FILTER(filter_map)
{
    struct jinja_list list = elements_if_any(run, self);
    struct jinja_value *items = jinja_items(run, list.n);
    struct jinja_value attribute = named(args, "attribute"), fallback = named(args, "default");
    bool by_attribute = !args->n && attribute.kind != JINJA_ABSENT;
    if (!by_attribute && (!args->n || args->items[0].kind != JINJA_STRING))
        return jinja_fail(run, "map needs the name of a filter, or an attribute");
    struct jinja_args rest = {.items = args->items + 1,
                              .n = args->n ? args->n - 1 : 0,
                              .named = args->named,
                              .n_named = args->n_named};
    for (size_t i = 0; i < list.n && items && !jinja_failed(run); i++) {
        if (!by_attribute) {
            items[i] = jinja_apply_filter(run, args->items[0].string, list.items[i], &rest);
            continue;
        }
        items[i] = jinja_path_of(run, list.items[i], attribute);
        if (items[i].kind == JINJA_UNDEFINED && fallback.kind != JINJA_ABSENT)
            items[i] = fallback;
    }
    return jinja_list_value(run, JINJA_ITERATOR, items, list.n);
}

/* ---- batch, slice ---- */

/* Makes lists of a given size; the last is filled up when a filler is given. */
FILTER(filter_batch)
{
    struct jinja_list list = jinja_elements(run, self);
    int64_t size = jinja_int_arg(run, args, 0, 1);
    bool fills = jinja_given(args, 1) && args->items[1].kind != JINJA_NONE;
    size_t n_lists = 0;
    if (size < 1 || size > 100000)
        return jinja_fail(run, "batch: the size must be 1 to 100000");
    struct jinja_value *lists = jinja_items(run, list.n);
    for (size_t at = 0; at < list.n && !jinja_failed(run); at += (size_t)size) {
        size_t left = list.n - at, n = left < (size_t)size ? left : (size_t)size;
        size_t n_full = fills ? (size_t)size : n;
        struct jinja_value *items = jinja_items(run, n_full);
        for (size_t i = 0; i < n_full && items; i++)
            items[i] = i < n ? list.items[at + i] : args->items[1];
        lists[n_lists++] = jinja_list_value(run, JINJA_LIST, items, n_full);
    }
    return jinja_list_value(run, JINJA_ITERATOR, lists, n_lists);
}

/* Makes a given number of lists of nearly equal length. */
FILTER(filter_slice)
{
    struct jinja_list list = jinja_elements(run, self);
    int64_t slices = jinja_int_arg(run, args, 0, 1);
    bool fills = jinja_given(args, 1) && args->items[1].kind != JINJA_NONE;
    if (slices < 1 || slices > 100000)
        return jinja_fail(run, "slice: the number must be 1 to 100000");
    struct jinja_value *lists = jinja_items(run, (size_t)slices);
    size_t each = list.n / (size_t)slices, longer = list.n % (size_t)slices, at = 0;
    for (size_t i = 0; i < (size_t)slices && !jinja_failed(run); i++) {
        size_t n = each + (i < longer), n_full = n + (fills && i >= longer && longer);
        struct jinja_value *items = jinja_items(run, n_full);
        for (size_t k = 0; k < n_full && items; k++)
            items[k] = k < n ? list.items[at + k] : args->items[1];
        at += n;
        lists[i] = jinja_list_value(run, JINJA_LIST, items, n_full);
    }
    return jinja_list_value(run, JINJA_ITERATOR, lists, (size_t)slices);
}

const struct jinja_builtin jinja_sequence_filters[] = {
    {"first", "", 0, filter_first},
    {"last", "", 0, filter_last},
    {"join", "d attribute", 0, filter_join},
    {"list", "", 0, filter_list},
    {"reverse", "", 0, filter_reverse},
    {"items", "", 0, filter_items},
    {"sum", "attribute start", 0, filter_sum},
    {"select", NULL, 0, filter_select},
    {"reject", NULL, 0, filter_reject},
    {"selectattr", NULL, 0, filter_selectattr},
    {"rejectattr", NULL, 0, filter_rejectattr},
    {"map", NULL, 0, filter_map},
    {"batch", "linecount fill_with", 1, filter_batch},
    {"slice", "slices fill_with", 1, filter_slice},
    {NULL, NULL, 0, NULL},
};
