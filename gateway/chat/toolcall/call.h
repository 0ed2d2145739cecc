/* One call, as its bytes come; private to gateway/chat/toolcall.
 *
 *     begin --find_head--> name --scan--> the body's end --take--> calls
 *
 * Places are offsets into the bytes held. Each byte is looked at once, whatever pieces it comes in.
 *
 * Ownership: a call owns the arguments that it gathers; everything else is borrowed.
 * Threading: one owner at a time.
 * Errors:    NO: it is none.
 */
#ifndef BATON_GATEWAY_CHAT_TOOLCALL_CALL_H
#define BATON_GATEWAY_CHAT_TOOLCALL_CALL_H

#include "common/base/json.h"
#include "gateway/chat/toolcall/bytes.h"
#include "gateway/chat/toolcall/parser.h"

/* Tells a call with these arguments; NULL: none. False: its name or arguments are none. */
bool baton_call_tell(const char *name, size_t n_name, const struct baton_json *arguments,
                     const struct baton_tool_sink *sink);

/* One that begins at; free forgets what it gathered. */
void baton_call_init(struct baton_call *call, size_t at);
void baton_call_free(struct baton_call *call);

/* Finds where the body is: behind open, begin and what stands before the JSON or the tags. */
enum baton_verdict baton_call_find_head(const struct baton_tool_format *format,
                                        const struct baton_buf *held, struct baton_call *call);

/* ---- the syntaxes ----
 * scan moves call->scanned to the end of the body. take tells the calls of a body that was scanned
 * to its end; false: there are none in it. */

enum baton_verdict baton_json_call_scan(const struct baton_tool_format *format,
                                        const struct baton_buf *held, struct baton_call *call);
bool baton_json_call_take(const struct baton_tool_format *format, const struct baton_buf *held,
                          const struct baton_call *call, const struct baton_tool_sink *sink);

enum baton_verdict baton_python_call_scan(const struct baton_tool_format *format,
                                          const struct baton_buf *held, struct baton_call *call);
bool baton_python_call_take(const struct baton_tool_format *format, const struct baton_buf *held,
                            const struct baton_call *call, const struct baton_tool_sink *sink);

enum baton_verdict baton_gemma_call_scan(const struct baton_tool_format *format,
                                         const struct baton_buf *held, struct baton_call *call);
bool baton_gemma_call_take(const struct baton_buf *held, const struct baton_call *call,
                           const struct baton_tool_sink *sink);

/* The value that all of the text is as a literal of Python's, NULL: none. */
struct baton_json *baton_python_literal(const char *text, size_t n);

/* functions: an array of OpenAI's tools, or NULL. It tells strings from other values. */
enum baton_verdict baton_tag_call_scan(const struct baton_tool_format *format,
                                       const struct baton_json *functions,
                                       const struct baton_buf *held, struct baton_call *call);
bool baton_tag_call_take(const struct baton_buf *held, const struct baton_call *call,
                         const struct baton_tool_sink *sink);

#endif
