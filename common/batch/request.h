/* One line of a batch in OpenAI's format, and the line that answers it.
 *
 *     {"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": {...}}
 *     {"id": "batch_req_1", "custom_id": "a", "response": {"status_code": 200,
 *      "request_id": "...", "body": {...}}, "error": null}
 *
 * The number in an answer's id is that of the request's line. With the custom_id it identifies the
 * lines of a file that are answered.
 *
 * Ownership: a request owns its texts until fini.
 * Threading: one owner at a time.
 * Errors:    INVALID with the fault of the line; NO_MEMORY.
 */
#ifndef BATON_COMMON_BATCH_REQUEST_H
#define BATON_COMMON_BATCH_REQUEST_H

#include <stdint.h>

#include "common/base/json.h"

enum {
    BATON_BATCH_LINE_MAX_BYTES = 16 << 20,
    BATON_BATCH_URL_BYTES = 256,
    BATON_BATCH_ID_BYTES = 64
};

struct baton_batch_request {
    uint64_t line;
    struct baton_buf custom_id; /* as written in JSON, with its quotes */
    struct baton_buf body;      /* has batch priority unless the line names another */
    char url[BATON_BATCH_URL_BYTES];
};

void baton_batch_request_init(struct baton_batch_request *request);
void baton_batch_request_fini(struct baton_batch_request *request);

/* Reads a line into a request that was initialised. */
enum baton_err baton_batch_request_read(struct baton_batch_request *request, uint64_t line,
                                        const struct baton_buf *text,
                                        struct baton_why *why) BATON_MUST_CHECK;

/* Returns a digest of a custom_id that its request and its answer share, never 0. custom_id is JSON
 * text with quotes. */
uint32_t baton_batch_mark(const char *custom_id, size_t n);

/* Writes the answer's line with its line feed. A body that is not JSON becomes a string. */
void baton_batch_put_answer(struct baton_buf *out, const struct baton_batch_request *request,
                            int status, const char *request_id, const struct baton_buf *body);

/* True if text may be the begin of an answer's line that was cut off. */
bool baton_batch_begins_answer(const struct baton_buf *text);

/* Reads the number and the mark of the request that the line answers. INVALID when the line is not
 * an answer. */
enum baton_err baton_batch_read_answer(const struct baton_buf *text, uint64_t *line,
                                       uint32_t *mark) BATON_MUST_CHECK;

#endif
