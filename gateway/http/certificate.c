#include "gateway/http/certificate.h"

#include "common/base/log.h"

static enum baton_err read_files(struct gw_certificate *certificate, struct baton_why *why)
{
    struct gw_tls_context *context = NULL;
    enum baton_err err =
        gw_tls_context_open(certificate->certfile, certificate->keyfile, &context, why);
    if (err)
        return err;
    gw_tls_context_close(certificate->context);
    certificate->context = context;
    baton_log(BATON_LOG_INFO, "certificate_loaded", BATON_S("file", certificate->certfile),
              BATON_I("days_left", gw_tls_context_days_left(context)));
    return BATON_OK;
}

enum baton_err gw_certificate_open(struct gw_certificate *certificate, const char *certfile,
                                   const char *keyfile, struct baton_why *why)
{
    *certificate = (struct gw_certificate){.certfile = certfile, .keyfile = keyfile};
    if (!*certfile && !*keyfile)
        return BATON_OK;
    if (!*certfile || !*keyfile)
        return baton_fail(why, BATON_INVALID, "%s is needed with %s",
                          *certfile ? "ssl-keyfile" : "ssl-certfile",
                          *certfile ? "ssl-certfile" : "ssl-keyfile");
    return read_files(certificate, why);
}

void gw_certificate_reload(struct gw_certificate *certificate)
{
    struct baton_why why = {""};
    if (certificate->context && read_files(certificate, &why))
        baton_log(BATON_LOG_ERROR, "certificate_kept", BATON_S("reason", why.text));
}

void gw_certificate_close(struct gw_certificate *certificate)
{
    gw_tls_context_close(certificate->context);
    certificate->context = NULL;
}
