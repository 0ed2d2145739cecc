#include "common/wire/cluster_token.h"

#include <stdio.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/digest.h"
#include "common/base/log.h"
#include "common/base/os/file.h"

enum { FILE_MAX_BYTES = 64 << 10 };

/* NULL, or what is wrong with the n bytes of a line. */
static const char *problem_of(const char *line, size_t n)
{
    if (n < BATON_CLUSTER_TOKEN_MIN_BYTES || n > BATON_CLUSTER_TOKEN_MAX_BYTES)
        return "a token has 8 to 256 characters";
    for (size_t i = 0; i < n; i++)
        if (line[i] <= ' ' || line[i] > '~')
            return "a token holds printable ASCII characters only, and no spaces";
    return NULL;
}

static enum baton_err add_line(struct baton_cluster_token *token, size_t number, const char *line,
                               size_t n, struct baton_why *why)
{
    while (n && strchr(" \t\r\v\f", line[n - 1]) && line[n - 1])
        n--;
    if (!n || *line == '#')
        return BATON_OK;
    const char *problem = problem_of(line, n);
    if (!problem && token->n == BATON_CLUSTER_TOKENS_MAX)
        problem = "a file holds at most two tokens";
    if (problem)
        return baton_fail(why, BATON_INVALID, "%s: line %zu: %s", token->path, number, problem);
    char *text = token->texts[token->n++];
    memcpy(text, line, n);
    text[n] = 0;
    return BATON_OK;
}

enum baton_err baton_cluster_token_parse(struct baton_cluster_token *token, const char *text,
                                         size_t n, struct baton_why *why)
{
    struct baton_cluster_token read = {.path = token->path};
    const char *end = text + n;
    for (size_t number = 1; text < end; number++) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        enum baton_err err =
            add_line(&read, number, text, (size_t)((stop ? stop : end) - text), why);
        if (err)
            return err;
        text = stop ? stop + 1 : end;
    }
    if (!read.n)
        return baton_fail(why, BATON_INVALID, "%s: holds no token", token->path);
    *token = read;
    return BATON_OK;
}

static enum baton_err read_file(struct baton_cluster_token *token, struct baton_why *why)
{
    struct baton_buf text;
    baton_buf_init(&text, FILE_MAX_BYTES);
    enum baton_err err = baton_file_read(token->path, &text, why);
    if (!err)
        err = baton_cluster_token_parse(token, baton_buf_text(&text), text.len, why);
    baton_buf_fini(&text);
    return err;
}

/* In deploy/docker-compose.yml, for a network that only the fleet is in. */
static const char published[] = "only-on-the-internal-network";

bool baton_cluster_token_is_known(const struct baton_cluster_token *token)
{
    return !*token->texts[0] || !strcmp(token->texts[0], published);
}

static void warn_if_known(const struct baton_cluster_token *token)
{
    if (!baton_cluster_token_is_known(token))
        return;
    baton_log(BATON_LOG_WARN, "no_cluster_secret",
              BATON_S("reason", *token->texts[0]
                                    ? "the cluster token is the one that everybody can read in "
                                      "deploy/docker-compose.yml"
                                    : "there is no cluster token"),
              BATON_S("hint", "anybody who reaches this process's ports may join its fleet: give "
                              "all processes of the fleet a secret with --cluster-token-file"));
}

static enum baton_err take_option(struct baton_cluster_token *token, const char *option,
                                  struct baton_why *why)
{
    if (strlen(option) >= sizeof token->texts[0])
        return baton_fail(why, BATON_INVALID, "cluster-token: longer than %zu bytes",
                          sizeof token->texts[0] - 1);
    (void)snprintf(token->texts[0], sizeof token->texts[0], "%s", option);
    return BATON_OK;
}

enum baton_err baton_cluster_token_open(struct baton_cluster_token *token, const char *option,
                                        const char *path, struct baton_why *why)
{
    *token = (struct baton_cluster_token){.path = path, .n = 1};
    if (*path && *option)
        return baton_fail(why, BATON_INVALID,
                          "cluster-token and cluster-token-file are both given: one is enough");
    enum baton_err err = *path ? read_file(token, why) : take_option(token, option, why);
    if (!err)
        warn_if_known(token);
    return err;
}

void baton_cluster_token_reload(struct baton_cluster_token *token)
{
    struct baton_why why = {""};
    if (!*token->path)
        return;
    if (read_file(token, &why))
        baton_log(BATON_LOG_ERROR, "cluster_token_kept", BATON_S("reason", why.text),
                  BATON_I("tokens", token->n));
    else
        baton_log(BATON_LOG_INFO, "cluster_token_loaded", BATON_I("tokens", token->n));
}

bool baton_cluster_token_accepts(const struct baton_cluster_token *token, const char *theirs)
{
    bool accepts = false;
    size_t n = strlen(theirs);
    for (size_t i = 0; i < token->n; i++) {
        const char *ours = token->texts[i];
        bool same = n == strlen(ours) && baton_equal_constant_time(ours, theirs, n);
        accepts = accepts || same;
    }
    return accepts;
}
