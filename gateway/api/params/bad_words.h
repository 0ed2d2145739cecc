/* Reads vLLM's field "bad_words": texts that the output must not contain.
 *
 * They become a structure of any text that excludes them, so that they hold over the borders of
 * tokens, whatever the tokens are.
 *
 * Ownership: values are borrowed from the body.
 * Threading: any.
 * Errors:    in fields->problem.
 */
#ifndef BATON_GATEWAY_API_PARAMS_BAD_WORDS_H
#define BATON_GATEWAY_API_PARAMS_BAD_WORDS_H

#include "gateway/api/params/params.h"

/* Characters of all words together. The excluded texts of a structure may be a little longer, for
 * the end marker of reasoning. */
enum { GW_MAX_BAD_WORDS_CHARS = 160 };

/* Constrains the output, and returns the array of words; NULL: none. Call after gw_grammar_read. */
const struct baton_json *gw_bad_words_read(struct gw_fields *fields, struct gw_params *params);

/* Writes a structure of any text without the words. */
void gw_bad_words_put(struct baton_json_out *out, const struct baton_json *words);

#endif
