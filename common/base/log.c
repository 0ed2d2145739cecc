#include "common/base/log.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/clock.h"

enum { LINE_MAX_BYTES = 4096, MAX_LINES_A_WINDOW = 5 };

#define WINDOW_NS (10 * BATON_SECOND)

static const char *const level_names[] = {"debug", "info", "warn", "error"};
static const char *process_name = "baton";
static enum baton_log_level min_level = BATON_LOG_INFO;

enum baton_err baton_log_init(const char *process, const char *level_name, struct baton_why *why)
{
    process_name = process;
    for (int i = BATON_LOG_DEBUG; i <= BATON_LOG_ERROR; i++)
        if (!strcmp(level_name, level_names[i])) {
            min_level = (enum baton_log_level)i;
            return BATON_OK;
        }
    return baton_fail(why, BATON_INVALID, "log-level: \"%s\" is not debug, info, warn or error",
                      level_name);
}

static int is_plain(const char *text)
{
    if (!*text)
        return 0;
    for (; *text; text++)
        if ((unsigned char)*text <= ' ' || *text == '"' || *text == '=' || *text == '\\' ||
            (unsigned char)*text == 0x7f)
            return 0;
    return 1;
}

static void put_text(struct baton_buf *line, const char *text)
{
    if (!text)
        text = "";
    if (is_plain(text)) {
        baton_buf_puts(line, text);
        return;
    }
    baton_buf_putc(line, '"');
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            baton_buf_putc(line, '\\');
        if (c == '\n')
            baton_buf_puts(line, "\\n");
        else if (c < ' ' || c == 0x7f)
            baton_buf_printf(line, "\\x%02x", c);
        else
            baton_buf_putc(line, (char)c);
    }
    baton_buf_putc(line, '"');
}

static void put_field(struct baton_buf *line, const struct baton_log_field *field)
{
    baton_buf_printf(line, " %s=", field->key);
    switch (field->kind) {
    case BATON_FIELD_TEXT:
        put_text(line, field->text);
        break;
    case BATON_FIELD_INT:
        baton_buf_printf(line, "%" PRId64, field->integer);
        break;
    case BATON_FIELD_HEX:
        baton_buf_printf(line, "%016" PRIx64, field->hex);
        break;
    case BATON_FIELD_REAL:
        baton_buf_printf(line, "%.6g", field->real);
        break;
    }
}

static void write_line(enum baton_log_level level, const char *event,
                       const struct baton_log_field *fields, uint64_t n_hidden)
{
    char now[32];
    struct baton_buf line;
    baton_wall_time(now, sizeof now);
    baton_buf_init(&line, LINE_MAX_BYTES);
    baton_buf_printf(&line, "ts=%s lvl=%s proc=%s pid=%d ev=%s", now, level_names[level],
                     process_name, (int)getpid(), event);
    for (; fields->key; fields++)
        put_field(&line, fields);
    if (n_hidden)
        put_field(&line, &BATON_I("not_shown", n_hidden));
    if (line.err == BATON_LIMIT && line.len) /* a line too long is cut, and ends all the same */
        line.data[line.len - 1] = '\n';
    else
        baton_buf_putc(&line, '\n');
    if (line.len) {
        ssize_t written = write(STDERR_FILENO, line.data, line.len);
        (void)written;
    }
    baton_buf_fini(&line);
}

void baton_log_fields(enum baton_log_level level, const char *event,
                      const struct baton_log_field *fields)
{
    if (level >= min_level)
        write_line(level, event, fields, 0);
}

/* Whether one more line may appear; *n_hidden is how many did not since the last one. */
static bool may_appear(struct baton_log_limit *limit, uint64_t *n_hidden)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    int64_t now_ns = baton_now_ns();
    pthread_mutex_lock(&lock);
    if (!limit->since_ns || now_ns - limit->since_ns >= WINDOW_NS) {
        limit->since_ns = now_ns;
        limit->n_shown = 0;
    }
    bool appears = limit->n_shown < MAX_LINES_A_WINDOW;
    *n_hidden = appears ? limit->n_hidden : 0;
    limit->n_shown += appears;
    limit->n_hidden = appears ? 0 : limit->n_hidden + 1;
    pthread_mutex_unlock(&lock);
    return appears;
}

void baton_log_limited_fields(struct baton_log_limit *limit, enum baton_log_level level,
                              const char *event, const struct baton_log_field *fields)
{
    uint64_t n_hidden;
    if (level >= min_level && may_appear(limit, &n_hidden))
        write_line(level, event, fields, n_hidden);
}
