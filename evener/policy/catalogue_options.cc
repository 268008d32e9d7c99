#include "evener/policy/catalogue_options.h"

namespace evener {

namespace {

using Options = std::vector<StrategyOption>;

}  // namespace

Options hogwild_options() {
  return {number_option("cpu-batch", "1", 1, kMostRows, "rows of one step of a CPU thread")};
}

Options hogbatch_options() {
  Options options = hogwild_options();
  options.push_back(number_option("accelerator-batch", "1024", 1, kMostRows,
                                  "rows of one step of an accelerator"));
  options.push_back(word_option("rate-scaling", {"off", "sqrt", "linear"},
                                "the learning rate grows with the batch: by the root of its rows "
                                "over cpu-batch, or in proportion (ours)"));
  options.push_back(
      word_option("writeback", {"delta", "overwrite"},
                  "how an accelerator's step reaches the shared model: add what it "
                  "changed, or replace the model and lose what others did meanwhile"));
  return options;
}

Options adaptive_hogbatch_options() {
  Options options = hogbatch_options();
  const Options more{
      number_option("growth", "2", 1.01, 100, "alpha: factor of a batch size's move"),
      number_option("survival", "1", 0.001, 1, "beta: share of Hogwild writes that survive"),
      number_option("cpu-min", "1", 1, kMostRows, "least rows of a CPU thread's step"),
      number_option("cpu-max", "64", 1, kMostRows, "most rows of a CPU thread's step"),
      number_option("accelerator-min", "64", 1, kMostRows, "least rows of an accelerator's step"),
      number_option("accelerator-max", "8192", 1, kMostRows, "most rows of an accelerator's step"),
      number_option("min-utilization", "0.5", 0, 1,
                    "an accelerator's batches stay so large that it reaches this share of the best "
                    "throughput seen (ours)")};
  options.insert(options.end(), more.begin(), more.end());
  return options;
}

Options elastic_options() {
  return {number_option("period", "10", 1, kMostRows, "p: local steps between two averagings"),
          number_option("pull", "auto", 0, 1,
                        "a: how far a replica goes to the center; auto: 0.9 / devices")};
}

Options sma_options() {
  return {number_option("pull", "auto", 0, 1,
                        "a: how far a replica goes to the center; auto: 1 / devices"),
          number_option("center-momentum", "0.9", 0, 0.999, "m: of the center")};
}

Options adaptive_sgd_options() {
  return {
      number_option("b-max", "auto", 1, kMostRows,
                    "largest batch [rows]; auto: the run's batch size"),
      number_option("b-min", "auto", 1, kMostRows, "smallest batch [rows]; auto: b-max/8"),
      word_option("b-start", {"max", "min"}, "first batch size"),
      number_option("mega-batch", "100", 1, kMostRows, "between two merges [batches of b-max]"),
      word_option("scaler", {"paper", "released", "throughput", "off"},
                  "batch sizes move by beta times the updates ahead; by beta; to the measured "
                  "rates (ours); not at all"),
      number_option("beta", "auto", 0, kMostRows,
                    "rows for each update ahead of the mean; auto: b-min/2"),
      number_option("smoothing", "0.5", 0.01, 1, "of scaler throughput: weight of the newest rate"),
      number_option("dead-band", "0.05", 0, 1, "of scaler throughput: smaller moves are not made"),
      word_option("rate-scaling", {"on", "off"}, "the learning rate moves with the batch size"),
      word_option("scheduling", {"dynamic", "static"},
                  "batches go to whoever is free, or each device gets an equal share"),
      word_option("merge", {"normalized", "updates", "equal"},
                  "weights of replicas: by batch size where updates are equal, else by updates; "
                  "always by updates; all alike"),
      word_option("perturbation", {"on", "off"},
                  "favour the replica with most updates while weights are small"),
      number_option("perturbation-threshold", "0.1", 0, kMostRows,
                    "norm of w / number of parameters, above which nothing is perturbed"),
      number_option("perturbation-from", "0", 0, kMostRows, "first epoch with perturbation"),
      number_option("delta", "0.1", 0, 1, "size of the perturbation"),
      number_option("gamma", "0.9", 0, 0.999, "momentum of merges"),
      word_option("demotion", {"off", "on"},
                  "try the fastest 1, 2, ... devices for a mega-batch each and keep the best set "
                  "(ours)"),
      number_option("worth", "1.4", 1, 10,
                    "of demotion: how many times the best device's rows a second several must "
                    "train to stay"),
      number_option("warmup", "0", 0, kMostRows, "epochs at b-min with a rising learning rate"),
      number_option("rate-decay", "0", 0, kMostRows,
                    "lr / (1 + rate-decay * epochs after warm-up)"),
  };
}

}  // namespace evener
