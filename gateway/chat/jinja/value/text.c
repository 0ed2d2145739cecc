#include "gateway/chat/jinja/value/text.h"

#include <string.h>
#include <utf8proc.h>

#include "common/base/utf8.h"

/* ---- growth ---- */

static bool reserve(struct jinja_run *run, struct jinja_text *text, size_t n)
{
    size_t cap = text->cap ? 2 * text->cap : 64;
    if (n <= text->cap - text->n)
        return true;
    if (n > run->limits.max_memory_bytes) {
        jinja_fail_limit(run, "bytes of values", run->limits.max_memory_bytes);
        return false;
    }
    /* Doubling keeps the copies of a long text linear in its length. */
    while (cap - text->n < n)
        cap *= 2;
    char *bytes = jinja_alloc(run, cap, 1);
    uint8_t *marks = bytes && text->marks ? jinja_alloc(run, cap, 1) : NULL;
    if (!bytes || (text->marks && !marks))
        return false;
    if (text->n)
        memcpy(bytes, text->bytes, text->n);
    if (text->n && marks)
        memcpy(marks, text->marks, text->n);
    text->bytes = bytes;
    text->marks = marks;
    text->cap = cap;
    return true;
}

/* Prepares for bytes of different origins. */
static bool mark_each(struct jinja_run *run, struct jinja_text *text)
{
    if (text->marks)
        return true;
    text->marks = jinja_alloc(run, text->cap, 1);
    if (text->marks)
        memset(text->marks, text->own, text->n);
    /* All bytes so far have one origin. */
    return text->marks != NULL;
}

static bool begin_put(struct jinja_run *run, struct jinja_text *text, size_t n, bool own)
{
    if (!n || !jinja_step_bytes(run, n) || !reserve(run, text, n))
        return false;
    if (!text->n)
        text->own = own;
    return true;
}

void jinja_text_put(struct jinja_run *run, struct jinja_text *text, const char *bytes, size_t n,
                    bool own)
{
    if (!begin_put(run, text, n, own))
        return;
    if ((text->own != own || text->marks) && !mark_each(run, text))
        return;
    memcpy(text->bytes + text->n, bytes, n);
    if (text->marks)
        memset(text->marks + text->n, own, n);
    text->n += n;
}

void jinja_text_puts(struct jinja_run *run, struct jinja_text *text, const char *bytes)
{
    jinja_text_put(run, text, bytes, strlen(bytes), true);
}

void jinja_text_put_part(struct jinja_run *run, struct jinja_text *text,
                         const struct jinja_string *string, size_t start, size_t n)
{
    if (!string->marks) {
        jinja_text_put(run, text, string->bytes + start, n, string->own);
        return;
    }
    if (!begin_put(run, text, n, string->own) || !mark_each(run, text))
        return;
    memcpy(text->bytes + text->n, string->bytes + start, n);
    memcpy(text->marks + text->n, string->marks + start, n);
    text->n += n;
}

void jinja_text_put_string(struct jinja_run *run, struct jinja_text *text,
                           const struct jinja_string *string)
{
    jinja_text_put_part(run, text, string, 0, string->n);
}

struct jinja_value jinja_text_end(struct jinja_run *run, struct jinja_text *text)
{
    struct jinja_string *string = jinja_alloc(run, 1, sizeof *string);
    if (!string)
        return jinja_undefined(NULL);
    *string = (struct jinja_string){.bytes = text->n ? text->bytes : "",
                                    .marks = text->marks,
                                    .n = text->n,
                                    .own = text->n ? text->own : true};
    return jinja_string_value(string);
}

struct jinja_value jinja_text_foreign(struct jinja_run *run, struct jinja_text *text)
{
    text->marks = NULL;
    text->own = false;
    return jinja_text_end(run, text);
}

/* ---- parts and joins ---- */

struct jinja_value jinja_part(struct jinja_run *run, const struct jinja_string *string,
                              size_t start, size_t n)
{
    struct jinja_string *part = jinja_alloc(run, 1, sizeof *part);
    if (!part)
        return jinja_undefined(NULL);
    /* The bytes are shared, because text never changes. */
    *part = *string;
    part->bytes += start;
    part->n = n;
    if (part->marks)
        part->marks += start;
    return jinja_string_value(part);
}

struct jinja_value jinja_concat(struct jinja_run *run, const struct jinja_string *a,
                                const struct jinja_string *b)
{
    struct jinja_text text = {0};
    if (!a->n && a->safe == b->safe)
        return jinja_string_value(b);
    if (!b->n && a->safe == b->safe)
        return jinja_string_value(a);
    if (!reserve(run, &text, a->n + b->n))
        return jinja_undefined(NULL);
    jinja_text_put_string(run, &text, a);
    jinja_text_put_string(run, &text, b);
    return jinja_text_end(run, &text);
}

