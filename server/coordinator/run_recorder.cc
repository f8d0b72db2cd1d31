#include "server/coordinator/run_recorder.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"

namespace weir::server {
namespace {

using Json = nlohmann::ordered_json;

Json ToJson(const WireBytes& bytes) {
  return {{"lookup_request", bytes.lookup_request()},
          {"lookup_reply", bytes.lookup_reply()},
          {"push", bytes.push()},
          {"dense", bytes.dense()},
          {"control", bytes.control()}};
}

Json ToJson(const MetricsLine& line) {
  Json codecs = Json::array();
  for (const CodecLine& codec : line.codecs) {
    codecs.push_back({{"edge", codec.edge},
                      {"name", codec.name},
                      {"density", codec.density},
                      {"density_asked", codec.density_asked},
                      {"threshold", codec.threshold},
                      {"residual_ratio", codec.residual_ratio}});
  }
  Json json = {{"seconds", line.seconds},
               {"samples", line.samples},
               {"steps", line.steps},
               {"logloss", line.logloss},
               {"auc", line.auc},
               {"samples_per_second", line.samples_per_second},
               {"wire_bytes", ToJson(line.wire_bytes)},
               {"codecs", std::move(codecs)},
               {"wait_seconds", line.wait_seconds}};
  for (const GuardDecision& decision : line.decisions) {
    json["decisions"].push_back({{"worker", decision.worker_rank()},
                                 {"step", decision.step()},
                                 {"edge", decision.edge()},
                                 {"cost", decision.cost()},
                                 {"sparsity_before", decision.sparsity_before()},
                                 {"sparsity_after", decision.sparsity_after()}});
  }
  return json;
}

Json ToJson(const StepSeconds& seconds) {
  return {{"read", seconds.read()},
          {"lookup_wait", seconds.lookup_wait()},
          {"forward", seconds.forward()},
          {"backward", seconds.backward()},
          {"push_wait", seconds.push_wait()},
          {"guard", seconds.guard()},
          {"push_encode", seconds.push_encode()},
          {"reduce", seconds.reduce()},
          {"checkpoint", seconds.checkpoint()},
          {"update", seconds.update()}};
}

Json ToJson(const StepWaits& waits) { return {{"lookup", waits.lookup()}, {"push", waits.push()}, {"reduce", waits.reduce()}}; }

Json AccountOf(const std::vector<CodecReport>& codecs) {
  Json account = Json::array();
  for (const CodecReport& codec : codecs) {
    account.push_back({{"edge", codec.edge()},
                       {"name", codec.name()},
                       {"keys", codec.key_bytes()},
                       {"masks", codec.mask_bytes()},
                       {"values", codec.value_bytes()},
                       {"headers", codec.header_bytes()},
                       {"entries", codec.entries()},
                       {"kept", codec.kept()},
                       {"density_asked", codec.density_asked()},
                       {"codec_seconds", codec.seconds()}});
  }
  return account;
}

std::string Hex(uint64_t value) { return absl::StrCat(absl::Hex(value, absl::kZeroPad16)); }

Json ToJson(const JobResult& result) {
  const auto quality = [&](double BinaryQuality::*field) { return result.quality.has_value() ? Json((*result.quality).*field) : Json(); };
  return {{"job", result.job},
          {"job_hash", Hex(result.job_hash)},
          {"logloss", quality(&BinaryQuality::logloss)},
          {"auc", quality(&BinaryQuality::auc)},
          {"ne", quality(&BinaryQuality::ne)},
          {"calibration", quality(&BinaryQuality::calibration)},
          {"ctr", result.quality.has_value() ? Json(result.mean_label) : Json()},
          {"evaluation_samples", result.quality.has_value() ? result.quality->samples : 0},
          {"samples", result.samples},
          {"steps", result.steps},
          {"seconds", result.seconds},
          {"samples_per_second", result.seconds > 0 ? static_cast<double>(result.samples) / result.seconds : 0.0},
          {"wire_bytes", ToJson(result.wire_bytes)},
          {"wire_bytes_evaluation", ToJson(result.wire_bytes_evaluation)},
          {"fingerprint", {{"rows", Hex(result.rows_fingerprint)}, {"dense", Hex(result.dense_fingerprint)}}},
          {"rows_held", result.rows_held},
          {"bad_rows", result.bad_rows},
          {"wait_seconds", result.wait_seconds},
          {"workers", result.workers},
          {"servers", result.servers},
          {"step_seconds", ToJson(result.step_seconds)},
          {"step_waits", ToJson(result.step_waits)},
          {"account", AccountOf(result.codecs)}};
}

// Names come from the wire and need not be UTF-8, which the library would refuse with an exception.
std::string Dump(const Json& json, int indent) { return json.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n"; }

std::vector<std::pair<std::string, double>> Curves(const MetricsLine& line) {
  std::vector<std::pair<std::string, double>> curves = {
      {"train/logloss", line.logloss},
      {"train/auc", line.auc},
      {"train/samples_per_second", line.samples_per_second},
      {"wire_bytes/lookup_request", static_cast<double>(line.wire_bytes.lookup_request())},
      {"wire_bytes/lookup_reply", static_cast<double>(line.wire_bytes.lookup_reply())},
      {"wire_bytes/push", static_cast<double>(line.wire_bytes.push())},
      {"wire_bytes/dense", static_cast<double>(line.wire_bytes.dense())},
      {"wire_bytes/control", static_cast<double>(line.wire_bytes.control())},
  };
  for (const CodecLine& codec : line.codecs) {
    curves.emplace_back(absl::StrCat("density/", codec.edge, "/", codec.name), codec.density);
    curves.emplace_back(absl::StrCat("threshold/", codec.edge, "/", codec.name), codec.threshold);
  }
  for (const GuardDecision& decision : line.decisions) {
    if (decision.worker_rank() != 0) continue;
    curves.emplace_back(absl::StrCat("guard/cost/", decision.edge()), decision.cost());
    curves.emplace_back(absl::StrCat("guard/sparsity/", decision.edge()), decision.sparsity_after());
  }
  return curves;
}

// Opens metrics.jsonl behind its last line about at most so many steps; later lines, and one that a dying process left half written, are
// cut off. What stays is not written again: it cannot get lost.
absl::StatusOr<std::unique_ptr<OutputFile>> ContinueMetrics(const std::string& path, int64_t steps) {
  std::ifstream file(path);
  if (!file) return OutputFile::Create(path);
  uint64_t kept_bytes = 0;
  std::string line;
  while (std::getline(file, line) && !file.eof()) {
    const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object() || json.value("steps", steps + 1) > steps) break;
    kept_bytes += line.size() + 1;
  }
  std::error_code error;
  std::filesystem::resize_file(path, kept_bytes, error);
  if (error) return absl::ErrnoToStatus(error.value(), absl::StrCat("cannot cut ", path));
  return OutputFile::Continue(path);
}

}  // namespace

absl::StatusOr<std::unique_ptr<RunRecorder>> RunRecorder::Create(const std::string& dir, absl::Time now,
                                                                 std::optional<int64_t> steps_before) {
  std::error_code error;
  std::filesystem::create_directories(dir, error);
  if (error) return absl::ErrnoToStatus(error.value(), absl::StrCat("cannot make run folder ", dir));
  std::filesystem::remove(dir + "/result.json", error);
  if (error) return absl::ErrnoToStatus(error.value(), absl::StrCat("cannot remove result.json of an earlier run from ", dir));
  const std::string metrics_path = dir + "/metrics.jsonl";
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<OutputFile> metrics,
                        steps_before.has_value() ? ContinueMetrics(metrics_path, *steps_before) : OutputFile::Create(metrics_path));
  const auto earlier = steps_before.has_value() ? TensorBoardWriter::Earlier::kKeep : TensorBoardWriter::Earlier::kRemove;
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<TensorBoardWriter> tensorboard, TensorBoardWriter::Create(dir + "/tensorboard", now, earlier));
  return std::unique_ptr<RunRecorder>(new RunRecorder(dir, std::move(metrics), std::move(tensorboard)));
}

absl::Status RunRecorder::Append(const MetricsLine& line, absl::Time now) {
  WEIR_RETURN_IF_ERROR(metrics_->Write(Dump(ToJson(line), -1)));
  return tensorboard_->Write(line.steps, now, Curves(line));
}

absl::Status RunRecorder::Finish(const JobResult& result, absl::Time now) {
  if (result.quality.has_value()) {
    WEIR_RETURN_IF_ERROR(tensorboard_->Write(result.steps, now,
                                             {{"eval/logloss", result.quality->logloss},
                                              {"eval/auc", result.quality->auc},
                                              {"eval/ne", result.quality->ne},
                                              {"eval/calibration", result.quality->calibration}}));
  }
  return WriteFileAtomically(dir_ + "/result.json", Dump(ToJson(result), 2));
}

}  // namespace weir::server
