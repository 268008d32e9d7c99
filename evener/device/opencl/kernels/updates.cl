// Updates of parameters. OPTIMIZER is defined by the build, numbered as in nn/training.h.

// The constants of one update, see device/update_rule.h.
struct Rule {
  float rate, momentum, beta2, root_scale, epsilon, l2, clip;
};

// One vector of parameters at `i`, with the optimizer's state; nn/training.h has the formulas.
void update(global float* weight, global float* first, global float* second, ulong i, vec g,
            struct Rule rule, float l2) {
#if OPTIMIZER == 4
  PUT(first + i) = AT(first + i) + g;
#else
  vec w = AT(weight + i);
  g = fma((vec)(l2), w, g);
#if OPTIMIZER == 0
  w = fma((vec)(-rule.rate), g, w);
#elif OPTIMIZER == 1
  const vec s = fma((vec)(rule.momentum), AT(first + i), g);
  PUT(first + i) = s;
  w = fma((vec)(-rule.rate), s, w);
#elif OPTIMIZER == 2
  const vec m = fma((vec)(rule.momentum), AT(first + i), (1.0f - rule.momentum) * g);
  const vec v = fma((vec)(rule.beta2), AT(second + i), (1.0f - rule.beta2) * g * g);
  PUT(first + i) = m;
  PUT(second + i) = v;
  w -= rule.rate * m / fma(sqrt(v), (vec)(rule.root_scale), (vec)(rule.epsilon));
#else
  const vec s = fma(g, g, AT(first + i));
  PUT(first + i) = s;
  w -= rule.rate * g / (sqrt(s) + rule.epsilon);
#endif
  PUT(weight + i) = w;
#endif
}

// The gradient sum_s gradient(unit, s) * rows(k, s) of a tile of weights, and the update of that
// tile from it: it exists in registers only. Clipping needs a row's norm before its update, so with
// it the kernel runs twice: first (`norms`) for the squared norm of each row's pieces, then with the
// factor of each unit.
KERNEL void gradient_update(global float* weight, global float* first, global float* second,
                            ulong weights, uint width, uint units, global const float* gradient,
                            uint2 from, global const float* rows, uint2 across, uint groups,
                            struct Rule rule, global float* pieces, global const float* factors,
                            uint norms) {
  const uint blocks = (units + TILE * BLOCK - 1) / (TILE * BLOCK);
  const uint panels = width / PANEL;
  for EACH (block, 1, blocks) {
    for EACH (panel, 0, panels) {
      global const float* x = rows + panel * across.x;
      const uint end = min((block + 1) * BLOCK * TILE, units);
      for (uint unit = block * BLOCK * TILE; unit < end; unit += TILE) {
        vec sum[TILE][NV];
        uint at[TILE];
#pragma unroll
        for (uint i = 0; i < TILE; ++i) {
          at[i] = min(unit + i, units - 1) * from.y;
#pragma unroll
          for (uint v = 0; v < NV; ++v) sum[i][v] = (vec)(0.0f);
        }
        for (uint group = 0; group < groups; ++group) {
          global const float* g = gradient + group * from.x;
          global const float* input = x + group * PANEL * across.y;
          for (uint s = 0; s < PANEL; ++s) {
            vec value[NV];
#pragma unroll
            for (uint v = 0; v < NV; ++v) value[v] = AT(input + s * across.y + v * VEC);
#pragma unroll
            for (uint i = 0; i < TILE; ++i) {
              const vec w = (vec)(g[at[i] + s]);
#pragma unroll
              for (uint v = 0; v < NV; ++v) sum[i][v] = fma(w, value[v], sum[i][v]);
            }
          }
        }
#pragma unroll
        for (uint i = 0; i < TILE; ++i) {
          if (unit + i >= units) continue;
          if (norms) {
            vec squares = (vec)(0.0f);
            for (uint v = 0; v < NV; ++v) squares = fma(sum[i][v], sum[i][v], squares);
            pieces[(unit + i) * panels + panel] = sum_of(squares);
            continue;
          }
          const float factor = rule.clip > 0 ? factors[unit + i] : 1.0f;
          const ulong row = weights + (ulong)(unit + i) * width + panel * PANEL;
#pragma unroll
          for (uint v = 0; v < NV; ++v) {
            update(weight, first, second, row + v * VEC, sum[i][v] * factor, rule, rule.l2);
          }
        }
      }
    }
  }
}

