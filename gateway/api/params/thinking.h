/* Reads whether the model shall reason, in the words of every API.
 *
 *     reasoning_effort: "none"             OpenAI, Ollama, LM Studio; other words mean: reason
 *     reasoning: {effort, enabled,         OpenRouter
 *                 max_tokens}
 *     thinking: {type, budget_tokens}      Anthropic, and chats of GLM, Kimi and DeepSeek
 *     enable_thinking, thinking_budget     Qwen's services
 *     thinking_token_budget                vLLM
 *     reasoning_budget_tokens, ...         llama.cpp
 *     think                                Ollama
 *
 * Templates get the wish as their variables; chat_template_kwargs outweigh it. A bound of 0 tokens
 * is the wish for no reasoning.
 *
 * Ownership: values are borrowed from the body.
 * Threading: any.
 * Errors:    in fields->problem.
 */
#ifndef BATON_GATEWAY_API_PARAMS_THINKING_H
#define BATON_GATEWAY_API_PARAMS_THINKING_H

#include "gateway/api/fields.h"
#include "gateway/chat/chat.h"

/* Reads the fields of chats, after input->reasoning_effort. */
void gw_thinking_read(struct gw_fields *fields, struct baton_chat_input *input);

/* Reads OpenRouter's field "reasoning". */
void gw_thinking_read_reasoning(struct gw_fields *fields, struct baton_chat_input *input);

/* Reads the bounds on the reasoning's tokens that have a field of their own. */
void gw_thinking_read_bounds(struct gw_fields *fields, struct baton_chat_input *input);

/* Refuses these bounds and those of objects on a route whose prompts no template ends, so that
 * nobody knows whether the output begins with reasoning. */
void gw_thinking_refuse_bounds(struct gw_fields *fields);

/* Reads Anthropic's field "thinking" alone. */
void gw_thinking_read_object(struct gw_fields *fields, struct baton_chat_input *input);

/* Reads Ollama's field "think": true, false or an effort. */
void gw_thinking_read_think(struct gw_fields *fields, struct baton_chat_input *input);

#endif
