#include "gateway/chat/jinja/value/value.h"

#include <string.h>

#include "gateway/chat/jinja/value/run.h"
#include "gateway/chat/jinja/value/text.h"

enum { MAX_NESTING = 200 };

/* ---- construction ---- */

struct jinja_value jinja_text_value(struct jinja_run *run, const char *bytes, size_t n, bool own)
{
    struct jinja_string *string = jinja_alloc(run, 1, sizeof *string);
    if (!string)
        return jinja_undefined(NULL);
    *string = (struct jinja_string){.bytes = bytes, .n = n, .own = own};
    return jinja_string_value(string);
}

struct jinja_value *jinja_items(struct jinja_run *run, size_t n)
{
    return jinja_alloc(run, n, sizeof(struct jinja_value));
}

struct jinja_value jinja_list_value(struct jinja_run *run, enum jinja_kind kind,
                                    const struct jinja_value *items, size_t n)
{
    struct jinja_list *list = jinja_alloc(run, 1, sizeof *list);
    struct jinja_iterator *iterator;
    if (!list)
        return jinja_undefined(NULL);
    list->items = items;
    list->n = n;
    if (kind != JINJA_ITERATOR)
        return (struct jinja_value){.kind = kind, .list = list};
    iterator = jinja_alloc(run, 1, sizeof *iterator);
    if (!iterator)
        return jinja_undefined(NULL);
    iterator->list = list;
    return (struct jinja_value){.kind = kind, .iterator = iterator};
}

/* ---- JSON ---- */

static struct jinja_value json_nested(struct jinja_run *run, const struct baton_json *json,
                                      int depth);

static struct jinja_value json_list(struct jinja_run *run, const struct baton_json *json, int depth)
{
    size_t n = baton_json_size(json);
    struct jinja_value *items = jinja_items(run, n);
    for (size_t i = 0; i < n && items; i++)
        items[i] = json_nested(run, baton_json_at(json, i), depth + 1);
    return jinja_list_value(run, JINJA_LIST, items, n);
}

static struct jinja_value json_dict(struct jinja_run *run, const struct baton_json *json, int depth)
{
    struct jinja_dict *dict = jinja_dict_new(run);
    for (void *it = baton_json_first(json); it; it = baton_json_next(json, it)) {
        const char *key = baton_json_key(it);
        /* Keys are foreign too: clients choose the names of a schema's properties. */
        jinja_dict_put(run, dict, jinja_text_value(run, key, strlen(key), false),
                       json_nested(run, baton_json_member(it), depth + 1));
    }
    return jinja_dict_value(dict);
}

static struct jinja_value json_nested(struct jinja_run *run, const struct baton_json *json,
                                      int depth)
{
    size_t n;
    const char *text;
    if (depth > MAX_NESTING)
        return jinja_fail_limit(run, "levels of lists and maps", MAX_NESTING);
    switch (baton_json_kind(json)) {
    case BATON_JSON_BOOL:
        return jinja_bool(baton_json_bool(json));
    case BATON_JSON_INT:
        return jinja_int(baton_json_int(json));
    case BATON_JSON_REAL:
        return jinja_real(baton_json_number(json));
    case BATON_JSON_STRING:
        text = baton_json_string(json, &n);
        return jinja_text_value(run, text, n, false);
    case BATON_JSON_ARRAY:
        return json_list(run, json, depth);
    case BATON_JSON_OBJECT:
        return json_dict(run, json, depth);
    default:
        return jinja_none();
    }
}

struct jinja_value jinja_json_value(struct jinja_run *run, const struct baton_json *json)
{
    return json_nested(run, json, 0);
}

/* ---- queries ---- */

int64_t jinja_as_int(struct jinja_value value)
{
    return value.kind == JINJA_BOOL ? value.boolean : value.integer;
}

double jinja_as_real(struct jinja_value value)
{
    return value.kind == JINJA_FLOAT ? value.real : (double)jinja_as_int(value);
}

bool jinja_truth(struct jinja_value value)
{
    switch (value.kind) {
    case JINJA_UNDEFINED:
    case JINJA_NONE:
        return false;
    case JINJA_BOOL:
        return value.boolean;
    case JINJA_INT:
        return value.integer != 0;
    case JINJA_FLOAT:
        return value.real != 0;
    case JINJA_STRING:
        return value.string->n != 0;
    case JINJA_LIST:
    case JINJA_TUPLE:
    case JINJA_RANGE:
    case JINJA_VIEW:
        return value.list->n != 0;
    case JINJA_DICT:
        return value.dict->n != 0;
    default:
        return true;
    }
}

const char *jinja_type_name(struct jinja_value value)
{
    static const char *const names[] = {"Undefined", "NoneType",    "bool",      "int",
                                        "float",     "str",         "list",      "tuple",
                                        "range",     "dict view",   "generator", "dict",
                                        "Namespace", "LoopContext", "function",  "nothing"};
    return names[value.kind];
}

static bool equal_lists(struct jinja_run *run, const struct jinja_list *a,
                        const struct jinja_list *b)
{
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (!jinja_equal(run, a->items[i], b->items[i]))
            return false;
    return true;
}

static bool equal_dicts(struct jinja_run *run, const struct jinja_dict *a,
                        const struct jinja_dict *b)
{
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++) {
        const struct jinja_value *other = jinja_dict_find(run, b, a->entries[i].key);
        if (!other || !jinja_equal(run, a->entries[i].value, *other))
            return false;
    }
    return true;
}

