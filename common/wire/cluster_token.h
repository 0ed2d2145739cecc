/* The fleet's shared secret: what a worker sends in its Hello, and what a gateway accepts.
 *
 *     file = *(line LF)      line = "" | "#" comment | token      token = 8*256 printable ASCII
 *
 * A file holds one token, or two while the fleet changes from one to the other: the first is sent,
 * both are accepted. White space at the end of a line is not part of it. Without a file the token
 * of the options is sent and accepted; it may be empty.
 *
 * Ownership: a plain value; the path is borrowed. The texts stay where they are over a reload.
 * Threading: one owner.
 * Errors:    open, parse: INVALID (both options given; a line that is no token: file and line,
 *            never the token itself; none, or more than two), NOT_FOUND, IO, LIMIT (a large file).
 */
#ifndef BATON_COMMON_WIRE_CLUSTER_TOKEN_H
#define BATON_COMMON_WIRE_CLUSTER_TOKEN_H

#include <stdbool.h>
#include <stddef.h>

#include "common/wire/envelope/envelope.h"

enum {
    BATON_CLUSTER_TOKEN_MIN_BYTES = 8,
    BATON_CLUSTER_TOKEN_MAX_BYTES = 256,
    BATON_CLUSTER_TOKENS_MAX = 2
};

struct baton_cluster_token {
    const char *path; /* "": the token is the option's */
    size_t n;
    char texts[BATON_CLUSTER_TOKENS_MAX][BATON_MAX_TEXT_BYTES + 1]; /* the first is sent */
};

/* Takes the token from the option, or from the file if path is not "". The log says so once if it
 * is no secret: empty, or a default that is published. */
enum baton_err baton_cluster_token_open(struct baton_cluster_token *token, const char *option,
                                        const char *path, struct baton_why *why) BATON_MUST_CHECK;

/* Reads the file again, and says so in the log. A file with a mistake is logged, and the old tokens
 * stay. Without a file nothing happens. */
void baton_cluster_token_reload(struct baton_cluster_token *token);

/* The tokens of the n bytes that the file called token->path is said to hold. */
enum baton_err baton_cluster_token_parse(struct baton_cluster_token *token, const char *text,
                                         size_t n, struct baton_why *why) BATON_MUST_CHECK;

/* Whether the token is no secret: empty, or a default that everybody can read. */
bool baton_cluster_token_is_known(const struct baton_cluster_token *token);

/* Whether `theirs` is one of the tokens. The time it takes does not depend on where they differ, so
 * that a peer cannot guess a token byte by byte. */
bool baton_cluster_token_accepts(const struct baton_cluster_token *token, const char *theirs);

#endif
