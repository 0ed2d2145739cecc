#include "gateway/api/batches/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/batch/request.h"
#include "gateway/api/batches/batch.h"

enum { MAX_ERRORS = 100, SLOTS = 1 << 17 /* twice as many as there are lines */ };

bool gw_batch_is_blank(const struct baton_buf *line)
{
    const char *text = baton_buf_text(line);
    return strspn(text, " \t\r") == line->len;
}

/* ---- custom_ids ---- */

bool gw_id_set_add(struct gw_id_set *set, const char *id, size_t n, bool *no_memory)
{
    uint64_t hash = baton_hash_bytes(id, n) | 1; /* 0: an empty slot */
    size_t slot = hash / 2 % SLOTS;
    if (!set->hashes)
        set->hashes = calloc(SLOTS, sizeof *set->hashes);
    *no_memory |= !set->hashes;
    while (set->hashes && set->hashes[slot] && set->hashes[slot] != hash)
        slot = (slot + 1) % SLOTS;
    if (!set->hashes || set->hashes[slot])
        return false;
    set->hashes[slot] = hash;
    return true;
}

void gw_id_set_fini(struct gw_id_set *set)
{
    free(set->hashes);
    set->hashes = NULL;
}

/* ---- errors ---- */

static struct baton_json *error_of(const char *code, uint64_t line, const char *message)
{
    struct baton_json *error = baton_json_new_object(), *number = NULL;
    char digits[24];
    (void)snprintf(digits, sizeof digits, "%llu", (unsigned long long)line);
    bool made =
        !baton_json_parse(line ? digits : "null", strlen(line ? digits : "null"), &number, NULL);
    made = baton_json_set(error, "code", baton_json_new_string(code)) && made;
    made = baton_json_set(error, "line", number) && made;
    made = baton_json_set(error, "message", baton_json_new_string(message)) && made;
    if (made && !baton_json_parse("null", 4, &number, NULL) &&
        baton_json_set(error, "param", number))
        return error;
    baton_json_free(error);
    return NULL;
}

static bool push(struct baton_json **errors, const char *code, uint64_t line, const char *message)
{
    if (!*errors)
        *errors = baton_json_new_array();
    return baton_json_push(*errors, error_of(code, line, message));
}

struct baton_json *gw_batch_error(const char *code, uint64_t line, const char *message)
{
    struct baton_json *errors = NULL;
    if (push(&errors, code, line, message))
        return errors;
    baton_json_free(errors);
    return NULL;
}

/* ---- the check ---- */

struct check {
    const char *endpoint;
    struct gw_id_set ids; /* so far */
    struct baton_json *errors;
    struct baton_batch_request request;
    uint64_t blank; /* the first empty line; 0: none */
    bool is_short;  /* of memory */
};

static void fail(struct check *check, const char *code, uint64_t line, const char *message)
{
    if (baton_json_size(check->errors) < MAX_ERRORS)
        check->is_short |= !push(&check->errors, code, line, message);
}

static void check_line(struct check *check, uint64_t line, const struct baton_buf *text)
{
    struct baton_why why = {""};
    if (baton_batch_request_read(&check->request, line, text, &why))
        fail(check, "invalid_request", line, why.text);
    else if (strcmp(check->request.url, check->endpoint) != 0)
        fail(check, "mismatched_endpoint", line, "url: must be the batch's endpoint");
    else if (!gw_id_set_add(&check->ids, baton_buf_text(&check->request.custom_id),
                            check->request.custom_id.len, &check->is_short))
        fail(check, "duplicate_custom_id", line, "custom_id: another line has the same");
}

static enum baton_err check_lines(struct check *check, struct baton_lines *lines, uint64_t *total)
{
    struct baton_buf text;
    enum baton_err err;
    baton_buf_init(&text, BATON_BATCH_LINE_MAX_BYTES);
    while ((err = baton_lines_next(lines, &text)) != BATON_NOT_FOUND) {
        if (err && err != BATON_LIMIT)
            break;
        if (!err && gw_batch_is_blank(&text)) {
            check->blank = check->blank ? check->blank : lines->number;
            continue;
        }
        if (check->blank && check->blank < lines->number)
            fail(check, "invalid_request", check->blank, "the line is empty");
        check->blank = 0;
        *total = lines->number;
        if (*total > GW_BATCH_MAX_LINES) {
            fail(check, "too_many_requests", *total, "a batch has at most 50000 requests");
            err = BATON_NOT_FOUND;
            break;
        }
        if (err)
            fail(check, "invalid_request", *total, "the line is longer than 16 MiB");
        else
            check_line(check, *total, &text);
    }
    baton_buf_fini(&text);
    return err == BATON_NOT_FOUND ? BATON_OK : err;
}

enum baton_err gw_batch_check(struct baton_lines *lines, const char *endpoint, uint64_t *total,
                              struct baton_json **errors)
{
    struct check check = {.endpoint = endpoint};
    baton_batch_request_init(&check.request);
    *total = 0;
    enum baton_err err = check_lines(&check, lines, total);
    if (!err && !*total)
        fail(&check, "empty_file", 0, "the file has no requests");
    baton_batch_request_fini(&check.request);
    gw_id_set_fini(&check.ids);
    *errors = check.errors;
    return check.is_short ? BATON_NO_MEMORY : err;
}
