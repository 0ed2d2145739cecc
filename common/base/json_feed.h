/* Gives a JSON parser a text in parts, and mends on the way what others write and a strict parser
 * refuses: a byte order mark, integers beyond 64 bits and numbers beyond a double, halves of
 * surrogate pairs in escapes; in files also Python's NaN and Infinity.
 *
 * Ownership: the text is borrowed.
 * Threading: one owner at a time.
 * Errors:    none; text that is not JSON is passed on for the parser to refuse.
 */
#ifndef BATON_COMMON_BASE_JSON_FEED_H
#define BATON_COMMON_BASE_JSON_FEED_H

#include <stdbool.h>
#include <stddef.h>

struct baton_json_feed {
    const char *at;
    size_t n, n_run;   /* bytes left; of these to pass on unchanged */
    const char *after; /* what follows them instead of the text; NULL: nothing */
    bool in_string, is_file;
};

/* is_file: NaN and Infinity become null. */
struct baton_json_feed baton_json_feed(const char *text, size_t n, bool is_file);

/* Copies the next bytes to part [size]. Returns their number; 0 at the end. */
size_t baton_json_feed_next(struct baton_json_feed *text, char *part, size_t size);

#endif
