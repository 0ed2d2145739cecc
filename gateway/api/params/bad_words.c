#include "gateway/api/params/bad_words.h"

#include "common/base/utf8.h"
#include "gateway/api/params/grammar.h"

static size_t count_chars(struct gw_fields *fields, const struct baton_json *words)
{
    size_t n_chars = 0, n;
    for (size_t i = 0; i < baton_json_size(words); i++) {
        const char *word = baton_json_string(baton_json_at(words, i), &n);
        if (!word || !n)
            gw_fields_fail(fields, "bad_words", "invalid_value",
                           "bad_words: each must be a string of at least one character");
        else
            n_chars += baton_utf8_count(word, n);
    }
    return n_chars;
}

void gw_bad_words_put(struct baton_json_out *out, const struct baton_json *words)
{
    baton_json_open(out, NULL, '{');
    baton_json_put_string(out, "type", "any_text");
    baton_json_open(out, "excludes", '[');
    for (size_t i = 0; i < baton_json_size(words); i++)
        baton_json_put_value(out, NULL, baton_json_at(words, i));
    baton_json_close(out, ']');
    baton_json_close(out, '}');
}

const struct baton_json *gw_bad_words_read(struct gw_fields *fields, struct gw_params *params)
{
    const struct baton_json *words =
        gw_field_of(fields, "bad_words", GW_IS_ARRAY, "an array of strings");
    struct baton_buf buf;
    if (!baton_json_size(words) || fields->failed)
        return NULL;
    if (count_chars(fields, words) > GW_MAX_BAD_WORDS_CHARS)
        gw_fields_fail(fields, "bad_words", "out_of_range",
                       "bad_words: must have at most %d characters together",
                       GW_MAX_BAD_WORDS_CHARS);
    if (params->sampling.grammar.kind != BATON_GRAMMAR_NONE)
        gw_fields_fail(fields, "bad_words", "invalid_value",
                       "bad_words: cannot be combined with another constraint on the output");
    if (fields->failed)
        return NULL;
    baton_buf_init(&buf, BATON_GRAMMAR_MAX_BYTES);
    struct baton_json_out out = baton_json_out(&buf);
    gw_bad_words_put(&out, words);
    gw_grammar_hold_to_structure(fields, params, &buf);
    baton_buf_fini(&buf);
    return words;
}
