#include "common/worker/asker.h"

#include "common/base/log.h"

void baton_asker_init(struct baton_asker *asker, struct baton_link *gateway,
                      const baton_envelope *envelope)
{
    asker->gateway = baton_link_hold(gateway);
    asker->gateway_epoch = envelope->src_epoch;
    asker->request_id = envelope->request_id;
    asker->attempt = envelope->attempt;
}

void baton_asker_fini(struct baton_asker *asker)
{
    baton_link_release(asker->gateway);
    asker->gateway = NULL;
}

bool baton_asker_is_request(const struct baton_asker *asker, const baton_envelope *envelope)
{
    return asker->request_id == envelope->request_id && asker->attempt == envelope->attempt;
}

bool baton_asker_is(const struct baton_asker *asker, const baton_envelope *envelope)
{
    return baton_asker_is_request(asker, envelope) && asker->gateway_epoch == envelope->src_epoch;
}

enum baton_err baton_asker_send(const struct baton_asker *asker, baton_envelope *envelope)
{
    envelope->request_id = asker->request_id;
    envelope->attempt = asker->attempt;
    return baton_link_send(asker->gateway, envelope, NULL, 0);
}

void baton_asker_tell(const struct baton_asker *asker, baton_envelope *envelope)
{
    enum baton_err err = baton_asker_send(asker, envelope);
    if (err)
        baton_log(BATON_LOG_WARN, "send_failed", BATON_X("req", asker->request_id),
                  BATON_S("message", baton_envelope_kind(envelope)),
                  BATON_S("err", baton_err_name(err)));
}

void baton_asker_log_stage(const struct baton_asker *asker, enum baton_stage stage,
                           double duration_s)
{
    baton_stage_log(stage, asker->request_id, asker->attempt, duration_s);
}

void baton_asker_fail(const struct baton_asker *asker, Baton__V1__Failed__Code code,
                      const char *message)
{
    Baton__V1__Failed failed = BATON__V1__FAILED__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    failed.code = code;
    failed.message = baton_envelope_text(message);
    envelope.body_case = BATON__V1__ENVELOPE__BODY_FAILED;
    envelope.failed = &failed;
    baton_log(BATON_LOG_WARN, "request_failed", BATON_X("req", asker->request_id),
              BATON_I("attempt", asker->attempt), BATON_S("reason", message));
    baton_asker_tell(asker, &envelope);
}
