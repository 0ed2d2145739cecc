#include "gateway/api/tgi/info.h"

#include "common/base/version.h"
#include "engine/tokenizer/stream.h"
#include "gateway/api/answer.h"

enum { INFO_MAX_BYTES = 16 << 10 };

void gw_tgi_info(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *unused)
{
    struct baton_buf body;
    (void)unused;
    baton_buf_init(&body, INFO_MAX_BYTES);
    struct baton_json_out out = baton_json_out(&body);
    baton_json_open(&out, NULL, '{');
    baton_json_put_string(&out, "model_id", api->names->list[0]);
    baton_json_put_string(&out, "model_pipeline_tag", "text-generation");
    baton_json_put_int(&out, "max_best_of", 1);
    baton_json_put_int(&out, "max_stop_sequences", BATON_STOP_MAX);
    baton_json_put_int(&out, "max_input_tokens", api->max_prompt_tokens);
    baton_json_put_int(&out, "max_total_tokens", gw_fleet_context_tokens(api->fleet));
    baton_json_put_int(&out, "max_client_batch_size", 1);
    baton_json_put_string(&out, "router", "baton");
    baton_json_put_string(&out, "version", baton_release);
    baton_json_put_string(&out, "sha", baton_commit);
    baton_json_close(&out, '}');
    gw_answer_json(exchange, 200, &body);
    baton_buf_fini(&body);
}