struct jinja_value jinja_safe(struct jinja_run *run, const struct jinja_string *string)
{
    struct jinja_string *safe = jinja_alloc(run, 1, sizeof *safe);
    if (!safe)
        return jinja_undefined(NULL);
    *safe = *string;
    safe->safe = true;
    return jinja_string_value(safe);
}

const struct jinja_string *jinja_escape(struct jinja_run *run, const struct jinja_string *string)
{
    static const char special[] = "&<>'\"";
    static const char *const references[] = {"&amp;", "&lt;", "&gt;", "&#39;", "&#34;"};
    struct jinja_text text = {0};
    if (string->safe)
        return string;
    for (size_t i = 0; i < string->n; i++) {
        const char *found = string->bytes[i] ? strchr(special, string->bytes[i]) : NULL;
        bool own = string->marks ? string->marks[i] : string->own;
        if (found)
            jinja_text_put(run, &text, references[found - special],
                           strlen(references[found - special]), own);
        else
            jinja_text_put(run, &text, string->bytes + i, 1, own);
    }
    struct jinja_value value = jinja_text_end(run, &text);
    if (value.kind == JINJA_STRING)
        value = jinja_safe(run, value.string);
    return value.kind == JINJA_STRING ? value.string : string;
}

/* ---- comparison and search ---- */

int jinja_string_compare(const struct jinja_string *a, const struct jinja_string *b)
{
    size_t n = a->n < b->n ? a->n : b->n;
    int order = n ? memcmp(a->bytes, b->bytes, n) : 0;
    if (order)
        return order < 0 ? -1 : 1;
    return (a->n > b->n) - (a->n < b->n);
}

bool jinja_string_equal(const struct jinja_string *a, const struct jinja_string *b)
{
    return a->n == b->n && (!a->n || !memcmp(a->bytes, b->bytes, a->n));
}

bool jinja_string_is(const struct jinja_string *string, const char *text)
{
    return string->n == strlen(text) && !memcmp(string->bytes, text, string->n);
}

size_t jinja_find(const struct jinja_string *string, const struct jinja_string *part, size_t start)
{
    if (start > string->n)
        return SIZE_MAX;
    if (!part->n)
        return start;
    const char *found = memmem(string->bytes + start, string->n - start, part->bytes, part->n);
    return found ? (size_t)(found - string->bytes) : SIZE_MAX;
}

/* Searches backwards, for which there is no memmem. Vain comparisons count as work. */
size_t jinja_rfind(struct jinja_run *run, const struct jinja_string *string,
                   const struct jinja_string *part, size_t end)
{
    if (part->n > end || !part->n)
        return part->n ? SIZE_MAX : end;
    for (size_t at = end - part->n + 1; at-- > 0;) {
        if (string->bytes[at] != part->bytes[0])
            continue;
        if (!memcmp(string->bytes + at, part->bytes, part->n))
            return at;
        if (!jinja_step(run, part->n / 64))
            break;
    }
    return SIZE_MAX;
}

/* ---- characters ---- */

size_t jinja_char_bytes(const char *p, size_t n)
{
    int length = (*p & 0x80) ? baton_utf8_next(p, n, NULL) : 1;
    return length > 0 ? (size_t)length : 1;
}

size_t jinja_count_chars(const struct jinja_string *string)
{
    size_t n = 0;
    for (size_t at = 0; at < string->n; n++)
        at += jinja_char_bytes(string->bytes + at, string->n - at);
    return n;
}

size_t jinja_char_at(const struct jinja_string *string, size_t i)
{
    size_t at = 0;
    for (; i && at < string->n; i--)
        at += jinja_char_bytes(string->bytes + at, string->n - at);
    return at;
}

uint32_t jinja_code_point(const char *p, size_t n)
{
    return baton_utf8_decode(p, jinja_char_bytes(p, n));
}

/* Matches Unicode's White_Space and the separators U+001C .. U+001F, as Python's str.isspace
 * does. */
size_t jinja_space_bytes(const char *p, size_t n)
{
    if (!n)
        return 0;
    unsigned char first = (unsigned char)*p;
    if (first < 0x80)
        return first == ' ' || (first >= '\t' && first <= '\r') || (first >= 0x1c && first <= 0x1f);
    uint32_t c = jinja_code_point(p, n);
    bool space = c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) ||
                 c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
    return space ? jinja_char_bytes(p, n) : 0;
}

/* Returns the bytes of the character at p if it is one of chars, otherwise 0. */
static size_t member_bytes(const char *p, size_t n, const struct jinja_string *chars)
{
    if (!chars)
        return jinja_space_bytes(p, n);
    size_t length = jinja_char_bytes(p, n);
    struct jinja_string one = {.bytes = p, .n = length};
    return jinja_find(chars, &one, 0) != SIZE_MAX ? length : 0;
}

