#include "tools/baton/fleet/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/array.h"
#include "common/base/clock.h"
#include "common/base/os/file.h"

/* Events of docs/log-events.md with percent and left_s, and what they mean to a user. */
static const struct {
    const char *event, *step;
} steps[] = {{"weights_digest", "checking the weights"},
             {"weights_packing", "packing the weights"}};

void bt_progress_begin(struct bt_progress *progress, const struct bt_state *state)
{
    *progress = (struct bt_progress){
        .state = state, .is_shown = isatty(STDERR_FILENO), .begun_ns = baton_now_ns()};
}

/* Returns the place behind the last occurrence of a word; NULL when there is none. */
static const char *behind_last(const char *text, size_t n, const char *word)
{
    const char *found = NULL, *at = text;
    while ((at = memmem(at, n - (size_t)(at - text), word, strlen(word))))
        found = at += strlen(word);
    return found;
}

/* Reads the number of key=NUMBER or "key":NUMBER in the line at text. */
static double number_of(const char *text, const char *end, const char *key)
{
    const char *line_end = memchr(text, '\n', (size_t)(end - text));
    const char *at = memmem(text, (size_t)((line_end ? line_end : end) - text), key, strlen(key));
    return at && line_end ? strtod(at + strlen(key) + strspn(at + strlen(key), "\"=: "), NULL) : -1;
}

bool bt_progress_read(const char *log, size_t n, const char **step, int *percent, double *left_s)
{
    const char *last = NULL;
    for (size_t i = 0; i < BATON_N_OF(steps); i++) {
        const char *at = behind_last(log, n, steps[i].event);
        if (!at || at < last || number_of(at, log + n, "percent") < 0)
            continue;
        last = at;
        *step = steps[i].step;
        *percent = (int)number_of(at, log + n, "percent");
        *left_s = number_of(at, log + n, "left_s");
    }
    return last && *percent < 100;
}

/* Finds the process whose step takes longest. */
static bool find_slowest(const struct bt_state *state, const char **step, int *percent)
{
    struct bt_names names;
    char file[BT_NAME_BYTES + 16], path[PATH_MAX];
    const char *one;
    int one_percent;
    double left_s, most_s = -1;
    bt_state_names(state, &names);
    for (int i = 0; i < names.n; i++) {
        struct baton_mapping log = {.data = NULL};
        (void)snprintf(file, sizeof file, "log/%s.log", names.names[i]);
        if (bt_state_path(state, file, path, NULL) || baton_file_map(path, &log, NULL))
            continue;
        if (log.n_bytes &&
            bt_progress_read((const char *)log.data, log.n_bytes, &one, &one_percent, &left_s) &&
            left_s > most_s) {
            most_s = left_s;
            *step = one;
            *percent = one_percent;
        }
        baton_file_unmap(&log);
    }
    return most_s >= 0;
}

void bt_progress_show(const struct bt_progress *progress)
{
    const char *step = NULL;
    int percent = 0;
    if (!progress->is_shown)
        return;
    (void)fprintf(stderr, "\rstarting, %.0f s", baton_seconds(baton_now_ns() - progress->begun_ns));
    if (find_slowest(progress->state, &step, &percent))
        (void)fprintf(stderr, ": %s, %d %%", step, percent);
    (void)fputs("\033[K", stderr);
}

void bt_progress_end(const struct bt_progress *progress)
{
    if (progress->is_shown)
        (void)fputs("\r\033[K", stderr);
}