// Biases of `units` units from their gradients; a scratch of whole vectors, zero beyond the last.
KERNEL void bias_update(global float* weight, global float* first, global float* second,
                        ulong biases, uint units, global const float* gradient, struct Rule rule,
                        global const float* factors) {
  for EACH (group, 0, (units + VEC - 1) / VEC) {
    float g[VEC];
    for (uint i = 0; i < VEC; ++i) {
      const uint unit = group * VEC + i;
      const float factor = unit < units && rule.clip > 0 ? factors[unit] : 1.0f;
      g[i] = unit < units ? gradient[unit] * factor : 0.0f;
    }
    update(weight, first, second, biases + group * VEC, FROM_LANES(g), rule, 0.0f);
  }
}

// One vector of the gradient of an input row: sum over the row's occurrences of value * error row.
vec row_gradient(global const uint* batch, uint samples, uint values, uint begin, uint end,
                 global const float* errors, uint width, uint at) {
  vec sum = (vec)(0.0f);
  for (uint i = begin; i < end; ++i) {
    global const float* error = errors + batch[samples + i] * width + at;
    sum = fma((vec)(as_float(batch[values + i])), AT(error), sum);
  }
  return sum;
}

// Updates the rows of `count` features (slots), whose occurrences are grouped. The last slot is the
// bias, which occurs once in every sample. Clipping computes the gradient twice.
KERNEL void sparse_update(global float* weight, global float* first, global float* second,
                          ulong weights, ulong bias, uint width, global const uint* batch,
                          uint features, uint begins, uint samples, uint values, uint count,
                          global const float* errors, struct Rule rule) {
  for EACH (slot, 1, count) {
    const bool is_bias = slot + 1 == count;
    const uint begin = batch[begins + slot], end = batch[begins + slot + 1];
    const ulong row = is_bias ? bias : weights + (ulong)batch[features + slot] * width;
    const float l2 = is_bias ? 0.0f : rule.l2;
    float factor = 1.0f;
    if (rule.clip > 0) {
      vec squares = (vec)(0.0f);
      for (uint at = 0; at < width; at += VEC) {
        const vec g = row_gradient(batch, samples, values, begin, end, errors, width, at);
        squares = fma(g, g, squares);
      }
      factor = clip_factor(rule.clip, sum_of(squares));
    }
    uint at = get_global_id(0) * VEC;
    const uint stride = get_global_size(0) * VEC;
    if (get_global_size(0) == 1) {  // a processor: a strip of the row at a time
      for (; at + STRIP * VEC <= width; at += STRIP * VEC) {
        vec sum[STRIP];
#pragma unroll
        for (uint q = 0; q < STRIP; ++q) sum[q] = (vec)(0.0f);
        for (uint i = begin; i < end; ++i) {
          global const float* error = errors + batch[samples + i] * width + at;
          const vec value = (vec)(as_float(batch[values + i]));
#pragma unroll
          for (uint q = 0; q < STRIP; ++q) sum[q] = fma(value, AT(error + q * VEC), sum[q]);
        }
#pragma unroll
        for (uint q = 0; q < STRIP; ++q) {
          update(weight, first, second, row + at + q * VEC, sum[q] * factor, rule, l2);
        }
      }
    }
    for (; at < width; at += stride) {
      const vec g = row_gradient(batch, samples, values, begin, end, errors, width, at);
      update(weight, first, second, row + at, g * factor, rule, l2);
    }
  }
}
