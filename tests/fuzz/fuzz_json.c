/* Any bytes: refused, or a tree that our writer turns into JSON that parses to the same shape. */
#include <assert.h>
#include <stdlib.h>

#include "common/base/json.h"

enum { OUT_MAX_BYTES = 64 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void rewrite(struct baton_json_out *out, const char *key, const struct baton_json *value)
{
    size_t n;
    const char *text;
    switch (baton_json_kind(value)) {
    case BATON_JSON_NULL:
        baton_json_put_null(out, key);
        break;
    case BATON_JSON_BOOL:
        baton_json_put_bool(out, key, baton_json_bool(value));
        break;
    case BATON_JSON_INT:
        baton_json_put_int(out, key, baton_json_int(value));
        break;
    case BATON_JSON_REAL:
        baton_json_put_real(out, key, baton_json_number(value));
        break;
    case BATON_JSON_STRING:
        text = baton_json_string(value, &n);
        baton_json_put_text(out, key, text, n);
        break;
    case BATON_JSON_ARRAY:
        baton_json_open(out, key, '[');
        for (size_t i = 0; i < baton_json_size(value); i++)
            rewrite(out, NULL, baton_json_at(value, i));
        baton_json_close(out, ']');
        break;
    case BATON_JSON_OBJECT:
        baton_json_open(out, key, '{');
        for (void *it = baton_json_first(value); it; it = baton_json_next(value, it))
            rewrite(out, baton_json_key(it), baton_json_member(it));
        baton_json_close(out, '}');
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct baton_json *root = NULL, *again = NULL;
    struct baton_why why;
    struct baton_buf text;
    if (baton_json_parse(data, size, &root, &why))
        return 0;
    baton_buf_init(&text, OUT_MAX_BYTES);
    struct baton_json_out out = baton_json_out(&text);
    rewrite(&out, NULL, root);
    if (!baton_buf_err(&text)) {
        enum baton_err err = baton_json_parse(text.data, text.len, &again, &why);
        assert(!err);
        (void)err;
        assert(baton_json_size(again) == baton_json_size(root));
        baton_json_free(again);
    }
    baton_buf_fini(&text);
    baton_json_free(root);
    return 0;
}
