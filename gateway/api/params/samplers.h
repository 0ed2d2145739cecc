/* Samplers of other servers that Baton does not have: a field that leaves one switched off is
 * accepted, a field that requests it is rejected with the list of Baton's samplers.
 *
 * Pure.
 */
#ifndef BATON_GATEWAY_API_PARAMS_SAMPLERS_H
#define BATON_GATEWAY_API_PARAMS_SAMPLERS_H

#include "gateway/api/fields.h"

void gw_samplers_refuse(struct gw_fields *fields);

#endif
