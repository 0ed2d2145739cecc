/* One line of a batch in OpenAI's format, and the line that answers it.
 *
 *     {"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": {...}}
 *     {"id": "batch_req_1", "custom_id": "a", "response": {"status_code": 200,
 *      "request_id": "...", "body": {...}}, "error": null}
 *
 * The number in an answer's id is that of the request's line: with the custom_id it tells which
 * lines of a file are answered.
 *
 * Ownership: a request owns its texts until fini.
 * Threading: one owner at a time.
 * Errors:    INVALID with what is wrong with the line; NO_MEMORY.
 */
#ifndef BATON_TOOLS_BATON_BATCH_REQUEST_H
#define BATON_TOOLS_BATON_BATCH_REQUEST_H

#include <stdint.h>

#include "common/base/json.h"

enum { BT_BATCH_LINE_MAX_BYTES = 16 << 20, BT_BATCH_URL_BYTES = 256, BT_BATCH_ID_BYTES = 64 };

struct bt_batch_request {
    uint64_t line;
    struct baton_buf custom_id; /* as JSON writes it, with its quotes */
    struct baton_buf body;      /* of batch priority, unless the line says another */
    char url[BT_BATCH_URL_BYTES];
};

void bt_batch_request_init(struct bt_batch_request *request);
void bt_batch_request_fini(struct bt_batch_request *request);

/* Reads a line into a request that was initialised. */
enum baton_err bt_batch_request_read(struct bt_batch_request *request, uint64_t line,
                                     const struct baton_buf *text,
                                     struct baton_why *why) BATON_MUST_CHECK;

/* What answers and requests of a custom_id have in common, never 0; of JSON's text with quotes. */
uint32_t bt_batch_mark(const char *custom_id, size_t n);

/* The answer's line, with its line feed. A body that is no JSON becomes a string. */
void bt_batch_put_answer(struct baton_buf *out, const struct bt_batch_request *request, int status,
                         const char *request_id, const struct baton_buf *body);

/* Of which request such a line is the answer. INVALID: it is none. */
enum baton_err bt_batch_read_answer(const struct baton_buf *text, uint64_t *line,
                                    uint32_t *mark) BATON_MUST_CHECK;

#endif
