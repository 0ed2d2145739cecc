#include "engine/tokenizer/model/token_bytes.h"

#include <string.h>

#include "engine/tokenizer/model/byte_level.h"

/* Returns the end of the steps that work on single tokens; later steps work on the whole text. */
static int end_of_token_steps(const struct baton_tokenizer_steps *steps)
{
    for (int i = 0; i < steps->n_decoder; i++) {
        if (steps->decoder[i].kind == BATON_DECODER_FUSE)
            return i;
        if (steps->decoder[i].kind == BATON_DECODER_BYTE_LEVEL)
            return i + 1;
    }
    return steps->n_decoder;
}

static enum baton_err strip_text(const struct baton_decoder_step *step,
                                 struct baton_text_rule *rule, struct baton_why *why)
{
    if (step->n_stop || step->content.n != 1 || rule->n_strip)
        return baton_fail(why, BATON_INVALID,
                          "decoder: only one Strip, of an ASCII character at the start of a text, "
                          "is supported");
    rule->strip = step->content.bytes[0];
    rule->n_strip = (uint32_t)step->n_start;
    return BATON_OK;
}

enum baton_err baton_text_rule_of(const struct baton_tokenizer_steps *steps,
                                  struct baton_text_rule *rule, struct baton_why *why)
{
    int n_token = end_of_token_steps(steps);
    enum baton_err err = BATON_OK;
    *rule = (struct baton_text_rule){.n_strip = 0};
    /* A rule holds for the whole output, so the steps of both kinds are read. */
    for (int i = 0; i < steps->n_decoder && !err; i++) {
        const struct baton_decoder_step *step = &steps->decoder[i];
        bool is_bytes = step->kind == BATON_DECODER_BYTE_FALLBACK;
        if (i < n_token) {
            rule->drops_first |= step->kind == BATON_DECODER_METASPACE && step->drops_first;
            rule->each_byte |= is_bytes;
        } else if (step->kind == BATON_DECODER_STRIP) {
            err = strip_text(step, rule, why);
        } else if (step->kind != BATON_DECODER_FUSE) {
            err = baton_fail(why, BATON_INVALID,
                             "decoder: only Strip is supported after Fuse or ByteLevel");
        }
    }
    return err;
}

static int hex_digit(char c)
{
    static const char digits[] = "0123456789abcdefABCDEF";
    const char *found = c ? strchr(digits, c) : NULL;
    int value = found ? (int)(found - digits) : -1;
    return value > 15 ? value - 6 : value;
}

int baton_token_fallback_byte(const char *text, size_t n)
{
    if (n != 6 || memcmp(text, "<0x", 3) != 0 || text[5] != '>')
        return -1;
    int high = hex_digit(text[3]), low = hex_digit(text[4]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

static void replace(struct baton_growth *growth, struct baton_buf *bytes,
                    const struct baton_step_text *pattern, const char *content, size_t n_content)
{
    struct baton_buf made;
    size_t at = 0;
    if (!bytes->len || !memmem(bytes->data, bytes->len, pattern->bytes, pattern->n))
        return;
    baton_buf_init(&made, growth->left_bytes);
    while (at < bytes->len && !baton_buf_err(&made)) {
        const char *found = memmem(bytes->data + at, bytes->len - at, pattern->bytes, pattern->n);
        size_t end = found ? (size_t)(found - bytes->data) : bytes->len;
        baton_buf_append(&made, bytes->data + at, end - at);
        if (found)
            baton_buf_append(&made, content, n_content);
        at = found ? end + pattern->n : end;
    }
    baton_growth_take(growth, &made);
    made.max_bytes = bytes->max_bytes;
    baton_buf_fini(bytes);
    *bytes = made;
}

static size_t count_start(const struct baton_buf *bytes, const struct baton_step_text *content,
                          int most)
{
    size_t at = 0;
    for (int i = 0; i < most && bytes->len - at >= content->n &&
                    !memcmp(bytes->data + at, content->bytes, content->n);
         i++)
        at += content->n;
    return at;
}

static void strip(struct baton_buf *bytes, const struct baton_decoder_step *step)
{
    const struct baton_step_text *content = &step->content;
    if (!bytes->len)
        return;
    baton_buf_consume(bytes, count_start(bytes, content, step->n_start));
    for (int i = 0; i < step->n_stop && bytes->len >= content->n &&
                    !memcmp(bytes->data + bytes->len - content->n, content->bytes, content->n);
         i++)
        bytes->len -= content->n;
}

static void apply(const struct baton_decoder_step *step, struct baton_growth *growth,
                  struct baton_buf *bytes)
{
    int byte = -1;
    switch (step->kind) {
    case BATON_DECODER_BYTE_LEVEL:
        if (bytes->len)
            bytes->len = baton_byte_level_decode(bytes->data, bytes->len, bytes->data);
        return;
    case BATON_DECODER_REPLACE:
        replace(growth, bytes, &step->pattern, step->content.bytes, step->content.n);
        return;
    case BATON_DECODER_METASPACE:
        replace(growth, bytes, &step->pattern, " ", 1);
        return;
    case BATON_DECODER_BYTE_FALLBACK:
        byte = baton_token_fallback_byte(baton_buf_text(bytes), bytes->len);
        if (byte < 0)
            return;
        baton_buf_reset(bytes);
        baton_buf_putc(bytes, (char)byte);
        return;
    case BATON_DECODER_STRIP:
        strip(bytes, step);
        return;
    default:
        return;
    }
}

void baton_token_bytes_make(const struct baton_tokenizer_steps *steps, struct baton_growth *growth,
                            struct baton_buf *bytes)
{
    int n = end_of_token_steps(steps);
    baton_growth_allow(growth, bytes->len);
    for (int i = 0; i < n && !baton_buf_err(bytes); i++)
        apply(&steps->decoder[i], growth, bytes);
}
