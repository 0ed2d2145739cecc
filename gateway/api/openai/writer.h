/* The answers of the OpenAI routes: completions and chat completions, whole or in chunks.
 *
 *     stream:  chat: chunk with the role | completions with echo: chunk with the prompt
 *              chunk with text ...
 *              chunk with finish_reason, per choice
 *              chunk with usage, if wanted
 *              data: [DONE]
 *     a failure after the first chunk: data: {"error": ...}, and no [DONE]
 *
 * Ownership: see gateway/api/completion/writer.h.
 * Threading: loop thread.
 * Errors:    an answer that does not fit its buffer becomes a 500.
 */
#ifndef BATON_GATEWAY_API_OPENAI_WRITER_H
#define BATON_GATEWAY_API_OPENAI_WRITER_H

#include "gateway/api/completion/writer.h"

/* The writer's state of a choice. */
struct gw_openai_sent {
    bool has_prompt;   /* a chunk had the prompt's ids */
    size_t n_ids;      /* of the output's, in chunks so far */
    size_t n_function; /* bytes of the calls that are told as function_call: the first one */
};

struct gw_openai_options {
    bool is_flex;       /* the request is in the class of batches */
    bool chat;          /* the shape of chat completions */
    bool include_usage; /* a last chunk with usage */
    bool each_usage;    /* every chunk has the usage so far */
    bool token_ids;     /* the ids of prompt and output */
    bool prompt_logprobs;
    bool has_functions;       /* the first call is a function_call, in OpenAI's older form */
    struct baton_json *tools; /* the client's, of which custom calls have their own form; or NULL */
};

extern const struct gw_answer_writer gw_openai_writer;

#endif
