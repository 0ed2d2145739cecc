/* Reads the fields by which clients of several servers ask for a form of the output.
 *
 *     OpenAI     response_format
 *     llama.cpp  response_format with a schema, json_schema, grammar
 *     vLLM       structured_outputs: {json, regex, choice, grammar, ...}, guided_json ...
 *     SGLang     json_schema, regex, ebnf, structural_tag
 *     TGI        grammar: {type, value}
 *     Ollama     format
 *
 * All of them become a schema, a regular expression, a GBNF grammar or a structure
 * (engine/grammar/grammar.h). "", [], false, null and an object without members ask for nothing;
 * {} as a schema allows any value.
 *
 * Ownership: the params own the grammar's text.
 * Threading: any.
 * Errors:    in fields->problem; members without an effect are left out (fields.h).
 */
#ifndef BATON_GATEWAY_API_PARAMS_FORMS_H
#define BATON_GATEWAY_API_PARAMS_FORMS_H

#include "common/params/sampling.h"
#include "gateway/api/fields.h"

/* Reads the fields of all servers but Ollama's, and Ollama's. */
void gw_forms_read(struct gw_fields *fields, struct baton_sampling_params *params);
void gw_forms_read_ollamas(struct gw_fields *fields, struct baton_sampling_params *params);

/* True when the object has one of the fields. */
bool gw_forms_are_given(const struct baton_json *object);

#endif
