#include "kernels.h"

void qkv_from_q10_scalar(float *y, const int8_t *high, const uint8_t *low, int n, float scale) {
    for (int i = 0; i < n; i++) {
        const int q = 4 * high[i] + (low[i / 4] >> 2 * (i % 4) & 3);
        y[i] = (float)q * scale;
    }
}
