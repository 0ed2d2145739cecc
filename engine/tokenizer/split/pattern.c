#include "engine/tokenizer/split/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/buf.h"
#include "common/base/utf8.h"
#include "engine/tokenizer/split/oniguruma.h"

enum {
    PATTERN_MAX_BYTES = 1 << 20,
    FIRST_STACK_BYTES = 32 << 10,
    MAX_STACK_BYTES = 8 << 20,
    /* A search of a real pattern takes at most two steps per byte. */
    STEPS_PER_BYTE = 16,
    MIN_STEPS = 100000,
    MAX_STEPS = 1 << 30,
    WINDOW_GROWTH = 4,
    /* The total that a text's wider windows may read. Patterns that look ahead over other words,
     * such as those that count digits from the right, read more than the text. */
    WIDER_PER_BYTE = 64,
    MIN_WIDER_BYTES = 64 << 20
};

struct baton_pattern {
    char *text; /* NULL: a regular expression */
    size_t n;
    pcre2_code *code;
    pcre2_match_data *match;
    pcre2_match_context *context;
    pcre2_jit_stack *stack;
    bool jit;
    size_t window_bytes;
    size_t n_wider; /* bytes that the text's wider windows may still read */
};

static enum baton_err fail(struct baton_why *why, enum baton_err err, int code)
{
    char text[120];
    if (pcre2_get_error_message(code, (PCRE2_UCHAR *)text, sizeof text) < 0)
        text[0] = 0;
    return baton_fail(why, err, "the word pattern: PCRE2 error %d: %s", code, text);
}

/* Compiles by the rules of Oniguruma's Ruby syntax: ^ and $ match at every line, and only \n ends
 * one. */
static enum baton_err compile(struct baton_pattern *pattern, const struct baton_buf *source,
                              struct baton_why *why)
{
    int code = 0;
    size_t at;
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    if (!context)
        return baton_fail(why, BATON_NO_MEMORY, "the word pattern: out of memory");
    (void)pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    pattern->code = pcre2_compile((PCRE2_SPTR)baton_buf_text(source), source->len,
                                  PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE |
                                      PCRE2_NEVER_BACKSLASH_C | PCRE2_USE_OFFSET_LIMIT,
                                  &code, &at, context);
    pcre2_compile_context_free(context);
    return pattern->code ? BATON_OK : fail(why, BATON_INVALID, code);
}

static enum baton_err prepare(struct baton_pattern *pattern, bool want_jit, struct baton_why *why)
{
    pattern->match = pcre2_match_data_create(1, NULL);
    pattern->context = pcre2_match_context_create(NULL);
    if (!pattern->match || !pattern->context)
        return baton_fail(why, BATON_NO_MEMORY, "the word pattern: out of memory");
    pattern->jit =
        want_jit && !pcre2_jit_compile(pattern->code, PCRE2_JIT_COMPLETE | PCRE2_JIT_PARTIAL_HARD);
    if (pattern->jit) {
        pattern->stack = pcre2_jit_stack_create(FIRST_STACK_BYTES, MAX_STACK_BYTES, NULL);
        pcre2_jit_stack_assign(pattern->context, NULL, pattern->stack);
    }
    return BATON_OK;
}

/* True when a window may change the result: the meaning may depend on where the search began, a
 * match may hide where it began, or a verb may end all searches. */
static bool knows_its_search(const struct baton_step_text *source)
{
    static const char *const signs[] = {"\\G", "\\K", "(*"};
    for (size_t i = 0; i < BATON_N_OF(signs); i++)
        if (memmem(source->bytes, source->n, signs[i], 2))
            return true;
    return false;
}

