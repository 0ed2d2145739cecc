/* Constraints on the output: forms.h reads the fields of a body that ask for one, of which at most
 * one may be given.
 *
 * Compiling a large schema takes a good part of a second. Verdicts are therefore cached by the
 * text's digest, and libuv's pool checks these fields of a body before the loop thread reads it.
 *
 * Ownership: the params own the grammar's text.
 * Threading: any; the cache is shared by the process.
 * Errors:    in fields->problem: the reason, and the place in a schema.
 */
#ifndef BATON_GATEWAY_API_PARAMS_GRAMMAR_H
#define BATON_GATEWAY_API_PARAMS_GRAMMAR_H

#include "common/params/sampling.h"
#include "engine/grammar/grammar.h"
#include "gateway/api/fields.h"
#include "gateway/api/params/params.h"

/* Constrain the output to the notation in a text, or in a JSON value, of the field `name`; a
 * constraint before it is a problem. */
void gw_grammar_hold_to_text(struct gw_fields *fields, struct baton_sampling_params *params,
                             const char *name, enum baton_grammar_kind kind, const char *text,
                             size_t n);
void gw_grammar_hold_to_json(struct gw_fields *fields, struct baton_sampling_params *params,
                             const char *name, enum baton_grammar_kind kind,
                             const struct baton_json *value);

/* Reads the fields. Call after the stop ids are read, because only they end a constrained
 * output. */
void gw_grammar_read(struct gw_fields *fields, struct baton_sampling_params *params,
                     bool ignore_eos);

/* Reads Ollama's field "format", after gw_grammar_read. */
void gw_grammar_read_format(struct gw_fields *fields, struct gw_params *params);

/* Constrains the output to a schema in a member of the field `name`, after gw_grammar_read. NULL:
 * none. */
void gw_grammar_hold_to_schema(struct gw_fields *fields, struct gw_params *params, const char *name,
                               const struct baton_json *schema);

/* The sums over several schemas: their bytes, and the states of their automata. */
struct gw_grammar_sum {
    size_t n_bytes, n_states;
};

/* Fails unless a tool's schema can constrain the output; name is its place in the body, in field.
 * Adds it to the sum, which has the bounds of one grammar. schema NULL: no memory. */
void gw_grammar_check_schema(struct gw_fields *fields, const char *field, const char *name,
                             const struct baton_json *schema, struct gw_grammar_sum *sum);

/* Whether the schema can constrain an output. INVALID, LIMIT: *why has the reason. */
enum baton_err gw_grammar_judge_schema(const struct baton_json *schema,
                                       struct baton_why *why) BATON_MUST_CHECK;

/* Constrains the output to a structure, whose schemas were checked, instead of the constraint so
 * far. */
void gw_grammar_hold_to_structure(struct gw_fields *fields, struct gw_params *params,
                                  const struct baton_buf *text);

/* Whether a body has any of the fields, or a schema in "text.format" or "output_config.format". */
bool gw_grammar_is_given(const struct baton_json *body);

/* Checks the fields of a body to fill the cache. */
void gw_grammar_check_ahead(const struct baton_json *body);

#endif
