#include "common/engine/sample.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "common/engine/floats.h"
#include "common/engine/kernels/kernels.h"

/* Candidates are ordered by logit, highest first, then by id. Top-k and top-p keep a beginning of
 * that order, so what is kept is known by its last member: no full sort is needed. */
struct candidate {
    float logit;
    uint32_t id;
};

struct baton_sampler {
    size_t n_vocab;
    const struct baton_kernels *kernels;
    float *scaled;          /* [V] logits / temperature, then unnormalised probabilities */
    struct candidate *heap; /* [V] */
};

struct baton_sampler *baton_sampler_create(int n_vocab)
{
    struct baton_sampler *sampler = calloc(1, sizeof *sampler);
    if (!sampler || n_vocab < 1) {
        free(sampler);
        return NULL;
    }
    sampler->n_vocab = (size_t)n_vocab;
    sampler->kernels = baton_kernels_best();
    sampler->scaled = baton_floats_create(sampler->n_vocab);
    sampler->heap = calloc(sampler->n_vocab, sizeof sampler->heap[0]);
    if (!sampler->scaled || !sampler->heap) {
        baton_sampler_destroy(sampler);
        return NULL;
    }
    return sampler;
}

void baton_sampler_destroy(struct baton_sampler *sampler)
{
    if (!sampler)
        return;
    free(sampler->scaled);
    free(sampler->heap);
    free(sampler);
}

static uint32_t argmax(const float *logits, size_t n)
{
    uint32_t best = 0;
    float max = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        if (logits[i] > max) { /* false for NaN */
            max = logits[i];
            best = (uint32_t)i;
        }
    }
    return best;
}

/* logits / temperature, NaN as -infinity, shifted so that the highest is 0: a finite range for any
 * temperature. +infinity wins against everything else. */
static void scale(struct baton_sampler *sampler, const float *logits, float max, double temperature)
{
    for (size_t i = 0; i < sampler->n_vocab; i++) {
        if (logits[i] == max)
            sampler->scaled[i] = 0;
        else if (logits[i] < max)
            sampler->scaled[i] = (float)(((double)logits[i] - max) / temperature);
        else
            sampler->scaled[i] = -INFINITY;
    }
}

static bool comes_before(struct candidate a, struct candidate b)
{
    return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
}

static void sift_down(struct candidate *heap, size_t n, size_t at)
{
    struct candidate moving = heap[at];
    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && comes_before(heap[child + 1], heap[child]))
            child++;
        if (!comes_before(heap[child], moving))
            break;
        heap[at] = heap[child];
    }
    heap[at] = moving;
}

static struct candidate pop(struct candidate *heap, size_t *n)
{
    struct candidate first = heap[0];
    heap[0] = heap[--*n];
    if (*n)
        sift_down(heap, *n, 0);
    return first;
}

static void build_heap(struct baton_sampler *sampler)
{
    size_t n = sampler->n_vocab;
    for (size_t i = 0; i < n; i++)
        sampler->heap[i] = (struct candidate){.logit = sampler->scaled[i], .id = (uint32_t)i};
    for (size_t i = n / 2; i-- > 0;)
        sift_down(sampler->heap, n, i);
}

/* Drops whatever top-k does not keep, by making it impossible. */
static void keep_top_k(struct baton_sampler *sampler, uint32_t k)
{
    size_t n = sampler->n_vocab;
    float lowest = 0;
    build_heap(sampler);
    for (uint32_t i = 0; i < k; i++)
        lowest = pop(sampler->heap, &n).logit;
    for (size_t i = 0; i < sampler->n_vocab; i++)
        if (sampler->scaled[i] < lowest)
            sampler->scaled[i] = -INFINITY;
}

static double total(const float *probabilities, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += probabilities[i];
    return sum;
}

/* The same for top-p: candidates leave the heap until their sum reaches p of the whole. */
static void keep_top_p(struct baton_sampler *sampler, double top_p)
{
    double wanted = top_p * total(sampler->scaled, sampler->n_vocab), sum = 0;
    size_t n = sampler->n_vocab;
    struct candidate last;
    build_heap(sampler);
    do {
        last = pop(sampler->heap, &n);
        sum += last.logit;
    } while (n && sum < wanted);
    for (size_t i = 0; i < sampler->n_vocab; i++)
        if (comes_before(last, (struct candidate){.logit = sampler->scaled[i], .id = (uint32_t)i}))
            sampler->scaled[i] = 0;
}

/* Inverse of the distribution function, over ids in their order. */
static uint32_t draw(const struct baton_sampler *sampler, double uniform)
{
    double target = uniform * total(sampler->scaled, sampler->n_vocab), sum = 0;
    uint32_t last = 0;
    for (size_t i = 0; i < sampler->n_vocab; i++) {
        if (sampler->scaled[i] <= 0)
            continue;
        last = (uint32_t)i;
        sum += sampler->scaled[i];
        if (sum > target)
            break;
    }
    return last;
}

uint32_t baton_sampler_pick(struct baton_sampler *sampler, const float *logits,
                            const struct baton_sampling *sampling, uint64_t position)
{
    uint32_t best = argmax(logits, sampler->n_vocab);
    float max = logits[best];
    if (!(sampling->temperature > 0) || !(max > -INFINITY))
        return best;
    scale(sampler, logits, max, sampling->temperature);
    if (sampling->top_k && sampling->top_k < sampler->n_vocab)
        keep_top_k(sampler, sampling->top_k);
    sampler->kernels->exp_shifted(sampler->scaled, sampler->scaled, 0, sampler->n_vocab);
    if (sampling->top_p < 1)
        keep_top_p(sampler, sampling->top_p);
    return draw(sampler, baton_philox_uniform(sampling->seed, position));
}
