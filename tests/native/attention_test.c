/* Attention of one head against the float64 reference, and the properties that make it attention. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attention_f64.h"
#include "check.h"
#include "kernels.h"
#include "one_head.h"
#include "seeded.h"

/* Largest difference of weights and contexts (values up to 1) from float64. */
#define BOUND 2e-6
/* A logit of 1e4 has a last bit of 2^-10; rounding it moves exp(logit) by up to half of that, and two such roundings
 * (numerator, denominator) meet in a weight. */
#define BOUND_OF_1E4 0x1p-10

static double worst;

static void check_against_reference(one_head *h, double bound, const char *what) {
    double *weights = malloc(sizeof(double) * (size_t)(h->n * h->m + 1));
    double *context = malloc(sizeof(double) * (size_t)(h->n * h->value_dim + 1));
    const reference_attention reference = {.q = h->q,
                                           .k = h->k,
                                           .v = h->v,
                                           .n = h->n,
                                           .m = h->m,
                                           .dim = h->dim,
                                           .value_dim = h->value_dim,
                                           .scale = (double)h->a.scale,
                                           .mask = h->a.mask.add};

    one_head_attend(h);
    reference_attend(&reference, weights, context);
    double error = 0;
    for (int i = 0; i < h->n * h->m; i++) error = fmax(error, fabs((double)h->map[i] - weights[i]));
    for (int i = 0; i < h->n * h->value_dim; i++) error = fmax(error, fabs((double)h->context[i] - context[i]));
    CHECK(error <= bound, "%s: n %d, m %d, dim %d, value_dim %d: off by %g", what, h->n, h->m, h->dim, h->value_dim,
          error);
    if (bound == BOUND) worst = fmax(worst, error);
    free(weights);
    free(context);
}

static void test_all_sizes(void) {
    uint32_t seed = 1;

    for (int m = 1; m < 68; m++) {
        one_head h = one_head_make(&seed, m, m, 1 + m % 40, 1 + (m * 7) % 40);
        check_against_reference(&h, BOUND, "square");
        one_head_release(&h);
    }
    static const int shapes[][4] = {
        {1, 300, 32, 32}, {300, 1, 32, 32}, {7, 700, 64, 64}, {128, 128, 32, 32}, {13, 29, 130, 3}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        one_head h = one_head_make(&seed, shapes[s][0], shapes[s][1], shapes[s][2], shapes[s][3]);
        check_against_reference(&h, BOUND, "rectangle");
        one_head_release(&h);
    }
}

static void test_masks(void) {
    uint32_t seed = 2;

    for (int m = 1; m < 40; m++) {
        one_head h = one_head_make(&seed, m, m, 16, 12);
        one_head_fill_mask(&h, &seed);
        check_against_reference(&h, BOUND, "masked");
        double sum = 0;
        for (int j = 0; j < m; j++) sum += (double)fabsf(h.map[j]);
        for (int c = 0; c < h.value_dim; c++) sum += (double)fabsf(h.context[c]);
        CHECK(sum == 0, "a query that may see no key: weights and context are %g, want 0", sum);
        one_head_release(&h);
    }
}

static void test_masked_garbage(void) {
    static const float garbage[] = {NAN, INFINITY, -INFINITY, FLT_MAX, FLT_TRUE_MIN};
    uint32_t seed = 3;

    for (size_t g = 0; g < sizeof garbage / sizeof *garbage; g++) {
        one_head clean = one_head_make(&seed, 21, 21, 8, 11);
        for (int i = 0; i < clean.n; i++) {
            for (int j = 0; j < clean.m; j++) clean.mask[i * clean.m + j] = j % 5 == 2 ? -INFINITY : 0.0f;
        }
        one_head_use_mask(&clean);
        one_head_attend(&clean);
        float *map = malloc(sizeof(float) * 21 * 21), *context = malloc(sizeof(float) * 21 * 11);
        memcpy(map, clean.map, sizeof(float) * 21 * 21);
        memcpy(context, clean.context, sizeof(float) * 21 * 11);
        for (int j = 2; j < clean.m; j += 5) {
            for (int e = 0; e < clean.dim; e++) clean.k[j * clean.dim + e] = garbage[g];
            for (int c = 0; c < clean.value_dim; c++) clean.v[j * clean.value_dim + c] = garbage[g];
        }
        one_head_pack(&clean);
        one_head_attend(&clean);
        CHECK(memcmp(map, clean.map, sizeof(float) * 21 * 21) == 0, "masked keys of %g change a weight",
              (double)garbage[g]);
        CHECK(memcmp(context, clean.context, sizeof(float) * 21 * 11) == 0, "masked values of %g change a context",
              (double)garbage[g]);
        free(map);
        free(context);
        one_head_release(&clean);
    }
}

