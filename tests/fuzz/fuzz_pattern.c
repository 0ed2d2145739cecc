/* A hostile pattern (the first line, in Oniguruma's syntax) is refused with a reason, or its
 * matches in the rest of the input are in order, inside it, and the same with and without machine
 * code, with a small window and with the whole text in one. */
#include "tests/fuzz/fuzz.h"

#include "common/base/utf8.h"
#include "engine/tokenizer/split/pattern.h"

enum { MAX_BYTES = 2000 };

static struct baton_pattern *make(const char *text, size_t n, bool want_jit, size_t window)
{
    const struct baton_step_pattern source = {.text = {.bytes = text, .n = n}, .is_regex = true};
    struct baton_pattern *pattern = NULL;
    struct baton_why why = {""};
    check(!baton_pattern_create(&source, want_jit, window, &pattern, &why) || why.text[0]);
    return pattern;
}

static void check_matches(struct baton_pattern *pattern, struct baton_pattern *slow,
                          const char *text, size_t n)
{
    struct baton_match match = {.found = false}, other = {.found = false};
    struct baton_why why;
    size_t done = 0;
    do {
        /* The limits on steps differ, so either may give up first. */
        if (baton_pattern_next(pattern, text, n, &match, &why) ||
            baton_pattern_next(slow, text, n, &other, &why))
            return;
        check(match.found == other.found);
        if (!match.found)
            return;
        check(match.start == other.start && match.end == other.end && match.start >= done &&
              match.end >= match.start && match.end <= n);
        done = match.end;
    } while (match.found);
}

FUZZ(data, size)
{
    char copy[MAX_BYTES + 1];
    if (!size || size > MAX_BYTES || !baton_utf8_valid((const char *)data, size))
        return;
    memcpy(copy, data, size);
    copy[size] = 0;
    const char *line = memchr(copy, '\n', size);
    size_t n = line ? (size_t)(line - copy) : size, from = line ? n + 1 : size;
    struct baton_pattern *fast = make(copy, n, true, MAX_BYTES);
    struct baton_pattern *slow = make(copy, n, false, MAX_BYTES);
    struct baton_pattern *small = make(copy, n, true, size % 7 + 1);
    check(!(!fast != !slow) && !(!fast != !small));
    if (fast) {
        check_matches(fast, slow, copy + from, size - from);
        check_matches(fast, small, copy + from, size - from);
    }
    baton_pattern_destroy(fast);
    baton_pattern_destroy(slow);
    baton_pattern_destroy(small);
}
