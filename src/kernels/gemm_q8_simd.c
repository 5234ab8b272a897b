#include "gemm_i16.h"

static __attribute__((noinline)) void any_tile(float *sums, const int16_t *a, const int8_t *w, size_t panel_bytes,
                                               int pairs, int more, int rows, int panels) {
    choose_tile(sums, a, w, panel_bytes, pairs, more, rows, panels, 1);
}

void qkv_gemm_q8_simd(const qkv_gemm *g, const int16_t *a, const float *a_scales, const int8_t *w,
                      const float *w_scales) {
    integer_gemm(g, a, a_scales, w, w_scales, any_tile, 1);
}