static bool equal_deep(struct jinja_run *run, struct jinja_value a, struct jinja_value b)
{
    switch (a.kind) {
    case JINJA_UNDEFINED:
    case JINJA_NONE:
        return true;
    case JINJA_STRING:
        return jinja_step_bytes(run, a.string->n) && jinja_string_equal(a.string, b.string);
    case JINJA_LIST:
    case JINJA_TUPLE:
    case JINJA_RANGE:
        return equal_lists(run, a.list, b.list);
    case JINJA_DICT:
        return equal_dicts(run, a.dict, b.dict);
    default: /* the same object */
        return a.list == b.list;
    }
}

bool jinja_equal(struct jinja_run *run, struct jinja_value a, struct jinja_value b)
{
    if (!jinja_step(run, 1))
        return false;
    if (jinja_is_number(a) && jinja_is_number(b)) {
        if (a.kind != JINJA_FLOAT && b.kind != JINJA_FLOAT)
            return jinja_as_int(a) == jinja_as_int(b);
        return jinja_as_real(a) == jinja_as_real(b);
    }
    if (a.kind != b.kind)
        return false;
    /* Nested lists recurse. */
    if (run->depth >= run->limits.max_depth)
        return jinja_fail_limit(run, "levels", run->limits.max_depth).kind != JINJA_UNDEFINED;
    run->depth++;
    bool equal = equal_deep(run, a, b);
    run->depth--;
    return equal;
}

struct jinja_value jinja_fail_undefined(struct jinja_run *run, struct jinja_value value)
{
    const struct jinja_absence *absence = value.absence;
    if (!value.has_absence)
        return jinja_fail(run, "%s", value.why ? value.why : "a value is undefined");
    int n = (int)(absence->name.n < 64 ? absence->name.n : 64);
    if (!absence->type)
        return jinja_fail(run, "'%.*s' is undefined", n, absence->name.bytes);
    return jinja_fail(run, "'%s object' has no attribute '%.*s'", absence->type, n,
                      absence->name.bytes);
}

static int compare_lists(struct jinja_run *run, const struct jinja_list *a,
                         const struct jinja_list *b)
{
    size_t n = a->n < b->n ? a->n : b->n;
    for (size_t i = 0; i < n; i++)
        if (!jinja_equal(run, a->items[i], b->items[i]))
            return jinja_compare(run, a->items[i], b->items[i]);
    return (a->n > b->n) - (a->n < b->n);
}

int jinja_compare(struct jinja_run *run, struct jinja_value a, struct jinja_value b)
{
    if (!jinja_step(run, 1))
        return 0;
    if (jinja_is_number(a) && jinja_is_number(b)) {
        double x = jinja_as_real(a), y = jinja_as_real(b);
        if (a.kind != JINJA_FLOAT && b.kind != JINJA_FLOAT)
            return (jinja_as_int(a) > jinja_as_int(b)) - (jinja_as_int(a) < jinja_as_int(b));
        return (x > y) - (x < y);
    }
    if (a.kind == JINJA_STRING && b.kind == JINJA_STRING) {
        (void)jinja_step_bytes(run, a.string->n);
        return jinja_string_compare(a.string, b.string);
    }
    if (a.kind == b.kind && (a.kind == JINJA_LIST || a.kind == JINJA_TUPLE))
        return compare_lists(run, a.list, b.list);
    if (a.kind == JINJA_UNDEFINED || b.kind == JINJA_UNDEFINED)
        jinja_fail_undefined(run, a.kind == JINJA_UNDEFINED ? a : b);
    jinja_fail(run, "'%s' and '%s' have no order", jinja_type_name(a), jinja_type_name(b));
    return 0;
}

size_t jinja_length(struct jinja_run *run, struct jinja_value value)
{
    switch (value.kind) {
    case JINJA_UNDEFINED:
        return 0;
    case JINJA_STRING:
        (void)jinja_step_bytes(run, value.string->n);
        return jinja_count_chars(value.string);
    case JINJA_DICT:
        return value.dict->n;
    default:
        if (jinja_is_listed(value))
            return value.list->n;
        jinja_fail(run, "object of type '%s' has no len()", jinja_type_name(value));
        return 0;
    }
}

static struct jinja_list string_elements(struct jinja_run *run, const struct jinja_string *string)
{
    struct jinja_list list = {.n = jinja_count_chars(string)};
    struct jinja_value *items = jinja_items(run, list.n);
    for (size_t i = 0, at = 0; i < list.n && items; i++) {
        size_t n = jinja_char_bytes(string->bytes + at, string->n - at);
        items[i] = jinja_part(run, string, at, n);
        at += n;
    }
    list.items = items;
    return list;
}

static struct jinja_list dict_keys(struct jinja_run *run, const struct jinja_dict *dict)
{
    struct jinja_list list = {.n = dict->n};
    struct jinja_value *items = jinja_items(run, dict->n);
    for (size_t i = 0; i < dict->n && items; i++)
        items[i] = dict->entries[i].key;
    list.items = items;
    return list;
}

static struct jinja_list rest_of(struct jinja_iterator *iterator)
{
    struct jinja_list list = {.items = iterator->list->items, .n = iterator->list->n};
    if (iterator->at)
        list.items += iterator->at;
    list.n -= iterator->at;
    iterator->at = iterator->list->n;
    return list;
}

struct jinja_list jinja_elements(struct jinja_run *run, struct jinja_value value)
{
    struct jinja_list list = {0};
    if (value.kind == JINJA_STRING)
        list = string_elements(run, value.string);
    else if (value.kind == JINJA_DICT)
        list = dict_keys(run, value.dict);
    else if (value.kind == JINJA_ITERATOR)
        list = rest_of(value.iterator);
    else if (jinja_is_listed(value))
        list = *value.list;
    else if (value.kind != JINJA_UNDEFINED)
        jinja_fail(run, "'%s' object is not iterable", jinja_type_name(value));
    return jinja_step(run, list.n) ? list : (struct jinja_list){0};
}
