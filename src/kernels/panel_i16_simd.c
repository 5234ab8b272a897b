/* Eight columns of eight rows at a time: a pair of int16 is one element of 32 bits, so two 4 x 4 transposes bring the pairs
 * of one place together. */
#include "kernels.h"
#include "simd.h"

/* v[j] and v[j + 4]: columns 2j and 2j + 1 of rows 0 to 3 and of rows 4 to 7. */
ALWAYS_INLINE void load_columns(v128_t v[8], const int16_t *q, size_t q_stride) {
    for (int r = 0; r < QKV_PANEL; r++) v[r] = wasm_v128_load(q + (size_t)r * q_stride);
    transpose4(v);
    transpose4(v + 4);
}

void qkv_panel_q10_simd(int16_t *panel, const int16_t *q, size_t q_stride, int k) {
    v128_t v[8];

    for (int i = 0; i < k; i += QKV_PANEL_STEP, panel += QKV_PANEL_STEP * QKV_PANEL) {
        load_columns(v, q + i, q_stride);
        for (int j = 0; j < 8; j++) {
            int16_t *place = panel + j % 4 * 16 + j / 4 * 8;
            wasm_v128_store(place, wasm_i16x8_add(wasm_v128_load(place), v[j]));
        }
    }
}

void qkv_panel_q8_simd(int8_t *panel, const int16_t *q, size_t q_stride, int k) {
    v128_t v[8];

    for (int i = 0; i < k; i += QKV_PANEL_STEP, panel += QKV_PANEL_STEP * QKV_PANEL) {
        load_columns(v, q + i, q_stride);
        for (int j = 0; j < 4; j++) {
            const v128_t eight = wasm_i8x16_narrow_i16x8(v[j], v[j + 4]);
            wasm_v128_store(panel + j * 16, wasm_i8x16_add(wasm_v128_load(panel + j * 16), eight));
        }
    }
}

ALWAYS_INLINE void add_four(float *y, v128_t integers) {
    wasm_v128_store(y, wasm_f32x4_add(wasm_v128_load(y), wasm_f32x4_convert_i32x4(integers)));
}

void qkv_panel_f32_simd(float *panel, const int16_t *q, size_t q_stride, int k) {
    v128_t v[8];

    for (int i = 0; i < k; i += QKV_PANEL_STEP, panel += QKV_PANEL_STEP * QKV_PANEL) {
        load_columns(v, q + i, q_stride);
        for (int j = 0; j < 8; j++) {
            float *place = panel + j % 4 * 2 * QKV_PANEL + j / 4 * 4;
            add_four(place, wasm_i32x4_shr(wasm_i32x4_shl(v[j], 16), 16));
            add_four(place + QKV_PANEL, wasm_i32x4_shr(v[j], 16));
        }
    }
}
