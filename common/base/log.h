/* Logs one line per event, on stderr or in a file: ts= lvl= proc= pid= ev= and the caller's fields,
 * in logfmt or as a JSON object. docs/log-events.md lists the events; a test compares it with the
 * code.
 *
 *     baton_log(BATON_LOG_INFO, "listening", BATON_S("url", url), BATON_I("port", port));
 *
 * Values are quoted and escaped where necessary; prompts and generated text are never logged.
 *
 * Ownership: nothing is kept except the names of the process and of the file.
 * Threading: any thread; a line is one write(2), so lines never mix.
 * Errors:    none; a line that cannot be written is lost.
 */
#ifndef BATON_COMMON_BASE_LOG_H
#define BATON_COMMON_BASE_LOG_H

#include <stdint.h>

#include "common/base/error.h"

/* In the order of the option's words. */
enum baton_log_format { BATON_LOG_LOGFMT, BATON_LOG_JSON };

enum baton_log_level { BATON_LOG_DEBUG, BATON_LOG_INFO, BATON_LOG_WARN, BATON_LOG_ERROR };

struct baton_log_field {
    const char *key;
    enum {
        BATON_FIELD_TEXT,
        BATON_FIELD_OPTIONAL,
        BATON_FIELD_INT,
        BATON_FIELD_HEX,
        BATON_FIELD_REAL
    } kind;
    union {
        const char *text;
        int64_t integer;
        uint64_t hex;
        double real;
    };
};

#define BATON_S(k, v) ((struct baton_log_field){.key = (k), .kind = BATON_FIELD_TEXT, .text = (v)})
/* A text that is omitted, with its key, when it is NULL or "". */
#define BATON_O(k, v)                                                                              \
    ((struct baton_log_field){.key = (k), .kind = BATON_FIELD_OPTIONAL, .text = (v)})
#define BATON_I(k, v)                                                                              \
    ((struct baton_log_field){.key = (k), .kind = BATON_FIELD_INT, .integer = (int64_t)(v)})
#define BATON_X(k, v) ((struct baton_log_field){.key = (k), .kind = BATON_FIELD_HEX, .hex = (v)})
/* A real number; keys of seconds end in _s by convention. */
#define BATON_F(k, v) ((struct baton_log_field){.key = (k), .kind = BATON_FIELD_REAL, .real = (v)})

/* process is kept, not copied. level_name is "debug", "info", "warn" or "error". */
enum baton_err baton_log_init(const char *process, const char *level_name,
                              struct baton_why *why) BATON_MUST_CHECK;

/* Selects the format (enum baton_log_format) and the file at path; "": stderr. SIGUSR1 reopens the
 * file, for log rotation; if that fails, the old one stays. path is kept. IO. */
enum baton_err baton_log_open(int format, const char *path, struct baton_why *why) BATON_MUST_CHECK;

void baton_log_fields(enum baton_log_level level, const char *event,
                      const struct baton_log_field *fields);

/* Limits the lines of one kind, for events that clients can cause at will. The first lines of every
 * ten seconds appear; the next one that appears counts the hidden ones in not_shown=. A zeroed
 * struct is new; each place that logs has its own, in static memory. */
struct baton_log_limit {
    int64_t since_ns;
    uint64_t n_shown, n_hidden;
};

void baton_log_limited_fields(struct baton_log_limit *limit, enum baton_log_level level,
                              const char *event, const struct baton_log_field *fields);

#define baton_log(level, event, ...)                                                               \
    baton_log_fields((level), (event), (const struct baton_log_field[]){__VA_ARGS__, {.key = 0}})

#define baton_log_limited(limit, level, event, ...)                                                \
    baton_log_limited_fields((limit), (level), (event),                                            \
                             (const struct baton_log_field[]){__VA_ARGS__, {.key = 0}})

#endif
