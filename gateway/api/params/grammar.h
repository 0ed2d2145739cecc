/* What the output is held to: the fields "response_format", "grammar" and "regex" of a body, of which
 * one may be given.
 *
 * Ownership: the params own the grammar's text.
 * Threading: loop thread.
 * Errors:    in fields->problem: the reason, and the place in a schema.
 */
#ifndef BATON_GATEWAY_API_PARAMS_GRAMMAR_H
#define BATON_GATEWAY_API_PARAMS_GRAMMAR_H

#include "common/sampling/params.h"
#include "gateway/api/fields.h"

/* After the stop ids, for an output that is held to a grammar ends with one of them. */
void gw_grammar_read(struct gw_fields *fields, struct baton_sampling_params *params,
                     bool ignore_eos);

#endif
