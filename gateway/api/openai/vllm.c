#include "gateway/api/openai/vllm.h"

#include "gateway/api/answer.h"
#include "gateway/api/choose_model.h"
#include "gateway/api/openai/completions.h"
#include "gateway/api/openai/embeddings.h"
#include "gateway/request/request.h"

void gw_vllm_load(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *none)
{
    struct gw_answer answer;
    struct gw_served models;
    size_t n = 0;
    (void)none;
    gw_models_asked_for(api, exchange, &models);
    for (size_t i = 0; i < models.n; i++)
        for (int state = GW_READING; state < GW_DONE; state++)
            n += models.models[i]->requests->by_state[state].n;
    gw_answer_open(&answer);
    baton_json_put_uint(&answer.out, "server_load", n);
    gw_answer_close(&answer, exchange, 200);
}

void gw_vllm_invocations(struct gw_api *api, struct gw_exchange *exchange,
                         const struct baton_json *body)
{
    if (baton_json_kind(baton_json_get(body, "prompt")) != BATON_JSON_NULL)
        gw_openai_completions(api, exchange, body);
    else if (baton_json_kind(baton_json_get(body, "input")) != BATON_JSON_NULL)
        gw_openai_embeddings(api, exchange, body);
    else
        gw_openai_chat(api, exchange, body);
}
