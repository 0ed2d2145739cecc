/* The kernels' text, compiled once per instruction set: the including file defines KERNELS (the
 * table's name), KERNELS_NAME, DENSE_MIN_ROWS, REG_BYTES, and the tile of `linear` in outputs and
 * rows that fits its registers.
 *
 * Everything is written over vectors of 16 floats, which the compiler maps to one, two or four
 * registers; so lanes, and with them the order of every sum, are the same everywhere. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "common/engine/kernels/kernels.h"
#include "common/engine/kv.h"

enum { LANES = 16, MANY_BLOCKS = 4, MANY_CHUNKS = 4 };
_Static_assert(LANES == (int)BATON_KV_BLOCK_TOKENS, "a lane is a slot of a block");

typedef float vec __attribute__((vector_size(64)));
typedef float half __attribute__((vector_size(32)));
typedef float quarter __attribute__((vector_size(16)));
typedef int32_t ivec __attribute__((vector_size(64)));
typedef float unaligned_vec __attribute__((vector_size(64), aligned(4), may_alias));

/* One machine register. The hottest loop counts in these, because GCC keeps arrays of vectors wider
 * than a register in memory. */
typedef float reg __attribute__((vector_size(REG_BYTES)));
typedef float unaligned_reg __attribute__((vector_size(REG_BYTES), aligned(4), may_alias));
enum { REG_LANES = REG_BYTES / 4, REGS = LANES / REG_LANES };

#define INLINE static inline __attribute__((always_inline))

INLINE vec load(const float *p)
{
    return *(const unaligned_vec *)p;
}

INLINE void store(float *p, vec v)
{
    *(unaligned_vec *)p = v;
}

/* The first n lanes; the others are 0. */
INLINE vec load_part(const float *p, int n)
{
    vec v = {0};
    memcpy(&v, p, (size_t)n * sizeof *p);
    return v;
}

INLINE void store_part(float *p, vec v, int n)
{
    memcpy(p, &v, (size_t)n * sizeof *p);
}

INLINE vec splat(float value)
{
    return value - (vec){0};
}

INLINE vec blend(ivec mask, vec yes, vec no)
{
    return (vec)((mask & (ivec)yes) | (~mask & (ivec)no));
}

INLINE float sum_lanes(vec v)
{
    union {
        vec whole;
        half part[2];
    } a = {v};
    union {
        half whole;
        quarter part[2];
    } b = {a.part[0] + a.part[1]};
    quarter c = b.part[0] + b.part[1];
    return (c[0] + c[2]) + (c[1] + c[3]);
}

INLINE float max_lanes(vec v)
{
    float max = v[0];
    for (int i = 1; i < LANES; i++)
        max = v[i] > max ? v[i] : max;
    return max;
}

