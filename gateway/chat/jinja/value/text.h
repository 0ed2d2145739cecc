/* Text with the origin of each byte: growth, parts, search; private to gateway/chat/jinja.
 *
 * Ownership: the run's arena.
 * Threading: that of the run.
 * Errors:    sticky in the run.
 */
#ifndef BATON_GATEWAY_CHAT_JINJA_VALUE_TEXT_H
#define BATON_GATEWAY_CHAT_JINJA_VALUE_TEXT_H

#include "gateway/chat/jinja/value/run.h"

/* A growing text. A zeroed one is empty. */
struct jinja_text {
    char *bytes;
    uint8_t *marks; /* NULL while all bytes have the origin `own` */
    size_t n, cap;
    bool own;
};

void jinja_text_put(struct jinja_run *run, struct jinja_text *text, const char *bytes, size_t n,
                    bool own);
void jinja_text_puts(struct jinja_run *run, struct jinja_text *text, const char *bytes);
void jinja_text_put_string(struct jinja_run *run, struct jinja_text *text,
                           const struct jinja_string *string);
/* Appends bytes start .. start + n - 1 of a string. */
void jinja_text_put_part(struct jinja_run *run, struct jinja_text *text,
                         const struct jinja_string *string, size_t start, size_t n);
/* Ends the text with all bytes foreign. */
struct jinja_value jinja_text_foreign(struct jinja_run *run, struct jinja_text *text);
/* Ends the text and returns it as a value; the struct must not be used afterwards. */
struct jinja_value jinja_text_end(struct jinja_run *run, struct jinja_text *text);

/* Returns bytes start .. start + n - 1, without a copy. */
struct jinja_value jinja_part(struct jinja_run *run, const struct jinja_string *string,
                              size_t start, size_t n);
struct jinja_value jinja_concat(struct jinja_run *run, const struct jinja_string *a,
                                const struct jinja_string *b);
/* Escapes & < > ' " as character references, except in a safe text. The result is safe. */
const struct jinja_string *jinja_escape(struct jinja_run *run, const struct jinja_string *string);

/* Returns the same text, marked as safe. */
struct jinja_value jinja_safe(struct jinja_run *run, const struct jinja_string *string);

bool jinja_string_equal(const struct jinja_string *a, const struct jinja_string *b);
bool jinja_string_is(const struct jinja_string *string, const char *text);
/* Compares bytes, which orders by code points. */
int jinja_string_compare(const struct jinja_string *a, const struct jinja_string *b);

/* Return the byte position of part at or after start; SIZE_MAX when it is not found. rfind searches
 * before end. */
size_t jinja_find(const struct jinja_string *string, const struct jinja_string *part, size_t start);
size_t jinja_rfind(struct jinja_run *run, const struct jinja_string *string,
                   const struct jinja_string *part, size_t end);

/* Returns the bytes of the character at p, at least 1, at most n. */
size_t jinja_char_bytes(const char *p, size_t n);
size_t jinja_count_chars(const struct jinja_string *string);
/* Returns the byte position of character i; the end when there are fewer. */
size_t jinja_char_at(const struct jinja_string *string, size_t i);
uint32_t jinja_code_point(const char *p, size_t n);

/* Returns the bytes of the white space character at the start of the n bytes at p, by Python's
 * str.isspace; 0 when there is none. */
size_t jinja_space_bytes(const char *p, size_t n);

enum { JINJA_TRIM_START = 1, JINJA_TRIM_END = 2, JINJA_TRIM_BOTH = 3 };
/* Removes the characters of chars on its sides; chars NULL: white space. */
struct jinja_value jinja_trim(struct jinja_run *run, const struct jinja_string *string,
                              const struct jinja_string *chars, int sides);

/* Returns the number of bytes without the white space at the end. */
size_t jinja_trimmed_bytes(const struct jinja_string *string);

/* Replaces every from by to, at most max times. */
struct jinja_value jinja_replace(struct jinja_run *run, const struct jinja_string *string,
                                 const struct jinja_string *from, const struct jinja_string *to,
                                 int64_t max);

/* TITLE is Python's str.title; WORDS is the filter title, which begins words at other places. */
enum jinja_case {
    JINJA_UPPER,
    JINJA_LOWER,
    JINJA_SWAPCASE,
    JINJA_CAPITALIZE,
    JINJA_TITLE,
    JINJA_WORDS
};
struct jinja_value jinja_change_case(struct jinja_run *run, const struct jinja_string *string,
                                     enum jinja_case to);

#endif
