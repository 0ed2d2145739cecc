#include "gateway/api/routes/table.h"

#include "common/base/array.h"
#include "gateway/api/adapters/lora.h"
#include "gateway/api/anthropic/messages.h"
#include "gateway/api/anthropic/writer.h"
#include "gateway/api/batches/messages.h"
#include "gateway/api/batches/routes.h"
#include "gateway/api/files/routes.h"
#include "gateway/api/files/upload.h"
#include "gateway/api/llamacpp/completion.h"
#include "gateway/api/llamacpp/embedding.h"
#include "gateway/api/llamacpp/props.h"
#include "gateway/api/llamacpp/slots.h"
#include "gateway/api/llamacpp/writer.h"
#include "gateway/api/native/generate.h"
#include "gateway/api/ollama/aliases.h"
#include "gateway/api/ollama/embed.h"
#include "gateway/api/ollama/generate.h"
#include "gateway/api/ollama/models.h"
#include "gateway/api/ollama/writer.h"
#include "gateway/api/openai/completions.h"
#include "gateway/api/openai/embeddings.h"
#include "gateway/api/openai/models.h"
#include "gateway/api/openai/vllm.h"
#include "gateway/api/openapi/openapi.h"
#include "gateway/api/page.h"
#include "gateway/api/rerank/rerank.h"
#include "gateway/api/responses/conversations.h"
#include "gateway/api/responses/responses.h"
#include "gateway/api/routes/answers.h"
#include "gateway/api/routes/debug_kv.h"
#include "gateway/api/routes/drain.h"
#include "gateway/api/routes/events.h"
#include "gateway/api/routes/health.h"
#include "gateway/api/routes/info.h"
#include "gateway/api/routes/text.h"
#include "gateway/api/sglang/generate.h"
#include "gateway/api/streams/resume.h"
#include "gateway/api/tei/embed.h"
#include "gateway/api/tgi/generate.h"
#include "gateway/api/tgi/writer.h"

