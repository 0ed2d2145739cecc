#include "decode_worker/context.h"

#include "common/base/log.h"

enum baton_err dc_context_send(const struct dc_context *context, baton_envelope *envelope)
{
    envelope->request_id = context->request_id;
    envelope->attempt = context->attempt;
    return baton_link_send(context->gateway, envelope, NULL, 0);
}

void dc_context_fail(const struct dc_context *context, Baton__V1__Failed__Code code,
                     const char *message)
{
    Baton__V1__Failed failed = BATON__V1__FAILED__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    failed.code = code;
    failed.message = baton_envelope_text(message);
    envelope.body_case = BATON__V1__ENVELOPE__BODY_FAILED;
    envelope.failed = &failed;
    enum baton_err err = dc_context_send(context, &envelope);
    baton_log(BATON_LOG_WARN, "request_failed", BATON_X("req", context->request_id),
              BATON_I("attempt", context->attempt), BATON_S("reason", message),
              BATON_S("told", err ? baton_err_name(err) : "yes"));
}
