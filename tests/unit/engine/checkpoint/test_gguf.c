#include "tests/support/test.h"

#include "common/base/array.h"
#include "engine/checkpoint/gguf/gguf.h"
#include "engine/checkpoint/tensor.h"
#include "tests/support/gguf_bytes.h"

enum { MAX_BYTES = 64 << 10 };
enum { F32 = 0, Q4_0 = 2, Q8_0 = 8, Q4_K = 12, F64 = 28 }; /* ggml's numbers */

static struct baton_buf file;

SETUP(begin_file)
{
    baton_buf_init(&file, MAX_BYTES);
}

TEARDOWN(end_file)
{
    baton_buf_fini(&file);
}

/* Parses the first n bytes from a block of that size, which *block keeps for the result. */
static enum baton_err parse_some(size_t n, uint8_t **block, struct baton_gguf *gguf,
                                 struct baton_why *why)
{
    assert_ok(baton_buf_err(&file));
    *block = malloc(n ? n : 1);
    assert_non_null(*block);
    memcpy(*block, file.data, n);
    return baton_gguf_parse(*block, n, gguf, why);
}

static uint8_t *parse(struct baton_gguf *gguf)
{
    struct baton_why why = {.text = ""};
    uint8_t *block;
    if (parse_some(file.len, &block, gguf, &why))
        fail_msg("%s", why.text);
    return block;
}

/* The file so far is refused for this reason; the next one begins. */
static void assert_refused(enum baton_err wanted, const char *reason)
{
    struct baton_gguf gguf = {0};
    struct baton_why why = {.text = ""};
    uint8_t *block;
    enum baton_err err = parse_some(file.len, &block, &gguf, &why);
    free(block);
    if (err != wanted || !strstr(why.text, reason))
        fail_msg("%s \"%s\" is not %s \"%s\"", baton_err_name(err), why.text,
                 baton_err_name(wanted), reason);
    assert_null(gguf.entries);
    baton_buf_reset(&file);
}

static int64_t int_of(const struct baton_gguf *gguf, const char *key)
{
    int64_t number = 0;
    if (!baton_gguf_int(baton_gguf_find(gguf, key), &number))
        fail_msg("%s is no whole number", key);
    return number;
}

static double real_of(const struct baton_gguf *gguf, const char *key)
{
    double number = 0;
    if (!baton_gguf_real(baton_gguf_find(gguf, key), &number))
        fail_msg("%s is no number", key);
    return number;
}

TEST(every_type_of_value_is_read)
{
    struct baton_gguf gguf;
    struct baton_gguf_text text;
    bool flag = false;
    put_gguf_head(&file, 3, 0, 13);
    put_gguf_entry(&file, "u8", BATON_GGUF_U8, 200, 1);
    put_gguf_entry(&file, "i8", BATON_GGUF_I8, 0xfe, 1);
    put_gguf_entry(&file, "u16", BATON_GGUF_U16, 60000, 2);
    put_gguf_entry(&file, "i16", BATON_GGUF_I16, 0xfffd, 2);
    put_gguf_entry(&file, "u32", BATON_GGUF_U32, 4000000000, 4);
    put_gguf_entry(&file, "i32", BATON_GGUF_I32, 0xfffffffc, 4);
    put_gguf_f32(&file, "f32", 1.5F);
    put_gguf_entry(&file, "bool", BATON_GGUF_BOOL, 1, 1);
    put_gguf_string(&file, "text", "some text");
    put_gguf_entry(&file, "u64", BATON_GGUF_U64, INT64_MAX, 8);
    put_gguf_entry(&file, "large", BATON_GGUF_U64, UINT64_MAX, 8);
    put_gguf_entry(&file, "i64", BATON_GGUF_I64, (uint64_t)-5, 8);
    put_gguf_entry(&file, "f64", BATON_GGUF_F64, 0x3fe0000000000000, 8);
    uint8_t *block = parse(&gguf);
    assert_int_equal(int_of(&gguf, "u8"), 200);
    assert_int_equal(int_of(&gguf, "i8"), -2);
    assert_int_equal(int_of(&gguf, "u16"), 60000);
    assert_int_equal(int_of(&gguf, "i16"), -3);
    assert_int_equal(int_of(&gguf, "u32"), 4000000000);
    assert_int_equal(int_of(&gguf, "i32"), -4);
    assert_int_equal(int_of(&gguf, "u64"), INT64_MAX);
    assert_int_equal(int_of(&gguf, "i64"), -5);
    assert_true(real_of(&gguf, "f32") == 1.5);
    assert_true(real_of(&gguf, "f64") == 0.5);
    assert_true(real_of(&gguf, "i64") == -5);
    assert_true(baton_gguf_flag(baton_gguf_find(&gguf, "bool"), &flag) && flag);
    assert_true(baton_gguf_text(baton_gguf_find(&gguf, "text"), &text));
    assert_true(baton_gguf_text_is(text, "some text"));
    assert_false(baton_gguf_text_is(text, "some"));
    assert_null(baton_gguf_find(&gguf, "tex"));
    int64_t number;
    assert_false(baton_gguf_int(baton_gguf_find(&gguf, "large"), &number));
    assert_false(baton_gguf_int(baton_gguf_find(&gguf, "f32"), &number));
    assert_false(baton_gguf_int(NULL, &number));
    assert_false(baton_gguf_flag(baton_gguf_find(&gguf, "u8"), &flag));
    baton_gguf_fini(&gguf);
    free(block);
}

