// Between and within dense layers: two of the three products (the third is in updates.cl),
// activations, and the conversion between the layouts.

// out(unit, s) = bias[unit] + sum_k weight[unit][k] * in(k, s), for `units` rows of weights.
KERNEL void forward(global const float* weight, ulong weights, ulong biases, uint width, uint inputs,
                    uint units, global const float* in, uint2 from, uint groups, global float* out,
                    uint2 to) {
  const uint blocks = (units + TILE * BLOCK - 1) / (TILE * BLOCK);
  for EACH (block, 1, blocks) {
    for EACH (group, 0, groups) {
      global const float* x = in + group * from.x;
      global float* z = out + group * to.x;
      const uint end = min((block + 1) * BLOCK * TILE, units);
      for (uint unit = block * BLOCK * TILE; unit < end; unit += TILE) {
        global const float* rows[TILE];
        vec sum[TILE][NV];
#pragma unroll
        for (uint i = 0; i < TILE; ++i) {
          const uint row = min(unit + i, units - 1);
          rows[i] = weight + weights + (ulong)row * width;
          const vec bias = (vec)(weight[biases + row]);
#pragma unroll
          for (uint v = 0; v < NV; ++v) sum[i][v] = bias;
        }
        for (uint k = 0; k < inputs; ++k) {
          vec value[NV];
#pragma unroll
          for (uint v = 0; v < NV; ++v) value[v] = AT(x + k * from.y + v * VEC);
#pragma unroll
          for (uint i = 0; i < TILE; ++i) {
            const vec w = (vec)(rows[i][k]);
#pragma unroll
            for (uint v = 0; v < NV; ++v) sum[i][v] = fma(w, value[v], sum[i][v]);
          }
        }
#pragma unroll
        for (uint i = 0; i < TILE; ++i) {
          if (unit + i >= units) continue;
#pragma unroll
          for (uint v = 0; v < NV; ++v) PUT(z + (unit + i) * to.y + v * VEC) = sum[i][v];
        }
      }
    }
  }
}

// out(unit, s) = bias[unit]; a library then adds the product.
KERNEL void fill_biases(global const float* weight, ulong biases, uint units, uint groups,
                        global float* out, uint2 to) {
  for EACH (unit, 1, units) {
    for EACH (group, 0, groups) {
      for (uint v = 0; v < NV; ++v) {
        PUT(out + group * to.x + unit * to.y + v * VEC) = (vec)(weight[biases + unit]);
      }
    }
  }
}

// error(k, s) += sum_unit weight[unit][k] * gradient(unit, s), or = if `overwrite`. Units are taken
// in blocks so that a block of weights and of gradients stays in a processor's cache.
KERNEL void backward(global const float* weight, ulong weights, uint width, uint units,
                     global const float* gradient, uint2 from, uint groups, global float* error,
                     uint2 to, uint overwrite) {
  for EACH (group, 0, groups) {
    global const float* g = gradient + group * from.x;
    global float* e = error + group * to.x;
    for (uint begin = 0; begin < units; begin += BLOCK * TILE) {
      const uint end = min(begin + BLOCK * TILE, units);
      for EACH (tile, 1, width / TILE) {
        const uint k = tile * TILE;
        vec sum[TILE][NV];
#pragma unroll
        for (uint i = 0; i < TILE; ++i) {
#pragma unroll
          for (uint v = 0; v < NV; ++v) {
            sum[i][v] = overwrite && begin == 0 ? (vec)(0.0f) : AT(e + (k + i) * to.y + v * VEC);
          }
        }
        for (uint unit = begin; unit < end; ++unit) {
          global const float* row = weight + weights + (ulong)unit * width + k;
          vec value[NV];
#pragma unroll
          for (uint v = 0; v < NV; ++v) value[v] = AT(g + unit * from.y + v * VEC);
#pragma unroll
          for (uint i = 0; i < TILE; ++i) {
            const vec w = (vec)(row[i]);
#pragma unroll
            for (uint v = 0; v < NV; ++v) sum[i][v] = fma(w, value[v], sum[i][v]);
          }
        }
#pragma unroll
        for (uint i = 0; i < TILE; ++i) {
#pragma unroll
          for (uint v = 0; v < NV; ++v) PUT(e + (k + i) * to.y + v * VEC) = sum[i][v];
        }
      }
    }
  }
}

