#include "common/base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/base/json.h"

enum { LINE_MAX_BYTES = 4096, MAX_LINES_A_WINDOW = 5 };

#define WINDOW_NS (10 * BATON_SECOND)

static const char *const level_names[] = {"debug", "info", "warn", "error"};
static const char *process_name = "baton";
static enum baton_log_level min_level = BATON_LOG_INFO;
static enum baton_log_format format;
static const char *file_path = "";
static int log_fd = STDERR_FILENO;

/* The common beginning of every line. */
struct head {
    char time[32];
    const char *level, *event;
    uint64_t n_hidden;
};

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

static bool is_left_out(const struct baton_log_field *field)
{
    return field->kind == BATON_FIELD_OPTIONAL && (!field->text || !*field->text);
}

static void put_field(struct baton_buf *line, const struct baton_log_field *field)
{
    baton_buf_printf(line, " %s=", field->key);
    switch (field->kind) {
    case BATON_FIELD_TEXT:
    case BATON_FIELD_OPTIONAL:
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

static void put_logfmt(struct baton_buf *line, const struct head *head,
                       const struct baton_log_field *fields)
{
    baton_buf_printf(line, "ts=%s lvl=%s proc=%s pid=%d ev=%s", head->time, head->level,
                     process_name, (int)getpid(), head->event);
    for (; fields->key; fields++)
        if (!is_left_out(fields))
            put_field(line, fields);
    if (head->n_hidden)
        put_field(line, &BATON_I("not_shown", head->n_hidden));
    /* A line that is too long is cut, but still ends with a line feed. */
    if (line->err == BATON_LIMIT && line->len)
        line->data[line->len - 1] = '\n';
    else
        baton_buf_putc(line, '\n');
}

static void put_json_field(struct baton_json_out *out, const struct baton_log_field *field)
{
    char digits[20];
    switch (field->kind) {
    case BATON_FIELD_TEXT:
    case BATON_FIELD_OPTIONAL:
        baton_json_put_string(out, field->key, field->text ? field->text : "");
        break;
    case BATON_FIELD_INT:
        baton_json_put_int(out, field->key, field->integer);
        break;
    case BATON_FIELD_HEX: /* a reader's number may hold fewer digits */
        (void)snprintf(digits, sizeof digits, "%016" PRIx64, field->hex);
        baton_json_put_string(out, field->key, digits);
        break;
    case BATON_FIELD_REAL:
        baton_json_put_real(out, field->key, field->real);
        break;
    }
}

static void put_json(struct baton_buf *line, const struct head *head,
                     const struct baton_log_field *fields)
{
    struct baton_json_out out = baton_json_out(line);
    baton_json_open(&out, NULL, '{');
    baton_json_put_string(&out, "ts", head->time);
    baton_json_put_string(&out, "lvl", head->level);
    baton_json_put_string(&out, "proc", process_name);
    baton_json_put_int(&out, "pid", (int)getpid());
    baton_json_put_string(&out, "ev", head->event);
    for (; fields->key; fields++)
        if (!is_left_out(fields))
            put_json_field(&out, fields);
    if (head->n_hidden)
        baton_json_put_uint(&out, "not_shown", head->n_hidden);
    baton_json_close(&out, '}');
    baton_buf_putc(line, '\n');
}

static void write_line(enum baton_log_level level, const char *event,
                       const struct baton_log_field *fields, uint64_t n_hidden)
{
    static const struct baton_log_field too_long[] = {BATON_S("cut", "the line was too long"),
                                                      {.key = 0}};
    struct head head = {.level = level_names[level], .event = event, .n_hidden = n_hidden};
    struct baton_buf line;
    baton_wall_time(head.time, sizeof head.time);
    baton_buf_init(&line, LINE_MAX_BYTES);
    if (format == BATON_LOG_JSON)
        put_json(&line, &head, fields);
    else
        put_logfmt(&line, &head, fields);
    if (format == BATON_LOG_JSON && baton_buf_err(&line)) { /* half an object is not JSON */
        baton_buf_reset(&line);
        put_json(&line, &head, too_long);
    }
    if (line.len) {
        ssize_t written = write(log_fd, line.data, line.len);
        (void)written;
    }
    baton_buf_fini(&line);
}

/* ---- the file ---- */

static int open_file(void)
{
    return open(file_path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
}

/* Reopens the file, in a signal handler. The new file replaces the old one atomically under the
 * same descriptor, so that no line of any thread is lost or written to a closed file. */
static void reopen(int signal_number)
{
    int saved = errno, fd = *file_path ? open_file() : -1;
    (void)signal_number;
    if (fd >= 0) {
        (void)dup3(fd, log_fd, O_CLOEXEC);
        (void)close(fd);
    }
    errno = saved;
}

enum baton_err baton_log_open(int log_format, const char *path, struct baton_why *why)
{
    struct sigaction action = {.sa_handler = reopen, .sa_flags = SA_RESTART};
    format = (enum baton_log_format)log_format;
    file_path = path;
    if (*path) {
        int fd = open_file();
        if (fd < 0)
            return baton_fail(why, BATON_IO, "log-file: %s: %s", path, strerror(errno));
        log_fd = fd;
    }
    (void)sigaction(SIGUSR1, &action, NULL);
    return BATON_OK;
}

/* ---- events ---- */

void baton_log_fields(enum baton_log_level level, const char *event,
                      const struct baton_log_field *fields)
{
    if (level >= min_level)
        write_line(level, event, fields, 0);
}

/* True when one more line may appear; *n_hidden is the number of lines hidden since the last
 * one. */
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
