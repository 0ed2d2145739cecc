/* Error codes by what the caller can do about them, and the message an operator reads.
 *
 * Ownership: nothing is allocated; a baton_why lives on the caller's stack.
 * Threading: pure functions.
 * Errors:    every function that can fail returns enum baton_err, leaves its outputs untouched on
 *            failure and, where an operator may see it, writes file, field and reason to *why.
 */
#ifndef BATON_COMMON_BASE_ERROR_H
#define BATON_COMMON_BASE_ERROR_H

#define BATON_ERRORS(X)                                                                            \
    X(OK, "ok")                                                                                    \
    X(INVALID, "the caller or the input is wrong; the same call fails again")                      \
    X(LIMIT, "a configured limit would be exceeded")                                               \
    X(AGAIN, "not now; the same call may succeed later")                                           \
    X(TIMEOUT, "the deadline passed")                                                              \
    X(CANCELED, "the operation was canceled")                                                      \
    X(CLOSED, "this object is shut down")                                                          \
    X(PEER, "the other process failed or broke the protocol")                                      \
    X(VERSION, "the two sides have different versions")                                            \
    X(CORRUPT, "data does not match its checksum or its format")                                   \
    X(NOT_FOUND, "not found")                                                                      \
    X(NO_MEMORY, "allocation failed")                                                              \
    X(IO, "the operating system reported an error")                                                \
    X(INTERNAL, "a bug in Baton")

enum baton_err {
#define X(name, text) BATON_##name,
    BATON_ERRORS(X)
#undef X
};

#define BATON_MUST_CHECK        __attribute__((warn_unused_result))
#define BATON_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

/* The reason for a failure, as a sentence for an operator. It has space for a path and a list of
 * all model types. */
struct baton_why {
    char text[960];
};

/* "INVALID", "LIMIT", ... ; "?" for a value outside the enum. */
const char *baton_err_name(enum baton_err err);

/* Returns the meaning of the code, in one clause. */
const char *baton_err_text(enum baton_err err);

/* Writes the formatted reason to *why (which may be NULL) and returns err, so that a failure reads
 * `return baton_fail(why, BATON_INVALID, "%s: field n_head: ...", path);`. */
enum baton_err baton_fail(struct baton_why *why, enum baton_err err, const char *fmt, ...)
    BATON_PRINTF(3, 4);

#endif
