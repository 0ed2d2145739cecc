#include "gateway/api/routes/answers.h"

#include "common/base/array.h"
#include "gateway/api/adapters/lora.h"
#include "gateway/api/anthropic/messages.h"
#include "gateway/api/batches/messages.h"
#include "gateway/api/batches/routes.h"
#include "gateway/api/files/routes.h"
#include "gateway/api/files/upload.h"
#include "gateway/api/llamacpp/completion.h"
#include "gateway/api/llamacpp/embedding.h"
#include "gateway/api/llamacpp/infill.h"
#include "gateway/api/llamacpp/props.h"
#include "gateway/api/llamacpp/slots.h"
#include "gateway/api/native/generate.h"
#include "gateway/api/ollama/aliases.h"
#include "gateway/api/ollama/embed.h"
#include "gateway/api/ollama/generate.h"
#include "gateway/api/ollama/models.h"
#include "gateway/api/openai/completions.h"
#include "gateway/api/openai/embeddings.h"
#include "gateway/api/openai/models.h"
#include "gateway/api/openai/vllm.h"
#include "gateway/api/rerank/rerank.h"
#include "gateway/api/responses/conversations.h"
#include "gateway/api/responses/responses.h"
#include "gateway/api/routes/debug_kv.h"
#include "gateway/api/routes/drain.h"
#include "gateway/api/routes/health.h"
#include "gateway/api/routes/info.h"
#include "gateway/api/routes/text.h"
#include "gateway/api/sglang/generate.h"
#include "gateway/api/tei/embed.h"
#include "gateway/api/tgi/generate.h"

static const struct {
    gw_endpoint endpoint;
    const char *type;
} answers[] = {
    {gw_generate, "Generation|Generations|TgiAnswer|SglangAnswer|[SglangAnswer]"},
    {gw_tokenize, "Tokens"},
    {gw_detokenize, "Text"},
    {gw_health, "Health"},
    {gw_live, "Health"},
    {gw_info_ready, "Ready"},
    {gw_info_workers, "Workers"},
    {gw_info_version, "Version"},
    {gw_vllm_load, "Load"},
    {gw_vllm_invocations, "ChatCompletion|Completion|Embeddings"},
    {gw_sglang_model_info, "SglangModel"},
    {gw_sglang_server_info, "SglangServer"},
    {gw_drain_worker, "Drain"},
    {gw_debug_kv, "KvAccounts"},
    {gw_openai_completions, "Completion"},
    {gw_openai_chat, "ChatCompletion"},
    {gw_openai_embeddings, "Embeddings"},
    {gw_rerank, "Reranking|[TeiRank]"},
    {gw_rerank_bare, "Reranking|[TeiRank]"},
    {gw_score, "Scores"},
    {gw_openai_models, "Models"},
    {gw_openai_model, "Model"},
    {gw_responses, "Response"},
    {gw_responses_cancel, "Response"},
    {gw_responses_input_items, "ResponseItems"},
    {gw_responses_input_tokens, "ResponseTokens"},
    {gw_responses_get, "Response"},
    {gw_responses_delete, "DeletedResponse"},
    {gw_conversations_create, "Conversation"},
    {gw_conversations_get, "Conversation"},
    {gw_conversations_update, "Conversation"},
    {gw_conversations_delete, "DeletedResponse"},
    {gw_conversations_add_items, "ConversationItems"},
    {gw_conversations_list_items, "ConversationItems"},
    {gw_conversations_get_item, "ConversationItem"},
    {gw_conversations_delete_item, "Conversation"},
    {gw_files_upload, "File"},
    {gw_files_list, "Files"},
    {gw_files_get, "File"},
    {gw_files_delete, "DeletedResponse"},
    {gw_openai_batches_create, "Batch"},
    {gw_openai_batches_list, "Batches"},
    {gw_openai_batches_get, "Batch"},
    {gw_openai_batches_cancel, "Batch"},
    {gw_messages_batches_create, "MessageBatch"},
    {gw_messages_batches_list, "MessageBatches"},
    {gw_messages_batches_get, "MessageBatch"},
    {gw_messages_batches_cancel, "MessageBatch"},
    {gw_messages_batches_delete, "DeletedMessageBatch"},
    {gw_anthropic_messages, "AnthropicMessage"},
    {gw_anthropic_count_tokens, "TokenCount"},
    {gw_llamacpp_completion, "LlamaCompletion|[LlamaCompletion]"},
    {gw_llamacpp_infill, "LlamaCompletion|[LlamaCompletion]"},
    {gw_mistral_fim, "ChatCompletion"},
    {gw_llamacpp_apply_template, "Prompt"},
    {gw_llamacpp_input_tokens, "ResponseTokens"},
    {gw_llamacpp_embedding, "[LlamaEmbedding]"},
    {gw_llamacpp_slots, "[LlamaSlot]"},
    {gw_lora_list, "[LoraAdapter]"},
    {gw_lora_set_defaults, "LoraSet"},
    {gw_llamacpp_props, "LlamaProps"},
    {gw_tgi_compatible, "[TgiAnswer]"},
    {gw_tgi_chat_tokenize, "TgiChatTokens"},
    {gw_tgi_info, "TgiInfo|TeiInfo"},
    {gw_tei_embed, "[[number]]"},
    {gw_ollama_generate, "OllamaGeneration"},
    {gw_ollama_chat, "OllamaChat"},
    {gw_ollama_embed, "OllamaEmbeddings"},
    {gw_ollama_embeddings, "OllamaEmbedding"},
    {gw_ollama_tags, "OllamaModels"},
    {gw_ollama_ps, "OllamaModels"},
    {gw_ollama_show, "OllamaShown"},
    {gw_ollama_pull, "OllamaStatus"},
    {gw_ollama_create, "OllamaStatus"},
    {gw_ollama_version, "OllamaVersion"},
};

const char *gw_route_answer_type(gw_endpoint endpoint)
{
    for (size_t i = 0; i < BATON_N_OF(answers); i++)
        if (answers[i].endpoint == endpoint)
            return answers[i].type;
    return "object";
}
