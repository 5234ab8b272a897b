#include "kernels.h"
#include "log_f32.h"

static float log_one(float x) {
    int32_t bits;
    float m;

    __builtin_memcpy(&bits, &x, 4);
    const int32_t exponent = (bits - LOG_SQRT_HALF) >> 23;
    bits -= exponent * (1 << 23);
    __builtin_memcpy(&m, &bits, 4);
    const float z = m - 1.0f, square = z * z;
    float p = LOG_P7 * z + LOG_P6;
    p = p * z + LOG_P5;
    p = p * z + LOG_P4;
    p = p * z + LOG_P3;
    p = p * z + LOG_P2;
    p = p * z + LOG_P1;
    p = p * z + LOG_P0;
    p = p * z + -0.5f;
    return (float)exponent * LOG_LN2 + (p * square + z);
}

float qkv_entropy_f32_scalar(const float *p, int n) {
    float lane[4] = {0.0f, 0.0f, 0.0f, 0.0f};

    for (int i = 0; i < n; i++) lane[i % 4] = lane[i % 4] + (p[i] == 0.0f ? 0.0f : p[i] * log_one(p[i]));
    return -((lane[0] + lane[2]) + (lane[1] + lane[3]));
}
