/* The set of kernels that is being compiled. The build compiles the parts of a set once for each
 * set, with the compiler's options for its instructions and with SET as its name; everything else
 * follows from these. USES_NEON says that a set uses NEON's intrinsics, which every arm64 CPU
 * runs.
 *
 * Pure: constants of the build.
 */
#ifndef BATON_ENGINE_KERNELS_SET_H
#define BATON_ENGINE_KERNELS_SET_H

/* The bytes of a vector register, and the number of registers. */
#if defined(__AVX512F__)
#define REG_BYTES   64
#define N_REGISTERS 32
#elif defined(__AVX2__)
#define REG_BYTES   32
#define N_REGISTERS 16
#elif defined(USES_NEON)
#define REG_BYTES   16
#define N_REGISTERS 32
#else
#define REG_BYTES   16
#define N_REGISTERS 16
#endif
#define ALL_REG_BYTES (N_REGISTERS * REG_BYTES) /* a tile's sums must fit these */

/* A symbol's name in this set: OF_SET(fill_floats) is baton_fill_floats_avx2 in that of AVX2. Two
 * macros expand SET before it is pasted. */
#define NAME_OF_SET(name, set)     baton_##name##_##set
#define EXPANDED_OF_SET(name, set) NAME_OF_SET(name, set)
#define OF_SET(name)               EXPANDED_OF_SET(name, SET)

#endif
