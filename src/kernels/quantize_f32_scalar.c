#include "kernels.h"
#include "quantize_row.h"

void qkv_quantize_f32_scalar(int16_t *q, const float *x, int n, float scale, int most) {
    for (int i = 0; i < n; i++) {
        const float shifted = (scale > 0.0f ? x[i] / scale : 0.0f) + ROUND_MAGIC;
        int32_t bits;

        __builtin_memcpy(&bits, &shifted, sizeof bits);
        bits -= ROUND_MAGIC_BITS;
        q[i] = (int16_t)(bits > most ? most : bits < -most ? -most : bits);
    }
}

void qkv_split_i16_scalar(int8_t *high, uint8_t *low, const int16_t *q, int n) {
    for (int i = 0; i < n; i++) {
        const int two = low ? q[i] & 3 : 0;

        high[i] = (int8_t)(low ? (q[i] - two) / 4 : q[i]);
        if (!low) continue;
        if (i % 4 == 0) low[i / 4] = 0;
        low[i / 4] = (uint8_t)(low[i / 4] | two << 2 * (i % 4));
    }
}

void qkv_widen_i8_scalar(int16_t *q, const int8_t *x, int n, int factor) {
    for (int i = 0; i < n; i++) q[i] = (int16_t)(x[i] * factor);
}

void qkv_widen_low_scalar(int16_t *q, const uint8_t *low, int n) {
    for (int i = 0; i < n; i++) q[i] = (int16_t)(low[i / 4] >> 2 * (i % 4) & 3);
}
