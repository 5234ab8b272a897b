/* pack_columns.h - the inner step of packing: four elements of 32 bits of R rows become four columns of R
 * elements. */
#ifndef QKV_KERNELS_PACK_COLUMNS_H
#define QKV_KERNELS_PACK_COLUMNS_H

#include <stdint.h>

#include "simd.h"

/* Row r alone: its element j goes to place j * R + r. */
ALWAYS_INLINE void store_row(uint8_t *to, v128_t v, const int r, const int R) {
    wasm_v128_store32_lane(to + 4 * r, v, 0);
    wasm_v128_store32_lane(to + 4 * (R + r), v, 1);
    wasm_v128_store32_lane(to + 4 * (2 * R + r), v, 2);
    wasm_v128_store32_lane(to + 4 * (3 * R + r), v, 3);
}

/* [4, 5] elements are five whole vectors. Each is made of halves: pairs of neighbouring rows, or the first and the last row
 * where one column ends and the next begins. */
ALWAYS_INLINE void store_five(uint8_t *to, const v128_t *v) {
    const v128_t ends = wasm_i32x4_shuffle(v[4], v[0], 0, 5, 2, 7);

    wasm_v128_store(to, wasm_i64x2_shuffle(interleave_low(v[0], v[1]), interleave_low(v[2], v[3]), 0, 2));
    wasm_v128_store(to + 16, wasm_i64x2_shuffle(ends, interleave_low(v[1], v[2]), 0, 3));
    wasm_v128_store(to + 32, wasm_i64x2_shuffle(interleave_low(v[3], v[4]), interleave_high(v[0], v[1]), 1, 2));
    wasm_v128_store(to + 48, wasm_i64x2_shuffle(interleave_high(v[2], v[3]), ends, 0, 3));
    wasm_v128_store(to + 64, wasm_i64x2_shuffle(interleave_high(v[1], v[2]), interleave_high(v[3], v[4]), 1, 3));
}

/* to: [4, R] elements; v[r]: four elements of row r, changed. R, 1 to 6, is a constant once inlined. */
ALWAYS_INLINE void store_columns(void *to, v128_t *v, const int R) {
    uint8_t *bytes = to;

    if (R == 1) {
        wasm_v128_store(bytes, v[0]);
        return;
    }
    if (R == 5) {
        store_five(bytes, v);
        return;
    }
    if (R >= 4) {
        transpose4(v);
        for (int j = 0; j < 4; j++) wasm_v128_store(bytes + 4 * j * R, v[j]);
    }
    for (int r = R < 4 ? 0 : 4; r < R; r++) store_row(bytes, v[r], r, R);
}

#endif
