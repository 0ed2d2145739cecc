#include "gateway/api/openapi/answers.h"

#include <string.h>

#include "common/base/array.h"
#include "gateway/api/openapi/types.h"

/* ---- the objects ---- */

static const struct {
    const char *name, *members;
} objects[] = {
    /* what several APIs share */
    {"Step", "index:integer token_id:integer text:string strategy:string logit:number|null "
             "logit_penalized:number|null logprob:number|null prob:number prob_raw:number "
             "rank:integer kept:object draw:number|null interval:[number]|null "
             "entropy_bits:number phase:string reason:string draft:object|null "
             "candidates:[object]"},
    {"Rates",
     "cache_n:integer disk_n:integer stateless_n:integer prompt_n:integer prompt_ms:number "
     "prompt_per_token_ms:number|null prompt_per_second:number|null predicted_n:integer "
     "predicted_ms:number predicted_per_token_ms:number|null "
     "predicted_per_second:number|null draft_n:integer draft_n_accepted:integer"},
    {"Timings",
     "cache_n:integer disk_n:integer stateless_n:integer prompt_n:integer prompt_ms:number "
     "prompt_per_token_ms:number|null prompt_per_second:number|null predicted_n:integer "
     "predicted_ms:number predicted_per_token_ms:number|null predicted_per_second:number|null "
     "draft_n:integer draft_n_accepted:integer parse_s:number tokenize_s:number queue_s:number "
     "prefill_queue_s:number prefill_compute_s:number first_token_s:number kv_transfer_s:number "
     "decode_queue_s:number decode_s:number sample_s:number decode_wait_s:number "
     "migration_s:number detokenize_s:number format_s:number flush_s:number "
     "overlap_s:number preempted_s:number e2el_s:number priority:string migrations:integer "
     "hand_overs:integer migration_gap_s:number "
     "class_changed:boolean"},
    {"ScoredToken", "token:string logprob:number|null bytes:[integer]"},
    {"TokenLogprob", "token:string logprob:number|null bytes:[integer] top_logprobs:[ScoredToken]"},
    {"ScoredId", "id:integer token:string logprob:number|null bytes:[integer]"},
    {"IdLogprob", "id:integer token:string logprob:number|null bytes:[integer] "
                  "top_logprobs:[ScoredId]"},
    {"DrawnToken", "id:integer token:string prob:number bytes:[integer]"},
    {"TokenProb", "id:integer token:string prob:number bytes:[integer] top_probs:[DrawnToken]"},
    {"Function", "name:string arguments:string"},
    {"ToolCall", "id:string type:string function:Function"},
    {"Message", "role:string content?:any name?:string|null tool_call_id?:string|null "
                "tool_calls?:[object]|null"},

    /* Baton's own */
    {"ServedBy", "prefill:string|null decode:string|null prefill_parts:integer attempts:integer "
                 "migrations:integer hand_overs:integer migration_gap_s:number "
                 "numeric_class:string class_changed:boolean"},
    {"Speculation", "drafted_tokens:integer accepted_tokens:integer"},
    {"Handoff", "bytes:integer chunks:integer path:string transfer_s:number gb_per_s:number|null "
                "crc_s:number overlap_s:number overlap_share:number|null exposed_s:number"},
    {"GenerationInput", "batch_size:integer tokens_per_sequence:[integer] total_tokens:integer "
                        "padding_tokens:integer"},
    {"Stage", "name:string worker:string start_s:number duration_s:number"},
    {"Timeline", "stages:[Stage] overlap_s:number preempted_s:number"},
    {"Generation",
     "id:string model:string text:string generated_text:string ttft_s:number e2el_s:number "
     "token_generation_s:number output_tokens:integer tpot_s:number|null mean_itl_s:number|null "
     "finish_reason:string priority:string queue_s:number prompt_tokens:integer "
     "cached_tokens:integer disk_tokens:integer cache_note:string seed:integer cold:boolean "
     "served_by:ServedBy "
     "speculation:Speculation handoff:Handoff|null logits_shape:[integer] input:GenerationInput "
     "steps?:[Step] timeline?:Timeline"},
    {"Generations", "results:[Generation] input:GenerationInput"},
    {"Tokens", "tokens:[integer|object] pieces:[string] token_strs?:[string] count:integer "
               "max_model_len:integer"},
    {"Text", "text:string content:string prompt:string"},
    {"Prompt", "prompt:string"},
    {"Check", "model?:string name:string ok:boolean age_s:number|null"},
    {"Health", "status:string checks?:[Check] all_ok?:boolean"},
    {"ReadyModel", "model:string prefill:integer decode:integer ready:boolean"},
    {"Ready", "status:string model:string prefill:integer decode:integer models?:[ReadyModel] "
              "warnings:[string]"},
    {"Version", "version:string commit:string"},
    {"WorkerAdapter", "name:string sha256:string rank:integer"},
    {"LoraAdapter",
     "id:integer name:string path:string scale:number default_scale:number rank:integer "
     "sha256:string"},
    {"LoraScale", "id?:integer name?:string scale?:number"},
    {"LoraSet", "success:boolean"},
    {"Drain", "id:string role:string state:string active:integer"},
    {"Worker",
     "id:string role:string state:string pid:integer address:string model:string "
     "served_model:string "
     "fingerprint:string dtype:string kv_dtype:string kernels:string numa:string "
     "draft_model:string adapters:[WorkerAdapter] numeric_class:string kv_block_tokens:integer "
     "kv_tokens:integer kv_limit:string|null "
     "cores:integer queued:integer queued_tokens:integer running:integer routed:integer "
     "active:integer kv_blocks_total:integer kv_blocks_free:integer kv_blocks_cached:integer "
     "kv_blocks_reserved:integer kv_states_total:integer kv_states_free:integer "
     "kv_states_cached:integer weight_bytes:integer kv_cap_bytes:integer "
     "kv_backed_bytes:integer kv_used_bytes:integer kv_backing_failures:integer "
     "kv_account_faults:integer contexts_shared:integer contexts_wired:integer last_step_s:number "
     "stalled_s:number stalls:integer canaries:integer canary_failures:integer "
     "inbox_rejected:integer strangers_ended:integer tokens_per_s:number|null "
     "step_base_s:number|null step_row_s:number|null step_max_rows:integer "
     "prompt_tokens_per_s:number|null predicted_wait_s:number|null prefix_hit_rate:number|null"},
    {"CutPath", "prefill:string decode:string since_s:number"},
    {"RoleLoad", "workers:integer utilisation:number|null best_tokens_per_s:number|null"},
    {"Advice", "short:string prefill:RoleLoad decode:RoleLoad balanced_ratio:number|null "
               "least_workers:object observed:object"},
    {"ModelAdvice", "model:string advice:Advice"},
    {"Workers", "workers:[Worker] cut_paths:[CutPath] advice:Advice models?:[ModelAdvice]"},
    {"KvHeld", "reason:string blocks:integer owners:integer oldest_s:number"},
    {"KvOwner", "request:string attempt:integer open:boolean|null reason:string blocks:integer "
                "shared_blocks:integer states:integer age_s:number reason_s:number "
                "canceled:boolean"},
    {"KvAccount",
     "id:string role:string answered:boolean blocks?:integer free?:integer "
     "faults?:integer states?:integer free_states?:integer cached_states?:integer "
     "oldest_cached_state_s?:number held?:[KvHeld] n_owners?:integer owners?:[KvOwner]"},
    {"KvAccounts", "workers:[KvAccount]"},

    /* OpenAI */
    {"PromptDetails", "cached_tokens:integer disk_tokens:integer cache_write_tokens:integer"},
    {"CompletionDetails", "reasoning_tokens:integer accepted_prediction_tokens:integer "
                          "rejected_prediction_tokens:integer"},
    {"Usage", "prompt_tokens:integer completion_tokens:integer total_tokens:integer "
              "prompt_tokens_details:PromptDetails completion_tokens_details:CompletionDetails"},
    {"CompletionLogprobs", "tokens:[string] token_logprobs:[number|null] "
                           "top_logprobs:[object|null] text_offset:[integer]"},
    {"CompletionChoice",
     "index:integer text:string prompt_logprobs?:[object|null] logprobs:CompletionLogprobs|null "
     "prompt_token_ids?:[integer] token_ids?:[integer] "
     "finish_reason:string stop_reason:string|integer|null steps?:[Step]"},
    {"Completion",
     "id:string object:string created:integer model:string "
     "system_fingerprint:string service_tier:string choices:[CompletionChoice] usage:Usage "
     "timings:Timings"},
    {"AssistantMessage", "role:string content:string|null refusal:string|null annotations:[object] "
                         "reasoning_content?:string reasoning?:string tool_calls?:[ToolCall]"},
    {"ChatLogprobs", "content:[TokenLogprob] refusal:null"},
    {"ChatChoice", "index:integer message:AssistantMessage logprobs:ChatLogprobs|null "
                   "prompt_token_ids?:[integer] token_ids?:[integer] "
                   "finish_reason:string stop_reason:string|integer|null steps?:[Step]"},
    {"ChatCompletion", "id:string object:string created:integer model:string "
                       "system_fingerprint:string service_tier:string choices:[ChatChoice] "
                       "prompt_logprobs?:[object|null] usage:Usage "
                       "timings:Timings"},
    {"Embedding", "object:string index:integer embedding:[number]|string"},
    {"EmbeddingUsage", "prompt_tokens:integer total_tokens:integer prompt_tokens_details:object"},
    {"Embeddings", "id:string object:string model:string data:[Embedding] usage:EmbeddingUsage"},
    {"ScoreUsage", "prompt_tokens:integer total_tokens:integer completion_tokens?:integer"},
    {"RankedDocument", "text:string"},
    {"Rank", "index:integer relevance_score:number document?:RankedDocument"},
    {"Reranking", "id:string object:string model:string results:[Rank] usage:ScoreUsage "
                  "meta:object"},
    {"TeiRank", "index:integer score:number text?:string"},
    {"Score", "index:integer object:string score:number"},
    {"Scores", "id:string object:string created:integer model:string data:[Score] "
               "usage:ScoreUsage"},
    {"SamplingDefaults", "do_sample:boolean|null temperature:number|null top_k:integer|null "
                         "top_p:number|null repetition_penalty:number|null applied:boolean"},
    {"EmbeddingFacts",
     "pooling:string trained:boolean dimensions:integer|null prompts:object|null"},
    {"Model",
     "id:string object:string kind:string created:integer owned_by:string context_length:integer "
     "max_model_len:integer aliases:[string] root:string "
     "parent:null family:string parameters:integer|null quantization:string "
     "meta:ModelMeta vocab_size:integer dtype:string|null chat_template:string "
     "tool_call_form:string|null reasoning:boolean chat_template_abilities:object "
     "sampling_defaults:SamplingDefaults embeddings:EmbeddingFacts"},
    {"ModelMeta", "n_vocab:integer n_ctx:integer n_ctx_train:integer n_embd:integer|null "
                  "n_params:integer|null size:integer|null"},
    {"Models", "object:string data:[Model]"},

    /* OpenAI's Responses */
    {"ResponseError", "code:string message:string"},
    {"ResponseCut", "reason:string"},
    {"ResponsePart", "type:string text:string annotations?:[object] logprobs?:[TokenLogprob]"},
    {"ResponseItem", "id:string type:string status:string role?:string content?:[ResponsePart] "
                     "summary?:[object] call_id?:string namespace?:string name?:string "
                     "arguments?:string input?:string"},
    {"ResponseInputDetails", "cached_tokens:integer cache_write_tokens:integer"},
    {"ResponseOutputDetails", "reasoning_tokens:integer"},
    {"ResponseUsage", "input_tokens:integer input_tokens_details:ResponseInputDetails "
                      "output_tokens:integer output_tokens_details:ResponseOutputDetails "
                      "total_tokens:integer"},
    {"Response", "id:string object:string created_at:integer model:string status:string "
                 "error:ResponseError|null incomplete_details:ResponseCut|null "
                 "output:[ResponseItem] usage:ResponseUsage|null background:boolean "
                 "instructions:any metadata:object parallel_tool_calls:boolean "
                 "previous_response_id:string|null reasoning:object service_tier:string "
                 "text:object tool_choice:string|object tools:[object] truncation:string "
                 "user?:string access_programs:null conversation:object|null "
                 "max_output_tokens:integer|null store:boolean "
                 "temperature:number top_p:number top_logprobs:integer steps?:[Step]"},
    {"InputPart", "type:string text:string"},
    {"InputItem", "id:string type:string status:string role?:string content?:[InputPart] "
                  "summary?:[object] call_id?:string name?:string arguments?:string output?:any"},
    {"ResponseItems", "object:string data:[InputItem] first_id:string|null last_id:string|null "
                      "has_more:boolean"},
    {"ResponseTokens", "object:string input_tokens:integer"},
    {"Conversation", "id:string object:string created_at:integer metadata:object"},
    {"ConversationItem",
     "id:string type:string status:string role?:string content?:[ResponsePart] "
     "summary?:[object] call_id?:string namespace?:string name?:string arguments?:string "
     "input?:string output?:any"},
    {"ConversationItems", "object:string data:[ConversationItem] first_id:string|null "
                          "last_id:string|null has_more:boolean"},
    {"DeletedResponse", "id:string object:string deleted:boolean"},

    /* OpenAI's files */
    {"File", "id:string object:string bytes:integer created_at:integer expires_at?:integer "
             "filename:string purpose:string status:string"},
    {"Files", "object:string data:[File] first_id:string|null last_id:string|null "
              "has_more:boolean"},
    {"BatchError", "code:string line:integer|null message:string param:null"},
    {"BatchErrors", "object:string data:[BatchError]"},
    {"BatchCounts", "total:integer completed:integer failed:integer"},
    {"Batch", "id:string object:string endpoint:string errors:BatchErrors|null "
              "input_file_id:string completion_window:string status:string "
              "output_file_id:string|null error_file_id:string|null created_at:integer "
              "expires_at:integer in_progress_at:integer|null finalizing_at:integer|null "
              "completed_at:integer|null failed_at:integer|null expired_at:integer|null "
              "cancelling_at:integer|null cancelled_at:integer|null request_counts:BatchCounts "
              "metadata:object"},
    {"Batches", "object:string data:[Batch] first_id:string|null last_id:string|null "
                "has_more:boolean"},

    /* Anthropic */
    {"MessageBatchCounts", "processing:integer succeeded:integer errored:integer "
                           "canceled:integer expired:integer"},
    {"MessageBatch", "id:string type:string processing_status:string "
                     "request_counts:MessageBatchCounts ended_at:string|null created_at:string "
                     "expires_at:string archived_at:null cancel_initiated_at:string|null "
                     "results_url:string|null"},
    {"MessageBatches", "data:[MessageBatch] first_id:string|null last_id:string|null "
                       "has_more:boolean"},
    {"DeletedMessageBatch", "id:string type:string"},
    {"ContentBlock", "type:string text?:string thinking?:string signature?:string id?:string "
                     "name?:string input?:object"},
    {"MessageUsage", "input_tokens:integer cache_creation_input_tokens:integer "
                     "cache_read_input_tokens:integer output_tokens:integer"},
    {"AnthropicMessage", "id:string type:string role:string model:string content:[ContentBlock] "
                         "stop_reason:string|null stop_sequence:string|null usage:MessageUsage "
                         "steps?:[Step]"},
    {"AnthropicModel", "type:string id:string display_name:string created_at:string "
                       "lifecycle:string max_input_tokens:integer max_tokens:integer "
                       "capabilities:null deprecated_at:null line:null retires_at:null"},
    {"AnthropicModels", "data:[AnthropicModel] has_more:boolean first_id:string last_id:string"},
    {"TokenCount", "input_tokens:integer"},

    /* llama.cpp */
    {"LlamaSettings", "seed:integer temperature:number top_n_sigma:number top_k:integer "
                      "typical_p:number top_p:number min_p:number repeat_penalty:number "
                      "presence_penalty:number frequency_penalty:number n_probs:integer "
                      "n_predict:integer ignore_eos:boolean stream:boolean stop:[string] "
                      "logit_bias:[object] adaptive_target:number adaptive_decay:number"},
    {"LlamaCompletion",
     "index:integer content:string tokens:[integer] stop:boolean id_slot:integer "
     "tokens_predicted:integer tokens_evaluated:integer "
     "completion_probabilities?:[IdLogprob|TokenProb] steps?:[Step] model:string "
     "generation_settings:LlamaSettings prompt:string has_new_line:boolean truncated:boolean "
     "stop_type:string stopping_word:string tokens_cached:integer timings:Rates"},
    {"LlamaEmbedding", "index:integer embedding:[[number]]"},
    {"LlamaNextToken", "has_next_token:boolean n_remain:integer n_decoded:integer"},
    {"LlamaSlot", "id:integer worker:string n_ctx:integer is_processing:boolean "
                  "next_token?:[LlamaNextToken]"},
    {"LlamaDefaults", "n_ctx:integer params:object"},
    {"LlamaProps", "default_generation_settings:LlamaDefaults total_slots:integer "
                   "model_path:string chat_template:string model_alias:string "
                   "bos_token:string eos_token:string modalities:object build_info:string"},

    /* TGI */
    {"TgiToken", "id:integer text:string logprob:number|null special?:boolean"},
    {"TgiDetails", "finish_reason:string generated_tokens:integer seed:integer|null "
                   "prefill:[TgiToken] tokens:[TgiToken] top_tokens?:[[TgiToken]]"},
    {"TgiAnswer", "generated_text:string details?:TgiDetails steps?:[Step]"},
    {"TgiPlacedToken", "id:integer text:string start:integer stop:integer"},
    {"TgiChatTokens", "tokenize_response:[TgiPlacedToken] templated_text:string"},
    {"TeiInfo", "model_id:string model_sha:null model_dtype:string|null model_type:object "
                "max_input_length:integer max_client_batch_size:integer auto_truncate:boolean "
                "router:string version:string sha:string"},
    {"TgiInfo", "model_id:string model_pipeline_tag:string max_best_of:integer "
                "max_stop_sequences:integer max_input_tokens:integer max_total_tokens:integer "
                "max_client_batch_size:integer router:string version:string sha:string"},

    /* SGLang, vLLM */
    {"SglangMeta", "id:string finish_reason:object|null prompt_tokens:integer "
                   "completion_tokens:integer cached_tokens:integer weight_version:string "
                   "output_token_logprobs?:[[any]] e2e_latency:number"},
    {"SglangAnswer", "text:string output_ids:[integer] meta_info:SglangMeta steps?:[Step]"},
    {"SglangModel", "model_path:string tokenizer_path:string served_model_name:string "
                    "weight_version:string is_generation:boolean preferred_sampling_params:null"},
    {"SglangServer", "model_path:string tokenizer_path:string served_model_name:string "
                     "weight_version:string context_length:integer max_req_input_len:integer "
                     "disable_radix_cache:boolean version:string"},
    {"Load", "server_load:integer"},

    /* Ollama */
    {"OllamaFunction", "index:integer name:string arguments:object"},
    {"OllamaCall", "id:string function:OllamaFunction"},
    {"OllamaMessage", "role:string content:string thinking?:string tool_calls?:[OllamaCall]"},
    {"OllamaDropped", "messages:integer tokens:integer"},
    {"OllamaGeneration",
     "model:string created_at:string response:string thinking?:string done:boolean "
     "done_reason:string context?:[integer] total_duration?:integer load_duration?:integer "
     "prompt_eval_count?:integer prompt_eval_duration?:integer eval_count?:integer "
     "eval_duration?:integer dropped?:OllamaDropped logprobs?:[TokenLogprob] steps?:[Step]"},
    {"OllamaChat",
     "model:string created_at:string message:OllamaMessage done:boolean done_reason:string "
     "total_duration?:integer load_duration?:integer prompt_eval_count?:integer "
     "prompt_eval_duration?:integer eval_count?:integer eval_duration?:integer "
     "dropped?:OllamaDropped logprobs?:[TokenLogprob] steps?:[Step]"},
    {"OllamaEmbeddings", "model:string embeddings:[[number]] total_duration:integer "
                         "load_duration:integer prompt_eval_count:integer"},
    {"OllamaEmbedding", "embedding:[number]"},
    {"OllamaDetails", "parent_model:string format:string family:string families:[string] "
                      "parameter_size:string quantization_level:string context_length:integer "
                      "embedding_length:integer"},
    {"OllamaModel", "name:string model:string size:integer digest:string details:OllamaDetails "
                    "modified_at?:string capabilities?:[string] expires_at?:string "
                    "size_vram?:integer context_length?:integer"},
    {"OllamaModels", "models:[OllamaModel]"},
    {"OllamaShown", "modelfile:string parameters:string template:string details:OllamaDetails "
                    "model_info:object capabilities:[string] modified_at:string"},
    {"OllamaStatus", "status:string"},
    {"OllamaVersion", "version:string baton:string"},
};

void gw_answer_put_schemas(struct baton_json_out *out)
{
    for (size_t i = 0; i < BATON_N_OF(objects); i++)
        gw_type_put_members(out, objects[i].name, objects[i].members);
}

/* ---- elements of fields ---- */

const char *gw_element_type(const char *field)
{
    static const struct {
        const char *field, *type;
    } elements[] = {
        {"messages", "Message"}, {"tools", "object"},
        {"functions", "object"}, {"documents", "object"},
        {"stop", "string"},      {"stop_sequences", "string"},
        {"include", "string"},   {"stop_token_ids", "integer"},
    };
    for (size_t i = 0; i < BATON_N_OF(elements); i++)
        if (!strcmp(elements[i].field, field))
            return elements[i].type;
    return "any";
}
