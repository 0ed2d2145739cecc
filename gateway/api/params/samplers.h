/* Samplers of other servers that are not here: a field that leaves one switched off is accepted,
 * one that asks for it is refused with the list of what there is.
 *
 * Pure.
 */
#ifndef BATON_GATEWAY_API_PARAMS_SAMPLERS_H
#define BATON_GATEWAY_API_PARAMS_SAMPLERS_H

#include "gateway/api/fields.h"

void gw_samplers_refuse(struct gw_fields *fields);

#endif
