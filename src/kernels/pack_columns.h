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

/* to: [4, R] elements; v[r]: four elements of row r, changed. R, 1 to 6, is a constant once inlined. */
ALWAYS_INLINE void store_columns(void *to, v128_t *v, const int R) {
    uint8_t *bytes = to;

    if (R == 1) {
        wasm_v128_store(bytes, v[0]);
        return;
    }
    if (R >= 4) {
        transpose4(v);
        for (int j = 0; j < 4; j++) wasm_v128_store(bytes + 4 * j * R, v[j]);
    }
    for (int r = R < 4 ? 0 : 4; r < R; r++) store_row(bytes, v[r], r, R);
}

#endif
