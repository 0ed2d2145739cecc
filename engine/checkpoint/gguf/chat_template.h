/* The chat template of a GGUF file; private to engine/checkpoint.
 *
 *     tokenizer.chat_template             Jinja source
 *     tokenizer.chat_template.tool_use    the one for requests with tools
 *
 * Ownership, Threading: as chat_template.h.
 * Errors:    INVALID with the key, LIMIT, NO_MEMORY; those of ids.h. Absent keys are no error.
 */
#ifndef BATON_ENGINE_CHECKPOINT_GGUF_CHAT_TEMPLATE_H
#define BATON_ENGINE_CHECKPOINT_GGUF_CHAT_TEMPLATE_H

#include "engine/checkpoint/chat_template.h"
#include "engine/checkpoint/gguf/gguf.h"

/* Reads the template into an empty struct. The caller frees the struct, also after an error. */
enum baton_err baton_gguf_chat_template_read(const struct baton_gguf *gguf,
                                             struct baton_chat_template *source,
                                             struct baton_why *why) BATON_MUST_CHECK;

#endif
