#include "engine/checkpoint/weights/coded.h"

#include <math.h>
#include <string.h>

#include "common/base/f16.h"
#include "engine/checkpoint/weights/blocks.h"

enum { WORD_BITS = 32, BLOCK = 32, MOST_CODES = 8 /* of a word */ };

static int per_word(const struct baton_coded *coded)
{
    return WORD_BITS / coded->n_bits;
}

static uint32_t word_at(const struct baton_tensor *tensor, size_t at)
{
    uint32_t word;
    memcpy(&word, tensor->data + at * sizeof word, sizeof word);
    return word;
}

/* The bit that output o's code begins at in a word of AWQ. */
static int awq_bit(int o)
{
    return 4 * (o % 2 * 4 + o % 8 / 2);
}

static int code_of_bits(const struct baton_coded *coded, uint32_t word, int bit)
{
    return (int)(word >> bit & ((1U << coded->n_bits) - 1));
}

static int group_of(const struct baton_coded *coded, int k)
{
    return coded->g_idx ? (int)word_at(coded->g_idx, (size_t)k) : k / coded->in_group;
}

/* ---- scales and zeros ---- */

static float scale_at(const struct baton_coded *coded, int o, int group)
{
    const struct baton_tensor *scales = coded->scales;
    const size_t at =
        coded->scales_of_inputs
            ? (size_t)group * (size_t)coded->n_scales + (size_t)o
            : (size_t)(o / coded->out_group) * (size_t)coded->n_scales + (size_t)group;
    float scale;
    baton_convert(scales->dtype, scales->data + at * baton_element_bytes(scales->dtype), 1, &scale);
    return scale;
}

static int zero_at(const struct baton_coded *coded, int o, int group)
{
    const int n = per_word(coded), n_words = (coded->n_out + n - 1) / n;
    if (!coded->zeros)
        return coded->form == BATON_CODED_ROWS ? 0 : 1 << (coded->n_bits - 1);
    if (coded->form == BATON_CODED_PACKED) {
        const size_t at = (size_t)(o / n) * (size_t)coded->n_scales + (size_t)group;
        return code_of_bits(coded, word_at(coded->zeros, at), coded->n_bits * (o % n));
    }
    const uint32_t word = word_at(coded->zeros, (size_t)group * (size_t)n_words + (size_t)(o / n));
    if (coded->form == BATON_CODED_AWQ)
        return code_of_bits(coded, word, awq_bit(o));
    return code_of_bits(coded, word, coded->n_bits * (o % n)) + 1;
}

/* ---- codes ---- */

/* E4M3 with a sign; its NaN is one. */
static float e4m3(uint8_t byte)
{
    const int code = byte & 127;
    const float magnitude = code == 127 ? NAN : baton_e4m3(code);
    return byte & 128 ? -magnitude : magnitude;
}

/* The codes of n <= 8 inputs from k on, where n is 1 or those of a word. */
static void codes_at(const struct baton_coded *coded, int o, int k, float codes[MOST_CODES])
{
    const struct baton_tensor *tensor = coded->codes;
    const size_t n_in = (size_t)coded->n_in, n_out = (size_t)coded->n_out;
    const int n = per_word(coded);
    size_t at;
    switch (coded->form) {
    case BATON_CODED_ROWS:
        at = (size_t)o * n_in + (size_t)k;
        codes[0] = tensor->dtype == BATON_ELEMENT_I8 ? (float)(int8_t)tensor->data[at]
                                                     : e4m3(tensor->data[at]);
        return;
    case BATON_CODED_AWQ:
        at = (size_t)k * (n_out / 8) + (size_t)(o / 8);
        codes[0] = (float)code_of_bits(coded, word_at(tensor, at), awq_bit(o));
        return;
    case BATON_CODED_GPTQ:
        at = (size_t)(k / n) * n_out + (size_t)o;
        break;
    default:
        at = (size_t)o * ((n_in + (size_t)n - 1) / (size_t)n) + (size_t)(k / n);
    }
    const uint32_t word = word_at(tensor, at);
    for (int i = 0; i < n; i++)
        codes[i] = (float)code_of_bits(coded, word, coded->n_bits * i);
}

