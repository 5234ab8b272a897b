#include "kernels.h"

void qkv_panel_q10_scalar(int16_t *panel, const int16_t *q, size_t q_stride, int k) {
    for (int i = 0; i < k; i++) {
        for (int r = 0; r < QKV_PANEL; r++) {
            int16_t *place = panel + (i / 2 * QKV_PANEL + r) * 2 + i % 2;
            *place = (int16_t)(*place + q[(size_t)r * q_stride + (size_t)i]);
        }
    }
}

void qkv_panel_q8_scalar(int8_t *panel, const int16_t *q, size_t q_stride, int k) {
    for (int i = 0; i < k; i++) {
        for (int r = 0; r < QKV_PANEL; r++) {
            int8_t *place = panel + (i / 2 * QKV_PANEL + r) * 2 + i % 2;
            *place = (int8_t)(*place + q[(size_t)r * q_stride + (size_t)i]);
        }
    }
}

void qkv_panel_f32_scalar(float *panel, const int16_t *q, size_t q_stride, int k) {
    for (int i = 0; i < k; i++) {
        for (int r = 0; r < QKV_PANEL; r++) panel[i * QKV_PANEL + r] += (float)q[(size_t)r * q_stride + (size_t)i];
    }
}
