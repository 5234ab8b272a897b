#include "gemm_i16_scalar.h"

void qkv_gemm_q8_scalar(const qkv_gemm *g, const int16_t *a, const float *a_scales, const int8_t *w,
                        const float *w_scales) {
    plain_integer_gemm(g, a, a_scales, w, w_scales, 1);
}
