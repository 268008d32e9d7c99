#include "evener/nn/training.h"

#include "evener/core/error.h"

namespace evener {

std::string to_string(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::sgd:
      return "sgd";
    case Optimizer::momentum:
      return "momentum";
    case Optimizer::adam:
      return "adam";
    case Optimizer::adagrad:
      return "adagrad";
    case Optimizer::accumulate:
      return "accumulate";
  }
  return "?";
}

Optimizer parse_optimizer(const std::string& name) {
  for (const auto optimizer :
       {Optimizer::sgd, Optimizer::momentum, Optimizer::adam, Optimizer::adagrad}) {
    if (name == to_string(optimizer)) return optimizer;
  }
  throw UsageError("unknown optimizer '" + name + "'; valid: sgd, momentum, adam, adagrad");
}

int state_vectors(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::sgd:
      return 0;
    case Optimizer::momentum:
    case Optimizer::adagrad:
    case Optimizer::accumulate:
      return 1;
    case Optimizer::adam:
      return 2;
  }
  return 0;
}

int second_moments(Optimizer optimizer) {
  const bool has = optimizer == Optimizer::adam || optimizer == Optimizer::adagrad;
  return has ? state_vectors(optimizer) : 0;
}

}  // namespace evener
