/* Whatever the header says, the tensors of an accepted file tile its data exactly, and matrices of
 * codes among them are read from their own bytes alone. */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

#include "engine/checkpoint/hf/safetensors.h"
#include "engine/checkpoint/weights/blocks.h"
#include "engine/checkpoint/weights/coded.h"

enum { MOST_INPUTS = 4096 };

static int by_name(const void *a, const void *b)
{
    const struct baton_tensor *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

/* The first and the last output of a matrix. */
static void read_ends(const struct baton_coded *coded)
{
    static float row[MOST_INPUTS];
    static uint8_t blocks[MOST_INPUTS];
    const int ends[] = {0, coded->n_out - 1};
    for (int i = 0; i < 2 && coded->n_in <= MOST_INPUTS; i++) {
        baton_coded_read(coded, ends[i], 1, row);
        if (baton_coded_block_type(coded) != BATON_BLOCK_BF16)
            baton_coded_blocks(coded, ends[i], 1, blocks);
    }
}

static void check_codes(const struct baton_safetensors *file)
{
    const struct baton_tensor **tensors = calloc(file->n_tensors + 1, sizeof *tensors);
    struct baton_coded_list list;
    struct baton_why why = {.text = ""};
    size_t n = file->n_tensors;
    check(tensors);
    for (size_t i = 0; i < n; i++)
        tensors[i] = &file->tensors[i];
    qsort(tensors, n, sizeof *tensors, by_name);
    if (baton_coded_find(tensors, &n, &list, &why))
        check(why.text[0]);
    else
        for (size_t i = 0; i < list.n; i++)
            read_ends(&list.matrices[i]);
    check(n <= file->n_tensors);
    baton_coded_fini(&list);
    free(tensors);
}

FUZZ(data, size)
{
    struct baton_safetensors file;
    struct baton_why why = {.text = ""};
    if (baton_safetensors_parse(data, size, &file, &why)) {
        check(why.text[0]);
        return;
    }
    const uint8_t *end = data + size;
    for (size_t i = file.n_tensors; i-- > 0;) {
        const struct baton_tensor *tensor = &file.tensors[i];
        check(tensor->data + tensor->n_bytes == end);
        check(strlen(tensor->name) < size && tensor->n_dims <= BATON_TENSOR_MAX_DIMS);
        check(tensor->n_bytes % baton_element_bytes(tensor->dtype) == 0);
        end = tensor->data;
    }
    check(end > data + 8);
    check_codes(&file);
    baton_safetensors_fini(&file);
}
