#include "tools/baton/fleet/readiness.h"

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/json.h"

enum { TIMEOUT_MS = 3000, HTTP_OK = 200 };

enum baton_err bt_fleet_server(const struct bt_fleet_file *fleet, struct bt_server *server,
                               struct baton_why *why)
{
    char url[128];
    bool v6 = strchr(fleet->host, ':') != NULL;
    (void)snprintf(url, sizeof url, "%s://%s%s%s:%d", fleet->tls ? "https" : "http", v6 ? "[" : "",
                   fleet->host, v6 ? "]" : "", (int)fleet->port);
    enum baton_err err = bt_server_parse("--host", url, server, why);
    /* We started it: its certificate may be for another name than the host. */
    server->is_ours = true;
    return err ? err : bt_server_read_key(server, fleet->api_keys, why);
}

enum baton_err bt_fleet_get(const struct bt_server *server, const char *path,
                            struct bt_answer *answer, struct baton_why *why)
{
    struct bt_request request = {.method = "GET", .path = path, .timeout_ms = TIMEOUT_MS};
    return bt_http_do(server, &request, answer, why);
}

int bt_count_workers(const struct bt_answer *answer, const char *state)
{
    struct baton_json *root = NULL;
    int n = 0;
    if (baton_json_parse(baton_buf_text(&answer->body), answer->body.len, &root, NULL))
        return 0;
    const struct baton_json *workers = baton_json_get(root, "workers");
    for (size_t i = 0; i < baton_json_size(workers); i++) {
        const char *word =
            baton_json_string(baton_json_get(baton_json_at(workers, i), "state"), NULL);
        n += word && !strcmp(word, state);
    }
    baton_json_free(root);
    return n;
}

/* Reads the first model of an answer of GET /v1/models. */
static bool read_model(const struct bt_answer *answer, char model[BT_MODEL_BYTES])
{
    struct baton_json *root = NULL;
    if (baton_json_parse(baton_buf_text(&answer->body), answer->body.len, &root, NULL))
        return false;
    const struct baton_json *first = baton_json_at(baton_json_get(root, "data"), 0);
    const char *id = baton_json_string(baton_json_get(first, "id"), NULL);
    if (id)
        (void)snprintf(model, BT_MODEL_BYTES, "%s", id);
    baton_json_free(root);
    return id != NULL;
}

void bt_fleet_model(const struct bt_server *server, char model[BT_MODEL_BYTES])
{
    struct bt_answer answer;
    model[0] = '\0';
    bt_answer_init(&answer);
    if (!bt_fleet_get(server, "/v1/models", &answer, NULL))
        (void)read_model(&answer, model);
    bt_answer_fini(&answer);
}

bool bt_fleet_is_ready(const struct bt_fleet_file *fleet, char model[BT_MODEL_BYTES])
{
    struct bt_server server;
    struct bt_answer answer;
    bt_answer_init(&answer);
    bool ready = !bt_fleet_server(fleet, &server, NULL) &&
                 !bt_fleet_get(&server, "/ready", &answer, NULL) && answer.status == HTTP_OK &&
                 !bt_fleet_get(&server, "/workers", &answer, NULL) && answer.status == HTTP_OK &&
                 bt_count_workers(&answer, "ready") >= fleet->n_prefill + fleet->n_decode &&
                 !bt_fleet_get(&server, "/v1/models", &answer, NULL) && read_model(&answer, model);
    bt_answer_fini(&answer);
    return ready;
}

/* ---- how long a start may take ---- */

#define GIB (1024.0 * 1024 * 1024)

static double bytes_of(const char *path)
{
    struct stat info;
    return !stat(path, &info) && S_ISREG(info.st_mode) ? (double)info.st_size : 0;
}

static double bytes_of_all(const char *pattern)
{
    glob_t found;
    double bytes = 0;
    if (glob(pattern, GLOB_NOSORT, NULL, &found))
        return 0;
    for (size_t i = 0; i < found.gl_pathc; i++)
        bytes += bytes_of(found.gl_pathv[i]);
    globfree(&found);
    return bytes;
}

double bt_patience_s(const char *model)
{
    char pattern[PATH_MAX];
    /* The first file of a split GGUF model stands for all of them. */
    const char *part = strstr(model, "-00001-of-");
    double bytes = bytes_of(model);
    (void)snprintf(pattern, sizeof pattern, "%s/*.safetensors", model);
    bytes += bytes_of_all(pattern);
    if (part) {
        (void)snprintf(pattern, sizeof pattern, "%.*s-*-of-*.gguf", (int)(part - model), model);
        bytes += bytes_of_all(pattern);
    }
    return 120 + 60 * (bytes / GIB);
}