TEST(arrays_are_read_item_by_item)
{
    struct baton_gguf gguf;
    struct baton_gguf_text text;
    int64_t number;
    put_gguf_head(&file, 2, 0, 2);
    put_gguf_text(&file, "numbers");
    put_number(&file, BATON_GGUF_ARRAY, 4);
    put_number(&file, BATON_GGUF_I16, 4);
    put_number(&file, 3, 8);
    for (int i = 0; i < 3; i++)
        put_number(&file, (uint64_t)(10 * i), 2);
    put_gguf_text(&file, "texts");
    put_number(&file, BATON_GGUF_ARRAY, 4);
    put_number(&file, BATON_GGUF_TEXT, 4);
    put_number(&file, 3, 8);
    put_gguf_text(&file, "one");
    put_gguf_text(&file, "");
    put_gguf_text(&file, "three");
    uint8_t *block = parse(&gguf);
    const struct baton_gguf_value *numbers = baton_gguf_find(&gguf, "numbers");
    assert_true(numbers->is_array && numbers->n == 3);
    const struct baton_gguf_value last = baton_gguf_item(numbers, 2);
    assert_true(baton_gguf_int(&last, &number) && number == 20);
    assert_false(baton_gguf_int(numbers, &number));
    struct baton_gguf_texts texts = baton_gguf_texts(baton_gguf_find(&gguf, "texts"));
    assert_int_equal(texts.n_left, 3);
    assert_true(baton_gguf_next(&texts, &text) && baton_gguf_text_is(text, "one"));
    assert_true(baton_gguf_next(&texts, &text) && !text.n);
    assert_true(baton_gguf_next(&texts, &text) && baton_gguf_text_is(text, "three"));
    assert_false(baton_gguf_next(&texts, &text));
    assert_int_equal(baton_gguf_texts(numbers).n_left, 0);
    assert_int_equal(baton_gguf_texts(NULL).n_left, 0);
    baton_gguf_fini(&gguf);
    free(block);
}

/* Two tensors, the second one first in the list, at the given alignment. */
static void put_two_tensors(uint32_t alignment)
{
    put_gguf_head(&file, 3, 2, 1);
    put_gguf_u32(&file, "general.alignment", alignment);
    put_gguf_tensor(&file, "b", 32, 2, Q4_0, alignment);
    put_gguf_tensor(&file, "a", 5, 0, F32, 0);
    put_gguf_data(&file, alignment, (size_t)alignment + 36);
}

TEST(tensors_are_in_order_of_their_data_and_their_shape_has_the_fastest_last)
{
    struct baton_gguf gguf;
    put_two_tensors(64);
    uint8_t *block = parse(&gguf);
    assert_int_equal(gguf.n_tensors, 2);
    assert_string_equal(gguf.tensors[0].name, "a");
    assert_int_equal(gguf.tensors[0].dtype, BATON_ELEMENT_F32);
    assert_int_equal(gguf.tensors[0].n_dims, 1);
    assert_int_equal(gguf.tensors[0].n_bytes, 20);
    const struct baton_tensor *b = &gguf.tensors[1];
    assert_string_equal(b->name, "b");
    assert_int_equal(b->dtype, BATON_ELEMENT_BLOCKS);
    assert_int_equal(b->block_type, BATON_BLOCK_Q4_0);
    assert_int_equal(b->n_dims, 2);
    assert_int_equal(b->shape[0], 2);
    assert_int_equal(b->shape[1], 32);
    assert_int_equal(b->n_bytes, 36);
    assert_ptr_equal(b->data, gguf.tensors[0].data + 64);
    assert_int_equal((b->data - block) % 64, 0);
    baton_gguf_fini(&gguf);
    free(block);
}

