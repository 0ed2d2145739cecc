/* What the output is held to: the fields "response_format", "json_schema", "grammar" and "regex" of
 * a body, of which one may be given.
 *
 * A large schema takes a good part of a second to read. So what is found out about a text is kept,
 * and a body with one of these fields has them checked on libuv's pool before its turn comes.
 *
 * Ownership: the params own the grammar's text.
 * Threading: any; what is kept is the process's.
 * Errors:    in fields->problem: the reason, and the place in a schema.
 */
#ifndef BATON_GATEWAY_API_PARAMS_GRAMMAR_H
#define BATON_GATEWAY_API_PARAMS_GRAMMAR_H

#include "common/params/sampling.h"
#include "engine/grammar/grammar.h"
#include "gateway/api/fields.h"
#include "gateway/api/params/params.h"

/* After the stop ids, for an output that is held to a grammar ends with one of them. */
void gw_grammar_read(struct gw_fields *fields, struct baton_sampling_params *params,
                     bool ignore_eos);

/* Ollama's field "format", after gw_grammar_read. */
void gw_grammar_read_format(struct gw_fields *fields, struct gw_params *params);

/* A schema in a member of the field `name`, after gw_grammar_read; NULL: none. */
void gw_grammar_hold_to_schema(struct gw_fields *fields, struct gw_params *params, const char *name,
                               const struct baton_json *schema);

/* Of several schemas: the bytes that they are, and the states that they mean. */
struct gw_grammar_sum {
    size_t n_bytes, n_states;
};

/* Whether the schema can be held to, as tools' schemas have to; name is its place in the body, in
 * field. Adds it to the sum, which is as bounded as one grammar is. schema NULL: no memory. */
void gw_grammar_check_schema(struct gw_fields *fields, const char *field, const char *name,
                             const struct baton_json *schema, struct gw_grammar_sum *sum);

/* Holds the output to a structure in place of what it was held to, whose schemas were checked. */
void gw_grammar_hold_to_structure(struct gw_fields *fields, struct gw_params *params,
                                  const struct baton_buf *text);

/* Whether a body has any of the fields, or a schema in "text.format" or "output_config.format". */
bool gw_grammar_is_given(const struct baton_json *body);

/* Reads the fields of a body for what is kept of them. */
void gw_grammar_check_ahead(const struct baton_json *body);

#endif
