#include <stdio.h>

#include "common/base/json.h"
#include "tools/baton/fleet/state.h"

enum { FLEET_FILE_MAX_BYTES = 16 << 10 };

enum baton_err bt_fleet_file_write(const struct bt_state *state, const struct bt_fleet_file *fleet,
                                   struct baton_why *why)
{
    struct baton_buf text;
    char port[16];
    baton_buf_init(&text, FLEET_FILE_MAX_BYTES);
    struct baton_json_out out = baton_json_out(&text);
    baton_json_open(&out, NULL, '{');
    baton_json_put_string(&out, "host", fleet->host);
    baton_json_put_int(&out, "port", fleet->port);
    baton_json_put_bool(&out, "tls", fleet->tls);
    baton_json_put_string(&out, "api_keys", fleet->api_keys);
    baton_json_put_int(&out, "n_prefill", fleet->n_prefill);
    baton_json_put_int(&out, "n_decode", fleet->n_decode);
    baton_json_put_real(&out, "stop_timeout_s", fleet->stop_timeout_s);
    baton_json_close(&out, '}');
    baton_buf_putc(&text, '\n');
    enum baton_err err = baton_buf_err(&text);
    if (!err)
        err = bt_state_write(state, "fleet.json", text.data, 0600, why);
    (void)snprintf(port, sizeof port, "%d\n", (int)fleet->port);
    if (!err)
        err = bt_state_write(state, "port", port, 0600, why);
    baton_buf_fini(&text);
    return err;
}

static void read_text(const struct baton_json *object, const char *key, char *text, size_t size)
{
    const struct baton_json *value = baton_json_get(object, key);
    const char *string =
        baton_json_kind(value) == BATON_JSON_STRING ? baton_json_string(value, NULL) : "";
    (void)snprintf(text, size, "%s", string);
}

static int64_t read_int(const struct baton_json *object, const char *key)
{
    const struct baton_json *value = baton_json_get(object, key);
    return baton_json_kind(value) == BATON_JSON_INT ? baton_json_int(value) : 0;
}

enum baton_err bt_fleet_file_read(const struct bt_state *state, struct bt_fleet_file *fleet,
                                  struct baton_why *why)
{
    char path[PATH_MAX];
    struct baton_json *root = NULL;
    enum baton_err err = bt_state_path(state, "fleet.json", path, why);
    if (!err)
        err = baton_json_read_file(path, FLEET_FILE_MAX_BYTES, &root, why);
    if (err)
        return err;
    read_text(root, "host", fleet->host, sizeof fleet->host);
    read_text(root, "api_keys", fleet->api_keys, sizeof fleet->api_keys);
    fleet->port = read_int(root, "port");
    fleet->n_prefill = read_int(root, "n_prefill");
    fleet->n_decode = read_int(root, "n_decode");
    fleet->stop_timeout_s = baton_json_number(baton_json_get(root, "stop_timeout_s"));
    fleet->tls = baton_json_bool(baton_json_get(root, "tls"));
    baton_json_free(root);
    if (fleet->port < 1 || fleet->port > 65535)
        return baton_fail(why, BATON_CORRUPT, "%s: no port from 1 to 65535", path);
    return BATON_OK;
}
