/* A model's chat template as its files hold it: Jinja source and the texts of two tokens.
 *
 * It is read from chat_template.jinja, or from tokenizer_config.json's chat_template, which is a
 * string or a list of {"name", "template"}; the template for tools also from
 * additional_chat_templates/tool_use.jinja. tokenizer_config.json names the two tokens. A GGUF file
 * holds all of it (gguf/chat_template.h).
 *
 * Ownership: the struct owns its texts; the caller frees them with baton_chat_template_fini.
 * Threading: any thread.
 * Errors:    IO, LIMIT, INVALID with the file, NO_MEMORY. Absent files and fields are no error.
 */
#ifndef BATON_ENGINE_CHECKPOINT_CHAT_TEMPLATE_H
#define BATON_ENGINE_CHECKPOINT_CHAT_TEMPLATE_H

#include <stddef.h>

#include "common/base/error.h"

/* A text is NULL where the model's files have none. */
struct baton_chat_template {
    char *jinja; /* n_jinja bytes */
    size_t n_jinja;
    /* n_tools_jinja bytes: the template named tool_use, for requests with tools */
    char *tools_jinja;
    size_t n_tools_jinja;
    char *bos, *eos;
};

/* Reads the template of the model at model_path into an empty struct. The caller frees the struct,
 * also after an error. */
enum baton_err baton_chat_template_read(const char *model_path, struct baton_chat_template *source,
                                        struct baton_why *why) BATON_MUST_CHECK;
/* Frees the texts and leaves an empty struct. */
void baton_chat_template_fini(struct baton_chat_template *source);

#endif