INLINE vec lane_numbers(void)
{
    return (vec){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
}

/* exp by Cephes' expf, -88 <= x <= 88: x = n ln 2 + r, a polynomial in r, n added to the exponent.
 * 0 at -88. */
INLINE vec exp_within(vec x)
{
    const float round_magic = 0x1.8p23F; /* adding it leaves no room for fraction bits */
    vec n = (x * 1.44269504088896341F + round_magic) - round_magic;
    vec r = x - n * 0.693359375F;
    r = r - n * -2.12194440e-4F;
    vec p = r * 1.9875691500e-4F + 1.3981999507e-3F;
    p = p * r + 8.3334519073e-3F;
    p = p * r + 4.1665795894e-2F;
    p = p * r + 1.6666665459e-1F;
    p = p * r + 5.0000001201e-1F;
    p = p * (r * r) + r + 1.0F;
    ivec power = (__builtin_convertvector(n, ivec) + 127) << 23;
    return p * (vec)power;
}

/* 0 below EXP_MIN, where results would be subnormal; saturates above EXP_MAX. */
INLINE vec exp_vec(vec x)
{
    const float exp_min = -87.3F, exp_max = 88.0F;
    ivec vanishes = x < exp_min;
    x = blend(vanishes, splat(exp_min), x);
    x = blend(x > exp_max, splat(exp_max), x);
    return blend(vanishes, splat(0), exp_within(x));
}

/* 0.5 x (1 + tanh u), u = sqrt(2/pi) (x + 0.044715 x^3), is x times the logistic function of 2u. */
INLINE vec gelu_tanh(vec x)
{
    vec u = 0.797884560802865356F * (x + 0.044715F * (x * x * x));
    return x / (1.0F + exp_vec(-2.0F * u));
}

INLINE vec apply(enum baton_epilogue epilogue, vec result, vec before)
{
    switch (epilogue) {
    case BATON_ADD:
        return before + result;
    case BATON_GELU_TANH:
        return gelu_tanh(result);
    case BATON_STORE:
        break;
    }
    return result;
}

/* Asks for a cache line in the first level, or in the second only. */
INLINE void fetch_line(const float *p, bool first_level)
{
    if (first_level)
        __builtin_prefetch(p, 0, 3);
    else
        __builtin_prefetch(p, 0, 2);
}

/* results[r][o] = row + r of x dot row out + o of the weights. n_outs, n_rows and n_fetch are
 * constants at each call, so that the loops over them unroll and acc lives in registers.
 *
 * Meanwhile n_fetch rows of weights, from next on, are asked of memory in the order of their
 * addresses: the loops alone would ask for n_outs short streams at a time, which DRAM serves at
 * half its speed. Where rows of x share the first-level cache with the weights, the second level is
 * room enough. */
INLINE void linear_tile(const struct baton_linear *job, int out, int row, int n_outs, int n_rows,
                        int n_fetch, const float *next, float *results)
{
    const size_t n_in = (size_t)job->n_in;
    const float *w = job->weights + (size_t)out * n_in, *x = job->x + (size_t)row * n_in;
    union {
        reg part[REGS];
        vec whole;
    } acc[TILE_OUTS][TILE_ROWS] = {0};
    size_t k = 0;
    for (; k + LANES <= n_in; k += LANES) {
        for (int o = 0; o < n_outs; o++) {
            if (o < n_fetch)
                fetch_line(next + n_fetch * k + o * LANES, n_rows <= 2);
            for (int i = 0; i < REGS; i++) {
                reg weight = *(const unaligned_reg *)(w + o * n_in + k + i * REG_LANES);
                for (int r = 0; r < n_rows; r++)
                    acc[o][r].part[i] +=
                        weight * *(const unaligned_reg *)(x + r * n_in + k + i * REG_LANES);
            }
        }
    }
    int rest = (int)(n_in - k);
    for (int o = 0; o < n_outs; o++) {
        for (int r = 0; r < n_rows; r++) {
            if (rest)
                acc[o][r].whole +=
                    load_part(w + o * n_in + k, rest) * load_part(x + r * n_in + k, rest);
            results[r * LANES + o] = sum_lanes(acc[o][r].whole);
        }
    }
}

/* At most a tile's rows. */
INLINE void linear_rows(const struct baton_linear *job, int out, int row, int n_outs, int n_rows,
                        int n_fetch, const float *next, float *results)
{
    _Static_assert(TILE_ROWS == 2 || TILE_ROWS == 4, "one case for each");
    if (n_rows >= TILE_ROWS)
        linear_tile(job, out, row, n_outs, TILE_ROWS, n_fetch, next, results);
    else if (TILE_ROWS == 4 && n_rows == 3)
        linear_tile(job, out, row, n_outs, TILE_ROWS - 1, n_fetch, next, results);
    else if (TILE_ROWS == 4 && n_rows == 2)
        linear_tile(job, out, row, n_outs, TILE_ROWS / 2, n_fetch, next, results);
    else
        linear_tile(job, out, row, n_outs, 1, n_fetch, next, results);
}

/* All tiles of rows for n_outs outputs. The first rows' tiles fetch the next outputs' weights
 * between them, in equal shares, so that memory works while every one of them computes. */
INLINE void linear_outs(const struct baton_linear *job, int out, int row, int n_outs, int n_rows,
                        float *results)
{
    const float *next = job->weights + (size_t)(out + n_outs) * (size_t)job->n_in;
    int n_tiles = (n_rows + TILE_ROWS - 1) / TILE_ROWS, n_fetched = row ? n_outs : 0;
    int share = n_tiles == 1 ? n_outs : n_tiles < n_outs ? n_outs / 2 : 1;
    for (int r = 0; r < n_rows; r += TILE_ROWS) {
        float *to = results + r * LANES;
        if (n_fetched >= n_outs)
            linear_rows(job, out, row + r, n_outs, n_rows - r, 0, next, to);
        else if (share == 1)
            linear_rows(job, out, row + r, n_outs, n_rows - r, 1, next, to);
        else if (share == n_outs)
            linear_rows(job, out, row + r, n_outs, n_rows - r, n_outs, next, to);
        else
            linear_rows(job, out, row + r, n_outs, n_rows - r, n_outs / 2, next, to);
        n_fetched += share;
        next += (size_t)share * (size_t)job->n_in;
    }
}

static void apply_strip(const struct baton_linear *job, int out, int row, int n_outs, int n_rows,
                        const float *results)
{
    vec bias = job->bias ? load_part(job->bias + out, n_outs) : splat(0);
    for (int r = 0; r < n_rows; r++) {
        float *y = job->y + (size_t)(row + r) * (size_t)job->n_out + out;
        vec result = load(results + r * LANES) + bias;
        vec before = job->epilogue == BATON_ADD ? load_part(y, n_outs) : splat(0);
        store_part(y, apply(job->epilogue, result, before), n_outs);
    }
}

/* A strip of at most 16 outputs for at most STRIP_ROWS rows: the weights come from memory for the
 * first rows and from the cache for the others. */
enum { STRIP_ROWS = 32 };

static void linear_strip(const struct baton_linear *job, int out, int n_outs)
{
    float results[STRIP_ROWS * LANES];
    for (int row = 0; row < job->n_rows; row += STRIP_ROWS) {
        int n_rows = job->n_rows - row < STRIP_ROWS ? job->n_rows - row : STRIP_ROWS;
        int o = 0;
        for (; o + TILE_OUTS <= n_outs; o += TILE_OUTS)
            linear_outs(job, out + o, row, TILE_OUTS, n_rows, results + o);
        for (; o < n_outs; o++)
            linear_outs(job, out + o, row, 1, n_rows, results + o);
        apply_strip(job, out, row, n_outs, n_rows, results);
    }
}

static void linear(const struct baton_linear *job, int first_out, int end_out)
{
    for (int out = first_out; out < end_out; out += LANES)
        linear_strip(job, out, end_out - out < LANES ? end_out - out : LANES);
}

static void finish(const struct baton_linear *job, int first_out, int end_out)
{
    for (int row = 0; row < job->n_rows; row++) {
        float *y = job->y + (size_t)row * (size_t)job->n_out;
        for (int out = first_out; out < end_out; out += LANES) {
            int n = end_out - out < LANES ? end_out - out : LANES;
            vec result = load_part(y + out, n);
            if (job->bias)
                result += load_part(job->bias + out, n);
            /* The residual is in y already. */
            enum baton_epilogue epilogue = job->epilogue == BATON_ADD ? BATON_STORE : job->epilogue;
            store_part(y + out, apply(epilogue, result, splat(0)), n);
        }
    }
}

static float sum_of(const float *x, int n)
{
    vec sum = {0};
    int i = 0;
    for (; i + LANES <= n; i += LANES)
        sum += load(x + i);
    return sum_lanes(sum + load_part(x + i, n - i));
}

static float sum_of_squares(const float *x, float mean, int n)
{
    vec sum = {0};
    int i = 0;
    for (; i + LANES <= n; i += LANES) {
        vec d = load(x + i) - mean;
        sum += d * d;
    }
    vec d = blend(lane_numbers() < (float)(n - i), load_part(x + i, n - i) - mean, splat(0));
    return sum_lanes(sum + d * d);
}

static void layer_norm(float *y, const float *x, const float *weight, const float *bias, int n,
                       float epsilon)
{
    float mean = sum_of(x, n) / (float)n;
    float scale = 1.0F / sqrtf(sum_of_squares(x, mean, n) / (float)n + epsilon);
    int i = 0;
    for (; i + LANES <= n; i += LANES)
        store(y + i, (load(x + i) - mean) * scale * load(weight + i) + load(bias + i));
    for (; i < n; i++)
        y[i] = (x[i] - mean) * scale * weight[i] + bias[i];
}

/* b where a is NaN. */
INLINE vec max_vec(vec a, vec b)
{
    return blend(a > b, a, b);
}

/* The first n lanes; the others are -infinity. */
INLINE vec load_part_or_least(const float *p, int n)
{
    return blend(lane_numbers() < (float)n, load_part(p, n), splat(-INFINITY));
}

static float max_of(const float *x, size_t n)
{
    vec a = splat(-INFINITY), b = a, c = a, d = a;
    size_t i = 0;
    for (; i + 4 * LANES <= n; i += 4 * LANES) {
        a = max_vec(load(x + i), a);
        b = max_vec(load(x + i + LANES), b);
        c = max_vec(load(x + i + 2 * LANES), c);
        d = max_vec(load(x + i + 3 * LANES), d);
    }
    for (; i + LANES <= n; i += LANES)
        a = max_vec(load(x + i), a);
    b = max_vec(load_part_or_least(x + i, (int)(n - i)), b);
    return max_lanes(max_vec(max_vec(a, b), max_vec(c, d)));
}

static void maxima(float *y, const float *x, size_t n)
{
    enum { GROUP = LANES * LANES };
    for (size_t first = 0; first < n; first += GROUP, y += LANES) {
        vec most = splat(-INFINITY);
        size_t i = first, end = n - first < GROUP ? n : first + GROUP;
        for (; i + LANES <= end; i += LANES)
            most = max_vec(load(x + i), most);
        if (i < end)
            most = max_vec(load_part_or_least(x + i, (int)(end - i)), most);
        store(y, most);
    }
}

INLINE vec weigh_vec(vec x, float most, float scale)
{
    const float least = -88;
    vec exponent = (x - most) * scale;
    return exp_within(blend(exponent > least, exponent, splat(least)));
}

typedef double dvec __attribute__((vector_size(64)));

INLINE dvec widen(half v)
{
#if defined(__AVX512F__)
    return (dvec)_mm512_cvtps_pd((__m256)v); /* GCC 12 takes seven instructions for it */
#else
    return __builtin_convertvector(v, dvec);
#endif
}

INLINE dvec add_widened(dvec sum, vec v)
{
    union {
        vec whole;
        half part[2];
    } a = {v};
    return sum + (widen(a.part[0]) + widen(a.part[1]));
}

static double weigh(float *y, const float *x, float most, float scale, size_t n)
{
    dvec sum = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        vec weights = weigh_vec(load(x + i), most, scale);
        store(y + i, weights);
        sum = add_widened(sum, weights);
    }
    if (i < n) {
        int rest = (int)(n - i);
        vec weights = weigh_vec(load_part(x + i, rest), most, scale);
        store_part(y + i, weights, rest);
        sum = add_widened(sum, blend(lane_numbers() < (float)rest, weights, splat(0)));
    }
    return ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
}