static const struct gw_route routes[] = {
    {"POST", "/generate", gw_generate, GW_ANSWERS_JSON,
     "Continue a prompt or a batch of prompts; a body with inputs is a TGI request"},
    {"POST", "/generate/stream", gw_generate_stream, GW_ANSWERS_EVENTS,
     "Continue a prompt as a stream of tokens"},
    {"POST", "/tokenize", gw_tokenize, GW_ANSWERS_JSON, "Convert text to token ids"},
    {"POST", "/detokenize", gw_detokenize, GW_ANSWERS_JSON, "Convert token ids to text"},
    {"POST", "/completion", gw_llamacpp_completion, GW_ANSWERS_JSON | GW_ANSWERS_EVENTS,
     "Continue prompts, as llama.cpp does"},
    {"POST", "/completions", gw_llamacpp_completion, GW_ANSWERS_JSON | GW_ANSWERS_EVENTS,
     "Continue prompts; the same as /completion"},
    {"POST", "/infill", gw_llamacpp_infill, GW_ANSWERS_JSON | GW_ANSWERS_EVENTS,
     "Write the text between a prefix and a suffix, as llama.cpp does"},
    {"POST", "/apply-template", gw_llamacpp_apply_template, GW_ANSWERS_JSON,
     "Render a conversation as a prompt"},
    {"POST", "/embedding", gw_llamacpp_embedding, GW_ANSWERS_JSON,
     "Embed texts, as llama.cpp does"},
    {"POST", "/embeddings", gw_llamacpp_embedding, GW_ANSWERS_JSON,
     "Embed texts; the same as /embedding"},
    {"GET", "/slots", gw_llamacpp_slots, GW_ANSWERS_JSON,
     "List the slots of the decode workers' batches, as llama.cpp does"},
    {"GET", "/props", gw_llamacpp_props, GW_ANSWERS_JSON,
     "Report the server's properties, as llama.cpp does"},
    {"POST", "/generate_stream", gw_tgi_generate_stream, GW_ANSWERS_EVENTS,
     "Continue a prompt as a stream of tokens, as TGI does"},
    {"POST", "/", gw_tgi_compatible, GW_ANSWERS_JSON | GW_ANSWERS_EVENTS,
     "Continue a prompt, as TGI and Hugging Face's endpoints do"},
    {"POST", "/chat_tokenize", gw_tgi_chat_tokenize, GW_ANSWERS_JSON,
     "Render a conversation as a prompt and tokenize it, as TGI does"},
    {"POST", "/embed", gw_tei_embed, GW_ANSWERS_JSON,
     "Embed texts, as text-embeddings-inference does"},
    {"GET", "/info", gw_tgi_info, GW_ANSWERS_JSON,
     "Report the server's properties, as TGI does, and TEI for an encoder"},
    {"POST", "/v1/completions", gw_openai_completions, GW_ANSWERS_JSON | GW_ANSWERS_EVENTS,
     "Continue prompts, as OpenAI does"},
    {"POST", "/v1/fim/completions", gw_mistral_fim, GW_ANSWERS_JSON | GW_ANSWERS_EVENTS,
     "Write the text between a prompt and a suffix, as Mistral does"},
    {"POST", "/v1/chat/completions", gw_openai_chat, GW_ANSWERS_JSON | GW_ANSWERS_EVENTS,
     "Answer a conversation, as OpenAI does"},
    {"POST", "/v1/chat/completions/input_tokens", gw_llamacpp_input_tokens, GW_ANSWERS_JSON,
     "Count the tokens of a conversation, as llama.cpp does"},
    {"POST", "/v1/embeddings", gw_openai_embeddings, GW_ANSWERS_JSON,
     "Embed texts, as OpenAI does"},
    {"POST", "/v1/rerank", gw_rerank, GW_ANSWERS_JSON,
     "Score documents for a query, as Jina and vLLM do"},
    {"POST", "/rerank", gw_rerank, GW_ANSWERS_JSON,
     "The same; a body with texts is a request of text-embeddings-inference"},
    {"POST", "/v2/rerank", gw_rerank_bare, GW_ANSWERS_JSON,
     "Score documents for a query, as Cohere does"},
    {"POST", "/v1/reranking", gw_rerank_bare, GW_ANSWERS_JSON,
     "Score documents for a query, as llama.cpp does"},
    {"POST", "/reranking", gw_rerank_bare, GW_ANSWERS_JSON, "The same as /v1/reranking"},
    {"POST", "/v1/score", gw_score, GW_ANSWERS_JSON, "Score pairs of texts, as vLLM does"},
    {"POST", "/score", gw_score, GW_ANSWERS_JSON, "The same as /v1/score"},
    {"POST", "/v1/responses", gw_responses, GW_ANSWERS_JSON | GW_ANSWERS_EVENTS,
     "Answer a turn of a conversation, as OpenAI's Responses do"},
    {"GET", "/v1/responses/{id}", gw_responses_get, GW_ANSWERS_JSON | GW_NAMES_A_SECRET,
     "Return a stored response"},
    {"DELETE", "/v1/responses/{id}", gw_responses_delete, GW_ANSWERS_JSON | GW_NAMES_A_SECRET,
     "Delete a stored response"},
    {"GET", "/v1/responses/{id}/input_items", gw_responses_input_items,
     GW_ANSWERS_JSON | GW_NAMES_A_SECRET, "List the input of a stored response"},
    {"POST", "/v1/responses/{id}/cancel", gw_responses_cancel,
     GW_ANSWERS_JSON | GW_TAKES_NO_BODY | GW_NAMES_A_SECRET, "Cancel a response in the background"},
    {"POST", "/v1/responses/input_tokens", gw_responses_input_tokens, GW_ANSWERS_JSON,
     "Count the tokens of a response's prompt"},
    {"POST", "/v1/conversations", gw_conversations_create, GW_ANSWERS_JSON,
     "Store a conversation that responses continue"},
    {"GET", "/v1/conversations/{id}", gw_conversations_get, GW_ANSWERS_JSON | GW_NAMES_A_SECRET,
     "Return a stored conversation"},
    {"POST", "/v1/conversations/{id}", gw_conversations_update, GW_ANSWERS_JSON | GW_NAMES_A_SECRET,
     "Replace the metadata of a conversation"},
    {"DELETE", "/v1/conversations/{id}", gw_conversations_delete,
     GW_ANSWERS_JSON | GW_NAMES_A_SECRET, "Delete a conversation"},
    {"POST", "/v1/conversations/{id}/items", gw_conversations_add_items,
     GW_ANSWERS_JSON | GW_NAMES_A_SECRET, "Add items to a conversation"},
    {"GET", "/v1/conversations/{id}/items", gw_conversations_list_items,
     GW_ANSWERS_JSON | GW_NAMES_A_SECRET, "List the items of a conversation"},
    {"GET", "/v1/conversations/{id}/items/{item}", gw_conversations_get_item,
     GW_ANSWERS_JSON | GW_NAMES_A_SECRET, "Return an item of a conversation"},
    {"DELETE", "/v1/conversations/{id}/items/{item}", gw_conversations_delete_item,
     GW_ANSWERS_JSON | GW_NAMES_A_SECRET, "Delete an item of a conversation"},
    {"POST", "/v1/files", gw_files_upload, GW_ANSWERS_JSON | GW_TAKES_FORM, "Store a file"},
    {"GET", "/v1/files", gw_files_list, GW_ANSWERS_JSON, "List the stored files"},
    {"GET", "/v1/files/{id}", gw_files_get, GW_ANSWERS_JSON | GW_NAMES_A_SECRET,
     "Describe a stored file"},
    {"GET", "/v1/files/{id}/content", gw_files_content, GW_ANSWERS_FILE | GW_NAMES_A_SECRET,
     "Return the contents of a stored file"},
    {"DELETE", "/v1/files/{id}", gw_files_delete, GW_ANSWERS_JSON | GW_NAMES_A_SECRET,
     "Delete a stored file"},
    {"POST", "/v1/batches", gw_openai_batches_create, GW_ANSWERS_JSON,
     "Answer the requests of a file"},
    {"GET", "/v1/batches", gw_openai_batches_list, GW_ANSWERS_JSON, "List the batches"},
    {"GET", "/v1/batches/{id}", gw_openai_batches_get, GW_ANSWERS_JSON | GW_NAMES_A_SECRET,
     "Describe a batch"},
    {"POST", "/v1/batches/{id}/cancel", gw_openai_batches_cancel,
     GW_ANSWERS_JSON | GW_TAKES_NO_BODY | GW_NAMES_A_SECRET, "Cancel a batch"},
    {"GET", "/v1/streams/{id}", gw_stream_get, GW_ANSWERS_EVENTS | GW_NAMES_A_SECRET,
     "Resume a stream"},
    {"DELETE", "/v1/streams/{id}", gw_stream_delete, GW_NAMES_A_SECRET, "Cancel a stream"},
    {"POST", "/v1/messages", gw_anthropic_messages, GW_ANSWERS_JSON | GW_ANSWERS_EVENTS,
     "Answer a conversation, as Anthropic does"},
    {"POST", "/v1/messages/count_tokens", gw_anthropic_count_tokens, GW_ANSWERS_JSON,
     "Count the tokens of a conversation"},
    {"POST", "/v1/messages/batches", gw_messages_batches_create, GW_ANSWERS_JSON,
     "Answer many conversations later, as Anthropic does"},
    {"GET", "/v1/messages/batches", gw_messages_batches_list, GW_ANSWERS_JSON,
     "List the batches of messages"},
    {"GET", "/v1/messages/batches/{id}", gw_messages_batches_get,
     GW_ANSWERS_JSON | GW_NAMES_A_SECRET, "Describe a batch of messages"},
    {"GET", "/v1/messages/batches/{id}/results", gw_messages_batches_results,
     GW_ANSWERS_FILE | GW_NAMES_A_SECRET, "Return the results of a batch of messages"},
    {"POST", "/v1/messages/batches/{id}/cancel", gw_messages_batches_cancel,
     GW_ANSWERS_JSON | GW_TAKES_NO_BODY | GW_NAMES_A_SECRET, "Cancel a batch of messages"},
    {"DELETE", "/v1/messages/batches/{id}", gw_messages_batches_delete,
     GW_ANSWERS_JSON | GW_NAMES_A_SECRET, "Delete a batch of messages"},
    {"POST", "/api/generate", gw_ollama_generate, GW_ANSWERS_JSON | GW_ANSWERS_LINES,
     "Answer a prompt, as Ollama does"},
    {"POST", "/api/chat", gw_ollama_chat, GW_ANSWERS_JSON | GW_ANSWERS_LINES,
     "Answer a conversation, as Ollama does"},
    {"POST", "/api/embed", gw_ollama_embed, GW_ANSWERS_JSON, "Embed texts, as Ollama does"},
    {"POST", "/api/embeddings", gw_ollama_embeddings, GW_ANSWERS_JSON,
     "Embed a text, as Ollama's older route does"},
    {"GET", "/api/tags", gw_ollama_tags, GW_ANSWERS_JSON, "List the served model, as Ollama does"},
    {"GET", "/api/ps", gw_ollama_ps, GW_ANSWERS_JSON, "List the running model, as Ollama does"},
    {"POST", "/api/show", gw_ollama_show, GW_ANSWERS_JSON,
     "Describe the served model, as Ollama does"},
    {"POST", "/api/pull", gw_ollama_pull, GW_ANSWERS_JSON | GW_ANSWERS_LINES,
     "Report that the served model is here, as Ollama's pull does"},
    {"POST", "/api/copy", gw_ollama_copy, GW_ANSWERS_TEXT | GW_FOR_OPERATORS,
     "Give the served model another name, as Ollama's copy does"},
    {"POST", "/api/create", gw_ollama_create, GW_ANSWERS_JSON | GW_ANSWERS_LINES | GW_FOR_OPERATORS,
     "Give the served model another name, as Ollama's create does"},
    {"DELETE", "/api/delete", gw_ollama_delete, GW_ANSWERS_TEXT | GW_TAKES_BODY | GW_FOR_OPERATORS,
     "Take such a name away"},
    {"GET", "/api/version", gw_ollama_version, GW_ANSWERS_JSON,
     "Report the version of Ollama's API"},
    {"GET", "/v1/models", gw_openai_models, GW_ANSWERS_JSON,
     "List the names of the served model; AnthropicModels with the header anthropic-version"},
    {"GET", "/v1/models/{id}", gw_openai_model, GW_ANSWERS_JSON | GW_NAME_HAS_SLASHES,
     "Describe the served model; an AnthropicModel with the header anthropic-version"},
    {"POST", "/v1/load_lora_adapter", gw_lora_load, GW_ANSWERS_TEXT | GW_FOR_OPERATORS,
     "Load a LoRA adapter on every worker, as vLLM does; for operators"},
    {"POST", "/v1/unload_lora_adapter", gw_lora_drop, GW_ANSWERS_TEXT | GW_FOR_OPERATORS,
     "Drop a LoRA adapter from every worker, as vLLM does; for operators"},
    {"GET", "/lora-adapters", gw_lora_list, GW_ANSWERS_JSON,
     "List the LoRA adapters, as llama.cpp does"},
    {"POST", "/lora-adapters", gw_lora_set_defaults,
     GW_ANSWERS_JSON | GW_FOR_OPERATORS | GW_TAKES_SCALES,
     "Set the adapters of requests that name none, as llama.cpp does; for operators"},
    {"GET", "/health", gw_health, GW_ANSWERS_JSON,
     "Report that the gateway is alive; ?detail=1 lists its checks"},
    {"GET", "/live", gw_live, GW_ANSWERS_JSON, "Report that the gateway is alive"},
    {"GET", "/ping", gw_live, GW_ANSWERS_JSON, "Report that the gateway is alive, as vLLM does"},
    {"POST", "/ping", gw_live, GW_ANSWERS_JSON | GW_TAKES_NO_BODY, "The same"},
    {"GET", "/liveness", gw_live, GW_ANSWERS_JSON, "The same, as SGLang's router does"},
    {"GET", "/readiness", gw_info_ready, GW_ANSWERS_JSON,
     "Report whether prompts can be served, as SGLang's router does"},
    {"GET", "/health_generate", gw_info_ready, GW_ANSWERS_JSON, "The same, as SGLang does"},
    {"GET", "/load", gw_vllm_load, GW_ANSWERS_JSON,
     "Report the number of open generations, as vLLM does"},
    {"GET", "/get_model_info", gw_sglang_model_info, GW_ANSWERS_JSON,
     "Describe the served model, as SGLang does"},
    {"GET", "/get_server_info", gw_sglang_server_info, GW_ANSWERS_JSON,
     "Report the server's properties, as SGLang does"},
    {"POST", "/flush_cache", gw_sglang_flush_cache,
     GW_ANSWERS_TEXT | GW_TAKES_NO_BODY | GW_FOR_OPERATORS,
     "Let no later prompt share KV blocks with earlier ones; for operators"},
    {"POST", "/invocations", gw_vllm_invocations, GW_ANSWERS_JSON | GW_ANSWERS_EVENTS,
     "Answer a body of chat, completions or embeddings, as vLLM does on SageMaker"},
    {"GET", "/ready", gw_info_ready, GW_ANSWERS_JSON, "Report whether prompts can be served"},
    {"GET", "/workers", gw_info_workers, GW_ANSWERS_JSON, "List the workers"},
    {"POST", "/workers/{id}/drain", gw_drain_worker,
     GW_ANSWERS_JSON | GW_TAKES_NO_BODY | GW_FOR_OPERATORS | GW_ONLY_ACCEPTS,
     "Drain a worker; for operators"},
    {"GET", "/version", gw_info_version, GW_ANSWERS_JSON, "Report the release"},
    {"GET", "/metrics", gw_info_metrics, GW_ANSWERS_TEXT, "Return metrics for Prometheus"},
    {"GET", "/debug/kv", gw_debug_kv, GW_ANSWERS_JSON | GW_FOR_OPERATORS,
     "List the owners of KV blocks; for operators"},
    {"GET", "/events", gw_events_get, GW_ANSWERS_EVENTS | GW_FOR_OPERATORS,
     "Follow what happens in the fleet; for operators"},
    {"GET", "/openapi.json", gw_openapi_get, GW_ANSWERS_JSON, "Return this document"},
    {"GET", "/", gw_page, GW_ANSWERS_FILE, "Return the playground"},
    {"GET", "/web/{name}", gw_page_part, GW_ANSWERS_FILE, "Return a file of the playground"},
};