/* Returns the bytes of the last character in the n bytes. */
static size_t last_char_bytes(const char *p, size_t n)
{
    size_t length = 1;
    while (length < n && length < 4 && baton_utf8_continues(p[n - length]))
        length++;
    return length;
}

struct jinja_value jinja_trim(struct jinja_run *run, const struct jinja_string *string,
                              const struct jinja_string *chars, int sides)
{
    size_t start = 0, end = string->n, n, n_steps = chars ? chars->n / 64 : 0;
    while ((sides & JINJA_TRIM_START) && start < end && jinja_step(run, n_steps) &&
           (n = member_bytes(string->bytes + start, end - start, chars)))
        start += n;
    while ((sides & JINJA_TRIM_END) && end > start && jinja_step(run, n_steps)) {
        n = last_char_bytes(string->bytes + start, end - start);
        if (!member_bytes(string->bytes + end - n, n, chars))
            break;
        end -= n;
    }
    (void)jinja_step_bytes(run, string->n - (end - start));
    return jinja_part(run, string, start, end - start);
}

size_t jinja_trimmed_bytes(const struct jinja_string *string)
{
    size_t end = string->n;
    while (end) {
        size_t n = last_char_bytes(string->bytes, end);
        if (!jinja_space_bytes(string->bytes + end - n, n))
            break;
        end -= n;
    }
    return end;
}

/* Inserts to before each character and at the end, which is Python's replace of an empty text. */
static struct jinja_value replace_nothing(struct jinja_run *run, const struct jinja_string *string,
                                          const struct jinja_string *to, int64_t max)
{
    struct jinja_text text = {0};
    size_t at = 0;
    while (max-- != 0 && !jinja_failed(run)) {
        jinja_text_put_string(run, &text, to);
        if (at == string->n)
            break;
        size_t n = jinja_char_bytes(string->bytes + at, string->n - at);
        jinja_text_put_part(run, &text, string, at, n);
        at += n;
    }
    jinja_text_put_part(run, &text, string, at, string->n - at);
    return jinja_text_end(run, &text);
}

struct jinja_value jinja_replace(struct jinja_run *run, const struct jinja_string *string,
                                 const struct jinja_string *from, const struct jinja_string *to,
                                 int64_t max)
{
    struct jinja_text text = {0};
    size_t at = 0, found;
    if (!from->n)
        return replace_nothing(run, string, to, max);
    while (max-- != 0 && (found = jinja_find(string, from, at)) != SIZE_MAX && !jinja_failed(run)) {
        jinja_text_put_part(run, &text, string, at, found - at);
        jinja_text_put_string(run, &text, to);
        at = found + from->n;
    }
    if (!at)
        return jinja_string_value(string);
    jinja_text_put_part(run, &text, string, at, string->n - at);
    return jinja_text_end(run, &text);
}

/* ---- cases ---- */

static int32_t change_char(int32_t c, enum jinja_case to, bool begins_word)
{
    switch (to) {
    case JINJA_UPPER:
        return utf8proc_toupper(c);
    case JINJA_LOWER:
        return utf8proc_tolower(c);
    case JINJA_SWAPCASE:
        return utf8proc_tolower(c) != c ? utf8proc_tolower(c) : utf8proc_toupper(c);
    default:
        return begins_word ? utf8proc_totitle(c) : utf8proc_tolower(c);
    }
}

/* True when a word begins after this character. */
static bool ends_word(int32_t c, enum jinja_case to)
{
    if (to == JINJA_TITLE)
        return utf8proc_tolower(c) == c && utf8proc_toupper(c) == c;
    if (to == JINJA_WORDS)
        return (c < 0x80 && c && strchr("-({[< \t\n\r\f\v\x1c\x1d\x1e\x1f", c)) || c == 0x85 ||
               c == 0xa0;
    return false;
}

struct jinja_value jinja_change_case(struct jinja_run *run, const struct jinja_string *string,
                                     enum jinja_case to)
{
    struct jinja_text text = {0};
    bool begins_word = true;
    for (size_t at = 0, n; at < string->n && !jinja_failed(run); at += n) {
        char changed[4];
        n = jinja_char_bytes(string->bytes + at, string->n - at);
        int32_t c = (int32_t)jinja_code_point(string->bytes + at, string->n - at);
        bool own = string->marks ? string->marks[at] : string->own;
        size_t length = baton_utf8_encode((uint32_t)change_char(c, to, begins_word), changed);
        if (c == 0xdf && to == JINJA_UPPER) /* the German sharp s has two capital letters */
            jinja_text_put(run, &text, "SS", 2, own);
        else
            jinja_text_put(run, &text, changed, length, own);
        begins_word = ends_word(c, to);
    }
    return jinja_text_end(run, &text);
}
