// `weir export`: the tables and dense layers of a checkpoint, as files that other programs read.
#ifndef WEIR_TOOLS_CHECKPOINT_EXPORT_CHECKPOINT_H_
#define WEIR_TOOLS_CHECKPOINT_EXPORT_CHECKPOINT_H_

#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "absl/status/status.h"

namespace weir::tools {

enum class ExportFormat { kNpy, kSafetensors, kTsv };

struct ExportRequest {
  std::string checkpoint;  // as for FindCheckpoint
  std::string to;          // folder; made where it is missing
  ExportFormat format = ExportFormat::kNpy;
  std::vector<std::string> tables;  // empty: all
  bool slots = false;               // also the optimizer's, of each row
};

// Writes into `to`, and says what on standard output:
//
//   schema.json           job, step, model, and each table and layer with its shape
//   npy:         <table>.keys.npy (u64), <table>.weights.npy (rows x dim), <table>.slots.npy; <layer>.weights.npy (outputs x inputs),
//                <layer>.bias.npy
//   safetensors: model.safetensors, with the same names without .npy
//   tsv:         <table>.tsv: key, weights, slots; <layer>.tsv: a line for each output: weights, bias. Numbers read back as the same bits.
//
// Rows are in the order of their keys. Errors name file and record, or the path that cannot be written.
absl::Status Export(const ExportRequest& request);

// Adds the subcommand; parsing fills *request, which outlives it.
CLI::App* AddExportCommand(CLI::App* app, ExportRequest* request);

}  // namespace weir::tools

#endif  // WEIR_TOOLS_CHECKPOINT_EXPORT_CHECKPOINT_H_