static const struct gw_route_dialect dialects[] = {
    {"/v1/messages", &gw_anthropic_errors, false},
    {"/api", &gw_ollama_errors, true},
    {"/completion", &gw_llamacpp_errors, false},
    {"/completions", &gw_llamacpp_errors, false},
    {"/chat/completions", &gw_llamacpp_errors, false},
    {"/embedding", &gw_llamacpp_errors, false},
    {"/embeddings", &gw_llamacpp_errors, false},
    {"/chat_tokenize", &gw_tgi_errors, false},
    {"/embed", &gw_tgi_errors, false},
    {"/generate_stream", &gw_tgi_errors, false},
    {"/", &gw_tgi_errors, false}, /* only this path: every other one has a name after it */
};

static const struct gw_pool_part pool_parts[] = {
    {gw_tokenize, gw_tokenize_on_pool},
    {gw_detokenize, gw_detokenize_on_pool},
};

const struct gw_route_table gw_route_table = {.routes = routes,
                                              .n_routes = BATON_N_OF(routes),
                                              .dialects = dialects,
                                              .n_dialects = BATON_N_OF(dialects),
                                              .pool_parts = pool_parts,
                                              .n_pool_parts = BATON_N_OF(pool_parts),
                                              .answer_type = gw_route_answer_type};
