#include "tools/checkpoint/export_checkpoint.h"

#include <cstdio>
#include <deque>
#include <filesystem>
#include <map>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "proto/job_file.h"
#include "tools/checkpoint/array_files.h"
#include "tools/checkpoint/find_checkpoint.h"
#include "tools/checkpoint/saved_values.h"
#include "tools/report/human_units.h"
#include "tools/report/replace_file.h"

namespace weir::tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kHelp[] = R"(Examples:
  weir export runs/demo --to model                          one .npy for each array, and schema.json
  weir export runs/demo --to model --format safetensors     one file
  weir export runs/demo/checkpoints/step-500 --to rows --format tsv --tables C1,C2 --slots
In Python: numpy.load("model/C1.weights.npy")[numpy.searchsorted(numpy.load("model/C1.keys.npy"), key)]
A key that has no row has its initial value: a pure function of seed, table and key (proto/row_initializer.h).)";

template <typename T>
absl::string_view BytesOf(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

// Arrays, and the memory of those that are made here.
struct Arrays {
  std::vector<Array> list;
  std::deque<std::vector<float>> floats;
  std::deque<std::vector<Key>> keys;
  Json tables = Json::array();
  Json layers = Json::array();

  void AddFloats(std::string name, std::vector<uint64_t> shape, std::vector<float> values) {
    floats.push_back(std::move(values));
    list.push_back({std::move(name), ArrayType::kFloat32, std::move(shape), BytesOf(floats.back())});
  }
};

void AddTable(const std::string& name, SavedTable table, bool with_slots, Arrays* arrays) {
  const uint64_t rows = table.rows.keys.size();
  std::vector<float> weights, slots;
  weights.reserve(rows * table.weights);
  for (uint64_t row = 0; row < rows; ++row) {
    const float* const values = table.rows.values.data() + row * table.row_floats();
    weights.insert(weights.end(), values, values + table.weights);
    if (with_slots) slots.insert(slots.end(), values + table.weights, values + table.row_floats());
  }
  arrays->keys.push_back(std::move(table.rows.keys));
  arrays->list.push_back({name + ".keys", ArrayType::kUint64, {rows}, BytesOf(arrays->keys.back())});
  arrays->AddFloats(name + ".weights", {rows, table.weights}, std::move(weights));
  if (with_slots && table.slots > 0) arrays->AddFloats(name + ".slots", {rows, table.slots}, std::move(slots));
  arrays->tables.push_back({{"name", name}, {"rows", rows}, {"dim", table.weights}, {"slots", with_slots ? table.slots : 0}});
}

// Outputs of each layer, by name, as the job says them.
std::map<std::string, uint64_t> OutputsOf(const Job& job) {
  std::map<std::string, uint64_t> outputs;
  for (int i = 0; i < job.model().bottom_size(); ++i) outputs[absl::StrCat("bottom.", i)] = job.model().bottom(i);
  for (int i = 0; i < job.model().top_size(); ++i) outputs[absl::StrCat("top.", i)] = job.model().top(i);
  return outputs;
}

absl::Status AddLayers(const Checkpoint& checkpoint, Arrays* arrays) {
  WEIR_ASSIGN_OR_RETURN(const SavedValues values, ReadSavedValues(checkpoint, 0));
  for (const auto& [layer, outputs] : OutputsOf(checkpoint.manifest.job())) {
    const auto saved = values.find(absl::StrCat("model/", layer));
    std::vector<float> parameters = saved == values.end() ? std::vector<float>() : FloatsOf(saved->second);
    if (parameters.size() <= outputs || parameters.size() % outputs != 0) {
      return absl::DataLossError(absl::StrCat(checkpoint.folder, ": layer ", layer, " has ", parameters.size(),
                                              " parameters, which are no weights and bias of ", outputs, " outputs"));
    }
    const uint64_t inputs = parameters.size() / outputs - 1;
    arrays->layers.push_back({{"name", layer}, {"outputs", outputs}, {"inputs", inputs}});
    std::vector<float> bias(parameters.end() - static_cast<ptrdiff_t>(outputs), parameters.end());
    parameters.resize(outputs * inputs);
    arrays->AddFloats(layer + ".weights", {outputs, inputs}, std::move(parameters));
    arrays->AddFloats(layer + ".bias", {outputs}, std::move(bias));
  }
  return absl::OkStatus();
}

absl::Status WriteNpy(const std::string& folder, const Arrays& arrays) {
  for (const Array& array : arrays.list) {
    WEIR_RETURN_IF_ERROR(ReplaceFile(absl::StrCat(folder, "/", array.name, ".npy"), {NpyHead(array), array.bytes}));
  }
  return absl::OkStatus();
}

absl::Status WriteSafetensors(const std::string& folder, const Arrays& arrays) {
  const std::string head = SafetensorsHead(arrays.list);
  std::vector<absl::string_view> parts = {head};
  for (const Array& array : arrays.list) parts.push_back(array.bytes);
  return ReplaceFile(folder + "/model.safetensors", parts);
}

const float* FloatsOf(const Array& array) { return reinterpret_cast<const float*>(array.bytes.data()); }

// One file for each table or layer: the arrays that stand together, side by side.
absl::Status WriteTsv(const std::string& folder, const Arrays& arrays) {
  for (size_t first = 0; first < arrays.list.size();) {
    const std::string name = arrays.list[first].name.substr(0, arrays.list[first].name.rfind('.'));
    size_t end = first;
    while (end < arrays.list.size() && absl::StartsWith(arrays.list[end].name, name + ".") &&
           arrays.list[end].name.rfind('.') == name.size()) {
      ++end;
    }
    std::string text;
    for (uint64_t row = 0; row < arrays.list[first].shape[0]; ++row) {
      for (size_t i = first; i < end; ++i) {
        const Array& array = arrays.list[i];
        if (array.type == ArrayType::kUint64) {
          absl::StrAppend(&text, reinterpret_cast<const uint64_t*>(array.bytes.data())[row]);
          continue;
        }
        const uint64_t width = array.shape.size() > 1 ? array.shape[1] : 1;
        for (uint64_t d = 0; d < width; ++d) {
          // Nine digits name every float.
          absl::StrAppendFormat(&text, "%s%.9g", i == first && d == 0 ? "" : "\t", FloatsOf(array)[row * width + d]);
        }
      }
      text.push_back('\n');
    }
    WEIR_RETURN_IF_ERROR(ReplaceFile(absl::StrCat(folder, "/", name, ".tsv"), {text}));
    first = end;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Export(const ExportRequest& request) {
  WEIR_ASSIGN_OR_RETURN(const Checkpoint checkpoint, FindCheckpoint(request.checkpoint));
  WEIR_ASSIGN_OR_RETURN(auto tables, ReadSavedTables(checkpoint, request.tables));
  Arrays arrays;
  uint64_t rows = 0;
  for (auto& [name, table] : tables) {
    rows += table.rows.keys.size();
    AddTable(name, std::move(table), request.slots, &arrays);
  }
  WEIR_RETURN_IF_ERROR(AddLayers(checkpoint, &arrays));
  std::error_code error;
  std::filesystem::create_directories(request.to, error);
  if (error) return absl::ErrnoToStatus(error.value(), absl::StrCat("cannot make ", request.to));
  switch (request.format) {
    case ExportFormat::kNpy:
      WEIR_RETURN_IF_ERROR(WriteNpy(request.to, arrays));
      break;
    case ExportFormat::kSafetensors:
      WEIR_RETURN_IF_ERROR(WriteSafetensors(request.to, arrays));
      break;
    case ExportFormat::kTsv:
      WEIR_RETURN_IF_ERROR(WriteTsv(request.to, arrays));
      break;
  }
  const Json schema = {{"job", checkpoint.manifest.job().name()},
                       {"step", checkpoint.manifest.step()},
                       {"samples", checkpoint.manifest.samples()},
                       {"tables", arrays.tables},
                       {"layers", arrays.layers},
                       {"job_yaml", JobToYaml(checkpoint.manifest.job())}};
  WEIR_RETURN_IF_ERROR(ReplaceFile(request.to + "/schema.json", {schema.dump(2) + "\n"}));
  uint64_t bytes = 0;
  for (const Array& array : arrays.list) bytes += array.bytes.size();
  std::printf("%s before step %lld: %s rows of %zu tables, %zu layers, %s in %s\n", checkpoint.folder.c_str(),
              static_cast<long long>(checkpoint.manifest.step()), HumanCount(static_cast<double>(rows)).c_str(), arrays.tables.size(),
              arrays.layers.size(), HumanBytes(static_cast<double>(bytes)).c_str(), request.to.c_str());
  return absl::OkStatus();
}

CLI::App* AddExportCommand(CLI::App* app, ExportRequest* request) {
  CLI::App* const command = app->add_subcommand("export", "Writes a checkpoint's tables and layers as .npy, safetensors or TSV");
  command->add_option("folder", request->checkpoint, "A checkpoint, a folder of them, or a run")->required();
  command->add_option("--to", request->to, "Folder that gets the files")->required();
  static const std::map<std::string, ExportFormat> formats = {
      {"npy", ExportFormat::kNpy}, {"safetensors", ExportFormat::kSafetensors}, {"tsv", ExportFormat::kTsv}};
  command->add_option("--format", request->format, "npy, safetensors or tsv")
      ->transform(CLI::CheckedTransformer(formats).description(""))
      ->type_name("TEXT")
      ->default_str("npy");
  command->add_option("--tables", request->tables, "Only these, with commas between")->delimiter(',');
  command->add_flag("--slots", request->slots, "The optimizer's slots of each row, too");
  command->footer(kHelp);
  return command;
}

}  // namespace weir::tools