static enum baton_err create_regex(struct baton_pattern *pattern,
                                   const struct baton_step_text *source, bool want_jit,
                                   size_t window_bytes, struct baton_why *why)
{
    struct baton_buf text;
    baton_buf_init(&text, PATTERN_MAX_BYTES);
    enum baton_err err = baton_oniguruma_to_pcre2(source->bytes, source->n, &text, why);
    pattern->window_bytes = knows_its_search(source) ? SIZE_MAX : window_bytes;
    if (!err)
        err = compile(pattern, &text, why);
    if (!err)
        err = prepare(pattern, want_jit, why);
    baton_buf_fini(&text);
    return err;
}

enum baton_err baton_pattern_create(const struct baton_step_pattern *source, bool want_jit,
                                    size_t window_bytes, struct baton_pattern **pattern,
                                    struct baton_why *why)
{
    struct baton_pattern *made = calloc(1, sizeof *made);
    enum baton_err err = BATON_OK;
    if (!made)
        return baton_fail(why, BATON_NO_MEMORY, "the word pattern: out of memory");
    if (source->is_regex) {
        err = create_regex(made, &source->text, want_jit, window_bytes, why);
    } else {
        made->n = source->text.n;
        made->text = malloc(made->n + 1);
        if (made->text)
            memcpy(made->text, source->text.bytes, made->n);
        else
            err = baton_fail(why, BATON_NO_MEMORY, "the word pattern: out of memory");
    }
    if (err)
        baton_pattern_destroy(made);
    else
        *pattern = made;
    return err;
}

void baton_pattern_destroy(struct baton_pattern *pattern)
{
    if (!pattern)
        return;
    pcre2_jit_stack_free(pattern->stack);
    pcre2_match_context_free(pattern->context);
    pcre2_match_data_free(pattern->match);
    pcre2_code_free(pattern->code);
    free(pattern->text);
    free(pattern);
}

static void find_text(const struct baton_pattern *pattern, const char *text, size_t n, size_t start,
                      struct baton_match *match)
{
    const char *found =
        pattern->n ? memmem(text + start, n - start, pattern->text, pattern->n) : NULL;
    match->found = found != NULL;
    if (!found)
        return;
    match->start = (size_t)(found - text);
    match->end = match->start + pattern->n;
}

static void set_limit(struct baton_pattern *pattern, size_t n)
{
    size_t n_steps = n < MAX_STEPS / STEPS_PER_BYTE ? n * STEPS_PER_BYTE : MAX_STEPS;
    (void)pcre2_set_match_limit(pattern->context,
                                n_steps < MIN_STEPS ? MIN_STEPS : (uint32_t)n_steps);
}

/* The text was validated before; checking it again at every word would be quadratic. */
static int search(struct baton_pattern *pattern, const char *text, size_t n, size_t start,
                  uint32_t options)
{
    int code = PCRE2_ERROR_JIT_STACKLIMIT;
    options |= PCRE2_NO_UTF_CHECK;
    set_limit(pattern, n - start);
    if (pattern->jit)
        code = pcre2_jit_match(pattern->code, (PCRE2_SPTR)text, n, start, options, pattern->match,
                               pattern->context);
    /* A deep match may need more than the JIT's stack; the interpreter uses the heap. */
    if (code == PCRE2_ERROR_JIT_STACKLIMIT)
        code = pcre2_match(pattern->code, (PCRE2_SPTR)text, n, start, options | PCRE2_NO_JIT,
                           pattern->match, pattern->context);
    return code;
}

static size_t end_of_window(const char *text, size_t n, size_t start, size_t window)
{
    if (window >= n - start)
        return n;
    size_t end = start + window;
    while (end < n && baton_utf8_continues(text[end]))
        end++;
    return end;
}

/* True when a search would continue after the end of its window. */
static bool is_open(const struct baton_pattern *pattern, int code, size_t end)
{
    return code == PCRE2_ERROR_PARTIAL ||
           (code >= 0 && pcre2_get_ovector_pointer(pattern->match)[1] >= end);
}

