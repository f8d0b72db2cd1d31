#include "tools/report/run_folder.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/input_file.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"

namespace weir::tools {
namespace {

using Json = nlohmann::json;

// job.yaml, result.json and teacher.json are written by hand-sized code; a larger one is not what it says.
constexpr uint64_t kSmallFileBytesMax = kJobFileBytesMax;

absl::StatusOr<std::string> ReadSmallFile(const std::string& path) {
  std::error_code error;
  const uint64_t size = std::filesystem::file_size(path, error);
  if (error) return absl::NotFoundError(absl::StrCat(path, ": ", error.message(), "; a run folder is made by `weir launch`"));
  if (size > kSmallFileBytesMax) return absl::DataLossError(absl::StrCat(path, ": ", size, " bytes, more than ", kSmallFileBytesMax));
  std::ifstream file(path, std::ios::binary);
  std::string text(size, '\0');
  file.read(text.data(), static_cast<std::streamsize>(size));
  if (!file) return absl::DataLossError(absl::StrCat(path, ": cannot be read"));
  return text;
}

// One JSON text of a file, and where it begins.
struct Source {
  absl::string_view path;
  uint64_t line;
};

absl::StatusOr<Json> ParseObject(absl::string_view text, Source source) {
  Json json;
  try {
    json = Json::parse(text.begin(), text.end());
  } catch (const Json::parse_error& error) {
    const size_t position = std::min(error.byte, text.size());
    const uint64_t line = source.line + std::count(text.begin(), text.begin() + position, '\n');
    return absl::DataLossError(absl::StrCat(source.path, ":", line, ": no JSON: ", error.what()));
  } catch (const Json::exception& error) {
    return absl::DataLossError(absl::StrCat(source.path, ":", source.line, ": no JSON: ", error.what()));
  }
  if (!json.is_object()) return absl::DataLossError(absl::StrCat(source.path, ":", source.line, ": no JSON object"));
  return json;
}

// Typed access to the fields of an object. Remembers the first error, so that reading stays a list of fields; check status() at the end.
class Fields {
 public:
  Fields(const Json& object, Source source, std::string prefix = "") : object_(object), source_(source), prefix_(std::move(prefix)) {}

  double Number(const char* name) {
    const Json* value = Find(name);
    if (value == nullptr) return 0;
    if (!value->is_number()) return Refuse(name, "is no number"), 0;
    return value->get<double>();
  }

  // Writers give null for what is not finite or not known.
  std::optional<double> NumberOrNull(const char* name) {
    const auto found = object_.find(name);
    if (found != object_.end() && found->is_null()) return std::nullopt;
    return Number(name);
  }

  double NumberOrNan(const char* name) { return NumberOrNull(name).value_or(std::numeric_limits<double>::quiet_NaN()); }

  uint64_t Count(const char* name) {
    const Json* value = Find(name);
    if (value == nullptr) return 0;
    if (!value->is_number_unsigned()) return Refuse(name, "is no count"), 0;
    return value->get<uint64_t>();
  }

  std::string Text(const char* name) {
    const Json* value = Find(name);
    if (value == nullptr) return "";
    if (!value->is_string()) return Refuse(name, "is no text"), "";
    return value->get<std::string>();
  }

  BytesByEdge Bytes(const char* name) {
    BytesByEdge bytes = {};
    const Json* value = Find(name);
    if (value == nullptr) return bytes;
    if (!value->is_object()) return Refuse(name, "is no object"), bytes;
    Fields edges(*value, source_, absl::StrCat(prefix_, name, "."));
    for (size_t edge = 0; edge < kEdgeCount; ++edge) bytes[edge] = edges.Count(kEdgeNames[edge].data());
    if (status_.ok()) status_ = edges.status();
    return bytes;
  }

  // Null where the field is missing.
  const Json* Find(const char* name) {
    const auto found = object_.find(name);
    if (found != object_.end()) return &*found;
    Refuse(name, "is missing");
    return nullptr;
  }

  void Refuse(absl::string_view name, absl::string_view why) {
    if (status_.ok()) status_ = absl::DataLossError(absl::StrCat(source_.path, ":", source_.line, ": field `", prefix_, name, "` ", why));
  }

  const absl::Status& status() const { return status_; }

