#include "gateway/api/model_card.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

const char *gw_model_digest(const struct gw_api *api)
{
    const struct baton_fingerprint *fingerprint = api->fingerprint;
    return *fingerprint->weights ? fingerprint->weights : fingerprint->config;
}

const char *gw_model_parameter_size(const struct gw_api *api, char text[GW_PARAMETER_SIZE_BYTES])
{
    double n = (double)api->facts->weights.n_parameters;
    double unit = n >= 1e9 ? 1e9 : n >= 1e6 ? 1e6 : 1e3;
    int digits = n / unit == floor(n / unit) || unit == 1e3 ? 0 : n >= 1e9 ? 1 : 2;
    text[0] = '\0';
    if (n > 0)
        (void)snprintf(text, GW_PARAMETER_SIZE_BYTES, "%.*f%s", digits, n < 1e3 ? n : n / unit,
                       n >= 1e9   ? "B"
                       : n >= 1e6 ? "M"
                       : n >= 1e3 ? "K"
                                  : "");
    return text;
}

const char *gw_model_quantization(const struct gw_api *api)
{
    if (*api->facts->weights.format)
        return api->facts->weights.format;
    return api->fleet->terms.kv_block_tokens ? api->fleet->terms.dtype : "";
}

void gw_put_rfc3339(struct baton_json_out *out, const char *key, int64_t unix_s)
{
    char text[32];
    struct tm utc;
    time_t seconds = (time_t)unix_s;
    gmtime_r(&seconds, &utc);
    (void)strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    baton_json_put_string(out, key, text);
}

void gw_put_known(struct baton_json_out *out, const char *key, uint64_t n)
{
    if (n)
        baton_json_put_uint(out, key, n);
    else
        baton_json_put_null(out, key);
}