TEST(a_file_cut_short_anywhere_is_refused)
{
    put_two_tensors(32);
    for (size_t n = 0; n < file.len; n++) {
        struct baton_gguf gguf;
        struct baton_why why = {.text = ""};
        uint8_t *block;
        assert_int_not_equal(parse_some(n, &block, &gguf, &why), BATON_OK);
        assert_true(why.text[0]);
        free(block);
    }
}

TEST(files_of_other_kinds_are_refused)
{
    baton_buf_puts(&file, "PK\003\004 and more");
    assert_refused(BATON_INVALID, "does not begin with \"GGUF\"");
    put_gguf_head(&file, 1, 0, 0);
    assert_refused(BATON_INVALID, "version: must be 2 or 3, not 1");
    put_gguf_head(&file, 4, 0, 0);
    assert_refused(BATON_INVALID, "version: must be 2 or 3, not 4");
    put_gguf_head(&file, 0, 0, 0);
    assert_refused(BATON_INVALID, "version: must be 2 or 3, not 0");
    put_gguf_head(&file, 0x03000000, 0, 0);
    assert_refused(BATON_INVALID, "big-endian");
}

TEST(counts_beyond_the_file_are_refused)
{
    put_gguf_head(&file, 3, UINT64_MAX, 0);
    assert_refused(BATON_CORRUPT, "tensors: 18446744073709551615 do not fit in the file's 0 bytes");
    put_gguf_head(&file, 3, 0, UINT64_C(1) << 60);
    assert_refused(BATON_CORRUPT, "metadata entries: 1152921504606846976 do not fit");
    put_gguf_head(&file, 3, 0, 1);
    put_gguf_u32(&file, "some.key", 7);
    file.len--;
    assert_refused(BATON_CORRUPT, "some.key: runs past the end of the file");
    put_gguf_head(&file, 3, 0, 2);
    put_gguf_string(&file, "some.key", "a long text so that two may fit");
    assert_refused(BATON_CORRUPT, "metadata: runs past the end of the file");
}

/* An array's head, and some bytes so that the count of entries fits. */
static void put_array(uint32_t type, uint64_t n)
{
    put_gguf_head(&file, 3, 0, 1);
    put_gguf_text(&file, "list");
    put_number(&file, BATON_GGUF_ARRAY, 4);
    put_number(&file, type, 4);
    put_number(&file, n, 8);
    put_number(&file, 0, 8);
}

TEST(malformed_metadata_is_refused)
{
    put_array(BATON_GGUF_U64, UINT64_C(1) << 61);
    assert_refused(BATON_CORRUPT, "list: runs past the end of the file");
    put_array(BATON_GGUF_TEXT, 2);
    assert_refused(BATON_CORRUPT, "list: runs past the end of the file");
    put_array(BATON_GGUF_ARRAY, 1);
    assert_refused(BATON_INVALID, "list: type 9 of an array's items is not supported");
    put_array(13, 1);
    assert_refused(BATON_INVALID, "list: type 13 of an array's items is not supported");
    put_gguf_head(&file, 3, 0, 1);
    put_gguf_entry(&file, "some.key", 99, 0, 8);
    assert_refused(BATON_INVALID, "some.key: type 99 is not supported");
    put_gguf_head(&file, 3, 0, 1);
    put_gguf_u32(&file, "", 7);
    assert_refused(BATON_CORRUPT, "a key must have 1 to 65535 bytes, not 0");
    put_gguf_head(&file, 3, 0, 3);
    put_gguf_u32(&file, "twice", 7);
    put_gguf_u32(&file, "once", 7);
    put_gguf_u32(&file, "twice", 8);
    assert_refused(BATON_CORRUPT, "twice: appears twice");
    put_gguf_head(&file, 3, 0, 1);
    put_number(&file, UINT64_MAX, 8);
    put_number(&file, 0, 8);
    assert_refused(BATON_CORRUPT, "metadata: runs past the end");
}

