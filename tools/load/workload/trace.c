#include "tools/load/workload/trace.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/json.h"
#include "common/base/os/file.h"
#include "tools/load/workload/lengths.h"

enum { FILE_MAX_BYTES = 1 << 30, LINE_MAX_BYTES = 16 << 20 };

#define MAX_TIMESTAMP_MS 1e12

/* The position for error messages. */
struct place {
    const char *name;
    size_t line;
    struct baton_why *why;
};

static enum baton_err fail(const struct place *at, const char *field, const char *range)
{
    return baton_fail(at->why, BATON_INVALID, "%s: line %zu: %s: must be %s", at->name, at->line,
                      field, range);
}

static enum baton_err read_length(const struct place *at, const struct baton_json *object,
                                  const char *field, int64_t *tokens)
{
    const struct baton_json *value = baton_json_get(object, field);
    *tokens = baton_json_int(value);
    if (baton_json_kind(value) != BATON_JSON_INT || *tokens < 1 || *tokens > LD_MAX_TOKENS)
        return fail(at, field, "an integer from 1 to 16777216");
    return BATON_OK;
}

static enum baton_err read_arrival(const struct place *at, const struct baton_json *object,
                                   double *arrival_s)
{
    const struct baton_json *value = baton_json_get(object, "timestamp");
    enum baton_json_kind kind = baton_json_kind(value);
    double ms = baton_json_number(value);
    if ((kind != BATON_JSON_INT && kind != BATON_JSON_REAL) || ms < 0 || ms > MAX_TIMESTAMP_MS)
        return fail(at, "timestamp", "milliseconds from 0 to 1e12");
    *arrival_s = ms / 1000;
    return BATON_OK;
}

static enum baton_err read_hashes(const struct place *at, const struct baton_json *object,
                                  struct ld_trace *trace, struct ld_trace_row *row)
{
    const struct baton_json *array = baton_json_get(object, "hash_ids");
    if (array && baton_json_kind(array) != BATON_JSON_ARRAY)
        return fail(at, "hash_ids", "an array of integers");
    row->first_hash = trace->n_hashes; /* an index, since the array may still move */
    row->n_hashes = baton_json_size(array);
    for (size_t i = 0; i < row->n_hashes; i++) {
        const struct baton_json *id = baton_json_at(array, i);
        if (baton_json_kind(id) != BATON_JSON_INT)
            return fail(at, "hash_ids", "an array of integers");
        if (BATON_RESERVE(trace->hashes, trace->cap_hashes, trace->n_hashes + 1))
            return BATON_NO_MEMORY;
        trace->hashes[trace->n_hashes++] = baton_json_int(id);
    }
    return BATON_OK;
}

static enum baton_err read_object(const struct place *at, const struct baton_json *object,
                                  struct ld_trace *trace)
{
    struct ld_trace_row row;
    if (baton_json_kind(object) != BATON_JSON_OBJECT)
        return fail(at, "the line", "a JSON object");
    enum baton_err err = read_arrival(at, object, &row.arrival_s);
    if (!err)
        err = read_length(at, object, "input_length", &row.input_tokens);
    if (!err)
        err = read_length(at, object, "output_length", &row.output_tokens);
    if (!err)
        err = read_hashes(at, object, trace, &row);
    if (err)
        return err;
    if (BATON_RESERVE(trace->rows, trace->cap, trace->n + 1))
        return BATON_NO_MEMORY;
    trace->rows[trace->n++] = row;
    return BATON_OK;
}

static enum baton_err read_line(const struct place *at, const char *line, size_t n,
                                struct ld_trace *trace)
{
    struct baton_json *object = NULL;
    struct baton_why why = {""};
    if (n > LINE_MAX_BYTES)
        return baton_fail(at->why, BATON_LIMIT, "%s: line %zu: longer than %d bytes", at->name,
                          at->line, LINE_MAX_BYTES);
    enum baton_err err = baton_json_parse(line, n, &object, &why);
    if (err)
        return baton_fail(at->why, err, "%s: line %zu: %.200s", at->name, at->line, why.text);
    err = read_object(at, object, trace);
    baton_json_free(object);
    return err;
}

static bool is_blank(const char *line, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (line[i] != ' ' && line[i] != '\t' && line[i] != '\r')
            return false;
    return true;
}

/* Orders by arrival, then by position in the file, with which first_hash ascends. */
static int compare(const void *a, const void *b)
{
    const struct ld_trace_row *x = a, *y = b;
    if (x->arrival_s < y->arrival_s || x->arrival_s > y->arrival_s)
        return x->arrival_s < y->arrival_s ? -1 : 1;
    return (x->first_hash > y->first_hash) - (x->first_hash < y->first_hash);
}

static void sort(struct ld_trace *trace)
{
    qsort(trace->rows, trace->n, sizeof *trace->rows, compare);
    double first_s = trace->rows[0].arrival_s;
    for (size_t i = 0; i < trace->n; i++)
        trace->rows[i].arrival_s -= first_s;
}

enum baton_err ld_trace_parse(const char *name, const char *text, size_t n, struct ld_trace *trace,
                              struct baton_why *why)
{
    struct ld_trace parsed = {.n = 0};
    struct place at = {.name = name, .line = 1, .why = why};
    enum baton_err err = BATON_OK;
    for (size_t begin = 0; begin < n && !err; at.line++) {
        const char *line = text + begin, *end = memchr(line, '\n', n - begin);
        size_t length = end ? (size_t)(end - line) : n - begin;
        if (!is_blank(line, length))
            err = read_line(&at, line, length, &parsed);
        begin += length + 1;
    }
    if (!err && !parsed.rows)
        err = baton_fail(why, BATON_INVALID, "%s: holds no request", name);
    if (err) {
        ld_trace_fini(&parsed);
        return err;
    }
    sort(&parsed);
    *trace = parsed;
    return BATON_OK;
}

enum baton_err ld_trace_read(const char *path, struct ld_trace *trace, struct baton_why *why)
{
    struct baton_buf text;
    baton_buf_init(&text, FILE_MAX_BYTES);
    enum baton_err err = baton_file_read(path, &text, why);
    if (!err)
        err = ld_trace_parse(path, baton_buf_text(&text), text.len, trace, why);
    baton_buf_fini(&text);
    return err;
}

void ld_trace_fini(struct ld_trace *trace)
{
    free(trace->rows);
    free(trace->hashes);
    *trace = (struct ld_trace){0};
}
