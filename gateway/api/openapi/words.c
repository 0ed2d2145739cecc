#include "gateway/api/openapi/schema.h"

#include <string.h>

#include "common/base/array.h"
#include "common/params/sampling.h"

/* A field that several routes have means the same on each of them. Fields of sampling have their
 * words in common/params/sampling.c. */
static const struct {
    const char *name, *words;
} fields[] = {
    {"add_generation_prompt", "Open the assistant's turn at the end of the prompt"},
    {"add_special_tokens", "Add special tokens, such as a beginning-of-text token"},
    {"allowed_token_ids", "The only tokens that may be drawn"},
    {"background", "Answer at once, and go on without the client"},
    {"bad_words", "Texts that the output must not contain"},
    {"best_of", "The number of candidates, which is the number of answers"},
    {"cache_prompt", "Share computed KV blocks of the prompt with other requests"},
    {"cache_salt", "Share KV blocks only with requests that have the same text here"},
    {"chat_template_kwargs", "Further variables of the chat template"},
    {"content", "The texts to embed"},
    {"context", "The context of an answer, which the prompt continues"},
    {"continue_final_message", "Continue the assistant's last message"},
    {"decoder_input_details", "Include the prompt's tokens in the details"},
    {"details", "Return details of the generated tokens"},
    {"dimensions", "The number of values of an embedding"},
    {"do_sample", "Sample tokens instead of taking the most probable one"},
    {"documents", "Documents for the chat template"},
    {"ebnf", "A grammar (GBNF) that the output must match"},
    {"echo", "Begin the text with the prompt"},
    {"embd_normalize", "2 normalises each embedding to length 1; -1 leaves it as it is"},
    {"enable_thinking", "Enable or disable reasoning"},
    {"encoding_format", "The encoding of embeddings"},
    {"format", "Constrain the answer to JSON, or to a schema"},
    {"grammar", "A grammar (GBNF, or TGI's object) that the output must match"},
    {"guided_choice", "The texts of which the output must be one"},
    {"guided_decoding_backend", "Ignored"},
    {"guided_grammar", "A grammar (GBNF) that the output must match"},
    {"guided_json", "A JSON Schema that the output must match"},
    {"guided_json_object", "Constrain the output to a JSON object"},
    {"guided_regex", "A regular expression that the output must match"},
    {"ignore_eos", "Do not stop at the end-of-text token"},
    {"include_stop_str_in_output", "End the text with the stop string that ended it"},
    {"include", "Further parts of the response to return"},
    {"input", "The text or conversation to answer, or the texts to embed"},
    {"input_extra", "Texts from other files, which the prompt begins with"},
    {"input_prefix", "The text before the cursor"},
    {"input_suffix", "The text behind the cursor"},
    {"inputs", "The text to continue"},
    {"insecure", "Ignored: nothing is fetched"},
    {"instructions", "A system message before the conversation"},
    {"json_schema", "A JSON Schema that the output must match"},
    {"keep_alive", "Ignored: the model is always loaded"},
    {"kv_cache", "Keep keys and values of tokens; false computes them again for every token"},
    {"logit_bias", "Numbers to add to the logits of tokens"},
    {"logprobs", "Return log-probabilities: a flag, or the number of candidates"},
    {"max_completion_tokens", "The maximum number of generated tokens"},
    {"max_new_tokens", "The maximum number of generated tokens"},
    {"max_output_tokens", "The maximum number of generated tokens"},
    {"max_tokens", "The maximum number of generated tokens"},
    {"max_tool_calls", "Ignored"},
    {"messages", "The conversation"},
    {"metadata", "Data of the client; it has no effect"},
    {"model", "A name of the served model"},
    {"n", "The number of answers to each prompt"},
    {"n_cmpl", "The number of answers to each prompt"},
    {"n_indent", "The least indentation of the lines after the first"},
    {"n_predict", "The maximum number of generated tokens; a negative number means no maximum"},
    {"n_probs", "The number of candidates to list with log-probabilities for each token"},
    {"num_keep", "The number of first tokens that stay where tokens are dropped; -1: half of them"},
    {"num_predict",
     "The maximum number of generated tokens; 0 or a negative number means no maximum"},
    {"options", "Further fields of the request"},
    {"output_config", "The reasoning effort, and the format of the answer"},
    {"parallel_tool_calls", "Allow several tool calls if calls are constrained"},
    {"parameters", "Further fields of the request"},
    {"password", "Ignored: nothing is fetched"},
    {"pooling", "How the states of a text's tokens become one embedding"},
    {"post_sampling_probs", "Return probabilities after temperature, filters and grammar"},
    {"previous_response_id", "The response to continue"},
    {"priority", "The scheduling class of the request"},
    {"prompt", "The text to continue"},
    {"prompt_cache_key", "Ignored: prompts share what they can"},
    {"prompt_cache_retention", "Ignored"},
    {"raw", "Continue the prompt without the chat template"},
    {"reasoning", "The reasoning effort"},
    {"reasoning.enabled", "Enable or disable reasoning"},
    {"reasoning_budget", "0 disables reasoning; bounds above are not supported"},
    {"reasoning_effort", "The reasoning effort, a variable of the chat template"},
    {"reasoning_format", "Return reasoning separately from the answer"},
    {"regex", "A regular expression that the output must match"},
    {"response_fields", "The members that the answer has, as paths with slashes"},
    {"request_id", "The part of the answer's id after the dash"},
    {"response_format", "The format of the output"},
    {"return_full_text", "Begin the text with the prompt"},
    {"return_progress", "Report the progress of the prompt at the start of a stream"},
    {"return_token_ids", "Return the token ids of prompt and output"},
    {"return_tokens", "Return token ids"},
    {"safety_identifier", "Ignored"},
    {"samplers", "The samplers that run; the others are off"},
    {"seed", "The seed of the random draws; the same seed gives the same output"},
    {"service_tier", "\"flex\" makes the request a batch request"},
    {"shift", "Only false: an output ends at the end of the context"},
    {"skip_special_tokens", "Omit special tokens from the text"},
    {"speculation", "How tokens are drafted; the output does not change"},
    {"speculation.max_tokens", "The maximum number of drafts in a step"},
    {"speculation.min_tokens", "The minimum number of drafts in a step"},
    {"speculation.mode", "The source of drafts"},
    {"stop", "Strings that end the output; the output does not include them"},
    {"stop_token_ids", "Tokens that end the output"},
    {"store", "Store the response"},
    {"stream", "Stream the answer"},
    {"stream_options", "Options of a stream"},
    {"stream_options.continuous_usage_stats", "Also count tokens in every chunk"},
    {"stream_options.include_usage", "End the stream with the token counts"},
    {"structural_tag", "Text, special tokens, schemas and patterns of which the output consists"},
    {"structured_outputs", "The form of the output: json, regex, choice, grammar and others"},
    {"suffix", "The text that follows the one to be written"},
    {"system", "A system message before the conversation"},
    {"t_max_predict_ms", "The time after which the output ends with its line"},
    {"text", "The text, or the format of the answer"},
    {"think", "Enable reasoning, or set its effort"},
    {"thinking", "Enable or disable reasoning"},
    {"thinking_budget", "0 disables reasoning; bounds above are not supported"},
    {"thinking_token_budget", "0 disables reasoning; bounds above are not supported"},
    {"thread", "Not supported: send the whole conversation"},
    {"timeline", "Return the duration of each stage"},
    {"timeout_s", "The time limit of the request in seconds"},
    {"timings_per_token", "Return timings in each event of a stream"},
    {"tokens", "The token ids"},
    {"tool_choice", "Whether the model may or must call tools"},
    {"tools", "Functions that the model may call"},
    {"top_logprobs", "The number of candidates to list with log-probabilities for each token"},
    {"top_n_tokens", "The number of most probable tokens to list for each token"},
    {"truncate",
     "Shorten what is longer than the context; TGI: the number of last prompt tokens to keep"},
    {"truncate_prompt_tokens",
     "The number of last prompt tokens to keep; -1 for as many as leave room for the answer"},
    {"truncation", "\"auto\" drops the oldest messages of a conversation that is too long"},
    {"user", "Ignored"},
    {"username", "Ignored: nothing is fetched"},
    {"verbose", "Ignored"},
    {"xtc_threshold", "Ignored while its sampler is off"},
    {"dry_base", "Ignored while its sampler is off"},
    {"dry_allowed_length", "Ignored while its sampler is off"},
    {"dry_penalty_last_n", "Ignored while its sampler is off"},
    {"dry_sequence_breakers", "Ignored while its sampler is off"},
    {"mirostat_tau", "Ignored while its sampler is off"},
    {"mirostat_eta", "Ignored while its sampler is off"},
    {"dynatemp_exponent", "Ignored while its sampler is off"},
    {"smoothing_curve", "Ignored while its sampler is off"},
};

/* Returns whether a key of the table, "name" or "within.name", names this field. */
static bool is_of(const char *key, const char *within, const char *name)
{
    size_t n = strlen(within);
    if (!n)
        return !strcmp(key, name);
    return !strncmp(key, within, n) && key[n] == '.' && !strcmp(key + n + 1, name);
}

const char *gw_schema_words(const char *within, const char *name)
{
    const struct baton_sampling_field *of_sampling =
        *within ? NULL : baton_sampling_field_named(name);
    if (of_sampling && of_sampling->words)
        return of_sampling->words;
    for (size_t i = 0; i < BATON_N_OF(fields); i++)
        if (is_of(fields[i].name, within, name))
            return fields[i].words;
    return NULL;
}
