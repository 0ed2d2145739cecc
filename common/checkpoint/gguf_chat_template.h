/* The chat template of a GGUF file; private to common/checkpoint.
 *
 *     tokenizer.chat_template             Jinja source
 *     tokenizer.chat_template.tool_use    the one for requests with tools
 *
 * Ownership, Threading: as chat_template.h.
 * Errors:    INVALID with the key, LIMIT, NO_MEMORY; those of gguf_ids.h. Absent keys are no error.
 */
#ifndef BATON_CHECKPOINT_GGUF_CHAT_TEMPLATE_H
#define BATON_CHECKPOINT_GGUF_CHAT_TEMPLATE_H

#include "common/checkpoint/chat_template.h"
#include "common/checkpoint/gguf.h"

/* Into an empty struct, which is to be freed whatever the result. */
enum baton_err baton_gguf_chat_template_read(const struct baton_gguf *gguf,
                                             struct baton_chat_template *source,
                                             struct baton_why *why) BATON_MUST_CHECK;

#endif