static void test_windows(void) {
    uint32_t seed = 4;
    one_head h = one_head_make(&seed, 37, 37, 24, 20);
    float window[37 * 37];

    one_head_fill_mask(&h, &seed);
    for (int stage = QKV_STAGE_SCORES; stage <= QKV_STAGE_WEIGHTS; stage++) {
        qkv_attention_map(&h.a, (qkv_stage)stage, 0, h.n, h.map, &h.scratch);
        for (int from = 0; from < h.n; from += 3) {
            for (int rows = 0; rows <= h.n - from; rows += 1 + rows / 4) {
                qkv_attention_map(&h.a, (qkv_stage)stage, from, rows, window, &h.scratch);
                CHECK(check_same_bits(window, h.map + from * h.m, (size_t)(rows * h.m)),
                      "rows %d..%d of stage %d differ from the whole", from, from + rows, stage);
            }
        }
    }
    qkv_attention_context(&h.a, 0, h.n, h.context, (size_t)h.value_dim, NULL, &h.scratch);
    for (int i = 0; i < h.n; i++) {
        qkv_attention_context(&h.a, i, 1, window, (size_t)h.value_dim, NULL, &h.scratch);
        CHECK(check_same_bits(window, h.context + i * h.value_dim, (size_t)h.value_dim),
              "context of row %d alone differs", i);
    }
    one_head_release(&h);
}

static void test_hostile_logits(void) {
    uint32_t seed = 5;
    one_head h = one_head_make(&seed, 9, 9, 4, 4);

    for (int i = 0; i < h.n * h.m; i++) h.mask[i] = i % 2 ? 1e4f : -1e4f;
    one_head_use_mask(&h);
    check_against_reference(&h, BOUND_OF_1E4, "logits of +-1e4");
    for (int i = 0; i < h.n; i++) {
        double sum = 0;
        for (int j = 0; j < h.m; j++) sum += (double)h.map[i * h.m + j];
        CHECK(fabs(sum - 1) <= 1e-6, "row %d with logits of +-1e4 sums to %.9g", i, sum);
    }
    h.q[2 * h.dim] = NAN;
    h.q[3 * h.dim] = INFINITY;
    one_head_attend(&h);
    CHECK(isnan(h.map[2 * h.m]) && isnan(h.context[2 * h.value_dim]), "a NaN query gives %g", (double)h.map[2 * h.m]);
    CHECK(isnan(h.map[3 * h.m]) && isnan(h.context[3 * h.value_dim]), "an infinite query gives %g",
          (double)h.map[3 * h.m]);
    CHECK(!isnan(h.map[4 * h.m]), "a NaN query reaches another row");
    one_head_release(&h);
}

static void test_lookup(void) {
    uint32_t seed = 6;
    one_head h = one_head_make(&seed, 1, 1, 8, 8);

    one_head_attend(&h);
    CHECK(h.map[0] == 1.0f, "one key has weight %g", (double)h.map[0]);
    CHECK(check_same_bits(h.context, h.v, 8), "one key: the context is not its value");
    one_head_release(&h);

    h = one_head_make(&seed, 3, 16, 8, 8); /* equal keys: each value counts the same */
    for (int j = 0; j < 16; j++) memcpy(h.k + j * 8, h.k, 8 * sizeof(float));
    one_head_pack(&h);
    one_head_attend(&h);
    for (int c = 0; c < 8; c++) {
        double mean = 0;
        for (int j = 0; j < 16; j++) mean += (double)h.v[j * 8 + c] / 16;
        CHECK(fabs((double)h.context[c] - mean) <= 1e-6, "equal keys: context %g, mean of the values %g",
              (double)h.context[c], mean);
    }
    one_head_release(&h);
}

int main(void) {
    test_all_sizes();
    test_masks();
    test_masked_garbage();
    test_windows();
    test_hostile_logits();
    test_lookup();
    printf("attention against float64: off by at most %.2g\n", worst);
    return check_summary("attention");
}
