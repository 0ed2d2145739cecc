/* Bodies of each coding are decoded, bounded and refused. */
#include "tests/support/test.h"

#include <isa-l/igzip_lib.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "common/base/array.h"
#include "gateway/http/decode.h"

enum { TEXT_BYTES = 300000, MAX_BYTES = 1 << 20 };

static char text[TEXT_BYTES];

static int setup(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)('a' + (i * i >> 5) % 23);
    return 0;
}

static void deflated(struct baton_buf *out, const char *bytes, size_t n, uint16_t flag)
{
    struct isal_zstream stream;
    size_t cap = n + n / 8 + 1000;
    uint8_t *packed = malloc(cap);
    isal_deflate_stateless_init(&stream);
    stream.gzip_flag = flag;
    stream.next_in = (uint8_t *)bytes;
    stream.avail_in = (uint32_t)n;
    stream.end_of_stream = 1;
    stream.next_out = packed;
    stream.avail_out = (uint32_t)cap;
    assert_int_equal(isal_deflate_stateless(&stream), COMP_OK);
    baton_buf_append(out, packed, stream.total_out);
    free(packed);
}

static void zstandard(struct baton_buf *out, const char *bytes, size_t n)
{
    size_t cap = ZSTD_compressBound(n);
    char *packed = malloc(cap);
    size_t n_packed = ZSTD_compress(packed, cap, bytes, n, 3);
    assert_false(ZSTD_isError(n_packed));
    baton_buf_append(out, packed, n_packed);
    free(packed);
}

enum { RAW = 3 }; /* deflate without zlib's header */

static void encoded(struct baton_buf *out, int form, const char *bytes, size_t n)
{
    static const uint16_t flags[] = {IGZIP_GZIP, IGZIP_ZLIB, 0, IGZIP_DEFLATE};
    if (form == 2)
        zstandard(out, bytes, n);
    else
        deflated(out, bytes, n, flags[form]);
}

static const enum gw_coding codings[] = {GW_CODING_GZIP, GW_CODING_DEFLATE, GW_CODING_ZSTD,
                                         GW_CODING_DEFLATE};

TEST(each_coding_is_decoded_and_bounded)
{
    static const size_t lengths[] = {1, 65535, 65536, 65537, sizeof text};
    for (int form = 0; form <= RAW; form++)
        for (size_t i = 0; i < BATON_N_OF(lengths); i++)
            for (size_t less = 0; less < 2; less++) {
                struct baton_buf body;
                baton_buf_init(&body, MAX_BYTES);
                encoded(&body, form, text, lengths[i]);
                enum baton_err err = gw_decode(codings[form], &body, lengths[i] - less);
                assert_int_equal(err, less ? BATON_LIMIT : BATON_OK);
                assert_int_equal(body.len, less ? 0 : lengths[i]);
                assert_true(less || !memcmp(body.data, text, body.len));
                baton_buf_fini(&body);
            }
}

TEST(a_body_that_is_cut_or_damaged_is_refused)
{
    for (int form = 0; form <= RAW; form++)
        for (size_t cut = 1; cut < 40; cut++) {
            struct baton_buf body;
            baton_buf_init(&body, MAX_BYTES);
            encoded(&body, form, text, 5000);
            body.len -= cut < body.len ? cut : body.len;
            assert_int_equal(gw_decode(codings[form], &body, MAX_BYTES), BATON_INVALID);
            assert_int_equal(body.len, 0);
            baton_buf_fini(&body);
        }
    for (int form = 0; form <= RAW; form++) {
        struct baton_buf body;
        baton_buf_init(&body, MAX_BYTES);
        baton_buf_puts(&body, "{\"prompt\":\"Once\"}");
        assert_int_equal(gw_decode(codings[form], &body, MAX_BYTES), BATON_INVALID);
        baton_buf_fini(&body);
    }
}

TEST(members_and_frames_follow_each_other)
{
    for (int form = 0; form <= 2; form += 2) {
        struct baton_buf body;
        baton_buf_init(&body, MAX_BYTES);
        for (int i = 0; i < 3; i++)
            encoded(&body, form, "abc", 3);
        assert_ok(gw_decode(codings[form], &body, 9));
        assert_string_equal(baton_buf_text(&body), "abcabcabc");
        baton_buf_fini(&body);
    }
}

TEST(the_header_names_one_coding)
{
    static const struct {
        const char *value;
        enum gw_coding coding;
    } values[] = {{"", GW_CODING_NONE},
                  {"identity", GW_CODING_NONE},
                  {"GZip", GW_CODING_GZIP},
                  {"x-gzip", GW_CODING_GZIP},
                  {" identity , zstd,", GW_CODING_ZSTD},
                  {"deflate", GW_CODING_DEFLATE},
                  {"br", GW_N_CODINGS},
                  {"gzip, gzip", GW_N_CODINGS},
                  {"gzip;q=1", GW_N_CODINGS}};
    for (size_t i = 0; i < BATON_N_OF(values); i++)
        assert_int_equal(gw_coding_of(values[i].value), values[i].coding);
}

EACH_TEST(setup, NULL)
