// The losses, over a chunk of labels.
//
// `z` is the chunk's logits as columns. Units are divided into slices, each with its own statistics per
// sample at [slice * samples + sample]; `before` is the number of slices of earlier chunks.

// The logits of targets [0, count): label and sample from the image.
KERNEL void target_logits(global const float* z, uint2 at, uint first_label,
                          global const uint* batch, uint labels, uint samples, uint begin, uint end,
                          global float* out) {
  for EACH (i, 0, end - begin) {
    const uint target = begin + i;
    const uint s = batch[samples + target];
    out[target] =
        z[s / PANEL * at.x + (batch[labels + target] - first_label) * at.y + s % PANEL];
  }
}

KERNEL void subtract_targets(global float* z, uint2 at, uint first_label, global const uint* batch,
                             uint labels, uint samples, uint weights, uint begin, uint end) {
  for EACH (i, 0, end - begin) {
    const uint target = begin + i;
    const uint s = batch[samples + target];
    z[s / PANEL * at.x + (batch[labels + target] - first_label) * at.y + s % PANEL] -=
        as_float(batch[weights + target]);
  }
}

// Softmax, first pass: writes exp(logit - maximum of the slice), the maximum and the sum.
KERNEL void exponentiate(global float* z, uint2 at, uint units, uint slices, uint before,
                         uint groups, uint samples, global float* maxima, global float* sums) {
  for EACH (group, 0, groups) {
    for EACH (slice, 1, slices) {
      const uint begin = (uint)((ulong)units * slice / slices);
      const uint end = (uint)((ulong)units * (slice + 1) / slices);
      for (uint v = 0; v < NV; ++v) {
        global float* column = z + group * at.x + v * VEC;
        vec top = (vec)(-1e30f);
        for (uint unit = begin; unit < end; ++unit) top = larger(AT(column + unit * at.y), top);
        vec total = (vec)(0.0f);
        for (uint unit = begin; unit < end; ++unit) {
          const vec e = exp_of(AT(column + unit * at.y) - top);
          PUT(column + unit * at.y) = e;
          total += e;
        }
        const uint i = (before + slice) * samples + group * PANEL + v * VEC;
        PUT(maxima + i) = top;
        PUT(sums + i) = total;
      }
    }
  }
}

// Over all slices of all chunks: each sample's maximum and sum, share / sum, and in `maxima` what
// the kept exponentials of a slice must be multiplied by.
KERNEL void normalise(global float* maxima, global const float* sums, uint slices, uint count,
                      uint samples, global const uint* batch, uint shares, global float* top_out,
                      global float* sum_out, global float* factors) {
  for EACH (i, 0, count / VEC) {
    const uint s = i * VEC;
    vec top = (vec)(-1e30f);
    for (uint slice = 0; slice < slices; ++slice) top = larger(AT(maxima + slice * samples + s), top);
    vec total = (vec)(0.0f);
    for (uint slice = 0; slice < slices; ++slice) {
      total += AT(sums + slice * samples + s) * exp_of(AT(maxima + slice * samples + s) - top);
    }
    const vec factor = AT((global const float*)batch + shares + s) / total;
    for (uint slice = 0; slice < slices; ++slice) {
      const uint at = slice * samples + s;
      PUT(maxima + at) = exp_of(AT(maxima + at) - top) * factor;
    }
    PUT(top_out + s) = top;
    PUT(sum_out + s) = total;
    PUT(factors + s) = factor;
  }
}

// Converts kept exponentials to the gradient (without the targets).
KERNEL void rescale(global float* z, uint2 at, uint units, uint slices, uint before, uint groups,
                    uint samples, global const float* scales) {
  for EACH (group, 0, groups) {
    for EACH (slice, 1, slices) {
      const uint begin = (uint)((ulong)units * slice / slices);
      const uint end = (uint)((ulong)units * (slice + 1) / slices);
      for (uint v = 0; v < NV; ++v) {
        global float* column = z + group * at.x + v * VEC;
        const vec scale = AT(scales + (before + slice) * samples + group * PANEL + v * VEC);
        for (uint unit = begin; unit < end; ++unit) PUT(column + unit * at.y) *= scale;
      }
    }
  }
}

// The same for logits that were computed again.
KERNEL void softmax_again(global float* z, uint2 at, uint units, uint groups,
                          global const float* tops, global const float* factors) {
  for EACH (group, 0, groups) {
    for (uint v = 0; v < NV; ++v) {
      const vec top = AT(tops + group * PANEL + v * VEC);
      const vec factor = AT(factors + group * PANEL + v * VEC);
      for EACH (unit, 1, units) {
        global float* p = z + group * at.x + unit * at.y + v * VEC;
        PUT(p) = exp_of(AT(p) - top) * factor;
      }
    }
  }
}

