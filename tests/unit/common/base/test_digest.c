#include "tests/support/test.h"

#include <string.h>

#include "common/base/digest.h"

TEST(sha256_of_the_fips_180_examples)
{
    char hex[BATON_SHA256_HEX];
    struct baton_sha256 *sha = baton_sha256_create();
    baton_sha256_update(sha, "ab", 2);
    baton_sha256_update(sha, "c", 1);
    baton_sha256_final(sha, hex);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    baton_sha256_final(baton_sha256_create(), hex);
    assert_string_equal(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(sha256_at_once_is_the_one_in_hex)
{
    static const uint8_t of_abc[] = {0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea,
                                     0x41, 0x41, 0x40, 0xde, 0x5d, 0xae, 0x22, 0x23,
                                     0xb0, 0x03, 0x61, 0xa3, 0x96, 0x17, 0x7a, 0x9c,
                                     0xb4, 0x10, 0xff, 0x61, 0xf2, 0x00, 0x15, 0xad};
    uint8_t digest[BATON_SHA256_BYTES];
    assert_ok(baton_sha256_of("abc", 3, digest));
    assert_memory_equal(digest, of_abc, sizeof of_abc);
    assert_true(baton_equal_constant_time(digest, of_abc, sizeof of_abc));
    digest[BATON_SHA256_BYTES - 1] ^= 1;
    assert_false(baton_equal_constant_time(digest, of_abc, sizeof of_abc));
}

TEST(crc32c_of_the_rfc_3720_examples)
{
    unsigned char bytes[32];
    assert_int_equal(baton_crc32c(0, "123456789", 9), 0xe3069283);
    memset(bytes, 0, sizeof bytes);
    assert_int_equal(baton_crc32c(0, bytes, sizeof bytes), 0x8a9136aa);
    memset(bytes, 0xff, sizeof bytes);
    assert_int_equal(baton_crc32c(0, bytes, sizeof bytes), 0x62a8ab43);
    assert_int_equal(baton_crc32c(0, "", 0), 0);
}

TEST(crc32c_continues_where_it_left_off)
{
    const char *text = "The KV cache is the baton.";
    size_t n = strlen(text);
    for (size_t i = 0; i <= n; i++)
        assert_int_equal(baton_crc32c(baton_crc32c(0, text, i), text + i, n - i),
                         baton_crc32c(0, text, n));
}
