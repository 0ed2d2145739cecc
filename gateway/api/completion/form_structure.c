#include "gateway/api/completion/form_structure.h"

#include <string.h>

#include "gateway/api/params/bad_words.h"
#include "gateway/chat/toolcall/structure.h"

static bool needs_header(const struct baton_answer_form *form)
{
    return form->reasoning->has_channels && !form->is_continued;
}

bool gw_form_structure_is_needed(const struct baton_answer_form *form, enum baton_grammar_kind kind,
                                 const struct baton_json *bad_words)
{
    return form->reasoning && kind != BATON_GRAMMAR_NONE &&
           (kind != BATON_GRAMMAR_STRUCTURE || bad_words) &&
           (!form->skips_reasoning || needs_header(form));
}

static void put_one(struct baton_json_out *out, const char *type, const char *key, const char *text)
{
    baton_json_open(out, NULL, '{');
    baton_json_put_string(out, "type", type);
    baton_json_put_string(out, key, text);
    baton_json_close(out, '}');
}

static void put_form(struct baton_json_out *out, const struct baton_grammar_text *text,
                     const struct baton_json *bad_words)
{
    if (bad_words) {
        gw_bad_words_put(out, bad_words);
        return;
    }
    baton_json_open(out, NULL, '{');
    if (text->kind == BATON_GRAMMAR_JSON_SCHEMA) {
        baton_json_put_string(out, "type", "json_schema");
        baton_json_put_raw(out, "json_schema", text->bytes, text->n);
    } else if (text->kind == BATON_GRAMMAR_REGEX) {
        baton_json_put_string(out, "type", "regex");
        baton_json_put_text(out, "pattern", text->bytes, text->n);
    } else {
        baton_json_put_string(out, "type", "grammar");
        baton_json_put_text(out, "grammar", text->bytes, text->n);
    }
    baton_json_close(out, '}');
}

enum baton_err gw_form_structure_put(struct baton_json_out *out,
                                     const struct baton_answer_form *form,
                                     const struct baton_grammar_text *text,
                                     const struct baton_json *bad_words)
{
    baton_json_open(out, NULL, '{');
    baton_json_put_string(out, "type", "sequence");
    baton_json_open(out, "elements", '[');
    baton_structure_put_reasoning(out, form, bad_words);
    if (needs_header(form)) {
        put_one(out, "token", "token", "<|channel|>");
        put_one(out, "const_string", "value", "final");
        put_one(out, "token", "token", "<|message|>");
    }
    put_form(out, text, bad_words);
    baton_json_close(out, ']');
    baton_json_close(out, '}');
    return baton_buf_err(out->buf);
}
