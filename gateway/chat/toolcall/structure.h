/* The structure (engine/grammar/grammar.h) of answers that call tools, in a model's form.
 *
 *     reasoning?  begin CALL end  separator  begin CALL end ...
 *
 * CALL is one of the wish's tools, its arguments held to its schema. Reasoning comes first where
 * the form has some.
 *
 * Ownership: the wish and the form are borrowed; the text goes to the caller's buffer.
 * Threading: pure.
 * Errors:    put: INVALID, calls of this form cannot be held to a grammar.
 */
#ifndef BATON_GATEWAY_CHAT_TOOLCALL_STRUCTURE_H
#define BATON_GATEWAY_CHAT_TOOLCALL_STRUCTURE_H

#include "common/base/json.h"
#include "gateway/chat/toolcall/parser.h"

/* What an answer must be. */
struct baton_call_wish {
    const struct baton_json *tools;  /* array, as OpenAI's chat has it */
    const char *name;                /* the only tool that may be called; NULL: any */
    bool is_forced;                  /* calls, and no text; else text, and calls after it */
    bool is_single;                  /* one call at most */
    const struct baton_json *answer; /* schema of an answer without calls, of a wish that is not
                                        forced; NULL: any text */
};

/* Whether calls can be forced; whether those that come after text can be held to schemas. */
bool baton_call_structure_forces(const struct baton_tool_format *format);
bool baton_call_structure_triggers(const struct baton_tool_format *format);

/* Whether the tool's arguments are held to its schema also when no call is forced. */
bool baton_tool_is_strict(const struct baton_json *tool);

/* The schema of what a tool takes, as its client gave it or NULL, made one of objects: to be freed
 * with baton_json_free. NULL without memory. */
struct baton_json *baton_tool_schema(const struct baton_json *given);

enum baton_err baton_call_structure_put(struct baton_json_out *out,
                                        const struct baton_answer_form *form,
                                        const struct baton_call_wish *wish) BATON_MUST_CHECK;

#endif