TEST(malformed_alignments_are_refused)
{
    static const uint32_t wrong[] = {0, 3, 48, 1U << 21};
    for (size_t i = 0; i < BATON_N_OF(wrong); i++) {
        put_gguf_head(&file, 3, 0, 1);
        put_gguf_u32(&file, "general.alignment", wrong[i]);
        assert_refused(BATON_INVALID, "general.alignment: must be a power of two in 1..1048576");
    }
    put_gguf_head(&file, 3, 0, 1);
    put_gguf_f32(&file, "general.alignment", 32);
    assert_refused(BATON_INVALID, "general.alignment: must be a whole number");
}

/* One tensor of a row, and n_data bytes. */
static void put_one(const char *name, uint64_t length, uint32_t type, uint64_t offset,
                    size_t n_data)
{
    put_gguf_head(&file, 3, 1, 0);
    put_gguf_tensor(&file, name, length, 0, type, offset);
    put_gguf_data(&file, 32, n_data);
}

TEST(malformed_tensors_are_refused)
{
    put_one("t", 8, F32, 0, 31);
    assert_refused(BATON_CORRUPT, "tensor t: 32 bytes at offset 0 run past the end of the file");
    put_one("t", 8, F32, 32, 32);
    assert_refused(BATON_CORRUPT, "tensor t: 32 bytes at offset 32 run past the end");
    put_one("t", 8, F32, UINT64_MAX - 31, 32);
    assert_refused(BATON_CORRUPT, "tensor t: 32 bytes at offset 18446744073709551584 run past");
    put_one("t", 8, F32, 4, 64);
    assert_refused(BATON_CORRUPT, "tensor t: offset 4 is no multiple of general.alignment 32");
    put_one("t", 33, Q4_0, 0, 64);
    assert_refused(BATON_CORRUPT, "tensor t: rows of 33 are no multiple of Q4_0's 32 values");
    put_one("t", 32, Q4_K, 0, 256);
    assert_refused(BATON_CORRUPT, "tensor t: rows of 32 are no multiple of Q4_K's 256 values");
    put_one("t", 256, F64, 0, 256);
    assert_refused(BATON_INVALID, "tensor t: ");
    put_one("t", 256, 1000, 0, 256);
    assert_refused(BATON_INVALID, "tensor t: ");
    put_one("t", 0, F32, 0, 32);
    assert_refused(BATON_CORRUPT, "tensor t: a length of 0 is not possible");
    put_one("t", UINT64_C(1) << 63, F32, 0, 32);
    assert_refused(BATON_CORRUPT, "tensor t: a length of 9223372036854775808 is not possible");
    put_one("t", UINT64_C(1) << 62, F32, 0, 32);
    assert_refused(BATON_CORRUPT, "tensor t: size overflows");
    put_one("", 8, F32, 0, 32);
    assert_refused(BATON_CORRUPT, "a name must have 1 to 64 bytes");
    put_one("a name of sixty-five bytes, which is one more than a name may have", 8, F32, 0, 32);
    assert_refused(BATON_CORRUPT, "a name must have 1 to 64 bytes");
}

TEST(tensors_of_too_many_dimensions_or_lengths_are_refused)
{
    static const uint32_t n_dims[] = {0, 5, UINT32_MAX};
    for (size_t i = 0; i < BATON_N_OF(n_dims); i++) {
        put_gguf_head(&file, 3, 1, 0);
        put_gguf_text(&file, "t");
        put_number(&file, n_dims[i], 4);
        put_gguf_data(&file, 32, 64);
        assert_refused(BATON_CORRUPT, "tensor t: must have 1 to 4 dimensions, not ");
    }
    put_gguf_head(&file, 3, 1, 0);
    put_gguf_tensor(&file, "t", UINT64_C(1) << 40, UINT64_C(1) << 40, F32, 0);
    put_gguf_data(&file, 32, 64);
    assert_refused(BATON_CORRUPT, "tensor t: a length of 1099511627776 is not possible");
}

TEST(tensors_that_share_a_name_or_bytes_are_refused)
{
    put_gguf_head(&file, 3, 2, 0);
    put_gguf_tensor(&file, "t", 8, 0, F32, 0);
    put_gguf_tensor(&file, "t", 8, 0, F32, 32);
    put_gguf_data(&file, 32, 64);
    assert_refused(BATON_CORRUPT, "tensor t: appears twice");
    put_gguf_head(&file, 3, 2, 0);
    put_gguf_tensor(&file, "t", 16, 0, F32, 0);
    put_gguf_tensor(&file, "u", 8, 0, F32, 32);
    put_gguf_data(&file, 32, 64);
    assert_refused(BATON_CORRUPT, "tensor t: data overlaps the data of u");
}

EACH_TEST(begin_file, end_file)
