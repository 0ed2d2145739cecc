#include "gateway/api/completion/thinking_bound.h"

#include <stdio.h>
#include <string.h>

/* What follows gpt-oss's reasoning: a message of any channel, or the final one. */
static const char next_message[] = "<|start|>assistant", final[] = "<|channel|>final<|message|>";

/* Appends the tokens of a text. From own on it is a template's and may have special tokens. */
static enum baton_err push(struct baton_tokenizer *tokenizer, const struct baton_buf *text,
                           size_t own, struct baton_tokens *tokens, struct baton_why *why)
{
    const struct baton_span span = {.start = own, .end = text->len};
    return baton_tokenizer_encode_spans(tokenizer, baton_buf_text(text), text->len, &span,
                                        own < text->len, BATON_MAX_THINKING_CLOSE, tokens, why);
}

/* Encodes what closes the reasoning; *n_first is the part of it before gpt-oss's final channel. */
static enum baton_err encode_close(const struct gw_thinking_bound *bound,
                                   struct baton_tokenizer *tokenizer,
                                   const struct baton_answer_form *form,
                                   struct baton_tokens *tokens, size_t *n_first,
                                   struct baton_why *why)
{
    const bool has_channels = form->reasoning->has_channels;
    const char *behind = form->behind_reasoning ? form->behind_reasoning : "";
    struct baton_buf text;
    baton_buf_init(&text, SIZE_MAX / 4);
    baton_buf_puts(&text, bound->message ? bound->message : "");
    size_t own = text.len;
    baton_buf_puts(&text, form->reasoning->end);
    baton_buf_puts(&text, has_channels ? next_message : behind);
    enum baton_err err = baton_buf_err(&text);
    if (!err)
        err = push(tokenizer, &text, own, tokens, why);
    *n_first = tokens->n;
    baton_buf_reset(&text);
    baton_buf_puts(&text, has_channels ? final : "");
    if (!err && text.len)
        err = push(tokenizer, &text, 0, tokens, why);
    baton_buf_fini(&text);
    return err;
}

static struct baton_thinking_budget budget_of(const struct gw_thinking_bound *bound,
                                              const struct baton_answer_form *form,
                                              const struct baton_tokens *tokens, size_t n_first)
{
    struct baton_thinking_budget budget = {.is_open = form->opens_reasoning,
                                           .repeats = form->reasoning->has_channels,
                                           .max_tokens = bound->is_given ? bound->max_tokens : 0,
                                           .close = tokens->ids,
                                           .n_close = tokens->n,
                                           .n_first = n_first};
    (void)snprintf(budget.begin, sizeof budget.begin, "%s", form->reasoning->begin);
    (void)snprintf(budget.end, sizeof budget.end, "%s", form->reasoning->end);
    return budget;
}

void gw_thinking_bound_set(const struct gw_thinking_bound *bound, struct baton_tokenizer *tokenizer,
                           const struct baton_answer_form *form, struct gw_fields *fields,
                           struct baton_sampling_params *params)
{
    struct baton_tokens tokens = {0};
    struct baton_why why = {""};
    size_t n_first = 0;
    if (!form->reasoning || form->is_continued || (!bound->is_given && !form->unwanted_reasoning))
        return;
    enum baton_err err = encode_close(bound, tokenizer, form, &tokens, &n_first, &why);
    /* A call may follow reasoning as well: the model chooses the channel, at least once. */
    if (!form->tools && params->grammar.kind == BATON_GRAMMAR_NONE)
        n_first = tokens.n;
    const struct baton_thinking_budget budget = budget_of(bound, form, &tokens, n_first);
    if (!err && tokens.n <= BATON_MAX_THINKING_CLOSE)
        err = baton_thinking_budget_copy(&params->thinking, &budget);
    else if (!err || err == BATON_LIMIT)
        gw_fields_fail(fields, "reasoning_budget_message", "out_of_range",
                       "reasoning_budget_message: must have fewer than %d tokens with the markers "
                       "that follow it",
                       BATON_MAX_THINKING_CLOSE);
    if (err && err != BATON_LIMIT)
        gw_fields_fail(fields, "reasoning_budget", "internal_error", "reasoning_budget: %s",
                       baton_err_text(err));
    baton_tokens_fini(&tokens);
}
