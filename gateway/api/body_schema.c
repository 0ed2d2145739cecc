#include "gateway/api/body_schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"

static size_t place_of(const struct gw_body_schema *schema, const char *within, const char *name)
{
    size_t i = 0;
    while (i < schema->n && (strcmp(schema->fields[i].name, name) != 0 ||
                             strcmp(schema->fields[i].within, within) != 0))
        i++;
    return i;
}

const struct gw_field_schema *gw_body_schema_find(const struct gw_body_schema *schema,
                                                  const char *within, const char *name)
{
    size_t i = place_of(schema, within, name);
    return i < schema->n ? &schema->fields[i] : NULL;
}

struct gw_field_schema *gw_body_schema_field(struct gw_body_schema *schema, const char *within,
                                             const char *name)
{
    size_t i = place_of(schema, within, name);
    if (i < schema->n)
        return &schema->fields[i];
    if (BATON_RESERVE(schema->fields, schema->cap, schema->n + 1)) {
        schema->is_short = true;
        return NULL;
    }
    struct gw_field_schema *field = &schema->fields[schema->n++];
    *field = (struct gw_field_schema){0};
    (void)snprintf(field->name, sizeof field->name, "%s", name);
    (void)snprintf(field->within, sizeof field->within, "%s", within);
    return field;
}

void gw_body_schema_fini(struct gw_body_schema *schema)
{
    free(schema->fields);
    *schema = (struct gw_body_schema){0};
}
