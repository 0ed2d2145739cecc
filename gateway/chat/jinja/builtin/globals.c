/* The functions that every template has. */
#include <string.h>

#include "gateway/chat/jinja/run/eval.h"
#include "gateway/chat/jinja/value/text.h"

enum { MAX_RANGE = 100000, DATE_MAX_BYTES = 512 };

static struct jinja_value call_range(struct jinja_run *run, struct jinja_value self,
                                     const struct jinja_args *args)
{
    (void)self;
    bool one = !jinja_given(args, 1);
    int64_t start = one ? 0 : jinja_int_arg(run, args, 0, 0);
    int64_t stop = jinja_int_arg(run, args, one ? 0 : 1, 0), step = jinja_int_arg(run, args, 2, 1);
    int64_t span = 0;
    if (jinja_failed(run) || !step)
        return jinja_fail(run, "range() needs a step that is not 0");
    if (step > 0 ? stop > start : start > stop)
        if (__builtin_sub_overflow(step > 0 ? stop : start, step > 0 ? start : stop, &span) ||
            step == INT64_MIN)
            return jinja_fail(run, "a range is too big");
    int64_t stride = step < 0 ? -step : step;
    size_t n = (size_t)(span / stride) + (span % stride != 0);
    /* Jinja's sandbox has the same limit (MAX_RANGE). */
    if (n > MAX_RANGE)
        return jinja_fail(run, "a range is too big: more than %d numbers", MAX_RANGE);
    struct jinja_value *items = jinja_items(run, n);
    struct jinja_list *list = jinja_alloc(run, 1, sizeof *list);
    if (!items || !list)
        return jinja_undefined(NULL);
    for (size_t i = 0; i < n; i++)
        items[i] = jinja_int(start + (int64_t)i * step);
    *list = (struct jinja_list){.items = items, .n = n, .start = start, .stop = stop, .step = step};
    return (struct jinja_value){.kind = JINJA_RANGE, .list = list};
}

/* Makes the map of namespace and dict: from a map or a list of pairs, then from named arguments. */
static struct jinja_dict *make_dict(struct jinja_run *run, const struct jinja_args *args)
{
    struct jinja_dict *dict = jinja_dict_new(run);
    struct jinja_list items = {0};
    if (args->n > 1)
        jinja_fail(run, "expected at most 1 argument, not %zu", args->n);
    else if (args->n && args->items[0].kind == JINJA_DICT)
        for (size_t i = 0; i < args->items[0].dict->n; i++)
            jinja_dict_put(run, dict, args->items[0].dict->entries[i].key,
                           args->items[0].dict->entries[i].value);
    else if (args->n)
        items = jinja_elements(run, args->items[0]);
    for (size_t i = 0; i < items.n && !jinja_failed(run); i++) {
        struct jinja_list pair = jinja_elements(run, items.items[i]);
        if (pair.n != 2)
            jinja_fail(run, "a map is made of pairs");
        else
            jinja_dict_put(run, dict, pair.items[0], pair.items[1]);
    }
    for (size_t i = 0; i < args->n_named; i++)
        jinja_dict_put(run, dict, jinja_string_value(args->named[i].name), args->named[i].value);
    return dict;
}

static struct jinja_value call_dict(struct jinja_run *run, struct jinja_value self,
                                    const struct jinja_args *args)
{
    (void)self;
    return jinja_dict_value(make_dict(run, args));
}

static struct jinja_value call_namespace(struct jinja_run *run, struct jinja_value self,
                                         const struct jinja_args *args)
{
    (void)self;
    struct jinja_dict *dict = make_dict(run, args);
    struct jinja_namespace *space = jinja_alloc(run, 1, sizeof *space);
    for (size_t i = 0; space && !jinja_failed(run) && i < dict->n; i++) {
        struct jinja_binding *binding = jinja_alloc(run, 1, sizeof *binding);
        if (!binding)
            break;
        if (dict->entries[i].key.kind != JINJA_STRING)
            return jinja_fail(run, "a name in a namespace must be text");
        *binding = (struct jinja_binding){.name = dict->entries[i].key.string,
                                          .value = dict->entries[i].value,
                                          .next = space->first};
        space->first = binding;
    }
    return (struct jinja_value){.kind = JINJA_NAMESPACE, .space = space};
}

/* Copies the template's message as far as it fits, in whole characters, with blanks for zero
 * bytes. */
static void copy_words(const struct jinja_string *text, char *words, size_t size)
{
    size_t n = 0, length;
    while (n < text->n && (length = jinja_char_bytes(text->bytes + n, text->n - n)) < size - n) {
        memcpy(words + n, text->bytes + n, length);
        if (!words[n])
            words[n] = ' ';
        n += length;
    }
    words[n] = 0;
}

static struct jinja_value call_raise(struct jinja_run *run, struct jinja_value self,
                                     const struct jinja_args *args)
{
    (void)self;
    char words[280];
    const struct jinja_string *text = jinja_str(run, args->items[0]);
    if (jinja_failed(run))
        return jinja_undefined(NULL);
    copy_words(text, words, sizeof words);
    /* The message is the template's answer to the client, without a line number. */
    run->raised = true;
    run->err =
        baton_fail(&run->why, BATON_INVALID, "%s", *words ? words : "the template gives no reason");
    return jinja_undefined(NULL);
}

static struct jinja_value call_strftime(struct jinja_run *run, struct jinja_value self,
                                        const struct jinja_args *args)
{
    (void)self;
    const struct jinja_string *format = jinja_string_arg(run, args, 0);
    char pattern[DATE_MAX_BYTES], date[DATE_MAX_BYTES];
    struct tm local;
    if (!format || format->n >= sizeof pattern)
        return jinja_fail(run, "strftime_now() needs a short format");
    memcpy(pattern, format->bytes, format->n);
    pattern[format->n] = 0;
    if (!localtime_r(&run->now, &local))
        return jinja_fail(run, "strftime_now(): the clock has no date");
    size_t n = strftime(date, sizeof date, pattern, &local);
    struct jinja_text text = {0};
    /* A date counts as the template's own text only when its format does. */
    jinja_text_put(run, &text, date, n, format->own && !format->marks);
    return jinja_text_end(run, &text);
}

const struct jinja_builtin jinja_globals[] = {
    {"range", "start stop step", 1, call_range},  {"dict", NULL, 0, call_dict},
    {"namespace", NULL, 0, call_namespace},       {"raise_exception", "message", 1, call_raise},
    {"strftime_now", "format", 1, call_strftime}, {NULL, NULL, 0, NULL}};
