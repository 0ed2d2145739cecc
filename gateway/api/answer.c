#include "gateway/api/answer.h"

#include "gateway/api/route.h"
#include "gateway/http/status.h"

void gw_answer_open(struct gw_answer *answer)
{
    answer->is_array = false;
    baton_buf_init(&answer->body, GW_ANSWER_MAX_BYTES);
    answer->out = baton_json_out(&answer->body);
    baton_json_open(&answer->out, NULL, '{');
}

void gw_answer_make_array(struct gw_answer *answer)
{
    answer->is_array = true;
    baton_buf_reset(&answer->body);
    answer->out = baton_json_out(&answer->body);
    baton_json_open(&answer->out, NULL, '[');
}

void gw_answer_close(struct gw_answer *answer, struct gw_exchange *exchange, int status)
{
    baton_json_close(&answer->out, answer->is_array ? ']' : '}');
    gw_answer_json(exchange, status, &answer->body);
    baton_buf_fini(&answer->body);
}

void gw_reply_send(struct gw_reply *reply, struct gw_exchange *exchange)
{
    if (!reply->has_failed) {
        gw_answer_close(&reply->answer, exchange, 200);
        return;
    }
    if (exchange && reply->errors)
        reply->errors->mark(exchange);
    gw_answer_problem(exchange, &reply->problem);
    baton_buf_fini(&reply->answer.body);
}

void gw_answer_end_fields(struct gw_fields *fields, struct gw_exchange *exchange, bool refuses)
{
    char list[512];
    if (refuses)
        gw_fields_refuse_unknown(fields);
    else if (!fields->failed && gw_fields_list_unknown(fields, list, sizeof list))
        /* Only a hint, so a header that does not fit is no reason to fail the request. */
        (void)!gw_exchange_add_header(exchange, "x-baton-ignored", list);
}

void gw_answer_json(struct gw_exchange *exchange, int status, const struct baton_buf *body)
{
    if (!exchange)
        return;
    if (baton_buf_err(body))
        gw_answer_error(exchange, 500, "internal_error", "the answer is too large");
    else
        gw_exchange_respond(exchange, status, "application/json", "", baton_buf_text(body),
                            body->len);
}

void gw_answer_error(struct gw_exchange *exchange, int status, const char *code,
                     const char *message)
{
    if (!exchange)
        return;
    gw_exchange_respond_error(
        exchange, &(struct gw_error){.status = status, .code = code, .message = message});
}

void gw_answer_problem(struct gw_exchange *exchange, const struct gw_problem *problem)
{
    if (!exchange)
        return;
    gw_exchange_respond_error(exchange,
                              &(struct gw_error){.status = problem->status,
                                                 .code = problem->code,
                                                 .message = problem->message,
                                                 .n_prompt_tokens = problem->n_prompt_tokens,
                                                 .n_ctx = problem->n_ctx,
                                                 .param = *problem->param ? problem->param : NULL});
}
