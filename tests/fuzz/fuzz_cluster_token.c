/* A token file is refused with a reason that names the file and never what it holds, or each of its
 * one or two tokens is accepted, and nothing longer or shorter. */
#include "tests/fuzz/fuzz.h"

#include "common/wire/cluster_token.h"

static void check_token(const struct baton_cluster_token *token, const char *text)
{
    char other[BATON_CLUSTER_TOKEN_MAX_BYTES + 2];
    size_t n = strlen(text);
    check(n >= BATON_CLUSTER_TOKEN_MIN_BYTES && n <= BATON_CLUSTER_TOKEN_MAX_BYTES);
    check(baton_cluster_token_accepts(token, text));
    memcpy(other, text, n);
    memcpy(other + n, " ", 2);
    check(!baton_cluster_token_accepts(token, other));
    memcpy(other, " ", 1);
    other[n] = 0;
    check(!baton_cluster_token_accepts(token, other));
    check(!baton_cluster_token_accepts(token, ""));
}

FUZZ(data, size)
{
    struct baton_cluster_token token = {.path = "file"};
    struct baton_why why = {""};
    if (baton_cluster_token_parse(&token, (const char *)data, size, &why)) {
        check(!token.n && !strncmp(why.text, "file: ", 6));
        return;
    }
    check(token.n >= 1 && token.n <= BATON_CLUSTER_TOKENS_MAX);
    for (size_t i = 0; i < token.n; i++)
        check_token(&token, token.texts[i]);
}
