/* Shows as a table why a token was chosen. */
#include <string.h>

#include "common/base/buf.h"
#include "tools/baton/talk/reply.h"

enum { WORD_BYTES = 96 };

#define PERCENT 100.0

/* Puts a text between quotes, and spells out control characters. */
static void quote(const char *text, char word[WORD_BYTES])
{
    struct baton_buf out;
    baton_buf_init(&out, WORD_BYTES - 1);
    baton_buf_putc(&out, '"');
    for (const char *p = text ? text : ""; *p && out.len < WORD_BYTES - 8; p++) {
        unsigned char c = (unsigned char)*p;
        if (c == '\n')
            baton_buf_puts(&out, "\\n");
        else if (c < ' ' || c == 0x7f)
            baton_buf_printf(&out, "\\x%02x", c);
        else
            baton_buf_putc(&out, *p);
    }
    baton_buf_putc(&out, '"');
    (void)snprintf(word, WORD_BYTES, "%s", baton_buf_text(&out));
    baton_buf_fini(&out);
}

static double number(const struct baton_json *object, const char *key)
{
    return baton_json_number(baton_json_get(object, key));
}

static const char *text_of(const struct baton_json *object, const char *key)
{
    return baton_json_string(baton_json_get(object, key), NULL);
}

static void put_candidate(const struct baton_json *step, const struct baton_json *candidate,
                          FILE *out)
{
    char word[WORD_BYTES];
    const char *removed_by = text_of(candidate, "removed_by");
    const char *removed_at = text_of(candidate, "removed_at");
    bool chosen = baton_json_int(baton_json_get(step, "token_id")) ==
                  baton_json_int(baton_json_get(candidate, "token_id"));
    quote(text_of(candidate, "text"), word);
    (void)fprintf(out, "  %s %7.2f %% %10.2f %%   %s%s%s%s%s\n", chosen ? ">" : " ",
                  PERCENT * number(candidate, "prob"), PERCENT * number(candidate, "prob_raw"),
                  word, removed_by ? "   removed by " : "", removed_by ? removed_by : "",
                  removed_at ? " at " : "", removed_at ? removed_at : "");
}

static void put_step(const struct baton_json *step, FILE *out)
{
    char word[WORD_BYTES];
    const char *reason = text_of(step, "reason");
    const struct baton_json *candidates = baton_json_get(step, "candidates");
    quote(text_of(step, "text"), word);
    (void)fprintf(out, "Token %d, %s: rank %d, %.2f %%\n", (int)number(step, "index") + 1, word,
                  (int)number(step, "rank"), PERCENT * number(step, "prob"));
    if (reason)
        (void)fprintf(out, "%s\n", reason);
    if (baton_json_size(candidates))
        (void)fprintf(out, "    sampled from   by the model\n");
    for (size_t i = 0; i < baton_json_size(candidates); i++)
        put_candidate(step, baton_json_at(candidates, i), out);
}

enum baton_err bt_reply_explain(const struct bt_reply *reply, size_t back, FILE *out,
                                struct baton_why *why)
{
    struct baton_buf array;
    struct baton_json *root = NULL;
    if (!reply->n_steps)
        return baton_fail(why, BATON_NOT_FOUND, "there is no explained token yet");
    if (back >= reply->n_steps)
        return baton_fail(why, BATON_NOT_FOUND, "the last answer has %zu tokens", reply->n_steps);
    baton_buf_init(&array, reply->steps.len + 3);
    baton_buf_putc(&array, '[');
    baton_buf_append(&array, reply->steps.data, reply->steps.len);
    baton_buf_putc(&array, ']');
    enum baton_err err = baton_buf_err(&array);
    if (!err)
        err = baton_json_parse(baton_buf_text(&array), array.len, &root, why);
    if (!err)
        put_step(baton_json_at(root, reply->n_steps - 1 - back), out);
    baton_json_free(root);
    baton_buf_fini(&array);
    return err;
}
