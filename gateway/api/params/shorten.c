#include "gateway/api/params/shorten.h"

#include <string.h>

size_t gw_shortening_target(const struct gw_shortening *shortening, size_t max_tokens)
{
    size_t quarter = max_tokens / 4, n_answer = (size_t)shortening->n_answer;
    size_t target = max_tokens - (n_answer && n_answer < quarter ? n_answer : quarter);
    return target ? target : 1;
}

void gw_shorten_tokens(struct gw_shortening *shortening, struct baton_tokens *tokens, size_t n_max)
{
    size_t n_first = shortening->n_keep < n_max / 2 ? shortening->n_keep : n_max / 2;
    size_t n_last = n_max - n_first;
    if (tokens->n <= n_max)
        return;
    memmove(tokens->ids + n_first, tokens->ids + tokens->n - n_last, n_last * sizeof *tokens->ids);
    shortening->n_tokens += tokens->n - n_max;
    tokens->n = n_max;
}

/* ---- messages ---- */

static bool has_role(const struct baton_json *message, const char *role)
{
    return baton_json_is(baton_json_get(message, "role"), role);
}

static bool stays(const struct baton_json *message)
{
    return has_role(message, "system") || has_role(message, "developer");
}

/* Returns the start that leaves the n shortest ends to choose from: the n-th message from the end
 * that may begin one. Fewer than n: 0. */
static size_t start_of(const struct baton_json *messages, size_t n)
{
    size_t at = baton_json_size(messages) - 1;
    while (at && (n > 1 || has_role(baton_json_at(messages, at), "tool"))) {
        at--;
        const struct baton_json *message = baton_json_at(messages, at);
        n -= n > 1 && !has_role(message, "tool") && !stays(message);
    }
    return at;
}

/* The messages from a start on, behind the system messages before it. NULL: no memory. */
static struct baton_json *from(const struct baton_json *messages, size_t start, size_t *n_dropped)
{
    struct baton_json *made = baton_json_new_array();
    bool ok = made;
    *n_dropped = 0;
    for (size_t i = 0; ok && i < baton_json_size(messages); i++) {
        const struct baton_json *message = baton_json_at(messages, i);
        if (i >= start || stays(message))
            ok = baton_json_push(made, baton_json_share(message));
        else
            ++*n_dropped;
    }
    if (ok)
        return made;
    baton_json_free(made);
    return NULL;
}

/* ---- the search ---- */

struct search {
    const struct gw_api *api;
    const struct baton_chat_input *input;
    struct baton_tokens *tokens; /* of the longest end that fits so far */
    struct baton_answer_form *form;
    struct baton_chat_borders *borders;
    struct baton_why *why;
    size_t n_dropped; /* messages */
};

/* Encodes the conversation from a start on; the tokens stay as they are unless it fits. */
static enum baton_err try(struct search *search, size_t start, size_t max_tokens)
{
    struct baton_chat_input input = *search->input;
    struct baton_tokens tokens = {0};
    struct baton_answer_form form = {0};
    size_t n_dropped;
    struct baton_json *messages = from(input.messages, start, &n_dropped);
    if (!messages)
        return baton_fail(search->why, BATON_NO_MEMORY, "out of memory");
    input.messages = messages;
    enum baton_err err =
        baton_chat_encode(search->api->chat, search->api->tokenizer, &input, max_tokens, &tokens,
                          &form, search->borders, search->why);
    baton_json_free(messages);
    if (!err) {
        baton_tokens_fini(search->tokens);
        *search->tokens = tokens;
        *search->form = form;
        search->n_dropped = n_dropped;
        return BATON_OK;
    }
    baton_tokens_fini(&tokens);
    return err;
}

/* Finds the most messages at the end that fit: their number doubles until they do not fit, and the
 * interval is then halved. A template may refuse one end and take a longer one, so a refusal counts
 * as one that does not fit. */
static enum baton_err find(struct search *search, size_t max_tokens)
{
    size_t n_messages = baton_json_size(search->input->messages), n_fit = 0, n_over = 1;
    enum baton_err err = BATON_OK, shortest = BATON_OK;
    for (; err != BATON_NO_MEMORY && n_over <= n_messages; n_over *= 2) {
        err = try(search, start_of(search->input->messages, n_over), max_tokens);
        shortest = n_over == 1 ? err : shortest;
        if (err)
            break;
        n_fit = n_over;
    }
    while (n_fit && err != BATON_NO_MEMORY && n_fit + 1 < n_over) {
        size_t n = n_fit + (n_over - n_fit) / 2;
        err = try(search, start_of(search->input->messages, n), max_tokens);
        if (err)
            n_over = n;
        else
            n_fit = n;
    }
    return n_fit && err != BATON_NO_MEMORY ? BATON_OK : err == BATON_NO_MEMORY ? err : shortest;
}

enum baton_err gw_shorten_chat(const struct gw_api *api, const struct baton_chat_input *input,
                               size_t max_tokens, struct gw_shortening *shortening,
                               struct baton_tokens *tokens, struct baton_answer_form *form,
                               struct baton_chat_borders *borders, struct baton_why *why)
{
    struct search search = {
        .api = api, .input = input, .tokens = tokens, .form = form, .borders = borders, .why = why};
    size_t target = gw_shortening_target(shortening, max_tokens);
    size_t last = start_of(input->messages, 1);
    enum baton_err err = try(&search, 0, max_tokens);
    if (err != BATON_LIMIT)
        return err;
    search.borders = NULL;
    err = find(&search, target);
    if (err == BATON_LIMIT)
        err = try(&search, last, max_tokens);
    if (err == BATON_LIMIT && !(err = try(&search, last, SIZE_MAX)))
        gw_shorten_tokens(shortening, tokens, target);
    shortening->n_messages = search.n_dropped;
    return err;
}
