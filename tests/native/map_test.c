/* qkv_map: y = x W^T + b against float64, over all tails of rows, inputs and outputs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "qkv.h"
#include "seeded.h"

#define EPSILON 5.9604644775390625e-8 /* 2^-24 */

static float *filled(uint32_t *seed, int n) {
    float *x = malloc(((size_t)n + 1) * sizeof *x);

    seeded_fill(seed, x, (size_t)n, 2.0f);
    return x;
}

static void check_map(uint32_t seed, int rows, int inputs, int outputs, bool with_bias) {
    float *w = filled(&seed, outputs * inputs), *b = filled(&seed, outputs), *x = filled(&seed, rows * inputs);
    float *y = filled(&seed, rows * outputs), *alone = filled(&seed, outputs);
    qkv_error err = {0};
    const size_t bytes = qkv_map_bytes(outputs, inputs, &err);
    void *memory = malloc(bytes);
    qkv_map *map = NULL;

    CHECK(qkv_map_create(&map, memory, bytes - 1, outputs, inputs, w, NULL, &err) == QKV_MEMORY, "too little memory");
    CHECK(qkv_map_create(&map, memory, bytes, outputs, inputs, w, with_bias ? b : NULL, &err) == QKV_OK, "%s",
          err.what);
    CHECK(qkv_map_apply(map, x, rows, y, &err) == QKV_OK, "%s", err.what);
    for (int i = 0; i < rows; i++) {
        for (int o = 0; o < outputs; o++) {
            double truth = 0.0, size = 0.0;
            for (int e = 0; e < inputs; e++) {
                const double product = (double)x[i * inputs + e] * (double)w[o * inputs + e];
                truth += product;
                size += fabs(product);
            }
            if (with_bias) truth += (double)b[o];
            const double error = fabs((double)y[i * outputs + o] - truth);
            CHECK(error <= (inputs + 2) * EPSILON * (size + 2.0), "%d x %d -> %d: y[%d, %d] is off by %g", rows, inputs,
                  outputs, i, o, error);
        }
    }
    if (rows > 0) {
        qkv_map_apply(map, x + (rows - 1) * inputs, 1, alone, &err);
        CHECK(check_same_bits(alone, y + (rows - 1) * outputs, (size_t)outputs), "a row alone differs");
    }
    free(w);
    free(b);
    free(x);
    free(y);
    free(alone);
    free(memory);
}

int main(void) {
    static const int rows[] = {0, 1, 2, 5, 7, 12, 13, 129}, sides[] = {1, 3, 4, 8, 9, 16, 31};
    qkv_error err = {0};

    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        for (size_t i = 0; i < sizeof sides / sizeof *sides; i++) {
            for (size_t o = 0; o < sizeof sides / sizeof *sides; o++) {
                check_map((uint32_t)(r * 64 + i * 8 + o + 1), rows[r], sides[i], sides[o], (r + i + o) % 2 == 0);
            }
        }
    }
    CHECK(qkv_map_bytes(0, 1, &err) == 0 && strcmp(err.what, "outputs") == 0, "no outputs");
    CHECK(qkv_map_bytes(1, 0, &err) == 0 && strcmp(err.what, "inputs") == 0, "no inputs");
    CHECK(qkv_map_bytes(1 << 20, (1 << 20) + 1, &err) == 0 && strcmp(err.what, "inputs") == 0, "too many inputs");
    return check_summary("map");
}
