/* Bodies are encoded for clients that accept it. */
#include "tests/support/test.h"

#include <string.h>

#include "common/base/array.h"
#include "gateway/http/decode.h"
#include "gateway/http/encode.h"

enum { MAX_BYTES = 1 << 20 };

TEST(gzip_is_accepted_where_it_is_named_with_a_weight)
{
    static const char *const yes[] = {"gzip", "gzip, deflate, br", "br;q=1.0, GZIP;q=0.2",
                                      "deflate , gzip ; q=1"};
    static const char *const no[] = {"",  "br",     "gzip;q=0", "gzip;q=0.000",
                                     "*", "x-gzip", "gzipped"};
    for (size_t i = 0; i < BATON_N_OF(yes); i++)
        assert_true(gw_accepts_gzip(yes[i]));
    for (size_t i = 0; i < BATON_N_OF(no); i++)
        assert_false(gw_accepts_gzip(no[i]));
}

TEST(what_is_encoded_decodes_to_itself_and_is_smaller)
{
    static char text[100000];
    struct baton_buf out;
    for (size_t n = 0; n <= sizeof text; n = n * 3 + 1) {
        for (size_t i = 0; i < n; i++)
            text[i] = (char)('a' + i % 23);
        baton_buf_init(&out, MAX_BYTES);
        gw_gzip(text, n, &out);
        assert_int_equal(baton_buf_err(&out), BATON_OK);
        assert_true(n < 1000 || out.len < n / 4);
        assert_int_equal(gw_decode(GW_CODING_GZIP, &out, MAX_BYTES), BATON_OK);
        assert_int_equal(out.len, n);
        assert_memory_equal(baton_buf_text(&out), text, n);
        baton_buf_fini(&out);
    }
}
