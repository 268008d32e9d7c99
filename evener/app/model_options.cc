#include "evener/app/model_options.h"

#include "evener/app/commands.h"
#include "evener/run/data.h"
#include "evener/run/options.h"
#include "evener/run/trained.h"

namespace evener {

void add_model_options(CLI::App& command, ModelOptions& options) {
  command
      .add_option("RUN", options.model,
                  "run directory (its best model, else its last) or model file")
      ->required();
  command.add_option("DATA", options.data, "data file, or a folder with test.*")->required();
  command
      .add_option_function<std::string>(
          "--format",
          [&options](const std::string& text) {
            TrainOptions checked;
            find_train_option("format").set(checked, text);
            options.format = checked.format;
          },
          "format of the data: " + find_train_option("format").range + " (auto)")
      ->type_name("WORD");
  command
      .add_option("--devices", options.device,
                  "auto, cpu, cpu:T for T threads, or opencl:P.D (auto)")
      ->type_name("WORD");
  command.add_flag("--no-cache", options.no_cache, "do not keep a binary copy of the data");
  command.add_flag("--json", options.json, "print JSON");
}

LoadedModel load_for(const ModelOptions& options, const Environment& environment) {
  LoadedModel loaded;
  loaded.model = load_model(model_path_of(options.model));
  ModelDataOptions data;
  data.format = options.format;
  if (!options.no_cache) data.cache_directory = environment.cache_directory;
  loaded.data = open_data_for(loaded.model, options.data, data, print_warning);
  loaded.device =
      make_device(options.device == "auto" ? environment.automatic_device : options.device,
                  {.cache_directory = environment.cache_directory});
  loaded.replica = loaded.device->make_replica(loaded.model.network, Training{});
  loaded.replica->load(0, loaded.model.parameters.span());
  return loaded;
}

}  // namespace evener
