/* The routes that are measured: what is asked of them, and what their events say.
 *
 *     native              POST /generate/stream
 *     openai-completions  POST /v1/completions
 *     openai-chat         POST /v1/chat/completions
 *
 * Ownership: bodies go to the caller's buffer; what an answer says goes to the record.
 * Threading: one owner at a time.
 * Errors:    PEER with the reason in record->failure (an error event, an event that is no JSON).
 */
#ifndef BATON_BENCH_SERVE_API_H
#define BATON_BENCH_SERVE_API_H

#include "bench/serve/record.h"
#include "bench/serve/sse.h"

enum sv_api { SV_API_NATIVE, SV_API_COMPLETIONS, SV_API_CHAT };

struct sv_api_options {
    enum sv_api api;
    const char *model; /* NULL: not said */
    const char
        *extra; /* members of a JSON object to add to every body, without the braces; or "" */
    double temperature;
    bool ignore_eos;
    bool timeline; /* native: ask for it */
};

enum baton_err sv_api_parse(const char *option, const char *text, enum sv_api *api,
                            struct baton_why *why) BATON_MUST_CHECK;
const char *sv_api_name(enum sv_api api);
const char *sv_api_path(enum sv_api api);

/* The request's body. */
void sv_api_put_body(const struct sv_api_options *options, const struct sv_workload *workload,
                     const struct sv_plan *plan, struct baton_buf *body);

/* Takes one event of a 200's stream, read at now_ns: tokens, times, the server's own figures.
 * Sets *ended at the stream's last event. */
enum baton_err sv_api_take_event(enum sv_api api, const struct sv_event *event, int64_t now_ns,
                                 struct sv_record *record, bool *ended) BATON_MUST_CHECK;

/* The code (or else the message) of an error object, cut to what text holds; false when there is
 * none. */
bool sv_api_error_text(const char *body, size_t n, char *text, size_t size);

#endif
