/* The field "metadata" of stored things: a client's own words about them.
 *
 * Pure.
 */
#ifndef BATON_GATEWAY_API_METADATA_H
#define BATON_GATEWAY_API_METADATA_H

#include "gateway/api/fields.h"

/* Reads "metadata": an object of at most 16 strings of at most 512 bytes, with names of at most 64.
 * NULL: it is absent, or a problem. */
const struct baton_json *gw_field_metadata(struct gw_fields *fields);

/* Writes "metadata", {} for NULL. */
void gw_metadata_put(struct baton_json_out *out, const struct baton_json *metadata);

#endif
