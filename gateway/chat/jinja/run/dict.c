/* Maps in the order of insertion. A large one finds its keys by hash. */
#include <string.h>

#include "common/base/hash.h"
#include "gateway/chat/jinja/run/eval.h"

enum { SMALL_DICT = 8 };

struct jinja_dict *jinja_dict_new(struct jinja_run *run)
{
    return jinja_alloc(run, 1, sizeof(struct jinja_dict));
}

/* Returns a key's hash. Equal keys have equal hashes: 1, 1.0 and true are one key. */
static uint64_t hash_key(struct jinja_value key)
{
    uint64_t hash = JINJA_TUPLE;
    double real;
    switch (key.kind) {
    case JINJA_STRING:
        return baton_hash_bytes(key.string->bytes, key.string->n);
    case JINJA_BOOL:
    case JINJA_INT:
    case JINJA_FLOAT:
        real = jinja_as_real(key) + 0.0; /* -0 equals 0 */
        return baton_hash_bytes(&real, sizeof real);
    case JINJA_TUPLE:
        for (size_t i = 0; i < key.list->n; i++)
            hash = baton_hash_pair(hash, hash_key(key.list->items[i]));
        return hash;
    default:
        return key.kind;
    }
}

static bool can_be_key(struct jinja_value key)
{
    return key.kind <= JINJA_STRING || key.kind == JINJA_TUPLE || key.kind == JINJA_FUNCTION ||
           key.kind == JINJA_NAMESPACE;
}

/* True when the key and all its parts can be keys. Counts the work of hashing it. */
static bool check_key(struct jinja_run *run, struct jinja_value key)
{
    if (!jinja_step_bytes(run, key.kind == JINJA_STRING ? key.string->n : 0))
        return false;
    if (!can_be_key(key))
        jinja_fail(run, "unhashable type: '%s'", jinja_type_name(key));
    if (key.kind != JINJA_TUPLE || !jinja_enter(run))
        return !jinja_failed(run);
    for (size_t i = 0; i < key.list->n && check_key(run, key.list->items[i]); i++) {
    }
    jinja_leave(run);
    return !jinja_failed(run);
}

static void put_slot(struct jinja_dict *dict, size_t i)
{
    size_t slot = dict->entries[i].hash & (dict->n_slots - 1);
    while (dict->slots[slot])
        slot = (slot + 1) & (dict->n_slots - 1);
    dict->slots[slot] = (uint32_t)i + 1;
}

static void fill_slots(struct jinja_run *run, struct jinja_dict *dict)
{
    /* At most a quarter full, so that probes are short. */
    size_t n_slots = 4 * dict->cap;
    dict->slots = jinja_alloc(run, n_slots, sizeof *dict->slots);
    dict->n_slots = dict->slots ? n_slots : 0;
    for (size_t i = 0; i < dict->n && dict->slots; i++)
        put_slot(dict, i);
}

static bool grow_dict(struct jinja_run *run, struct jinja_dict *dict)
{
    size_t cap = dict->cap ? 2 * dict->cap : 4;
    struct jinja_entry *entries = jinja_alloc(run, cap, sizeof *entries);
    if (!entries || cap > UINT32_MAX / 8)
        return false;
    if (dict->n)
        memcpy(entries, dict->entries, dict->n * sizeof *entries);
    dict->entries = entries;
    dict->cap = cap;
    if (cap > SMALL_DICT)
        fill_slots(run, dict);
    return !jinja_failed(run);
}

static struct jinja_entry *find_entry(struct jinja_run *run, const struct jinja_dict *dict,
                                      struct jinja_value key, uint64_t hash)
{
    if (!dict->slots) {
        for (size_t i = 0; i < dict->n; i++)
            if (jinja_equal(run, dict->entries[i].key, key))
                return &dict->entries[i];
        return NULL;
    }
    size_t slot = hash & (dict->n_slots - 1);
    for (; dict->slots[slot]; slot = (slot + 1) & (dict->n_slots - 1)) {
        struct jinja_entry *entry = &dict->entries[dict->slots[slot] - 1];
        /* Only an equal hash counts as a step: how many share a slot differs between processes. */
        if (entry->hash == hash && jinja_step(run, 1) && jinja_equal(run, entry->key, key))
            return entry;
    }
    return NULL;
}

void jinja_dict_put(struct jinja_run *run, struct jinja_dict *dict, struct jinja_value key,
                    struct jinja_value value)
{
    if (!dict || jinja_failed(run))
        return;
    if (!check_key(run, key))
        return;
    uint64_t hash = hash_key(key);
    struct jinja_entry *entry = find_entry(run, dict, key, hash);
    if (entry) {
        entry->value = value;
        return;
    }
    if (dict->n == dict->cap && !grow_dict(run, dict))
        return;
    dict->entries[dict->n++] = (struct jinja_entry){.key = key, .value = value, .hash = hash};
    if (dict->slots)
        put_slot(dict, dict->n - 1);
}

const struct jinja_value *jinja_dict_find(struct jinja_run *run, const struct jinja_dict *dict,
                                          struct jinja_value key)
{
    if (!check_key(run, key))
        return NULL;
    const struct jinja_entry *entry = find_entry(run, dict, key, hash_key(key));
    return entry ? &entry->value : NULL;
}
