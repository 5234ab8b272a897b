#include "kernels.h"
#include "tanh_f32.h"

void qkv_softcap_f32_scalar(float *y, const float *x, int n, float cap) {
    const tanh_cap c = tanh_cap_of(cap);

    for (int i = 0; i < n; i++) y[i] = softcap_one(x[i], &c);
}