/* Bit i is lane i's. */
INLINE unsigned bits_of(ivec mask)
{
#if defined(__AVX512DQ__)
    return _mm512_movepi32_mask((__m512i)mask);
#elif defined(__AVX2__)
    union {
        ivec whole;
        __m256 part[2];
    } a = {mask};
    return (unsigned)_mm256_movemask_ps(a.part[0]) | (unsigned)_mm256_movemask_ps(a.part[1]) << 8;
#else
    unsigned bits = 0;
    for (int i = 0; i < LANES; i++)
        bits |= (unsigned)(mask[i] & 1) << i;
    return bits;
#endif
}

/* Stores the lanes named by bits one after the other; the rest of the 64 bytes is scratch. */
INLINE void store_lanes(void *to, vec v, unsigned bits)
{
#if defined(__AVX512F__)
    _mm512_storeu_ps(to, _mm512_maskz_compress_ps((__mmask16)bits, (__m512)v));
#else
    float lanes[LANES];
    char *at = to;
    store(lanes, v);
    for (; bits; bits &= bits - 1, at += sizeof lanes[0])
        memcpy(at, &lanes[__builtin_ctz(bits)], sizeof lanes[0]);
#endif
}

static size_t keep(float *y, uint32_t *y_ids, const float *x, const uint32_t *ids, float least,
                   size_t n)
{
    const ivec lanes = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    size_t n_kept = 0;
    for (size_t i = 0; i < n; i += LANES) {
        int rest = n - i < LANES ? (int)(n - i) : LANES;
        vec v = rest == LANES ? load(x + i) : load_part(x + i, rest);
        unsigned bits = bits_of(v >= least) & ((1U << rest) - 1);
        if (!bits)
            continue;
        ivec v_ids = lanes + (int32_t)i;
        if (ids)
            memcpy(&v_ids, ids + i, (size_t)rest * sizeof *ids);
        store_lanes(y + n_kept, v, bits);
        store_lanes(y_ids + n_kept, (vec)v_ids, bits);
        n_kept += (size_t)__builtin_popcount(bits);
    }
    return n_kept;
}

