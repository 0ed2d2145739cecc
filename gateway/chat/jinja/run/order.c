/* Filters that compare the items of lists and maps. */
#include <string.h>

#include "gateway/chat/jinja/run/eval.h"
#include "gateway/chat/jinja/value/text.h"

#define FILTER(name)                                                                               \
    static struct jinja_value name(struct jinja_run *run, struct jinja_value self,                 \
                                   const struct jinja_args *args)

/* ---- min, max ---- */

static struct jinja_value extreme(struct jinja_run *run, struct jinja_value self,
                                  const struct jinja_args *args, int sign)
{
    struct jinja_list list = jinja_elements(run, self);
    bool sensitive = jinja_bool_arg(args, 0, false);
    if (!list.n)
        return jinja_undefined("an empty list has no smallest or largest item");
    size_t best = 0;
    struct jinja_value best_key = jinja_key_of(run, list.items[0], args->items[1], sensitive);
    for (size_t i = 1; i < list.n && !jinja_failed(run); i++) {
        struct jinja_value key = jinja_key_of(run, list.items[i], args->items[1], sensitive);
        if (jinja_compare(run, key, best_key) * sign < 0) {
            best = i;
            best_key = key;
        }
    }
    return list.items[best];
}

FILTER(filter_min)
{
    return extreme(run, self, args, 1);
}

FILTER(filter_max)
{
    return extreme(run, self, args, -1);
}

/* ---- sorting ---- */

struct sorted {
    struct jinja_value key, item;
};

/* Sorts stably, as Python's sort: equal items keep their order. A failure in a comparison ends it
 * early, which qsort could not. */
static void merge_sort(struct jinja_run *run, struct sorted *items, struct sorted *space, size_t n,
                       int sign)
{
    size_t half = n / 2, i = 0, k = half, at = 0;
    if (n < 2 || jinja_failed(run))
        return;
    merge_sort(run, items, space, half, sign);
    merge_sort(run, items + half, space, n - half, sign);
    while (i < half && k < n)
        space[at++] =
            jinja_compare(run, items[k].key, items[i].key) * sign < 0 ? items[k++] : items[i++];
    while (i < half)
        space[at++] = items[i++];
    memcpy(items, space, at * sizeof *items);
}

static struct jinja_value sort(struct jinja_run *run, struct sorted *items, size_t n, bool reverse)
{
    struct sorted *space = jinja_alloc(run, n, sizeof *space);
    struct jinja_value *values = jinja_items(run, n);
    if (!space || !values)
        return jinja_undefined(NULL);
    merge_sort(run, items, space, n, reverse ? -1 : 1);
    for (size_t i = 0; i < n; i++)
        values[i] = items[i].item;
    return jinja_list_value(run, JINJA_LIST, values, n);
}

/* Returns an item's keys for "a,b" as a tuple, which compares them one after another. */
static struct jinja_value sort_key(struct jinja_run *run, struct jinja_value item,
                                   struct jinja_value attribute, bool sensitive)
{
    if (attribute.kind != JINJA_STRING)
        return jinja_key_of(run, item, attribute, sensitive);
    struct jinja_string part = *attribute.string;
    size_t n = 1, at = 0;
    for (size_t i = 0; i < part.n; i++)
        n += part.bytes[i] == ',';
    struct jinja_value *keys = jinja_items(run, n);
    for (size_t i = 0; i < n && keys; i++) {
        const char *comma = memchr(attribute.string->bytes + at, ',', attribute.string->n - at);
        part.bytes = attribute.string->bytes + at;
        part.n = comma ? (size_t)(comma - part.bytes) : attribute.string->n - at;
        keys[i] = jinja_key_of(run, item, jinja_string_value(&part), sensitive);
        at += part.n + 1;
    }
    return jinja_list_value(run, JINJA_TUPLE, keys, n);
}

typedef struct jinja_value (*key_function)(struct jinja_run *run, struct jinja_value item,
                                           struct jinja_value attribute, bool case_sensitive);

static struct jinja_value sort_by(struct jinja_run *run, struct jinja_value self, key_function key,
                                  struct jinja_value attribute, bool sensitive, bool reverse)
{
    struct jinja_list list = jinja_elements(run, self);
    struct sorted *items = jinja_alloc(run, list.n, sizeof *items);
    for (size_t i = 0; i < list.n && items && !jinja_failed(run); i++)
        items[i] = (struct sorted){.key = key(run, list.items[i], attribute, sensitive),
                                   .item = list.items[i]};
    return items ? sort(run, items, list.n, reverse) : jinja_undefined(NULL);
}

