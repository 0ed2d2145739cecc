#include "gateway/fleet/numeric_classes.h"

#include <stdio.h>
#include <string.h>

void gw_numeric_classes_init(struct gw_numeric_classes *classes)
{
    *classes = (struct gw_numeric_classes){0};
    for (int i = 0; i < GW_MAX_CLASSES; i++)
        classes->places[i].index = i;
}

static int64_t last_served_ns(const struct gw_numeric_class *numeric_class)
{
    int64_t last_ns = 0;
    for (int role = 0; role < GW_N_ROLES; role++)
        if (numeric_class->served_ns[role] > last_ns)
            last_ns = numeric_class->served_ns[role];
    return last_ns;
}

static bool is_called(const struct gw_numeric_class *numeric_class, const char *name)
{
    return !strcmp(numeric_class->name.hex, name);
}

/* The class's own place, or else the place that has been without workers for longest; NULL: all
 * places have workers. A class keeps its place while it can, so that block hashes computed for it
 * stay valid when its workers come back. */
static const struct gw_numeric_class *place_for(const struct gw_numeric_classes *classes,
                                                const char *name)
{
    const struct gw_numeric_class *found = NULL;
    for (int i = 0; i < GW_MAX_CLASSES; i++) {
        const struct gw_numeric_class *place = &classes->places[i];
        if (is_called(place, name) && (place->n_workers || last_served_ns(place)))
            return place;
        if (!place->n_workers && (!found || last_served_ns(place) < last_served_ns(found)))
            found = place;
    }
    return found;
}

bool gw_numeric_classes_may_join(const struct gw_numeric_classes *classes, const char *name)
{
    return place_for(classes, name);
}

/* The first worker of a class sets the root of its hashes. A fleet has one model, but a later fleet
 * behind the same gateway may have another one. */
static void begin(struct gw_numeric_class *place, const Baton__V1__Hello *hello)
{
    const struct baton_block_salt salt = {.config = hello->fingerprint->config,
                                          .weights = hello->fingerprint->weights,
                                          .dtype = hello->dtype,
                                          .kv_dtype = hello->kv_dtype,
                                          .block_tokens = hello->kv_block_tokens,
                                          .kv_layout = hello->kv_layout,
                                          .numeric_class = hello->numeric_class};
    if (!is_called(place, hello->numeric_class))
        *place = (struct gw_numeric_class){.index = place->index};
    (void)snprintf(place->name.hex, sizeof place->name.hex, "%s", hello->numeric_class);
    place->has_root = !baton_block_hash_root(&salt, &place->root);
}

struct gw_numeric_class *gw_numeric_classes_join(struct gw_numeric_classes *classes,
                                                 const Baton__V1__Hello *hello)
{
    const struct gw_numeric_class *found = place_for(classes, hello->numeric_class);
    if (!found)
        return NULL;
    struct gw_numeric_class *place = &classes->places[found->index];
    if (!place->n_workers)
        begin(place, hello);
    place->n_workers++;
    return place;
}

void gw_numeric_classes_leave(struct gw_numeric_class *numeric_class)
{
    numeric_class->n_workers--;
}

const struct gw_numeric_class *gw_numeric_classes_find(const struct gw_numeric_classes *classes,
                                                       const struct baton_numeric_class *name)
{
    for (int i = 0; i < GW_MAX_CLASSES; i++) {
        const struct gw_numeric_class *place = &classes->places[i];
        if (is_called(place, name->hex) && (place->n_workers || last_served_ns(place)))
            return place;
    }
    return NULL;
}
