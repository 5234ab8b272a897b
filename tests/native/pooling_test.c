/* Every pooling, of all rows and of those behind an instruction, against float64 from its definition. */
#include <math.h>
#include <stdlib.h>

#include "check.h"
#include "tiny_model.h"

#define TOKENS 10
#define WIDTH 25
#define BOUND 1e-6 /* of the largest component: sums of ten float32 values, and two roundings more */

static float hidden[TOKENS * WIDTH], got[WIDTH];

/* The share that row i has in the sum; the largest is no sum. */
static double share(qkv_pooling pooling, int first, int i) {
    double places = 0;

    for (int j = first; j < TOKENS; j++) places += j + 1;
    switch (pooling) {
    case QKV_POOL_MEAN: return 1.0 / (TOKENS - first);
    case QKV_POOL_CLS: return i == first;
    case QKV_POOL_LAST: return i == TOKENS - 1;
    case QKV_POOL_WEIGHTED_MEAN: return (i + 1) / places;
    case QKV_POOL_MEAN_SQRT_LEN: return 1.0 / sqrt(TOKENS - first);
    default: return (double)NAN;
    }
}

static void pool64(qkv_pooling pooling, int first, int normalize, double *want) {
    double norm = 0;

    for (int o = 0; o < WIDTH; o++) {
        want[o] = pooling == QKV_POOL_MAX ? (double)-INFINITY : 0;
        for (int i = first; i < TOKENS; i++) {
            const double x = (double)hidden[i * WIDTH + o];
            want[o] = pooling == QKV_POOL_MAX ? fmax(want[o], x) : want[o] + share(pooling, first, i) * x;
        }
        norm += want[o] * want[o];
    }
    for (int o = 0; o < WIDTH && normalize; o++) want[o] /= sqrt(norm);
}

static void test_pooling(qkv_run *run, qkv_pooling pooling, int first, int normalize) {
    double want[WIDTH], error = 0, largest = 0;

    pool64(pooling, first, normalize, want);
    CHECK(qkv_embedding(run, 0, pooling, first, normalize, got, NULL) == QKV_OK, "pooling %d is refused", (int)pooling);
    for (int o = 0; o < WIDTH; o++) {
        error = fmax(error, fabs(want[o] - (double)got[o]));
        largest = fmax(largest, fabs(want[o]));
    }
    CHECK(error <= BOUND * largest, "pooling %d from row %d on is off by %g of %g", (int)pooling, first, error,
          largest);
}

int main(void) {
    const int32_t length = TOKENS;
    tiny_model t = tiny_make(tiny_odd, QKV_PRECISION_F32, 21);
    qkv_run *run = tiny_run(&t, (qkv_input){.lengths = &length, .sequences = 1}, 22, 3);

    qkv_get_stage(run, tiny_kind(&tiny_odd), 3, 0, QKV_STAGE_X, 0, hidden, NULL);
    for (int pooling = 0; pooling < QKV_POOL_COUNT; pooling++) {
        for (int first = 0; first < TOKENS; first += 3) {
            test_pooling(run, (qkv_pooling)pooling, first, 0);
            test_pooling(run, (qkv_pooling)pooling, first, 1);
        }
    }
    free(run);
    tiny_free(&t);
    return check_summary("pooling");
}
