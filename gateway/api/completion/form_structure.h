/* Builds the structure (engine/grammar/grammar.h) of an answer whose form begins behind the
 * reasoning.
 *
 *     reasoning?  form             and in channels:   analysis?  header of the final channel  form
 *
 * Ownership: everything is borrowed; the text goes to the caller's buffer.
 * Threading: pure.
 * Errors:    put: those of the buffer.
 */
#ifndef BATON_GATEWAY_API_COMPLETION_FORM_STRUCTURE_H
#define BATON_GATEWAY_API_COMPLETION_FORM_STRUCTURE_H

#include "common/base/json.h"
#include "common/params/grammar_text.h"
#include "gateway/chat/toolcall/parser.h"

/* True when the answer may have reasoning or a header before a form of that kind. A structure is
 * the whole output as its client wrote it. */
bool gw_form_structure_is_needed(const struct baton_answer_form *form, enum baton_grammar_kind kind,
                                 const struct baton_json *bad_words);

/* text: a schema, a regular expression or a GBNF grammar; or bad_words, NULL otherwise: strings
 * that neither the reasoning nor the answer contains. */
enum baton_err gw_form_structure_put(struct baton_json_out *out,
                                     const struct baton_answer_form *form,
                                     const struct baton_grammar_text *text,
                                     const struct baton_json *bad_words) BATON_MUST_CHECK;

#endif