 private:
  const Json& object_;
  const Source source_;
  const std::string prefix_;
  absl::Status status_;
};

// Fields that runs of earlier versions do not have.
absl::Status ReadAccount(const Json& json, Source source, RunResult* result) {
  const auto account = json.find("account");
  if (account == json.end()) return absl::OkStatus();
  if (!account->is_array()) return absl::DataLossError(absl::StrCat(source.path, ": field `account` is no list"));
  for (const Json& item : *account) {
    if (!item.is_object()) return absl::DataLossError(absl::StrCat(source.path, ": `account` holds something that is no object"));
    Fields fields(item, source, "account.");
    AccountLine line;
    line.edge = fields.Text("edge");
    line.name = fields.Text("name");
    line.keys = fields.Count("keys");
    line.masks = fields.Count("masks");
    line.values = fields.Count("values");
    line.headers = fields.Count("headers");
    line.entries = fields.Count("entries");
    line.kept = fields.Count("kept");
    line.density_asked = fields.Number("density_asked");
    line.codec_seconds = fields.Number("codec_seconds");
    WEIR_RETURN_IF_ERROR(fields.status());
    result->account.push_back(std::move(line));
  }
  return absl::OkStatus();
}

// Likewise.
absl::Status ReadStepTimes(const Json& json, Source source, RunResult* result) {
  const auto phases = json.find("step_seconds");
  if (phases == json.end()) return absl::OkStatus();
  if (!phases->is_object()) return absl::DataLossError(absl::StrCat(source.path, ": field `step_seconds` is no object"));
  Fields seconds(*phases, source, "step_seconds.");
  for (const char* phase : {"read", "lookup_wait", "forward", "backward", "push_wait", "guard", "push_encode", "reduce", "update"}) {
    result->step_seconds.emplace_back(phase, seconds.Number(phase));
  }
  // Runs of earlier builds had none.
  if (phases->contains("checkpoint")) result->step_seconds.emplace_back("checkpoint", seconds.Number("checkpoint"));
  WEIR_RETURN_IF_ERROR(seconds.status());
  const auto causes = json.find("step_waits");
  if (causes == json.end()) return absl::OkStatus();
  if (!causes->is_object()) return absl::DataLossError(absl::StrCat(source.path, ": field `step_waits` is no object"));
  Fields waits(*causes, source, "step_waits.");
  for (const char* cause : {"lookup", "push", "reduce"}) result->step_waits.emplace_back(cause, waits.Count(cause));
  return waits.status();
}

absl::StatusOr<RunResult> ResultFromJson(const Json& json, Source source) {
  Fields fields(json, source);
  RunResult result;
  result.job = fields.Text("job");
  result.job_hash = fields.Text("job_hash");
  result.logloss = fields.NumberOrNull("logloss");
  result.auc = fields.NumberOrNull("auc");
  result.ne = fields.NumberOrNull("ne");
  result.calibration = fields.NumberOrNull("calibration");
  result.ctr = fields.NumberOrNull("ctr");
  result.evaluation_samples = fields.Count("evaluation_samples");
  result.samples = fields.Count("samples");
  result.steps = fields.Count("steps");
  result.seconds = fields.Number("seconds");
  result.samples_per_second = fields.Number("samples_per_second");
  const BytesByEdge all = fields.Bytes("wire_bytes");
  result.evaluation_bytes = fields.Bytes("wire_bytes_evaluation");
  for (size_t edge = 0; edge < kEdgeCount; ++edge) {
    if (result.evaluation_bytes[edge] > all[edge]) {
      fields.Refuse(absl::StrCat("wire_bytes_evaluation.", kEdgeNames[edge]), "is more than all of the edge's bytes");
    }
    result.training_bytes[edge] = all[edge] - std::min(all[edge], result.evaluation_bytes[edge]);
  }
  if (const Json* fingerprint = fields.Find("fingerprint"); fingerprint != nullptr) {
    result.fingerprint = fingerprint->dump(-1, ' ', true, Json::error_handler_t::replace);
  }
  result.rows_held = fields.Count("rows_held");
  result.bad_rows = fields.Count("bad_rows");
  result.wait_seconds = fields.Number("wait_seconds");
  result.workers = fields.Count("workers");
  result.servers = fields.Count("servers");
  WEIR_RETURN_IF_ERROR(fields.status());
  WEIR_RETURN_IF_ERROR(ReadAccount(json, source, &result));
  WEIR_RETURN_IF_ERROR(ReadStepTimes(json, source, &result));
  return result;
}

// Adds the codecs of one line to `point`. Codecs beyond the series' bound are left out.
absl::Status ReadCodecs(const Json& list, Source source, MetricsSeries* series, MetricsPoint* point) {
  if (!list.is_array()) return absl::DataLossError(absl::StrCat(source.path, ":", source.line, ": field `codecs` is no list"));
  for (const Json& item : list) {
    if (!item.is_object())
      return absl::DataLossError(absl::StrCat(source.path, ":", source.line, ": `codecs` holds something that is no object"));
    Fields fields(item, source, "codecs.");
    const int index = series->CodecIndex(fields.Text("edge"), fields.Text("name"));
    const CodecFigures figures = {static_cast<float>(fields.NumberOrNan("density")), static_cast<float>(fields.NumberOrNan("threshold")),
                                  static_cast<float>(fields.NumberOrNan("residual_ratio"))};
    WEIR_RETURN_IF_ERROR(fields.status());
    if (index < 0) continue;
    if (point->codecs.size() <= index) point->codecs.resize(index + 1, kNoCodecFigures);
    point->codecs[index] = figures;
  }
  return absl::OkStatus();
}

// A line without findings does not have the list.
absl::Status ReadGuard(const Json& line, Source source, std::vector<GuardFinding>* guard) {
  const auto list = line.find("decisions");
  if (list == line.end()) return absl::OkStatus();
  if (!list->is_array()) return absl::DataLossError(absl::StrCat(source.path, ":", source.line, ": field `decisions` is no list"));
  for (const Json& item : *list) {
    if (!item.is_object()) {
      return absl::DataLossError(absl::StrCat(source.path, ":", source.line, ": `decisions` holds something that is no object"));
    }
    Fields fields(item, source, "decisions.");
    const GuardFinding finding = {
        fields.Count("worker"),           fields.Count("step"),           fields.Text("edge"), fields.NumberOrNan("cost"),
        fields.Number("sparsity_before"), fields.Number("sparsity_after")};
    WEIR_RETURN_IF_ERROR(fields.status());
    if (guard->size() < kGuardFindingsMax) guard->push_back(finding);
  }
  return absl::OkStatus();
}

absl::Status ReadMetricsLine(absl::string_view line, Source source, RunFolder* run) {
  WEIR_ASSIGN_OR_RETURN(const Json json, ParseObject(line, source));
  Fields fields(json, source);
  MetricsPoint point;
  point.seconds = fields.Number("seconds");
  point.samples = fields.Count("samples");
  point.steps = fields.Count("steps");
  point.logloss = fields.NumberOrNan("logloss");
  point.auc = fields.NumberOrNan("auc");
  point.samples_per_second = fields.NumberOrNan("samples_per_second");
  point.wait_seconds = fields.Number("wait_seconds");
  point.wire_bytes = fields.Bytes("wire_bytes");
  const Json* codecs = fields.Find("codecs");
  WEIR_RETURN_IF_ERROR(fields.status());
  WEIR_RETURN_IF_ERROR(ReadCodecs(*codecs, source, &run->metrics, &point));
  run->metrics.Append(std::move(point));
  return ReadGuard(json, source, &run->guard);
}

absl::Status ReadMetrics(const std::string& path, RunFolder* run) {
  WEIR_ASSIGN_OR_RETURN(const std::unique_ptr<LineReader> reader, LineReader::Open(path));
  absl::string_view line;
  for (;;) {
    const uint64_t number = reader->line_number();
    WEIR_ASSIGN_OR_RETURN(const bool more, reader->Next(&line));
    if (!more) return absl::OkStatus();
    WEIR_RETURN_IF_ERROR(ReadMetricsLine(line, {path, number}, run));
  }
}

std::string PathOf(const std::string& run_dir, absl::string_view file) {
  return (std::filesystem::path(run_dir) / std::string(file)).string();
}

}  // namespace

void AccountLine::Add(const AccountLine& other) {
  keys += other.keys;
  masks += other.masks;
  values += other.values;
  headers += other.headers;
  entries += other.entries;
  kept += other.kept;
  density_asked = std::max(density_asked, other.density_asked);
  codec_seconds += other.codec_seconds;
}

absl::StatusOr<RunResult> ReadRunResult(const std::string& run_dir) {
  const std::string path = PathOf(run_dir, "result.json");
  WEIR_ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(path));
  WEIR_ASSIGN_OR_RETURN(const Json json, ParseObject(text, {path, 1}));
  return ResultFromJson(json, {path, 1});
}

absl::StatusOr<RunFolder> ReadRunFolder(const std::string& run_dir) {
  RunFolder run;
  WEIR_ASSIGN_OR_RETURN(run.config, ReadSmallFile(PathOf(run_dir, "job.yaml")));
  WEIR_ASSIGN_OR_RETURN(run.result, ReadRunResult(run_dir));
  WEIR_RETURN_IF_ERROR(ReadMetrics(PathOf(run_dir, "metrics.jsonl"), &run));
  const std::string teacher_path = PathOf(run_dir, "teacher.json");
  if (!std::filesystem::exists(teacher_path)) return run;
  WEIR_ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(teacher_path));
  WEIR_ASSIGN_OR_RETURN(const Json json, ParseObject(text, {teacher_path, 1}));
  Fields fields(json, {teacher_path, 1});
  run.teacher = Teacher{fields.Number("logloss"), fields.Number("auc"), fields.Count("rows")};
  WEIR_RETURN_IF_ERROR(fields.status());
  return run;
}

}  // namespace weir::tools
