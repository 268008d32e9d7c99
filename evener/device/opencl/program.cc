#include "evener/device/opencl/program.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <xxhash.h>

#include "evener/core/file.h"
#include "evener/device/opencl/faults.h"
#include "evener/device/opencl/source.h"

namespace evener::opencl {

namespace {

// Items per compute unit of a processor: enough to balance uneven work.
constexpr std::size_t kItemsPerCore = 4;
constexpr std::size_t kMostOuter = 1 << 14;

std::string options_of(const Tiling& t) {
  return fmt::format(
      "-cl-std=CL1.2 -cl-mad-enable -cl-no-signed-zeros -DVEC={} -DNV={} -DTILE={} -DBLOCK={} "
      "-DSTRIP={} -DWG={}",
      t.vec, t.nv, t.tile, t.block, t.strip, t.wg);
}

/// Binaries depend on the source, the options, the device and its driver, and on nothing else.
std::string cache_file(const Context& context, const std::string& source,
                       const std::string& options, const std::string& directory) {
  const std::string key = fmt::format("{}\n{}\n{}", source, options, identity_of(context));
  return fmt::format("{}/kernels-{:016x}.clbin", directory, XXH3_64bits(key.data(), key.size()));
}

std::string build_log(const cl::Program& program, const cl::Device& device) {
  try {
    return program.getBuildInfo<CL_PROGRAM_BUILD_LOG>(device);
  } catch (const cl::Error&) {
    return "";
  }
}

// A cached binary begins with its checksum, because PoCL crashes on a damaged binary.
constexpr std::size_t kChecksum = sizeof(XXH64_hash_t);

/// nullopt if the file is missing or damaged, or if the driver rejects it.
std::optional<cl::Program> from_cache(const Context& context, const std::string& file) {
  if (!std::filesystem::exists(file)) return std::nullopt;
  try {
    const MappedFile kept(file);
    const auto bytes = kept.bytes();
    if (bytes.size() <= kChecksum) return std::nullopt;
    XXH64_hash_t checksum = 0;
    std::memcpy(&checksum, bytes.data(), kChecksum);
    const auto binary = bytes.subspan(kChecksum);
    if (XXH3_64bits(binary.data(), binary.size()) != checksum) return std::nullopt;
    const auto* begin = reinterpret_cast<const unsigned char*>(binary.data());
    const cl::Program::Binaries binaries{{begin, begin + binary.size()}};
    cl::Program program(context.context, {context.device}, binaries);
    program.build({context.device});
    return program;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

/// Ignores failures: without a cache file the next start only takes longer.
void to_cache(const cl::Program& program, const Context& context, const std::string& file) {
  try {
    const auto devices = program.getInfo<CL_PROGRAM_DEVICES>();
    const auto binaries = program.getInfo<CL_PROGRAM_BINARIES>();
    for (std::size_t i = 0; i < devices.size(); ++i) {
      if (devices[i]() != context.device() || binaries[i].empty()) continue;
      std::filesystem::create_directories(std::filesystem::path(file).parent_path());
      const XXH64_hash_t checksum = XXH3_64bits(binaries[i].data(), binaries[i].size());
      AtomicFile out(file);
      out.write(&checksum, kChecksum);
      out.write(binaries[i].data(), binaries[i].size());
      out.commit();
    }
  } catch (const std::exception&) {
  }
}

}  // namespace

Tiling tiling_for(const Context& context) {
  if (context.kind == Kind::accelerator) {
    return {.vec = 4, .nv = 2, .tile = 8, .block = 1, .strip = 1, .wg = 64};
  }
  // As many accumulators as the processor's vector registers hold beside the operands.
  const auto width = context.device.getInfo<CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT>();
  if (width >= 16) return {.vec = 16, .nv = 2, .tile = 8, .block = 8, .strip = 8, .wg = 1};
  return {.vec = 8, .nv = 2, .tile = 4, .block = 16, .strip = 8, .wg = 1};
}

cl::Program build_program(const Context& context, const std::string& source,
                          const std::string& options, const std::string& cache_directory) {
  const std::string file =
      cache_directory.empty() ? "" : cache_file(context, source, options, cache_directory);
  if (!file.empty()) {
    if (auto kept = from_cache(context, file)) return *kept;
  }
  cl::Program program;
  try {
    program = cl::Program(context.context, source);
    program.build({context.device}, options.c_str());
  } catch (const cl::Error& error) {
    const std::string log = build_log(program, context.device);
    if (error.err() != CL_BUILD_PROGRAM_FAILURE || log.empty()) {
      fail(context.name, "building the kernels", error);
    }
    throw DeviceError(
        fmt::format("{}: the kernels do not build; the compiler says:\n{}", context.name, log));
  }
  if (!file.empty()) to_cache(program, context, file);
  return program;
}

namespace {

/// Replicas of one device share its built programs. Never released: see shared() in context.cc.
cl::Program shared_build(const Context& context, const std::string& source,
                         const std::string& options, const std::string& cache_directory) {
  static std::mutex mutex;
  static auto& built = *new std::map<std::pair<cl_device_id, std::string>, cl::Program>();
  const std::lock_guard lock(mutex);
  const std::pair key(context.device(), options);
  const auto at = built.find(key);
  if (at != built.end()) return at->second;
  return built.emplace(key, build_program(context, source, options, cache_directory)).first->second;
}

std::string update_options(const Tiling& tiling, Optimizer optimizer) {
  return fmt::format("{} -DOPTIMIZER={}", options_of(tiling), static_cast<int>(optimizer));
}

}  // namespace

std::string mark_of(const Context& context, Optimizer optimizer,
                    const std::string& cache_directory) {
  const std::string both = std::string(kForwardSource) + kUpdateSource;
  const std::string options = update_options(tiling_for(context), optimizer);
  return cache_file(context, both, options, cache_directory) + ".compiled";
}

Program::Program(std::shared_ptr<Context> context, Optimizer optimizer,
                 const std::string& cache_directory)
    : context_(std::move(context)), tiling_(tiling_for(*context_)) {
  forward_ = shared_build(*context_, kForwardSource, options_of(tiling_), cache_directory);
  updates_ =
      shared_build(*context_, kUpdateSource, update_options(tiling_, optimizer), cache_directory);
}

cl::Kernel& Program::find(const char* name) {
  const auto at = kernels_.find(name);
  if (at != kernels_.end()) return at->second;
  const bool updates = std::string_view(name).ends_with("update");
  return kernels_.emplace(name, cl::Kernel(updates ? updates_ : forward_, name)).first->second;
}

void Program::launch(const cl::Kernel& kernel, std::size_t inner, std::size_t outer) {
  before_call("kernel");
  if (inner == 0 || outer == 0) return;
  if (context_->kind == Kind::processor) {
    // One item per core and a few more; with one core there is nothing to balance.
    const std::size_t items =
        context_->compute_units == 1 ? 1 : kItemsPerCore * context_->compute_units;
    // The inner loop reuses the cache, so it is split only if there is no outer loop.
    const std::size_t split = outer == 1 ? inner : outer;
    const std::size_t count = std::min(items, split);
    context_->queue.enqueueNDRangeKernel(kernel, cl::NullRange,
                                         outer == 1 ? cl::NDRange(count, 1) : cl::NDRange(1, count),
                                         cl::NDRange(1, 1));
    return;
  }
  const std::size_t groups = (inner + tiling_.wg - 1) / tiling_.wg;
  context_->queue.enqueueNDRangeKernel(
      kernel, cl::NullRange,
      cl::NDRange(std::min(groups, kMostOuter) * tiling_.wg, std::min(outer, kMostOuter)),
      cl::NDRange(tiling_.wg, 1));
}

}  // namespace evener::opencl
