#include "evener/app/options/model_options.h"

#include <algorithm>
#include <utility>

#include "evener/app/options/table_options.h"
#include "evener/app/shell/output.h"
#include "evener/core/error.h"
#include "evener/retrieval/shortlist_head.h"
#include "evener/run/artifacts/model_path.h"
#include "evener/run/devices/devices.h"
#include "evener/run/options/head_choice.h"
#include "evener/run/options/options.h"
#include "evener/run/session/data.h"

namespace evener {

void add_model_options(CLI::App& command, ModelOptions& options) {
  command
      .add_option("RUN", options.model,
                  "run directory (its best model, else its last) or model file")
      ->required();
  command.add_option("DATA", options.data, "data file, or a folder with test.*")->required();
  add_table_option(command, find_train_option("format"), [&options](const std::string& text) {
    TrainOptions checked;
    find_train_option("format").set(checked, text);
    options.format = checked.format;
  });
  command
      .add_option("--devices", options.device,
                  "one device: cpu, cpu:T for T threads, opencl:P.D, opencl:P.D.S, cuda:N (see "
                  "evener devices), or auto, which is the processor (auto)")
      ->type_name("WORD");
  command
      .add_option("--memory-limit", options.memory_limit,
                  "use at most this much of an accelerator's own memory [MB]")
      ->type_name("N");
  command.add_flag("--no-cache", options.no_cache, "do not keep a binary copy of the data");
  command.add_flag("--json", options.json, "print JSON");
}

LoadedModel load_for(const ModelOptions& options, const Environment& environment) {
  LoadedModel loaded;
  const std::string path = model_path_of(options.model);
  loaded.model = load_model(path);
  check_finite(loaded.model, path);
  ModelDataOptions data;
  data.format = options.format;
  if (!options.no_cache) data.cache = environment.cache;
  loaded.data = open_data_for(loaded.model, options.data, data, print_warning);
  const std::string device =
      options.device == "auto" ? environment.automatic_device : options.device;
  const ShortlistHead* shortlist = loaded.model.shortlist.get();
  if (shortlist != nullptr && !names_processors(device)) {
    throw UsageError("--devices " + device + ": a shortlist head runs on the processor");
  }
  DeviceContext context;
  context.cache_directory = environment.cache.directory;
  loaded.device = open_one_device("--devices", device, options.memory_limit, context);
  loaded.replica = loaded.device->make_replica(loaded.model.network, Training{});
  loaded.replica->give(0, std::move(loaded.model.parameters));
  if (shortlist != nullptr) {
    loaded.network = std::move(loaded.replica);
    loaded.replica = make_shortlist_replica(*loaded.network, *shortlist,
                                            std::max(1, loaded.device->in_place_threads()));
  }
  return loaded;
}

}  // namespace evener
