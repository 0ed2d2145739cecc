/* Any bytes: refused, or a tree that our writer turns into JSON that parses to the same shape. */
#include "tests/fuzz/fuzz.h"

#include <assert.h>

#include "common/base/json.h"

enum { OUT_MAX_BYTES = 64 << 20 };

FUZZ(data, size)
{
    struct baton_json *root = NULL, *again = NULL;
    struct baton_why why;
    struct baton_buf text;
    if (baton_json_parse(data, size, &root, &why))
        return;
    baton_buf_init(&text, OUT_MAX_BYTES);
    struct baton_json_out out = baton_json_out(&text);
    baton_json_put_value(&out, NULL, root);
    if (!baton_buf_err(&text)) {
        enum baton_err err = baton_json_parse(text.data, text.len, &again, &why);
        assert(!err);
        (void)err;
        assert(baton_json_size(again) == baton_json_size(root));
        baton_json_free(again);
    }
    baton_buf_fini(&text);
    baton_json_free(root);
}
