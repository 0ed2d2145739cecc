#include "gateway/api/tgi/info.h"

#include "common/base/version.h"
#include "engine/tokenizer/stream.h"
#include "gateway/api/answer.h"

void gw_tgi_info(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *unused)
{
    struct gw_answer answer;
    (void)unused;
    gw_answer_open(&answer);
    baton_json_put_string(&answer.out, "model_id", api->names->list[0]);
    baton_json_put_string(&answer.out, "model_pipeline_tag", "text-generation");
    baton_json_put_int(&answer.out, "max_best_of", 1);
    baton_json_put_int(&answer.out, "max_stop_sequences", BATON_STOP_MAX);
    baton_json_put_int(&answer.out, "max_input_tokens", api->max_prompt_tokens);
    baton_json_put_int(&answer.out, "max_total_tokens", gw_fleet_context_tokens(api->fleet));
    baton_json_put_int(&answer.out, "max_client_batch_size", 1);
    baton_json_put_string(&answer.out, "router", "baton");
    baton_json_put_string(&answer.out, "version", baton_release);
    baton_json_put_string(&answer.out, "sha", baton_commit);
    gw_answer_close(&answer, exchange, 200);
}
