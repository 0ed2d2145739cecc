#include "prefill_worker/job.h"

#include "common/base/log.h"

void pf_job_send(const struct pf_job *job, baton_envelope *envelope)
{
    envelope->request_id = job->request_id;
    envelope->attempt = job->attempt;
    enum baton_err err = baton_link_send(job->gateway, envelope, NULL, 0);
    if (err)
        baton_log(BATON_LOG_WARN, "send_failed", BATON_X("req", job->request_id),
                  BATON_S("message", baton_envelope_kind(envelope)),
                  BATON_S("err", baton_err_name(err)));
}

void pf_job_fail(const struct pf_job *job, Baton__V1__Failed__Code code, const char *message)
{
    Baton__V1__Failed failed = BATON__V1__FAILED__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    failed.code = code;
    failed.message = baton_envelope_text(message);
    envelope.body_case = BATON__V1__ENVELOPE__BODY_FAILED;
    envelope.failed = &failed;
    pf_job_send(job, &envelope);
    baton_log(BATON_LOG_WARN, "request_failed", BATON_X("req", job->request_id),
              BATON_I("attempt", job->attempt), BATON_S("reason", message));
}
