/* Methods of maps and lists, and the search for a method. Methods that would change a value are
 * known by name only: the sandbox refuses them. */
#include "gateway/chat/jinja/run/eval.h"
#include "gateway/chat/jinja/value/text.h"

#define METHOD(name)                                                                               \
    static struct jinja_value name(struct jinja_run *run, struct jinja_value self,                 \
                                   const struct jinja_args *args)

/* ---- maps ---- */

enum dict_part { KEYS, VALUES, ITEMS };

static struct jinja_value dict_view(struct jinja_run *run, const struct jinja_dict *dict,
                                    enum dict_part part)
{
    static const char *const names[] = {"dict_keys", "dict_values", "dict_items"};
    struct jinja_value *items = jinja_items(run, dict->n);
    struct jinja_list *list = jinja_alloc(run, 1, sizeof *list);
    for (size_t i = 0; i < dict->n && !jinja_failed(run); i++) {
        struct jinja_value *pair = part == ITEMS ? jinja_items(run, 2) : NULL;
        if (pair) {
            pair[0] = dict->entries[i].key;
            pair[1] = dict->entries[i].value;
            items[i] = jinja_list_value(run, JINJA_TUPLE, pair, 2);
        } else if (part != ITEMS) {
            items[i] = part == KEYS ? dict->entries[i].key : dict->entries[i].value;
        }
    }
    /* Unlike Python's, a view is a snapshot: maps never change. */
    if (jinja_failed(run))
        return jinja_undefined(NULL);
    *list = (struct jinja_list){.items = items, .n = dict->n, .name = names[part]};
    return (struct jinja_value){.kind = JINJA_VIEW, .list = list};
}

METHOD(dict_keys)
{
    (void)args;
    return dict_view(run, self.dict, KEYS);
}

METHOD(dict_values)
{
    (void)args;
    return dict_view(run, self.dict, VALUES);
}

METHOD(dict_items)
{
    (void)args;
    return dict_view(run, self.dict, ITEMS);
}

METHOD(dict_get)
{
    const struct jinja_value *found = jinja_dict_find(run, self.dict, args->items[0]);
    if (found)
        return *found;
    return jinja_given(args, 1) ? args->items[1] : jinja_none();
}

/* A copy may be the value itself, because no template can change it. */
METHOD(dict_copy)
{
    (void)run;
    (void)args;
    return self;
}

const struct jinja_builtin jinja_dict_methods[] = {
    {"items", "", 0, dict_items},   {"get", "key default", 1, dict_get}, {"keys", "", 0, dict_keys},
    {"values", "", 0, dict_values}, {"copy", "", 0, dict_copy},          {NULL, NULL, 0, NULL},
};

/* ---- lists and tuples ---- */

METHOD(list_index)
{
    for (size_t i = 0; i < self.list->n && !jinja_failed(run); i++)
        if (jinja_equal(run, self.list->items[i], args->items[0]))
            return jinja_int((int64_t)i);
    return jinja_fail(run, "the value is not in the list");
}

METHOD(list_count)
{
    int64_t n = 0;
    for (size_t i = 0; i < self.list->n && !jinja_failed(run); i++)
        n += jinja_equal(run, self.list->items[i], args->items[0]);
    return jinja_int(n);
}

METHOD(list_copy)
{
    (void)run;
    (void)args;
    return self;
}

const struct jinja_builtin jinja_list_methods[] = {
    {"index", "value", 1, list_index},
    {"count", "value", 1, list_count},
    {"copy", "", 0, list_copy},
    {NULL, NULL, 0, NULL},
};

/* ---- search ---- */

static bool is_one_of(const struct jinja_string *name, const char *const *names)
{
    for (; *names; names++)
        if (jinja_string_is(name, *names))
            return true;
    return false;
}

const struct jinja_builtin *jinja_find_method(struct jinja_value of,
                                              const struct jinja_string *name, bool *unsafe)
{
    static const char *const list_changes[] = {"append", "clear",   "extend", "insert", "pop",
                                               "remove", "reverse", "sort",   NULL};
    static const char *const dict_changes[] = {"clear",      "pop",    "popitem",
                                               "setdefault", "update", NULL};
    const struct jinja_builtin *found;
    switch (of.kind) {
    case JINJA_STRING:
        found = jinja_find_builtin(jinja_split_methods, name);
        return found ? found : jinja_find_builtin(jinja_string_methods, name);
    case JINJA_LIST:
        *unsafe = is_one_of(name, list_changes);
        return jinja_find_builtin(jinja_list_methods, name);
    case JINJA_TUPLE:
    case JINJA_RANGE:
        return jinja_string_is(name, "copy") ? NULL : jinja_find_builtin(jinja_list_methods, name);
    case JINJA_DICT:
        *unsafe = is_one_of(name, dict_changes);
        return jinja_find_builtin(jinja_dict_methods, name);
    default:
        return NULL;
    }
}
