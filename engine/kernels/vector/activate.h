/* Activations of 16 numbers at a time. Part of a set (set.h).
 *
 * activate and open_gate are not inlined: with -ffp-contract=fast the compiler might round inlined
 * copies differently from caller to caller.
 *
 * Pure: arguments are borrowed for the call.
 */
#ifndef BATON_ENGINE_KERNELS_VECTOR_ACTIVATE_H
#define BATON_ENGINE_KERNELS_VECTOR_ACTIVATE_H

#include "engine/kernels/vector/vectors.h"

/* 0.5 x (1 + tanh u), u = sqrt(2/pi) (x + 0.044715 x^3), is x times the logistic function of 2u. */
INLINE vec gelu_tanh(vec x)
{
    vec u = 0.797884560802865356F * (x + 0.044715F * (x * x * x));
    return x / (1.0F + exp_vec(-2.0F * u));
}

/* x times the normal distribution function. Its tail below -a is exp(-a^2 / 2) times a polynomial
 * in 1 / (1 + 0.3 a), a fit whose relative error is below 6e-8 for a <= 14, where exp ends. */
INLINE vec gelu_erf(vec x)
{
    vec a = blend(x < 0.0F, -x, x), t = 1.0F / (1.0F + 0.3F * a);
    vec p = 0.03837840331F * t - 0.1691666349F;
    p = p * t + 0.2286610958F;
    p = p * t - 0.07650755625F;
    p = p * t + 0.142536209F;
    p = p * t + 0.09468325861F;
    p = p * t + 0.1219204026F;
    p = p * t + 0.1194876815F;
    p = p * t + 7.169253621e-6F;
    vec tail = p * exp_vec(-0.5F * (a * a));
    return x * blend(x < 0.0F, tail, 1.0F - tail);
}

/* A NaN stays a NaN. */
INLINE vec relu(vec x)
{
    return blend(x < 0.0F, splat(0), x);
}

static __attribute__((noinline)) vec activate(enum baton_activation activation, vec x)
{
    switch (activation) {
    case BATON_ACT_GELU_TANH:
        return gelu_tanh(x);
    case BATON_ACT_GELU_ERF:
        return gelu_erf(x);
    case BATON_ACT_SILU:
        return swish(x, 1);
    case BATON_ACT_RELU:
        return relu(x);
    case BATON_ACT_RELU2:
        return relu(x) * relu(x);
    case BATON_ACT_SWIGLU_CLIP: /* it needs a gate and an up: open_gate */
    case BATON_ACT_XIELU:       /* it needs numbers: xielu */
        break;
    }
    return x;
}

/* exp(x) - 1 for x <= 0; near 0 by its series, so that small numbers keep their digits. */
INLINE vec expm1_vec(vec x)
{
    vec p = 1.0F / 720 * x + 1.0F / 120;
    p = p * x + 1.0F / 24;
    p = p * x + 1.0F / 6;
    p = p * x + 0.5F;
    return blend(x > -0.25F, p * x * x + x, exp_vec(x) - 1.0F);
}

/* numbers: p, n, b, eps of BATON_ACT_XIELU. A NaN stays a NaN. */
static __attribute__((noinline)) vec xielu(const float *numbers, vec x)
{
    float n = numbers[1], eps = numbers[3];
    vec low = blend(x > eps, splat(eps), x);
    vec below = n * (expm1_vec(blend(low > 0.0F, splat(0), low)) - x);
    return blend(x > 0.0F, numbers[0] * (x * x), below) + numbers[2] * x;
}

/* The product of an activated gate and the up projection's result. */
static __attribute__((noinline)) vec open_gate(enum baton_activation activation, vec gate, vec up)
{
    if (activation != BATON_ACT_SWIGLU_CLIP)
        return activate(activation, gate) * up;
    gate = blend(gate > 7.0F, splat(7), gate);
    return swish(gate, 1.702F) * (clamp_vec(up, -7, 7) + 1.0F);
}

#endif
