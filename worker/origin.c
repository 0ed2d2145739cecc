#include "worker/origin.h"

#include <stdio.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/utf8.h"

void baton_origin_init(struct baton_origin *origin, struct baton_link *gateway,
                       const baton_envelope *envelope)
{
    origin->gateway = baton_link_hold(gateway);
    origin->gateway_epoch = envelope->src_epoch;
    origin->request_id = envelope->request_id;
    origin->attempt = envelope->attempt;
    baton_request_tag_set(&origin->tag, envelope->client_id, envelope->trace_id);
}

void baton_origin_fini(struct baton_origin *origin)
{
    baton_link_release(origin->gateway);
    origin->gateway = NULL;
}

bool baton_origin_is_request(const struct baton_origin *origin, const baton_envelope *envelope)
{
    return origin->request_id == envelope->request_id && origin->attempt == envelope->attempt;
}

bool baton_origin_is(const struct baton_origin *origin, const baton_envelope *envelope)
{
    return baton_origin_is_request(origin, envelope) &&
           origin->gateway_epoch == envelope->src_epoch;
}

enum baton_err baton_origin_send(const struct baton_origin *origin, baton_envelope *envelope)
{
    envelope->request_id = origin->request_id;
    envelope->attempt = origin->attempt;
    baton_envelope_set_tag(envelope, &origin->tag);
    return baton_link_send(origin->gateway, envelope, NULL, 0);
}

void baton_origin_send_or_log(const struct baton_origin *origin, baton_envelope *envelope)
{
    enum baton_err err = baton_origin_send(origin, envelope);
    if (err)
        baton_log(BATON_LOG_WARN, "send_failed", BATON_ORIGIN(origin),
                  BATON_S("message", baton_envelope_kind(envelope)),
                  BATON_S("err", baton_err_name(err)));
    /* An answer that can never be sent must not leave the gateway waiting. */
    if ((err == BATON_INVALID || err == BATON_LIMIT) &&
        envelope->body_case != BATON__V1__ENVELOPE__BODY_FAILED)
        baton_origin_fail(origin, BATON__V1__FAILED__CODE__INTERNAL,
                          "an answer could not be sent; the worker's log has the reason");
}

void baton_origin_fail(const struct baton_origin *origin, Baton__V1__Failed__Code code,
                       const char *message)
{
    char text[BATON_MAX_TEXT_BYTES + 1];
    Baton__V1__Failed failed = BATON__V1__FAILED__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    failed.code = code;
    (void)snprintf(text, sizeof text, "%s", message);
    for (size_t n = strlen(text); n && !baton_utf8_valid(text, n); n--)
        text[n - 1] = 0; /* drops the bytes of a truncated character */
    failed.message = text;
    envelope.body_case = BATON__V1__ENVELOPE__BODY_FAILED;
    envelope.failed = &failed;
    baton_log(BATON_LOG_WARN, "request_failed", BATON_ORIGIN(origin),
              BATON_I("attempt", origin->attempt), BATON_S("reason", message));
    baton_origin_send_or_log(origin, &envelope);
}
