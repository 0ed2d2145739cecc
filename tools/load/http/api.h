/* The routes that are measured: their requests and their events.
 *
 *     native              POST /generate/stream
 *     openai-completions  POST /v1/completions
 *     openai-chat         POST /v1/chat/completions
 *
 * Ownership: bodies go to the caller's buffer; figures of an answer go to the record.
 * Threading: one owner at a time.
 * Errors:    PEER with the reason in record->failure (an error event, or an event that is not
 *            JSON).
 */
#ifndef BATON_TOOLS_LOAD_HTTP_API_H
#define BATON_TOOLS_LOAD_HTTP_API_H

#include "tools/load/workload/record.h"
#include "tools/support/sse_reader.h"

enum ld_api { LD_API_NATIVE, LD_API_COMPLETIONS, LD_API_CHAT };

struct ld_api_options {
    enum ld_api api;
    const char *model; /* NULL: not sent */
    const char
        *extra; /* members of a JSON object to add to every body, without the braces; or "" */
    double temperature;
    bool ignore_eos;
    bool timeline; /* native: request it */
};

enum baton_err ld_api_parse(const char *option, const char *text, enum ld_api *api,
                            struct baton_why *why) BATON_MUST_CHECK;
const char *ld_api_name(enum ld_api api);
const char *ld_api_path(enum ld_api api);

/* Writes the request's body. */
void ld_api_put_body(const struct ld_api_options *options, const struct ld_workload *workload,
                     const struct ld_plan *plan, struct baton_buf *body);

/* Processes one event of a 200's stream, read at now_ns: tokens, times, the server's own figures.
 * Sets *ended at the stream's last event. */
enum baton_err ld_api_take_event(enum ld_api api, const struct ld_event *event, int64_t now_ns,
                                 struct ld_record *record, bool *ended) BATON_MUST_CHECK;

/* Copies the code (otherwise the message) of an error object, cut to size. False when there is
 * none. */
bool ld_api_error_text(const char *body, size_t n, char *text, size_t size);

#endif
