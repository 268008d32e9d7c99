// The training step on an OpenCL device. The host (opencl_replica.cc) decides the order; these files
// are the arithmetic, the same as in cpu/kernels.h. This file has the shared parts.
//
// Fixed when the program is built, by kind of device:
//   VEC      floats in a vector          NV      vectors that an item works on side by side
//   TILE     units of a register tile    BLOCK   tiles that an item does one after the other
//   STRIP    vectors of a gathered row   WG      items of a work-group
// updates.cl is a program of its own, one for each optimizer; the other files are one together.
//
// PANEL = NV * VEC samples (or units) lie side by side. A matrix "units x samples" has one of two
// layouts, both given by two strides {x, y}:
//   columns  (unit, sample) at  sample / PANEL * x + unit * y + sample % PANEL
//   rows     (unit, sample) at  unit / PANEL * x + sample * y + unit % PANEL
// On processors panels lie one after the other (y = PANEL), which suits their caches; elsewhere
// y is a whole row, so that neighbouring items read neighbouring addresses.
//
// Every loop over items' work starts at the item's own index and moves on by the number of items,
// so any number of items gives the same result.

#define GLUE_(a, b) a##b
#define GLUE(a, b) GLUE_(a, b)
#define PANEL (NV * VEC)

#if VEC == 1
typedef float vec;
typedef int ivec;
typedef uint uvec;
#define CONVERT_INT convert_int
#define AS_VEC as_float
#define FROM_LANES(array) (*(array))
#define ANY(x) (x)
#else
typedef GLUE(float, VEC) vec;
typedef GLUE(int, VEC) ivec;
typedef GLUE(uint, VEC) uvec;
#define CONVERT_INT GLUE(convert_int, VEC)
#define AS_VEC GLUE(as_float, VEC)
#define FROM_LANES(array) GLUE(vload, VEC)(0, array)
#define ANY(x) any(x)
#endif

#define KERNEL kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
#define EACH(index, dimension, count)                             \
  (uint index = get_global_id(dimension); index < (count); index += get_global_size(dimension))

// Vectors are aligned: every layout is made of whole panels.
#define AT(pointer) (*(global const vec*)(pointer))
#define PUT(pointer) (*(global vec*)(pointer))

float lane(vec v, uint i) { return ((const float*)&v)[i]; }

float sum_of(vec v) {
  float sum = 0;
  for (uint i = 0; i < VEC; ++i) sum += lane(v, i);
  return sum;
}

vec larger(vec a, vec b) { return a > b ? a : b; }

// e^x for x <= 0, to about one unit in the last place; from -87.3 down it is 2^-126. x = n ln 2 + r,
// so e^x = 2^n e^r: n by adding and subtracting 1.5 * 2^23, e^r by a polynomial (Cephes').
vec exp_of(vec x) {
  x = larger(x, (vec)(-87.3f));
  const vec n = (x * 1.44269504f + 12582912.0f) - 12582912.0f;
  vec r = fma(n, (vec)(-0.693359375f), x);
  r = fma(n, (vec)(2.12194440e-4f), r);
  vec p = fma((vec)(1.9875691500e-4f), r, (vec)(1.3981999507e-3f));
  p = fma(p, r, (vec)(8.3334519073e-3f));
  p = fma(p, r, (vec)(4.1665795894e-2f));
  p = fma(p, r, (vec)(1.6666665459e-1f));
  p = fma(p, r, (vec)(5.0000001201e-1f));
  p = fma(p * r, r, r) + 1.0f;
  const ivec power = (CONVERT_INT(n) + 127) << 23;
  return p * AS_VEC(power);
}

// 1 / (1 + exp(-z)), from e = exp(-|z|) so that nothing overflows.
vec sigmoid(vec z, vec e) {
  const vec large = 1.0f / (1.0f + e);
  return z < (vec)(0.0f) ? 1.0f - large : large;
}

// Numbered as in nn/network.h.
enum Activation { relu, logistic, hyperbolic };
enum Loss { softmax, binary, squared };

vec activation_of(enum Activation activation, vec z) {
  if (activation == relu) return larger(z, (vec)(0.0f));
  if (activation == logistic) return sigmoid(z, exp_of(-fabs(z)));
  const vec e = exp_of(-2.0f * fabs(z));
  const vec t = (1.0f - e) / (1.0f + e);
  return z < (vec)(0.0f) ? -t : t;
}

// Through the activation's output.
vec derivative_of(enum Activation activation, vec y) {
  if (activation == relu) return y > (vec)(0.0f) ? (vec)(1.0f) : (vec)(0.0f);
  if (activation == logistic) return y * (1.0f - y);
  return 1.0f - y * y;
}

// nn/training.h's DropoutMask, a vector of samples at a time.
struct Dropout {
  uint threshold;  // 0: off
  uint key;
  float scale;
};

uvec mix(uvec x) {
  x = (x ^ (x >> 16)) * 0x7FEB352Du;
  x = (x ^ (x >> 15)) * 0x846CA68Bu;
  return x ^ (x >> 16);
}

uvec row_hash(struct Dropout dropout, uint first_sample) {
  uint rows[VEC];
  for (uint i = 0; i < VEC; ++i) rows[i] = (first_sample + i) ^ dropout.key;
  return mix(FROM_LANES(rows));
}

// The factor, 0 or `kept`.
vec dropped(struct Dropout dropout, uvec hash, uint unit, float kept) {
  return mix(hash + unit) < (uvec)(dropout.threshold) ? (vec)(0.0f) : (vec)(kept);
}

float clip_factor(float clip, float square_norm) {
  const float norm = sqrt(square_norm);
  return norm > clip ? clip / norm : 1.0f;
}