FILTER(filter_sort)
{
    return sort_by(run, self, sort_key, args->items[2], jinja_bool_arg(args, 1, false),
                   jinja_bool_arg(args, 0, false));
}

FILTER(filter_dictsort)
{
    const struct jinja_string *by = jinja_string_arg(run, args, 1);
    if (self.kind != JINJA_DICT)
        return jinja_fail(run, "dictsort: needs a map, not '%s'", jinja_type_name(self));
    if (by && !jinja_string_is(by, "key") && !jinja_string_is(by, "value"))
        return jinja_fail(run, "dictsort: by must be \"key\" or \"value\"");
    struct jinja_value pairs = jinja_pairs_of(run, self);
    size_t side = by && jinja_string_is(by, "value") ? 1 : 0;
    struct sorted *items = jinja_alloc(run, self.dict->n, sizeof *items);
    const struct jinja_value absent = {.kind = JINJA_ABSENT};
    for (size_t i = 0; i < self.dict->n && !jinja_failed(run); i++) {
        struct jinja_value pair = pairs.list->items[i];
        items[i].item = pair;
        items[i].key =
            jinja_key_of(run, pair.list->items[side], absent, jinja_bool_arg(args, 0, false));
    }
    return items ? sort(run, items, self.dict->n, jinja_bool_arg(args, 2, false))
                 : jinja_undefined(NULL);
}

FILTER(filter_unique)
{
    struct jinja_list list = jinja_elements(run, self);
    struct jinja_value *items = jinja_items(run, list.n);
    struct jinja_dict *seen = jinja_dict_new(run);
    size_t n = 0;
    for (size_t i = 0; i < list.n && !jinja_failed(run); i++) {
        struct jinja_value key =
            jinja_key_of(run, list.items[i], args->items[1], jinja_bool_arg(args, 0, false));
        if (jinja_failed(run) || jinja_dict_find(run, seen, key))
            continue;
        jinja_dict_put(run, seen, key, jinja_none());
        items[n++] = list.items[i];
    }
    return jinja_list_value(run, JINJA_ITERATOR, items, n);
}

/* Returns pairs of a key and its items, ordered by key. */
FILTER(filter_groupby)
{
    struct jinja_value attribute = args->items[0];
    struct jinja_value sorted =
        sort_by(run, self, jinja_key_of, attribute, jinja_bool_arg(args, 2, false), false);
    size_t n = 0;
    if (jinja_failed(run))
        return sorted;
    struct jinja_value *groups = jinja_items(run, sorted.list->n);
    for (size_t i = 0, end; i < sorted.list->n && groups && !jinja_failed(run); i = end) {
        bool sensitive = jinja_bool_arg(args, 2, false);
        struct jinja_value key = jinja_key_of(run, sorted.list->items[i], attribute, sensitive);
        for (end = i + 1; end < sorted.list->n; end++)
            if (!jinja_equal(run, key,
                             jinja_key_of(run, sorted.list->items[end], attribute, sensitive)))
                break;
        struct jinja_value *pair = jinja_items(run, 2);
        if (!pair)
            break;
        /* The group's name keeps its case; only the grouping ignores it. */
        pair[0] = jinja_key_of(run, sorted.list->items[i], attribute, true);
        pair[1] = jinja_list_value(run, JINJA_LIST, sorted.list->items + i, end - i);
        groups[n++] = jinja_list_value(run, JINJA_TUPLE, pair, 2);
    }
    return jinja_list_value(run, JINJA_LIST, groups, n);
}

const struct jinja_builtin jinja_order_filters[] = {
    {"min", "case_sensitive attribute", 0, filter_min},
    {"max", "case_sensitive attribute", 0, filter_max},
    {"sort", "reverse case_sensitive attribute", 0, filter_sort},
    {"dictsort", "case_sensitive by reverse", 0, filter_dictsort},
    {"unique", "case_sensitive attribute", 0, filter_unique},
    {"groupby", "attribute default case_sensitive", 1, filter_groupby},
    {NULL, NULL, 0, NULL},
};