static const float *block_of(const struct baton_attend *job, int index)
{
    return job->layer + (size_t)job->blocks[index] * job->block_floats;
}

/* Scores of n_blocks whole blocks from `first`: 16 positions a vector, summed over D in order. */
INLINE void score_blocks(const struct baton_attend *job, int first, int n_blocks)
{
    const float *k[MANY_BLOCKS];
    vec acc[MANY_BLOCKS] = {0};
    for (int b = 0; b < n_blocks; b++)
        k[b] = block_of(job, first + b) + job->k_offset;
    for (int d = 0; d < job->head_dim; d++)
        for (int b = 0; b < n_blocks; b++)
            acc[b] += job->q[d] * load(k[b] + d * LANES);
    for (int b = 0; b < n_blocks; b++)
        store(job->scores + (first + b) * LANES, acc[b] * job->scale);
}

/* Fills scores and returns their maximum; slots past the last position become -infinity. */
static float score_all(const struct baton_attend *job)
{
    int n_blocks = baton_kv_blocks_for(job->n_positions), b = 0;
    for (; b + MANY_BLOCKS <= n_blocks; b += MANY_BLOCKS)
        score_blocks(job, b, MANY_BLOCKS);
    for (; b < n_blocks; b++)
        score_blocks(job, b, 1);
    float *last = job->scores + (n_blocks - 1) * LANES;
    float n_valid = (float)(job->n_positions - (n_blocks - 1) * LANES);
    store(last, blend(lane_numbers() < n_valid, load(last), splat(-INFINITY)));
    vec max = load(job->scores);
    for (b = 1; b < n_blocks; b++) {
        vec scores = load(job->scores + b * LANES);
        max = blend(scores > max, scores, max);
    }
    return max_lanes(max);
}

