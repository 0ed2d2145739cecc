/* Builds the structure (engine/grammar/grammar.h) of an answer that calls tools, in a model's form.
 *
 *     reasoning?  begin CALL end  separator  begin CALL end ...
 *
 * CALL is one of the wish's tools, with arguments that follow its schema. Reasoning comes first
 * where the form has it.
 *
 * Ownership: the wish and the form are borrowed; the text goes to the caller's buffer.
 * Threading: pure.
 * Errors:    put: INVALID, a grammar cannot find calls of this form in text.
 */
#ifndef BATON_GATEWAY_CHAT_TOOLCALL_STRUCTURE_H
#define BATON_GATEWAY_CHAT_TOOLCALL_STRUCTURE_H

#include "common/base/json.h"
#include "gateway/chat/toolcall/parser.h"

/* The required form of an answer. */
struct baton_call_wish {
    const struct baton_json *tools;  /* array, in the form of OpenAI's chat */
    const char *name;                /* the only tool that may be called; NULL: any */
    bool is_forced;                  /* only calls; false: text, and calls after it */
    bool is_single;                  /* one call at most */
    const struct baton_json *answer; /* schema of an answer without calls, of a wish that is not
                                        forced; NULL: any text */
};

/* True when calls after text can follow schemas. */
bool baton_call_structure_triggers(const struct baton_tool_format *format);

/* True when the tool's arguments follow its schema also when no call is forced. */
bool baton_tool_is_strict(const struct baton_json *tool);

/* Returns the schema of a tool's arguments as one of objects; given is the client's, or NULL. The
 * caller frees it with baton_json_free. NULL without memory. */
struct baton_json *baton_tool_schema(const struct baton_json *given);

/* Writes the elements that let reasoning come first, where the form has it, to an open list. The
 * reasoning contains none of the excluded strings; NULL: any text. */
void baton_structure_put_reasoning(struct baton_json_out *out, const struct baton_answer_form *form,
                                   const struct baton_json *excluded);

enum baton_err baton_call_structure_put(struct baton_json_out *out,
                                        const struct baton_answer_form *form,
                                        const struct baton_call_wish *wish) BATON_MUST_CHECK;

#endif
