#include "common/batch/request.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/digest.h"

enum { CUSTOM_ID_MAX_BYTES = 512 };

static const char id_prefix[] = "{\"id\":\"batch_req_", id_suffix[] = "\",\"custom_id\":";

void baton_batch_request_init(struct baton_batch_request *request)
{
    request->line = 0;
    *request->url = '\0';
    baton_buf_init(&request->custom_id, 8 * CUSTOM_ID_MAX_BYTES);
    baton_buf_init(&request->body, 2 * BATON_BATCH_LINE_MAX_BYTES);
}

void baton_batch_request_fini(struct baton_batch_request *request)
{
    baton_buf_fini(&request->custom_id);
    baton_buf_fini(&request->body);
}

/* ---- a request ---- */

/* Copies the body and adds the lowest priority, unless the line names one. */
static void put_body(struct baton_buf *buf, const struct baton_json *body, bool is_generating)
{
    struct baton_json_out out = baton_json_out(buf);
    baton_json_open(&out, NULL, '{');
    for (void *it = baton_json_first(body); it; it = baton_json_next(body, it))
        baton_json_put_value(&out, baton_json_key(it), baton_json_member(it));
    /* Embeddings have no priority, and one that the line names stays. */
    if (is_generating && !baton_json_get(body, "priority") && !baton_json_get(body, "service_tier"))
        baton_json_put_string(&out, "priority", "batch");
    baton_json_close(&out, '}');
}

static enum baton_err read_custom_id(struct baton_batch_request *request,
                                     const struct baton_json *value, struct baton_why *why)
{
    struct baton_json_out out = baton_json_out(&request->custom_id);
    size_t n = 0;
    const char *text = baton_json_string(value, &n);
    if (!text || !n || n > CUSTOM_ID_MAX_BYTES)
        return baton_fail(why, BATON_INVALID, "custom_id: must be a string of 1 to %d bytes",
                          CUSTOM_ID_MAX_BYTES);
    /* Kept as JSON, so that its answer can repeat it unchanged. */
    baton_json_put_text(&out, NULL, text, n);
    return baton_buf_err(&request->custom_id);
}

static enum baton_err read_url(struct baton_batch_request *request, const struct baton_json *value,
                               struct baton_why *why)
{
    size_t n = 0;
    const char *url = baton_json_string(value, &n);
    bool is_path = url && *url == '/' && n < sizeof request->url;
    for (size_t i = 0; is_path && i < n; i++)
        is_path = url[i] > ' ' && url[i] <= '~';
    if (!is_path)
        return baton_fail(why, BATON_INVALID,
                          "url: must be a path such as \"/v1/chat/completions\"");
    memcpy(request->url, url, n + 1);
    return BATON_OK;
}

static enum baton_err read_body(struct baton_batch_request *request, const struct baton_json *body,
                                struct baton_why *why)
{
    if (baton_json_kind(body) != BATON_JSON_OBJECT)
        return baton_fail(why, BATON_INVALID, "body: must be an object");
    if (baton_json_bool(baton_json_get(body, "stream")))
        return baton_fail(why, BATON_INVALID, "body.stream: a batch takes whole answers only");
    put_body(&request->body, body, strcmp(request->url, "/v1/embeddings") != 0);
    return baton_buf_err(&request->body);
}

enum baton_err baton_batch_request_read(struct baton_batch_request *request, uint64_t line,
                                        const struct baton_buf *text, struct baton_why *why)
{
    struct baton_json *root = NULL;
    request->line = line;
    baton_buf_reset(&request->custom_id);
    baton_buf_reset(&request->body);
    enum baton_err err = baton_json_parse(baton_buf_text(text), text->len, &root, why);
    if (err)
        return err;
    if (baton_json_kind(root) != BATON_JSON_OBJECT)
        err = baton_fail(why, BATON_INVALID, "must be an object");
    if (!err)
        err = read_custom_id(request, baton_json_get(root, "custom_id"), why);
    if (!err && !baton_json_is(baton_json_get(root, "method"), "POST"))
        err = baton_fail(why, BATON_INVALID, "method: must be \"POST\"");
    if (!err)
        err = read_url(request, baton_json_get(root, "url"), why);
    if (!err)
        err = read_body(request, baton_json_get(root, "body"), why);
    baton_json_free(root);
    return err;
}

/* ---- an answer ---- */

uint32_t baton_batch_mark(const char *custom_id, size_t n)
{
    /* 0 marks a line without an answer. */
    uint32_t mark = baton_crc32c(0, custom_id, n);
    return mark ? mark : 1;
}

/* Embeds the answer's JSON. Line feeds stand only between its values, where a space means the
 * same. */
static void put_answer_body(struct baton_json_out *out, const struct baton_buf *body)
{
    struct baton_json *root = NULL;
    if (baton_json_parse(baton_buf_text(body), body->len, &root, NULL)) {
        baton_json_put_text(out, "body", baton_buf_text(body), body->len);
        return;
    }
    baton_json_free(root);
    for (char *c = body->data; c < body->data + body->len; c++)
        *c = *c == '\n' || *c == '\r' ? ' ' : *c;
    baton_json_put_raw(out, "body", body->data, body->len);
}

void baton_batch_put_answer(struct baton_buf *buf, const struct baton_batch_request *request,
                            int status, const char *request_id, const struct baton_buf *body)
{
    struct baton_json_out out = baton_json_out(buf);
    baton_buf_printf(buf, "%s%" PRIu64 "%s%s", id_prefix, request->line, id_suffix,
                     baton_buf_text(&request->custom_id));
    out.comma = true;
    baton_json_open(&out, "response", '{');
    baton_json_put_int(&out, "status_code", status);
    baton_json_put_string(&out, "request_id", request_id);
    put_answer_body(&out, body);
    baton_json_close(&out, '}');
    baton_json_put_null(&out, "error");
    baton_json_close(&out, '}');
    baton_buf_putc(buf, '\n');
}

/* Returns the bytes of the JSON string at text with its quotes; 0 when there is none. */
static size_t string_bytes(const char *text)
{
    if (*text != '"')
        return 0;
    for (size_t i = 1; text[i]; i++) {
        if (text[i] == '"')
            return i + 1;
        if (text[i] == '\\' && text[i + 1])
            i++;
    }
    return 0;
}

bool baton_batch_begins_answer(const struct baton_buf *text)
{
    size_t n = sizeof id_prefix - 1;
    return !memcmp(baton_buf_text(text), id_prefix, text->len < n ? text->len : n);
}

enum baton_err baton_batch_read_answer(const struct baton_buf *text, uint64_t *line, uint32_t *mark)
{
    const char *p = baton_buf_text(text);
    char *end;
    /* Only our own lines are read here: a fixed beginning spares a parse of every answer. */
    if (strncmp(p, id_prefix, sizeof id_prefix - 1) != 0)
        return BATON_INVALID;
    p += sizeof id_prefix - 1;
    *line = strtoull(p, &end, 10);
    if (end == p || !*line || strncmp(end, id_suffix, sizeof id_suffix - 1) != 0)
        return BATON_INVALID;
    p = end + sizeof id_suffix - 1;
    size_t n = string_bytes(p);
    *mark = baton_batch_mark(p, n);
    return n ? BATON_OK : BATON_INVALID;
}
