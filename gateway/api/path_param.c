#include "gateway/api/path_param.h"

#include "common/http/chars.h"

const char *gw_path_param(const char *path, size_t n, char value[GW_PATH_PARAM_BYTES])
{
    size_t n_value = 0;
    for (size_t i = 0; i < n && n_value < GW_PATH_PARAM_BYTES; n_value++) {
        if (path[i] == '%' && n - i >= 3) {
            value[n_value] =
                (char)(baton_http_hex_value(path[i + 1]) * 16 + baton_http_hex_value(path[i + 2]));
            i += 3;
        } else {
            value[n_value] = path[i++];
        }
        if (!value[n_value])
            n_value = GW_PATH_PARAM_BYTES - 1;
    }
    value[n_value < GW_PATH_PARAM_BYTES ? n_value : 0] = 0;
    return value;
}