// The gradient of each unit's bias.
KERNEL void bias_gradient(global const float* gradient, uint2 from, uint units, uint groups,
                          global float* out) {
  for EACH (unit, 0, units) {
    vec sum = (vec)(0.0f);
    for (uint group = 0; group < groups; ++group) {
      global const float* g = gradient + group * from.x + unit * from.y;
      for (uint v = 0; v < NV; ++v) sum += AT(g + v * VEC);
    }
    out[unit] = sum_of(sum);
  }
}

// From the squared norms of a row's pieces and its bias: the unit's factor.
KERNEL void clip_factors(global const float* pieces, uint panels, global const float* bias,
                         uint units, float clip, global float* factors) {
  for EACH (unit, 0, units) {
    float square_norm = bias[unit] * bias[unit];
    for (uint i = 0; i < panels; ++i) square_norm += pieces[unit * panels + i];
    factors[unit] = clip_factor(clip, square_norm);
  }
}

// In place: activation, then dropout.
KERNEL void activate(global float* values, uint2 at, uint units, uint groups,
                     enum Activation activation, struct Dropout dropout) {
  for EACH (group, 0, groups) {
    for (uint v = 0; v < NV; ++v) {
      const uvec hash = row_hash(dropout, group * PANEL + v * VEC);
      for EACH (unit, 1, units) {
        global float* p = values + group * at.x + unit * at.y + v * VEC;
        vec y = activation_of(activation, AT(p));
        if (dropout.threshold > 0) y *= dropped(dropout, hash, unit, dropout.scale);
        PUT(p) = y;
      }
    }
  }
}

// error *= derivative of dropout and activation at `output`, what `activate` left.
KERNEL void derive(global const float* output, global float* error, uint2 at, uint units,
                   uint groups, enum Activation activation, struct Dropout dropout) {
  const float unscale = 1.0f / dropout.scale;
  for EACH (group, 0, groups) {
    for (uint v = 0; v < NV; ++v) {
      const uvec hash = row_hash(dropout, group * PANEL + v * VEC);
      for EACH (unit, 1, units) {
        const uint i = group * at.x + unit * at.y + v * VEC;
        vec y = AT(output + i);
        vec e = AT(error + i);
        if (dropout.threshold > 0) {
          y *= unscale;
          e *= dropped(dropout, hash, unit, dropout.scale);
        }
        PUT(error + i) = e * derivative_of(activation, y);
      }
    }
  }
}

KERNEL void fill(global float* values, uint vectors, float value) {
  for EACH (i, 0, vectors) PUT(values + i * VEC) = (vec)(value);
}

KERNEL void columns_to_rows(global const float* columns, uint2 from, global float* rows, uint2 to,
                            uint panels, uint groups) {
  for EACH (panel, 0, panels) {
    for EACH (group, 1, groups) {
      global const float* in = columns + group * from.x + panel * PANEL * from.y;
      global float* out = rows + panel * to.x + group * PANEL * to.y;
      for (uint s = 0; s < PANEL; ++s) {
        for (uint k = 0; k < PANEL; ++k) out[s * to.y + k] = in[k * from.y + s];
      }
    }
  }
}

KERNEL void rows_to_columns(global const float* rows, uint2 from, global float* columns, uint2 to,
                            uint panels, uint groups) {
  for EACH (group, 0, groups) {
    for EACH (panel, 1, panels) {
      global const float* in = rows + panel * from.x + group * PANEL * from.y;
      global float* out = columns + group * to.x + panel * PANEL * to.y;
      for (uint k = 0; k < PANEL; ++k) {
        for (uint s = 0; s < PANEL; ++s) out[k * to.y + s] = in[s * from.y + k];
      }
    }
  }
}
