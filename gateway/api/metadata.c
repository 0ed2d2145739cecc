#include "gateway/api/metadata.h"

#include <string.h>

enum { MAX_PAIRS = 16, MAX_NAME_BYTES = 64, MAX_VALUE_BYTES = 512 };

static bool is_pair(void *it)
{
    size_t n = 0;
    return baton_json_string(baton_json_member(it), &n) && n <= MAX_VALUE_BYTES &&
           strlen(baton_json_key(it)) <= MAX_NAME_BYTES;
}

const struct baton_json *gw_field_metadata(struct gw_fields *fields)
{
    static const char wanted[] =
        "an object of at most 16 strings of up to 512 bytes, under names of up to 64";
    const struct baton_json *metadata = gw_field_of(fields, "metadata", GW_IS_OBJECT, wanted);
    bool is_valid = baton_json_size(metadata) <= MAX_PAIRS;
    for (void *it = metadata ? baton_json_first(metadata) : NULL; it && is_valid;
         it = baton_json_next(metadata, it))
        is_valid = is_pair(it);
    if (is_valid)
        return metadata;
    gw_fields_fail(fields, "metadata", "invalid_value", "metadata: must be %s", wanted);
    return NULL;
}

void gw_metadata_put(struct baton_json_out *out, const struct baton_json *metadata)
{
    if (metadata)
        baton_json_put_value(out, "metadata", metadata);
    else
        baton_json_put_raw(out, "metadata", "{}", 2);
}
