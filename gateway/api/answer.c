#include "gateway/api/answer.h"

#include "gateway/http/status.h"

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
                                                 .param = *problem->param ? problem->param : NULL});
}
