#include "common/base/array.h"
#include "gateway/api/openapi/schema.h"

#include <string.h>

/* A field that several routes have means the same on each of them. */
static const struct {
    const char *name, *words;
} fields[] = {
    {"add_generation_prompt", "Whether the prompt ends with the opening of the assistant's turn"},
    {"add_special_tokens", "Whether special tokens such as the beginning of a text are added"},
    {"best_of", "Must be n"},
    {"cache_prompt", "Whether the prompt may share what was computed for others"},
    {"chat_template_kwargs", "Variables of the chat template"},
    {"content", "What is embedded"},
    {"continue_final_message", "Whether the assistant's last message is continued"},
    {"decoder_input_details", "Whether the details have the prompt's tokens"},
    {"details", "Whether the answer tells what is known of its tokens"},
    {"dimensions", "How many values an embedding keeps"},
    {"do_sample", "Whether tokens are drawn; else the most probable is taken"},
    {"documents", "Documents for the chat template"},
    {"echo", "Whether the answer begins with the prompt"},
    {"embd_normalize", "2: each embedding has the length 1; -1: as it is"},
    {"encoding_format", "How embeddings are written"},
    {"explain", "How many candidates each decision lists"},
    {"format", "Holds the answer to JSON, or to a schema"},
    {"frequency_penalty", "Lowers tokens for each time that the output has them"},
    {"grammar", "A GBNF grammar that the output is held to"},
    {"ignore_eos", "Whether the model's own end of a text does not end the output"},
    {"include", "What else the answer tells"},
    {"input", "What is answered or embedded"},
    {"inputs", "What is continued"},
    {"instructions", "What the conversation begins with: a system message"},
    {"json_schema", "A JSON schema that the output is held to"},
    {"keep_alive", "Has no effect: the model is always there"},
    {"kv_cache", "Whether the keys and values of tokens are kept; false computes them again"},
    {"logit_bias", "Added to the logits of tokens"},
    {"logprobs", "Whether, or of how many candidates, log-probabilities are told"},
    {"max_completion_tokens", "The most tokens that are made"},
    {"max_new_tokens", "The most tokens that are made"},
    {"max_output_tokens", "The most tokens that are made"},
    {"max_tokens", "The most tokens that are made"},
    {"max_tool_calls", "Has no effect"},
    {"messages", "The conversation"},
    {"metadata", "What the client wants to find again; it changes nothing"},
    {"min_p", "Leaves out tokens below this part of the highest probability; 0 is off"},
    {"min_tokens", "No token that ends the output comes before this many"},
    {"model", "A name of the served model"},
    {"n", "How many answers are made to each prompt"},
    {"n_predict", "The most tokens that are made; below 0 as many as fit"},
    {"n_probs", "Of how many candidates log-probabilities are told"},
    {"num_predict", "The most tokens that are made; 0 and below as many as fit"},
    {"options", "More of these fields"},
    {"output_config", "How much the model reasons, and the schema that the answer is held to"},
    {"parallel_tool_calls", "Whether several tools may be called, where calls are held"},
    {"parameters", "More of these fields"},
    {"pooling", "What of a text's tokens is its embedding"},
    {"post_sampling_probs", "Whether probabilities are of what was drawn from"},
    {"presence_penalty", "Lowers tokens that the output has"},
    {"previous_response_id", "The response that this one goes on from"},
    {"priority", "The class of the request"},
    {"prompt", "What is continued"},
    {"prompt_cache_key", "Has no effect: prompts share what they can"},
    {"prompt_cache_retention", "Has no effect"},
    {"raw", "Whether the prompt is continued without the chat template"},
    {"reasoning", "How much the model reasons"},
    {"reasoning_effort", "How much the model reasons, as its chat template has it"},
    {"reasoning_format", "Whether reasoning is told apart from the answer"},
    {"regex", "A regular expression that the output is held to"},
    {"repetition_penalty", "Lowers tokens that the prompt or the output has; 1 is off"},
    {"response_format", "What the output is held to"},
    {"return_full_text", "Whether the text begins with the prompt"},
    {"return_progress", "Whether a stream tells how far its prompt is"},
    {"return_tokens", "Whether the ids of tokens are told"},
    {"safety_identifier", "Has no effect"},
    {"seed", "Of the random draws; the same seed gives the same output"},
    {"service_tier", "\"flex\" makes the request a batch one"},
    {"skip_special_tokens", "Whether special tokens are left out"},
    {"speculation", "How tokens are drafted; it changes no output"},
    {"speculation.max_tokens", "The most tokens of a draft"},
    {"speculation.min_tokens", "The least tokens of a draft"},
    {"speculation.mode", "Where drafts come from"},
    {"stop", "Texts that end the output and are left out of it"},
    {"stop_token_ids", "Tokens that end the output"},
    {"store", "Whether the response is kept"},
    {"stream", "Whether the answer comes in pieces as it is made"},
    {"stream_options", "Of a stream"},
    {"stream_options.include_usage", "Whether its last event counts the tokens"},
    {"system", "What the conversation begins with: a system message"},
    {"temperature", "Divides the logits; 0 takes the most probable token"},
    {"text", "The text, or the format of the answer's"},
    {"think", "Whether, or how much, the model reasons"},
    {"thinking", "Whether the model reasons"},
    {"timeline", "Whether the answer tells when its stages began and ended"},
    {"timeout_s", "Seconds after which the request ends"},
    {"timings_per_token", "Whether each event of a stream has timings"},
    {"tokens", "Token ids"},
    {"tool_choice", "Whether tools are shown to the model, and which it must call"},
    {"tools", "Functions that the model may call"},
    {"top_k", "How many of the most probable tokens are kept; 0 is off"},
    {"top_logprobs", "Of how many candidates log-probabilities are told"},
    {"top_n_tokens", "How many of the most probable tokens the details list"},
    {"top_p", "Keeps the fewest tokens that have this probability together; 1 is off"},
    {"truncate",
     "Whether texts that are too long lose their end; TGI: how many last tokens are kept"},
    {"truncation", "Only \"disabled\": nothing is left out of a conversation"},
    {"user", "Has no effect"},
    {"verbose", "Has no effect: there is no more to tell"},
    {"xtc_threshold", "Has no effect while its sampler is off"},
    {"dry_base", "Has no effect while its sampler is off"},
    {"dry_allowed_length", "Has no effect while its sampler is off"},
    {"dry_penalty_last_n", "Has no effect while its sampler is off"},
    {"dry_sequence_breakers", "Has no effect while its sampler is off"},
    {"mirostat_tau", "Has no effect while its sampler is off"},
    {"mirostat_eta", "Has no effect while its sampler is off"},
    {"dynatemp_exponent", "Has no effect while its sampler is off"},
    {"smoothing_curve", "Has no effect while its sampler is off"},
};

/* Whether a key of the table, "name" or "within.name", means this field. */
static bool is_of(const char *key, const char *within, const char *name)
{
    size_t n = strlen(within);
    if (!n)
        return !strcmp(key, name);
    return !strncmp(key, within, n) && key[n] == '.' && !strcmp(key + n + 1, name);
}

const char *gw_schema_words(const char *within, const char *name)
{
    for (size_t i = 0; i < BATON_N_OF(fields); i++)
        if (is_of(fields[i].name, within, name))
            return fields[i].words;
    return NULL;
}
