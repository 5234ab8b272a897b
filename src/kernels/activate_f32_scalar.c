#include "activation_f32.h"
#include "kernels.h"

void qkv_activate_f32_scalar(float *y, const float *x, int n, int activation) {
    for (int i = 0; i < n; i++) y[i] = activate_one(x[i], activation);
}

void qkv_gate_f32_scalar(float *y, const float *gate, const float *up, int n, int activation) {
    for (int i = 0; i < n; i++) y[i] = activate_one(gate[i], activation) * up[i];
}