/* Scores become weights that are not yet divided by their sum, which is returned. */
static float weigh_all(const struct baton_attend *job, float max)
{
    vec sum = {0};
    for (int i = 0; i < job->n_positions; i += LANES) {
        vec weights = exp_vec(load(job->scores + i) - max);
        store(job->scores + i, weights);
        sum += weights;
    }
    return sum_lanes(sum);
}

/* out[first..] = scale * sum over positions of weight * V, for n_chunks whole vectors of D. */
INLINE void mix_chunks(const struct baton_attend *job, int first, int n_chunks, float scale)
{
    vec acc[MANY_CHUNKS] = {0};
    for (int p = 0; p < job->n_positions; p += LANES) {
        const float *v = block_of(job, p / LANES) + job->v_offset + first;
        int n_slots = job->n_positions - p < LANES ? job->n_positions - p : LANES;
        for (int slot = 0; slot < n_slots; slot++)
            for (int c = 0; c < n_chunks; c++)
                acc[c] += job->scores[p + slot] * load(v + slot * job->head_dim + c * LANES);
    }
    for (int c = 0; c < n_chunks; c++)
        store(job->out + first + c * LANES, acc[c] * scale);
}

/* The same for the n < 16 last elements of D. */
static void mix_rest(const struct baton_attend *job, int first, int n, float scale)
{
    vec acc = {0};
    for (int p = 0; p < job->n_positions; p++) {
        const float *v = block_of(job, p / LANES) + job->v_offset + first;
        acc += job->scores[p] * load_part(v + p % LANES * job->head_dim, n);
    }
    store_part(job->out + first, acc * scale, n);
}

static void attend(const struct baton_attend *job)
{
    float scale = 1.0F / weigh_all(job, score_all(job));
    int d = 0;
    for (; d + MANY_CHUNKS * LANES <= job->head_dim; d += MANY_CHUNKS * LANES)
        mix_chunks(job, d, MANY_CHUNKS, scale);
    for (; d + 2 * LANES <= job->head_dim; d += 2 * LANES)
        mix_chunks(job, d, 2, scale);
    for (; d + LANES <= job->head_dim; d += LANES)
        mix_chunks(job, d, 1, scale);
    if (d < job->head_dim)
        mix_rest(job, d, job->head_dim - d, scale);
}

const struct baton_kernels KERNELS = {
    .name = KERNELS_NAME,
    .dense_min_rows = DENSE_MIN_ROWS,
    .linear = linear,
    .finish = finish,
    .layer_norm = layer_norm,
    .attend = attend,
    .max = max_of,
    .maxima = maxima,
    .weigh = weigh,
    .keep = keep,
};
