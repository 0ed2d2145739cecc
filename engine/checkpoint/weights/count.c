#include "engine/checkpoint/weights/count.h"

#include <stdio.h>
#include <string.h>

#include "engine/checkpoint/weights/coded.h"

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), n_end = strlen(end);
    return n >= n_end && !strcmp(text + n - n_end, end);
}

static bool is_mxfp4(const struct baton_tensor *tensor)
{
    return tensor->dtype == BATON_ELEMENT_U8 && ends_with(tensor->name, "_blocks");
}

static const char *format_of(const struct baton_tensor *tensor)
{
    if (tensor->dtype == BATON_ELEMENT_BLOCKS)
        return baton_block_type_name(tensor->block_type);
    if (tensor->coded)
        return tensor->coded->n_bits == 4                             ? "INT4"
               : tensor->coded->codes->dtype == BATON_ELEMENT_F8_E4M3 ? "F8_E4M3"
                                                                      : "INT8";
    return is_mxfp4(tensor) ? "MXFP4" : baton_element_name(tensor->dtype);
}

/* A byte of MXFP4's blocks holds two values. Their scales are none of the weights. */
static uint64_t values_of(const struct baton_tensor *tensor)
{
    uint64_t n = is_mxfp4(tensor) ? 2 : 1;
    if (tensor->dtype == BATON_ELEMENT_U8 && ends_with(tensor->name, "_scales"))
        return 0;
    for (int i = 0; i < tensor->n_dims; i++)
        n *= (uint64_t)tensor->shape[i];
    return n;
}

/* The values in each format. */
struct tally {
    const char *format;
    uint64_t n;
};

enum { MAX_FORMATS = 64 }; /* more than there are of both kinds of files */

static void add(struct tally *tallies, const char *format, uint64_t n)
{
    size_t i = 0;
    while (i < MAX_FORMATS - 1 && tallies[i].format && strcmp(tallies[i].format, format) != 0)
        i++;
    tallies[i].format = format;
    tallies[i].n += n;
}

static const char *most_of(const struct tally *tallies)
{
    const struct tally *most = tallies;
    for (size_t i = 1; i < MAX_FORMATS; i++)
        most = tallies[i].n > most->n ? &tallies[i] : most;
    return most->format ? most->format : "";
}

struct baton_weights_count baton_weights_count(const struct baton_weights *weights)
{
    struct baton_weights_count count = {0};
    struct tally tallies[MAX_FORMATS] = {0};
    const struct baton_tensor *tensor;
    for (size_t i = 0; (tensor = baton_weights_at(weights, i)); i++) {
        add(tallies, format_of(tensor), values_of(tensor));
        count.n_parameters += values_of(tensor);
        count.n_bytes += tensor->n_bytes;
    }
    (void)snprintf(count.format, sizeof count.format, "%s", most_of(tallies));
    return count;
}
