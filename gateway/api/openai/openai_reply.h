/* How the OpenAI routes speak: completions and chat completions, whole or in chunks.
 *
 *     stream:  chat: chunk with the role | completions with echo: chunk with the prompt
 *              chunk with text ...
 *              chunk with finish_reason, per choice
 *              chunk with usage, if wanted
 *              data: [DONE]
 *     a failure after the first chunk: data: {"error": ...}, and no [DONE]
 *
 * Ownership: see gateway/api/completion/completion.h.
 * Threading: loop thread.
 * Errors:    stick in the buffers.
 */
#ifndef BATON_GATEWAY_API_OPENAI_OPENAI_REPLY_H
#define BATON_GATEWAY_API_OPENAI_OPENAI_REPLY_H

#include "gateway/api/completion/completion.h"

extern const struct gw_dialect gw_openai_dialect;

#endif