/* Searches for a match that begins at start, in wider and wider windows. */
static int match_at(struct baton_pattern *pattern, const char *text, size_t n, size_t start)
{
    size_t window = pattern->window_bytes, end;
    int code;
    (void)pcre2_set_offset_limit(pattern->context, start);
    do {
        window *= WINDOW_GROWTH;
        end = end_of_window(text, n, start, window);
        code = PCRE2_ERROR_MATCHLIMIT;
        if (pattern->n_wider < end - start)
            break;
        pattern->n_wider -= end - start;
        code = search(pattern, text, end, start, end < n ? PCRE2_PARTIAL_HARD : 0);
    } while (end < n && is_open(pattern, code, end));
    (void)pcre2_set_offset_limit(pattern->context, PCRE2_UNSET);
    return code;
}

static size_t after_character(const char *text, size_t n, size_t at)
{
    at++;
    while (at < n && baton_utf8_continues(text[at]))
        at++;
    return at;
}

/* Searches in only as much of the text as the result depends on. So a text costs what its words
 * cost, however far the pattern would read beyond them. */
static int search_in_windows(struct baton_pattern *pattern, const char *text, size_t n,
                             size_t start)
{
    for (;;) {
        size_t end = end_of_window(text, n, start, pattern->window_bytes);
        if (end == n)
            return search(pattern, text, n, start, 0);
        int code = search(pattern, text, end, start, PCRE2_PARTIAL_HARD);
        if (code != PCRE2_ERROR_NOMATCH && !is_open(pattern, code, end))
            return code;
        if (code == PCRE2_ERROR_NOMATCH) {
            start = end;
            continue;
        }
        size_t opened = pcre2_get_ovector_pointer(pattern->match)[0];
        start = opened > start ? opened : start; /* a lookbehind may move its start */
        code = match_at(pattern, text, n, start);
        if (code != PCRE2_ERROR_NOMATCH)
            return code;
        start = after_character(text, n, start);
    }
}

enum baton_err baton_pattern_find(struct baton_pattern *pattern, const char *text, size_t n,
                                  size_t start, struct baton_match *match, struct baton_why *why)
{
    if (pattern->text) {
        find_text(pattern, text, n, start, match);
        return BATON_OK;
    }
    if (!start)
        pattern->n_wider = n * WIDER_PER_BYTE + MIN_WIDER_BYTES;
    int code = search_in_windows(pattern, text, n, start);
    match->found = code >= 0;
    if (code == PCRE2_ERROR_NOMATCH)
        return BATON_OK;
    if (code == PCRE2_ERROR_MATCHLIMIT || code == PCRE2_ERROR_DEPTHLIMIT ||
        code == PCRE2_ERROR_HEAPLIMIT)
        return baton_fail(why, BATON_INVALID, "the word pattern takes too many steps on this text");
    if (code < 0)
        return fail(why, code == PCRE2_ERROR_NOMEMORY ? BATON_NO_MEMORY : BATON_INTERNAL, code);
    const size_t *ends = pcre2_get_ovector_pointer(pattern->match);
    match->start = ends[0];
    match->end = ends[1] < ends[0] ? ends[0] : ends[1]; /* \K may put the start after the end */
    return BATON_OK;
}

enum baton_err baton_pattern_next(struct baton_pattern *pattern, const char *text, size_t n,
                                  struct baton_match *previous, struct baton_why *why)
{
    struct baton_match match = {.found = false};
    bool is_first = !previous->found;
    size_t from = is_first ? 0 : previous->end;
    if (!is_first && previous->start == previous->end)
        from = after_character(text, n, from);
    for (;;) {
        enum baton_err err = BATON_OK;
        match.found = false;
        if (from <= n)
            err = baton_pattern_find(pattern, text, n, from, &match, why);
        if (err)
            return err;
        if (!match.found || is_first || match.end > match.start || match.start > previous->end)
            break;
        from = after_character(text, n, from);
    }
    *previous = match;
    return BATON_OK;
}
