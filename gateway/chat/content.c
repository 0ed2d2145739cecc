#include "gateway/chat/content.h"

#include <string.h>

#include "common/base/array.h"
#include "common/base/buf.h"

enum { TEXT_MAX_BYTES = 256 << 20, MAX_DEPTH = 8 };

/* The members in which the text of a part may be, or of a list of parts. */
static const char *const members[] = {"text", "refusal", "content", "data", "source"};

/* Appends the words of a text, a part or a list of parts. */
static void put_words(struct baton_buf *text, const struct baton_json *value, int depth)
{
    size_t n = 0;
    const char *words = baton_json_string(value, &n);
    if (words)
        baton_buf_append(text, words, n);
    for (size_t i = 0; i < baton_json_size(value) && depth < MAX_DEPTH; i++)
        if (baton_json_kind(value) == BATON_JSON_ARRAY)
            put_words(text, baton_json_at(value, i), depth + 1);
    /* The data of a source is text only if the source says so. */
    bool is_source = baton_json_get(value, "data") || baton_json_get(value, "media_type");
    bool is_text = !is_source || baton_json_is(baton_json_get(value, "type"), "text");
    for (size_t i = 0; i < BATON_N_OF(members) && depth < MAX_DEPTH && is_text; i++) {
        const struct baton_json *member = baton_json_get(value, members[i]);
        if (member) {
            put_words(text, member, depth + 1);
            return;
        }
    }
}

bool baton_chat_part_has_words(const struct baton_json *part)
{
    struct baton_buf text;
    if (baton_json_kind(baton_json_get(part, "text")) == BATON_JSON_STRING)
        return true;
    baton_buf_init(&text, TEXT_MAX_BYTES);
    put_words(&text, part, 0);
    bool has_words = text.len > 0;
    baton_buf_fini(&text);
    return has_words;
}

const char *baton_chat_part_kind(const struct baton_json *part)
{
    static const struct {
        const char *within, *kind;
    } kinds[] = {{"image", "image"},
                 {"audio", "audio"},
                 {"video", "video"},
                 {"file", "file"},
                 {"document", "file"}};
    const char *type = baton_json_string(baton_json_get(part, "type"), NULL);
    for (size_t i = 0; i < BATON_N_OF(kinds) && type; i++)
        if (strstr(type, kinds[i].within))
            return kinds[i].kind;
    return type ? type : "part";
}

struct baton_json *baton_chat_text_part(const struct baton_json *part)
{
    struct baton_buf text;
    baton_buf_init(&text, TEXT_MAX_BYTES);
    if (baton_chat_part_has_words(part))
        put_words(&text, part, 0);
    else
        baton_buf_printf(&text, "[%.40s left out: this model reads text only]",
                         baton_chat_part_kind(part));
    struct baton_json *made = baton_json_new_object();
    bool ok = !baton_buf_err(&text) &&
              baton_json_set(made, "type", baton_json_new_string("text")) &&
              baton_json_set(made, "text", baton_json_new_text(baton_buf_text(&text), text.len));
    baton_buf_fini(&text);
    if (ok)
        return made;
    baton_json_free(made);
    return NULL;
}
