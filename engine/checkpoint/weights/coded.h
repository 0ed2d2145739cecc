/* Matrices of Hugging Face checkpoints whose weights are codes with scales: FP8, INT8, GPTQ, AWQ
 * and compressed-tensors. Several tensors NAME.PART make the matrix NAME.weight [n_out][n_in].
 *
 *     form      codes                      place of the code of output o, input k
 *     ROWS      weight F8_E4M3, I8         [o][k]
 *     PACKED    weight_packed I32          [o][k / n], from bit b (k % n) on
 *     GPTQ      qweight I32                [k / n][o], from bit b (k % n) on
 *     AWQ       qweight I32                [k][o / 8], from bit 4 (o % 2 * 4 + o % 8 / 2) on
 *
 * n = 32 / b codes of b = 4 or 8 bits share a word. weight = scale * (code - zero): the scale and
 * the zero belong to a rectangle of outputs and inputs, or to those inputs that g_idx gives the
 * same group. Zeros are packed like the codes: [o / n][group] (PACKED) or [group][o / n] (GPTQ,
 * which stores them less 1, and AWQ); without zeros it is 2^(b - 1).
 *
 * Sources: compressed-tensors' pack_to_int32; AutoGPTQ's and GPTQModel's QuantLinear; AutoAWQ's
 * WQLinear_GEMM; the config of DeepSeek's and Qwen's FP8 checkpoints (weight_scale_inv).
 *
 * Ownership: a list owns its matrices and their names; their parts are borrowed.
 * Threading: immutable once found.
 * Errors:    INVALID with the tensor whose dtype or shape does not fit; NO_MEMORY.
 */
#ifndef BATON_ENGINE_CHECKPOINT_WEIGHTS_CODED_H
#define BATON_ENGINE_CHECKPOINT_WEIGHTS_CODED_H

#include "common/base/error.h"
#include "engine/checkpoint/tensor.h"

enum baton_coded_form { BATON_CODED_ROWS, BATON_CODED_PACKED, BATON_CODED_GPTQ, BATON_CODED_AWQ };

struct baton_coded {
    enum baton_coded_form form;
    const struct baton_tensor *codes, *scales;
    const struct baton_tensor *zeros, *g_idx; /* NULL: there are none */
    int n_out, n_in, n_bits;
    int out_group, in_group; /* outputs and inputs that share a scale */
    int n_scales;            /* of a row of scales */
    bool scales_of_inputs;   /* scales are [group][o], otherwise [o / out_group][group] */
};

/* The matrices among some tensors, sorted by name. */
struct baton_coded_list {
    struct baton_coded *matrices;
    struct baton_tensor *tensors; /* [n]: NAME.weight, of dtype CODED, whose data are the codes */
    char *names;
    size_t n;
};

/* Finds the matrices among tensors sorted by name, and moves those tensors to the front that are no
 * parts of them; *n_tensors becomes their number. */
enum baton_err baton_coded_find(const struct baton_tensor **tensors, size_t *n_tensors,
                                struct baton_coded_list *list,
                                struct baton_why *why) BATON_MUST_CHECK;
void baton_coded_fini(struct baton_coded_list *list);

/* Whether a tensor is all zeros: the bias that GPTQ's writers gave to each of their matrices. */
bool baton_coded_is_zero_bias(const struct baton_tensor *bias);

/* Reads n outputs from `first` on as float [n][n_in]. Any thread. */
void baton_coded_read(const struct baton_coded *coded, int first, int n, float *rows);

/* The type of blocks that hold the matrix without rounding: Q4_0 or Q5_0; BF16 if none does. */
enum baton_block_type baton_coded_block_type(const struct baton_coded *coded);

/* Writes the blocks of n outputs from `first` on, one row after the other. */
void baton_coded_blocks(const struct baton_coded *coded, int first, int n, uint8_t *blocks);

#endif
