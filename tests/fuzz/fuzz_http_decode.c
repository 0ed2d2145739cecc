/* Whatever is sent as gzip, deflate or zstd becomes a body of at most the bound, or none.
 *
 * Input: the first byte chooses the coding and the bound, the rest is the body. */
#include "tests/fuzz/fuzz.h"

#include "gateway/http/decode.h"

FUZZ(data, size)
{
    static const size_t bounds[] = {0, 1, 1000, 1 << 20};
    struct baton_buf body;
    if (!size)
        return;
    enum gw_coding coding = (enum gw_coding)(GW_CODING_GZIP + data[0] % 3);
    size_t max_bytes = bounds[data[0] / 3 % 4];
    baton_buf_init(&body, size + max_bytes);
    baton_buf_append(&body, data + 1, size - 1);
    if (gw_decode(coding, &body, max_bytes))
        check(!body.len);
    else
        check(body.len <= max_bytes && !baton_buf_err(&body));
    baton_buf_fini(&body);
}
