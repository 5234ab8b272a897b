/* map.c - a linear map on its own, for callers that bring their own weights. */
#include "matrix.h"
#include "status.h"

#define ROWS_AT_ONCE 128
#define SIDE_MAX (1 << 20)

struct qkv_map {
    qkv_matrix matrix;
    qkv_packed packed;
};

static void lay_out(qkv_map *map, qkv_arena *arena, int32_t outputs, int32_t inputs) {
    qkv_matrix_take(&map->matrix, arena, QKV_FORM_F32, outputs, inputs, 1);
    qkv_packed_take(&map->packed, arena, ROWS_AT_ONCE, inputs);
}

static qkv_status measure(size_t *out_bytes, int32_t outputs, int32_t inputs, qkv_error *err) {
    qkv_arena arena = qkv_arena_measure();
    qkv_map map;

    QKV_FAIL_IF(outputs < 1 || outputs > SIDE_MAX, QKV_ARGUMENT, "outputs", outputs, SIDE_MAX);
    QKV_FAIL_IF(inputs < 1 || inputs > SIDE_MAX, QKV_ARGUMENT, "inputs", inputs, SIDE_MAX);
    qkv_arena_take(&arena, 1, sizeof(qkv_map));
    lay_out(&map, &arena, outputs, inputs);
    QKV_FAIL_IF(arena.overflow, QKV_MEMORY, "the map does not fit the address space", 0, (double)SIZE_MAX);
    *out_bytes = arena.used;
    return QKV_OK;
}

size_t qkv_map_bytes(int32_t outputs, int32_t inputs, qkv_error *err) {
    size_t bytes = 0;
    return measure(&bytes, outputs, inputs, err) == QKV_OK ? bytes : 0;
}

qkv_status qkv_map_create(qkv_map **out_map, void *memory, size_t bytes, int32_t outputs, int32_t inputs,
                          const float *weights, const float *bias, qkv_error *err) {
    size_t needed = 0;

    QKV_TRY(measure(&needed, outputs, inputs, err));
    QKV_FAIL_IF(bytes < needed, QKV_MEMORY, "memory for the map", bytes, needed);
    qkv_arena arena = qkv_arena_over(memory, bytes);
    qkv_map *map = qkv_arena_take(&arena, 1, sizeof(qkv_map));
    lay_out(map, &arena, outputs, inputs);
    qkv_matrix_clear(&map->matrix);
    qkv_matrix_rows(&map->matrix, QKV_PLANE_F32, 0, outputs, weights, (qkv_spare){0});
    if (bias) __builtin_memcpy(map->matrix.bias, bias, (size_t)outputs * sizeof(float));
    *out_map = map;
    return QKV_OK;
}

qkv_status qkv_map_apply(const qkv_map *map, const float *x, int32_t rows, float *y, qkv_error *err) {
    const size_t inputs = (size_t)map->matrix.cols, outputs = (size_t)map->matrix.rows;

    QKV_FAIL_IF(rows < 0, QKV_ARGUMENT, "rows", rows, 0);
    for (int32_t done = 0; done < rows; done += ROWS_AT_ONCE) {
        const int32_t block = rows - done < ROWS_AT_ONCE ? rows - done : ROWS_AT_ONCE;
        const qkv_gemm gemm = {
            .out = y + (size_t)done * outputs, .out_stride = outputs, .rows = block, .cols = map->matrix.rows};
        qkv_linear(&map->matrix, 0, x + (size_t)done * inputs, inputs, gemm, &map->packed);
    }
    return QKV_OK;
}
