/* ln on positive normal floats: x = 2^e m with m in [sqrt(1/2), sqrt(2)), ln x = e ln2 + ln m, and for z = m - 1
 * ln m = z - z^2/2 + z^3 P(z), P of degree 7 fitted for the smallest relative error: 7.6e-8 on ln m. */
#ifndef QKV_LOG_F32_H
#define QKV_LOG_F32_H

#define LOG_SQRT_HALF 0x3f3504f3 /* the bits of sqrt(1/2) */
#define LOG_LN2 0.693147181f
#define LOG_P7 -0x1.38b38cp-4f
#define LOG_P6 0x1.055b06p-3f
#define LOG_P5 -0x1.0d8572p-3f
#define LOG_P4 0x1.22da2ep-3f
#define LOG_P3 -0x1.547242p-3f
#define LOG_P2 0x1.99a008p-3f
#define LOG_P1 -0x1.000228p-2f
#define LOG_P0 0x1.555554p-2f

#endif
