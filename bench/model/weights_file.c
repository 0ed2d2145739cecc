#include "bench/model/weights_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/bf16.h"
#include "common/base/json.h"
#include "tools/support/machine/random_tensors.h"

enum { HEADER_MAX_BYTES = 1 << 24, HEADER_ALIGNMENT = 8, WRITE_BYTES = 1 << 20 };

static void put_tensor(struct baton_json_out *out, const struct bench_tensor *tensor,
                       enum baton_element dtype, size_t *offset)
{
    baton_json_open(out, tensor->name, '{');
    baton_json_put_string(out, "dtype", baton_element_name(dtype));
    baton_json_open(out, "shape", '[');
    for (int i = 0; i < tensor->n_dims; i++)
        baton_json_put_int(out, NULL, tensor->shape[i]);
    baton_json_close(out, ']');
    baton_json_open(out, "data_offsets", '[');
    baton_json_put_uint(out, NULL, *offset);
    *offset += bench_tensor_n_elements(tensor) * baton_element_bytes(dtype);
    baton_json_put_uint(out, NULL, *offset);
    baton_json_close(out, ']');
    baton_json_close(out, '}');
}

static bool write_header(FILE *file, const struct bench_tensors *all, enum baton_element dtype)
{
    struct baton_buf header;
    baton_buf_init(&header, HEADER_MAX_BYTES);
    struct baton_json_out out = baton_json_out(&header);
    size_t offset = 0;
    baton_json_open(&out, NULL, '{');
    /* transformers expects this entry. */
    baton_json_open(&out, "__metadata__", '{');
    baton_json_put_string(&out, "format", "pt");
    baton_json_close(&out, '}');
    for (int i = 0; i < all->n; i++)
        put_tensor(&out, &all->tensors[i], dtype, &offset);
    baton_json_close(&out, '}');
    /* The format pads its header with spaces, so that tensors are aligned. */
    while (header.len % HEADER_ALIGNMENT && !baton_buf_err(&header))
        baton_buf_putc(&header, ' ');
    uint64_t n_bytes = header.len;
    bool written = !baton_buf_err(&header) && fwrite(&n_bytes, sizeof n_bytes, 1, file) == 1 &&
                   fwrite(header.data, 1, header.len, file) == header.len;
    baton_buf_fini(&header);
    return written;
}

static bool write_tensor(FILE *file, const struct bench_tensor *tensor, enum baton_element dtype,
                         struct bench_lines *lines, uint16_t *halves)
{
    size_t n = (size_t)bench_tensor_line(tensor);
    bench_lines_begin(lines, tensor);
    for (int64_t i = 0; i < bench_tensor_n_lines(tensor); i++) {
        const float *floats = bench_lines_at(lines, i);
        const void *bytes = floats;
        if (dtype == BATON_ELEMENT_BF16) {
            for (size_t k = 0; k < n; k++)
                halves[k] = baton_bf16_from(floats[k]);
            bytes = halves;
        }
        if (fwrite(bytes, baton_element_bytes(dtype), n, file) != n)
            return false;
    }
    return true;
}

static bool write_all(FILE *file, const struct bench_tensors *all, enum baton_element dtype,
                      struct bench_lines *lines)
{
    uint16_t *halves = calloc((size_t)bench_tensors_widest(all), sizeof *halves);
    bool written = halves && write_header(file, all, dtype);
    for (int i = 0; i < all->n && written; i++)
        written = write_tensor(file, &all->tensors[i], dtype, lines, halves);
    free(halves);
    return written;
}

enum baton_err bench_weights_write(const char *path, const struct baton_arch *arch,
                                   const struct baton_spec *spec, bool drafts, uint64_t seed,
                                   enum baton_element dtype, struct baton_why *why)
{
    struct bench_tensors all = {0};
    struct bench_lines lines = {0};
    enum baton_err err = bench_tensors_list(arch->tensors, spec, seed, NULL, NULL, &all);
    if (!err && drafts)
        err = bench_tensors_add_draft_head(arch, false, spec, NULL, NULL, &all);
    if (!err)
        err = bench_lines_init(&all, &lines);
    FILE *file = err ? NULL : fopen(path, "wbe");
    bool written =
        file && !setvbuf(file, NULL, _IOFBF, WRITE_BYTES) && write_all(file, &all, dtype, &lines);
    if (file && fclose(file))
        written = false;
    if (err)
        (void)baton_fail(why, err, "%s: %s", path, baton_err_text(err));
    else if (!written)
        err = baton_fail(why, BATON_IO, "%s: %s", path, strerror(errno));
    bench_lines_fini(&lines);
    bench_tensors_fini(&all);
    return err;
}
