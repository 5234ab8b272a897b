#include "kernels.h"

void qkv_from_q8_scalar(float *y, const int8_t *q, int n, float scale) {
    for (int i = 0; i < n; i++) y[i] = (float)q[i] * scale;
}
