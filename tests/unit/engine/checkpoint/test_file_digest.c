#include "common/base/array.h"
#include "tests/support/scratch.h"

#include "engine/checkpoint/digest/file.h"

enum { PIECE_BYTES = 8 << 20 };

/* As the header draws it, piece after piece. */
static void plain_digest(const uint8_t *bytes, size_t n, char hex[BATON_SHA256_HEX])
{
    struct baton_sha256 *sha = baton_sha256_create();
    char head[64];
    (void)snprintf(head, sizeof head, "file\n%zu\n", n);
    baton_sha256_update(sha, head, strlen(head));
    for (size_t at = 0; at < n; at += PIECE_BYTES) {
        uint8_t piece[BATON_SHA256_BYTES];
        size_t n_piece = n - at < PIECE_BYTES ? n - at : PIECE_BYTES;
        assert_ok(baton_sha256_of(bytes + at, n_piece, piece));
        baton_sha256_update(sha, piece, sizeof piece);
    }
    baton_sha256_final(sha, hex);
}

TEST(a_digest_is_that_of_its_pieces_however_many_threads_hash_them)
{
    static const size_t sizes[] = {0, 1, PIECE_BYTES - 1, PIECE_BYTES, 3 * PIECE_BYTES + 7};
    for (size_t i = 0; i < BATON_N_OF(sizes); i++) {
        char wanted[BATON_SHA256_HEX], found[BATON_SHA256_HEX];
        uint8_t *bytes = malloc(sizes[i] + 1);
        assert_non_null(bytes);
        for (size_t k = 0; k < sizes[i]; k++)
            bytes[k] = (uint8_t)(k * 7 + k / PIECE_BYTES);
        FILE *file = fopen(in_scratch("file"), "wb");
        assert_int_equal(fwrite(bytes, 1, sizes[i], file), sizes[i]);
        assert_int_equal(fclose(file), 0);
        struct baton_sha256 *sha = baton_sha256_create();
        assert_ok(baton_file_digest_add(sha, in_scratch("file"), NULL));
        baton_sha256_final(sha, found);
        plain_digest(bytes, sizes[i], wanted);
        assert_string_equal(found, wanted);
        free(bytes);
    }
}

TEST(a_missing_file_is_not_found)
{
    struct baton_sha256 *sha = baton_sha256_create();
    char hex[BATON_SHA256_HEX];
    assert_int_equal(baton_file_digest_add(sha, in_scratch("file"), NULL), BATON_NOT_FOUND);
    baton_sha256_final(sha, hex);
}

EACH_TEST(make_scratch, remove_scratch)
