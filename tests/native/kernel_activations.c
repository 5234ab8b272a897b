/* Tests of the activations, alone and as gates. */
#include "kernel_tests.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What kernels.def promises: absolute below 0, in units of the last place above. */
static const struct promise {
    const char *name;
    double below, above;
} promises[] = {
    {"none", 0.0, 0.0}, {"gelu", 6e-8, 2.0}, {"gelu_tanh", 6e-8, 2.0},
    {"relu", 0.0, 0.0}, {"silu", 6e-8, 2.0}, {"quick_gelu", 6e-8, 2.0},
};

/* x * sigmoid(z); the difference form of the tanh would cancel far below 0. */
static double gated(double x, double z) {
    return x / (1.0 + exp(-z));
}

double activation_of(int activation, double x) {
    const double root = sqrt(2.0 / acos(-1.0));

    switch (activation) {
    case 1: return x * erfc(-x * sqrt(0.5)) / 2.0;
    case 2: return gated(x, 2.0 * root * (x + 0.044715 * x * x * x));
    case 3: return fmax(x, 0.0);
    case 4: return gated(x, x);
    case 5: return gated(x, 1.702 * x);
    default: return x;
    }
}

double activation_error(int activation, double x) {
    const struct promise *promise = &promises[activation];
    const double size = fabs(activation_of(activation, x));

    return x > 0.0 ? promise->above * 2.0 * EPSILON * size + 1e-44 : promise->below;
}

static void check_activate_as(int activation, int n, int shift, filling how) {
    const arrays a = make_arrays(n, shift, how);

    qkv_activate_f32_scalar(a.scalar, a.x, n, activation);
    qkv_activate_f32_simd(a.simd, a.x, n, activation);
    check_twins(&a, n, how, promises[activation].name);
    for (int i = 0; i < n; i++) {
        const double x = (double)a.x[i], truth = activation_of(activation, x);
        if (isnan(a.x[i]) || a.x[i] == -INFINITY) continue;
        CHECK(isinf(truth) ? (double)a.simd[i] == truth
                           : fabs((double)a.simd[i] - truth) <= activation_error(activation, x),
              "%s(%a) = %a, want %a", promises[activation].name, x, (double)a.simd[i], truth);
    }
    qkv_activate_f32_simd(a.x, a.x, n, activation);
    check_in_place(&a, a.x, n, promises[activation].name);
    release_arrays(&a, "activate_f32");
}

static void check_activate(int n, int shift, filling how) {
    for (size_t i = 0; i < COUNT(promises); i++) check_activate_as((int)i, n, shift, how);
}

/* The worst error over the floats of one sign, to where squares overflow. */
static double sweep(int activation, uint32_t sign) {
    static float x[SWEEP_BATCH], y[SWEEP_BATCH], twin[SWEEP_BATCH];
    uint32_t bits = bits_of(0x1p-40f);
    double worst = 0.0;

    while (sweep_batch(x, &bits, bits_of(0x1p70f), sign)) {
        qkv_activate_f32_simd(y, x, SWEEP_BATCH, activation);
        qkv_activate_f32_scalar(twin, x, SWEEP_BATCH, activation);
        CHECK(check_same_bits(y, twin, SWEEP_BATCH), "%s: twins differ near %a", promises[activation].name,
              (double)x[0]);
        digest(y, SWEEP_BATCH);
        for (int i = 0; i < SWEEP_BATCH; i++) {
            const double truth = activation_of(activation, (double)x[i]);
            worst = fmax(worst, sign ? fabs((double)y[i] - truth) : ulps(y[i], truth));
        }
    }
    return worst;
}

/* Zeros, infinities and NaN as in PyTorch; but GELU has its limit at -infinity, and the sign of a zero may go. */
static void check_limits(int activation) {
    const float x[5] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN};
    const char *name = promises[activation].name;
    float y[5];

    qkv_activate_f32_simd(y, x, 5, activation);
    CHECK(y[0] == 0.0f && y[1] == 0.0f && y[2] == INFINITY && isnan(y[4]), "%s: %g %g %g %g", name, (double)y[0],
          (double)y[1], (double)y[2], (double)y[4]);
    if (activation == 0) CHECK(y[3] == -INFINITY, "%s of -infinity: %g", name, (double)y[3]);
    else if (activation == 1 || activation == 3) CHECK(y[3] == 0.0f, "%s of -infinity: %g", name, (double)y[3]);
    else CHECK(isnan(y[3]), "%s of -infinity: %g", name, (double)y[3]);
}

void test_activate_f32(void) {
    for_all_lengths(check_activate);
    for (int activation = 0; activation < (int)COUNT(promises); activation++) {
        const struct promise *promise = &promises[activation];
        const double above = sweep(activation, 0), below = sweep(activation, 0x80000000u);

        printf("%s: worst error %.3f ulp above 0, %.3g below 0\n", promise->name, above, below);
        CHECK(above <= promise->above, "%s: %g ulp", promise->name, above);
        CHECK(below <= promise->below, "%s: %g", promise->name, below);
        check_limits(activation);
    }
}

static void check_gate_as(int activation, int n, int shift, filling how) {
    const arrays a = make_arrays(n, shift, how);

    qkv_gate_f32_scalar(a.scalar, a.x, a.b, n, activation);
    qkv_gate_f32_simd(a.simd, a.x, a.b, n, activation);
    check_twins(&a, n, how, "gate_f32");
    for (int i = 0; how == FILL_NORMAL && i < n; i++) {
        const double x = (double)a.x[i], up = (double)a.b[i], truth = activation_of(activation, x) * up;
        const double error = fabs(activation_error(activation, x) * up) * 1.0001 + EPSILON * fabs(truth);
        CHECK(fabs((double)a.simd[i] - truth) <= error, "gate_f32: %s(%a) * %a = %a, want %a",
              promises[activation].name, x, up, (double)a.simd[i], truth);
    }
    memcpy(a.scalar, a.x, (size_t)n * sizeof(float));
    qkv_gate_f32_simd(a.scalar, a.scalar, a.b, n, activation);
    check_in_place(&a, a.scalar, n, "gate_f32 over the gate");
    qkv_gate_f32_simd(a.b, a.x, a.b, n, activation);
    check_in_place(&a, a.b, n, "gate_f32 over the other");
    release_arrays(&a, "gate_f32");
}

static void check_gate(int n, int shift, filling how) {
    for (size_t i = 0; i < COUNT(promises); i++) check_gate_as((int)i, n, shift, how);
}

void test_gate_f32(void) {
    for_all_lengths(check_gate);
}