// Element-wise losses of units [begin, end) with all targets 0: share * d loss / d logit in place of
// the logits; returns the loss.
vec squared_loss(global float* column, uint step, uint begin, uint end, vec share) {
  vec total = (vec)(0.0f);
  for (uint unit = begin; unit < end; ++unit) {
    const vec logit = AT(column + unit * step);
    total = fma(0.5f * logit, logit, total);
    PUT(column + unit * step) = share * logit;
  }
  return total;
}

// log(1 + e) of many e is the logarithm of a product, of at most 64 factors so that it stays
// finite; a small e goes by its series, since 1 + e would round it away.
vec logistic_loss(global float* column, uint step, uint begin, uint end, vec share) {
  vec total = (vec)(0.0f);
  for (uint unit = begin; unit < end;) {
    vec product = (vec)(1.0f);
    const uint stop = min(unit + 64, end);
    for (; unit < stop; ++unit) {
      const vec logit = AT(column + unit * step);
      const vec e = exp_of(-fabs(logit));
      const ivec small = e < (vec)(0.00390625f);
      const vec series = e * fma(e, fma(e, (vec)(0.33333333f), (vec)(-0.5f)), (vec)(1.0f));
      total += larger(logit, (vec)(0.0f)) + (small ? series : (vec)(0.0f));
      product *= small ? (vec)(1.0f) : 1.0f + e;
      PUT(column + unit * step) = share * sigmoid(logit, e);
    }
    total += log(product);
  }
  return total;
}

KERNEL void pointwise(global float* z, uint2 at, uint units, uint slices, uint before, uint groups,
                      uint samples, enum Loss loss, global const uint* batch, uint shares,
                      global float* sums) {
  for EACH (group, 0, groups) {
    for EACH (slice, 1, slices) {
      const uint begin = (uint)((ulong)units * slice / slices);
      const uint end = (uint)((ulong)units * (slice + 1) / slices);
      for (uint v = 0; v < NV; ++v) {
        global float* column = z + group * at.x + v * VEC;
        const uint s = group * PANEL + v * VEC;
        const vec share = AT((global const float*)batch + shares + s);
        const vec total = loss == binary ? logistic_loss(column, at.y, begin, end, share)
                                         : squared_loss(column, at.y, begin, end, share);
        PUT(sums + (before + slice) * samples + s) = total;
      }
    }
  }
}

// Each sample's sum over all slices.
KERNEL void sum_slices(global const float* sums, uint slices, uint count, uint samples,
                       global float* out) {
  for EACH (i, 0, count / VEC) {
    vec total = (vec)(0.0f);
    for (uint slice = 0; slice < slices; ++slice) total += AT(sums + slice * samples + i * VEC);
    PUT(out + i * VEC) = total;
  }
}

// The `keep` largest logits of each sample so far, per slice: kept in descending order, the earlier
// label first among equals. `tops` and `labels` at [(slice * samples + sample) * keep].
KERNEL void offer(global const float* z, uint2 at, uint first_label, uint units, uint slices,
                  uint groups, uint samples, uint keep, global float* tops, global uint* labels) {
  for EACH (group, 0, groups) {
    for EACH (slice, 1, slices) {
      const uint begin = (uint)((ulong)units * slice / slices);
      const uint end = (uint)((ulong)units * (slice + 1) / slices);
      for (uint v = 0; v < NV; ++v) {
        const uint place = (slice * samples + group * PANEL + v * VEC) * keep;
        float least[VEC];
        for (uint i = 0; i < VEC; ++i) least[i] = tops[place + i * keep + keep - 1];
        for (uint unit = begin; unit < end; ++unit) {
          const vec logits = AT(z + group * at.x + unit * at.y + v * VEC);
          if (!ANY(logits > FROM_LANES(least))) continue;
          for (uint i = 0; i < VEC; ++i) {
            const float logit = lane(logits, i);
            if (!(logit > least[i])) continue;
            global float* top = tops + place + i * keep;
            global uint* label = labels + place + i * keep;
            uint j = keep - 1;
            for (; j > 0 && top[j - 1] < logit; --j) {
              top[j] = top[j - 1];
              label[j] = label[j - 1];
            }
            top[j] = logit;
            label[j] = first_label + unit;
            least[i] = top[keep - 1];
          }
        }
      }
    }
  }
}
