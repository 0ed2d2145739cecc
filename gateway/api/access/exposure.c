#include "gateway/api/access/exposure.h"

#include "common/base/log.h"
#include "common/wire/url.h"
#include "gateway/api/access/hosts.h"

/* Whether the inbox is on a loopback address. An invalid URL is rejected later, when the inbox
 * opens. */
static bool is_local_inbox(const char *text)
{
    struct baton_url url;
    return !baton_url_parse(text, &url, NULL) && gw_address_is_loopback(url.host);
}

enum baton_err gw_exposure_check(const struct gw_doors *doors,
                                 const struct baton_cluster_token *token,
                                 struct gw_exposure *exposure, struct baton_why *why)
{
    *exposure = (struct gw_exposure){0};
    if (!*doors->api_keys && !gw_address_is_loopback(doors->host))
        exposure->warnings[exposure->n++] =
            "no API key is needed, and --host is not a loopback address: anybody who reaches it "
            "can use the model; --api-keys names a file of keys";
    if (baton_cluster_token_is_known(token) && !*doors->peer_certfile &&
        !is_local_inbox(doors->inbox))
        exposure->warnings[exposure->n++] =
            "the cluster token is not a secret, and --inbox is not a loopback address: anybody who "
            "reaches it can join as a worker and read prompts; --cluster-token-file names a file "
            "with a secret";
    for (size_t i = 0; i < exposure->n; i++)
        baton_log(BATON_LOG_WARN, "open_to_all", BATON_S("reason", exposure->warnings[i]));
    return exposure->n && doors->require_auth
               ? baton_fail(why, BATON_INVALID, "require-auth: %s", exposure->warnings[0])
               : BATON_OK;
}
