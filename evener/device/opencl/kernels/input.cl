// The first layer. `batch` is the image that device/batch_image.h describes: 32-bit words, sections
// by offset.

// rows[s] = bias + sum_i value_i * weight[feature_i], `width` floats per sample; samples beyond
// `count` are zero.
KERNEL void gather(global const float* weight, ulong weights, ulong bias, uint width,
                   global const uint* batch, uint offsets, uint features, uint values, uint count,
                   uint samples, global float* rows) {
  const uint strips = (width + STRIP * VEC - 1) / (STRIP * VEC);
  for EACH (s, 1, samples) {
    const uint begin = s < count ? batch[offsets + s] : 0;
    const uint end = s < count ? batch[offsets + s + 1] : 0;
    for EACH (strip, 0, strips) {
      const uint at = strip * STRIP * VEC;
      const uint vectors = min((uint)STRIP, (width - at) / VEC);
      global float* out = rows + s * width + at;
      if (vectors == STRIP) {
        vec sum[STRIP];
#pragma unroll
        for (uint q = 0; q < STRIP; ++q) {
          sum[q] = s < count ? AT(weight + bias + at + q * VEC) : (vec)(0.0f);
        }
        for (uint i = begin; i < end; ++i) {
          global const float* row = weight + weights + (ulong)batch[features + i] * width + at;
          const vec value = (vec)(as_float(batch[values + i]));
#pragma unroll
          for (uint q = 0; q < STRIP; ++q) sum[q] = fma(value, AT(row + q * VEC), sum[q]);
        }
#pragma unroll
        for (uint q = 0; q < STRIP; ++q) PUT(out + q * VEC) = sum[q];
        continue;
      }
      for (uint q = 0; q < vectors; ++q) {
        vec sum = s < count ? AT(weight + bias + at + q * VEC) : (vec)(0.0f);
        for (uint i = begin; i < end; ++i) {
          const ulong row = weights + (ulong)batch[features + i] * width + at;
          sum = fma((vec)(as_float(batch[values + i])), AT(weight + row + q * VEC), sum);
        }
        PUT(out + q * VEC) = sum;
      }
    }
  }
}

// The batch as a dense matrix: columns are zero before.
KERNEL void scatter(global const uint* batch, uint offsets, uint features, uint values, uint count,
                    global float* columns, uint2 to) {
  for EACH (s, 0, count) {
    for (uint i = batch[offsets + s]; i < batch[offsets + s + 1]; ++i) {
      columns[s / PANEL * to.x + batch[features + i] * to.y + s % PANEL] =
          as_float(batch[values + i]);
    }
  }
}

// Packed rows of a vector, for one copy to or from the host: packed[i] = vector[rows[i]].
KERNEL void pack_rows(global const float* vector, global const uint* rows, uint count, uint width,
                      global float* packed) {
  for EACH (i, 1, count) {
    for EACH (v, 0, width / VEC) {
      PUT(packed + (ulong)i * width + v * VEC) = AT(vector + (ulong)rows[i] * width + v * VEC);
    }
  }
}

KERNEL void unpack_rows(global float* vector, global const uint* rows, uint count, uint width,
                        global const float* packed) {
  for EACH (i, 1, count) {
    for EACH (v, 0, width / VEC) {
      PUT(vector + (ulong)rows[i] * width + v * VEC) = AT(packed + (ulong)i * width + v * VEC);
    }
  }
}

KERNEL void clear_rows(global float* vector, global const uint* rows, uint count, uint width) {
  for EACH (i, 1, count) {
    for EACH (v, 0, width / VEC) PUT(vector + (ulong)rows[i] * width + v * VEC) = (vec)(0.0f);
  }
}

// Merges of replicas: into = keep * into + add * from, over rows and over the dense rest.
KERNEL void merge_rows(global float* into, global const float* from, global const uint* rows,
                       uint count, uint width, float keep, float add) {
  for EACH (i, 1, count) {
    for EACH (v, 0, width / VEC) {
      const ulong at = (ulong)rows[i] * width + v * VEC;
      PUT(into + at) = keep == 0 ? add * AT(from + at) : keep * AT(into + at) + add * AT(from + at);
    }
  }
}

KERNEL void merge_range(global float* into, global const float* from, ulong begin, uint vectors,
                        float keep, float add) {
  for EACH (i, 0, vectors) {
    const ulong at = begin + (ulong)i * VEC;
    PUT(into + at) = keep == 0 ? add * AT(from + at) : keep * AT(into + at) + add * AT(from + at);
  }
}
