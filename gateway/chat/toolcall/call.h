/* Parses one call while its bytes arrive; private to gateway/chat/toolcall.
 *
 *     begin --find_head--> name --scan--> the body's end --take--> calls
 *
 * Positions are offsets into the held bytes. Each byte is read once, in whatever pieces it arrives.
 *
 * Ownership: a call owns the arguments that it collects; everything else is borrowed.
 * Threading: one owner at a time.
 * Errors:    NO: it is not a call.
 */
#ifndef BATON_GATEWAY_CHAT_TOOLCALL_CALL_H
#define BATON_GATEWAY_CHAT_TOOLCALL_CALL_H

#include "common/base/json.h"
#include "gateway/chat/toolcall/bytes.h"
#include "gateway/chat/toolcall/parser.h"

/* Passes a call with these arguments, or none when NULL, to the sink. False when the name or the
 * arguments are invalid. */
bool baton_call_tell(const char *name, size_t n_name, const struct baton_json *arguments,
                     const struct baton_tool_sink *sink);

/* Begins a call at at; free drops what it has collected. */
void baton_call_init(struct baton_call *call, size_t at);
void baton_call_free(struct baton_call *call);

/* Finds the body: after open, begin and the text before the JSON or the tags. */
enum baton_verdict baton_call_find_head(const struct baton_tool_format *format,
                                        const struct baton_buf *held, struct baton_call *call);

/* ---- the syntaxes ----
 * scan moves call->scanned to the end of the body. take passes the calls of a scanned body to the
 * sink that call->teller has not told; false when it has none. */

enum baton_verdict baton_json_call_scan(const struct baton_tool_format *format,
                                        const struct baton_buf *held, struct baton_call *call);
bool baton_json_call_take(const struct baton_tool_format *format, const struct baton_buf *held,
                          const struct baton_call *call, const struct baton_tool_sink *sink);

enum baton_verdict baton_python_call_scan(const struct baton_tool_format *format,
                                          const struct baton_buf *held, struct baton_call *call);
bool baton_python_call_take(const struct baton_tool_format *format, const struct baton_buf *held,
                            const struct baton_call *call, const struct baton_tool_sink *sink);
/* Tells the sink what has come of the calls of a list, as long as they name functions of the
 * request: arguments while they arrive, or calls that are complete where the sink wants them whole.
 * call->teller then knows how far. */
void baton_python_call_tell(const struct baton_json *functions, const struct baton_buf *held,
                            struct baton_call *call, const struct baton_tool_sink *sink);
/* Returns where the text behind those calls begins. */
size_t baton_python_call_told(const struct baton_buf *held, const struct baton_call *call);

enum baton_verdict baton_gemma_call_scan(const struct baton_tool_format *format,
                                         const struct baton_buf *held, struct baton_call *call);
/* Tells the sink what has come of the arguments. is_over: no more follows. */
void baton_gemma_call_tell(const struct baton_tool_format *format,
                           const struct baton_json *functions, const struct baton_buf *held,
                           struct baton_call *call, bool is_over,
                           const struct baton_tool_sink *sink);
bool baton_gemma_call_take(const struct baton_buf *held, const struct baton_call *call,
                           const struct baton_tool_sink *sink);

/* Returns the value of a text that is one Python literal; NULL when it is not. */
struct baton_json *baton_python_literal(const char *text, size_t n);

/* Returns the function of that name in an array of OpenAI's tools; NULL: none. */
const struct baton_json *baton_function_of(const struct baton_json *functions, const char *name,
                                           size_t n);

/* functions: an array of OpenAI's tools, or NULL. It distinguishes strings from other values. */
enum baton_verdict baton_tag_call_scan(const struct baton_tool_format *format,
                                       const struct baton_json *functions,
                                       const struct baton_buf *held, struct baton_call *call);
/* Tells the sink what has come of the arguments, through call->teller: strings while they arrive,
 * other values when they are complete. is_over: no more follows. */
void baton_tag_call_tell(const struct baton_tool_format *format, const struct baton_json *functions,
                         const struct baton_buf *held, struct baton_call *call, bool is_over,
                         const struct baton_tool_sink *sink);
bool baton_tag_call_take(const struct baton_buf *held, const struct baton_call *call,
                         const struct baton_tool_sink *sink);

#endif