/* Inputs that codes_at gives together. */
static int codes_together(const struct baton_coded *coded)
{
    return coded->form == BATON_CODED_PACKED || coded->form == BATON_CODED_GPTQ ? per_word(coded)
                                                                                : 1;
}

/* The scale and zero of an output's last group, which neighbours share. */
struct group {
    int number; /* -1: none yet */
    float scale, zero;
};

static void find_group(const struct baton_coded *coded, int o, int k, struct group *group)
{
    const int number = group_of(coded, k);
    if (number == group->number)
        return;
    *group = (struct group){number, scale_at(coded, o, number), (float)zero_at(coded, o, number)};
}

/* Inputs go in the outer loop: neighbouring outputs of GPTQ and AWQ share cache lines. */
void baton_coded_read(const struct baton_coded *coded, int first, int n, float *rows)
{
    const int together = codes_together(coded);
    for (int base = 0; base < n; base += BLOCK) {
        const int end = n - base < BLOCK ? n : base + BLOCK;
        struct group groups[BLOCK];
        for (int r = 0; r < BLOCK; r++)
            groups[r].number = -1;
        for (int k = 0; k < coded->n_in; k += together)
            for (int r = base; r < end; r++) {
                struct group *group = &groups[r - base];
                float codes[MOST_CODES], *row = rows + (size_t)r * (size_t)coded->n_in;
                codes_at(coded, first + r, k, codes);
                for (int i = 0; i < together && k + i < coded->n_in; i++) {
                    find_group(coded, first + r, k + i, group);
                    row[k + i] = group->scale * (codes[i] - group->zero);
                }
            }
    }
}

/* ---- blocks ---- */

/* Whether an f16 holds the scale exactly. */
static bool is_f16(float scale)
{
    return baton_f16_to(baton_f16_from(scale)) == scale;
}

static bool have_f16_scales(const struct baton_coded *coded)
{
    const size_t n_bytes = baton_element_bytes(coded->scales->dtype);
    if (coded->scales->dtype == BATON_ELEMENT_F16)
        return true;
    for (size_t at = 0; at < coded->scales->n_bytes; at += n_bytes) {
        float scale;
        baton_convert(coded->scales->dtype, coded->scales->data + at, 1, &scale);
        if (!is_f16(scale))
            return false;
    }
    return true;
}

/* Whether all zeros are 8. */
static bool is_symmetric(const struct baton_coded *coded)
{
    const uint32_t wanted = coded->form == BATON_CODED_GPTQ ? 0x77777777U : 0x88888888U;
    for (size_t at = 0; coded->zeros && at < coded->zeros->n_bytes / sizeof wanted; at++)
        if (word_at(coded->zeros, at) != wanted)
            return false;
    return true;
}

enum baton_block_type baton_coded_block_type(const struct baton_coded *coded)
{
    if (coded->n_bits != 4 || coded->g_idx || coded->in_group % BLOCK || coded->n_in % BLOCK ||
        !have_f16_scales(coded))
        return BATON_BLOCK_BF16;
    return is_symmetric(coded) ? BATON_BLOCK_Q4_0 : BATON_BLOCK_Q5_0;
}

static void write_block(const struct baton_coded *coded, enum baton_block_type type, int o, int k,
                        uint8_t *block)
{
    const int zero_code = baton_block_codes_form(type)->zero, together = codes_together(coded);
    struct group group = {.number = -1};
    struct baton_block_codes codes = {.scales = {1}};
    find_group(coded, o, k, &group);
    codes.d = group.scale;
    for (int i = 0; i < BLOCK; i += together) {
        float of_word[MOST_CODES];
        codes_at(coded, o, k + i, of_word);
        for (int c = 0; c < together; c++)
            codes.codes[i + c] = (uint8_t)(of_word[c] - group.zero + (float)zero_code);
    }
    baton_block_pack(type, &codes, block);
}

void baton_coded_blocks(const struct baton_coded *coded, int first, int n, uint8_t *blocks)
{
    const enum baton_block_type type = baton_coded_block_type(coded);
    for (int r = 0; r < n; r++)
        for (int k = 0; k < coded->n_in; k += BLOCK, blocks += baton_block_bytes(type))
            write_block(coded, type, first + r, k, blocks);
}
