#include "kernels.h"

void qkv_pack_f32_scalar(float *panels, const float *x, size_t x_stride, int rows, int k) {
    int block;

    for (int m = 0; m < rows; m += block) {
        block = qkv_row_block(rows - m);
        for (int i = 0; i < k; i++) {
            for (int r = 0; r < block; r++) *panels++ = x[(size_t)(m + r) * x_stride + (size_t)i];
        }
    }
}
