#include "proto/job_validate.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "proto/checkpoint_schedule.h"
#include "proto/job_tables.h"
#include "proto/nearest_name.h"

namespace weir {
namespace {

constexpr double kSecondsMax = 86400;
constexpr double kNoMax = 1e300;
constexpr uint32_t kWidthMax = 65536;
constexpr int kLayersMax = 64;
constexpr size_t kNameBytesMax = 100;

enum class Ends { kBothIn, kLowOut, kHighOut };

struct Range {
  const char* path;
  double low;
  double high;
  Ends ends = Ends::kBothIn;
};

// Numbers that are not set (they have no effect) are not looked at.
constexpr Range kRanges[] = {
    {"data.buckets", 1, 9.2e18},
    {"embeddings.dim", 1, kDimMax},
    {"training.batch_size", 1, double{kSamplesPerCallMax} * kWorkersMax},
    {"training.epochs", 1, 1e6},
    {"training.staleness", -1, kStepsAheadMax},
    {"training.prefetch", 0, kStepsAheadMax},
    {"training.threads", 1, 256},
    {"training.schedule.final_share", 0, 1},
    {"compression.lookup.sparsity", 0, 1, Ends::kHighOut},
    {"compression.lookup.cache_rows", 65536, kHeldRowsMax},
    {"compression.lookup.error_bound", 0, 1, Ends::kLowOut},
    {"compression.lookup.error_bound_start", 1, 1e6},
    {"compression.lookup.link_gbits", 0, 1e6, Ends::kLowOut},
    {"compression.push.sparsity", 0, 1, Ends::kHighOut},
    {"compression.push.refresh_every", 1, 1e9},
    {"compression.dense.sparsity", 0, 1, Ends::kHighOut},
    {"compression.dense.refresh_every", 1, 1e9},
    {"compression.dense.momentum", 0, 1, Ends::kHighOut},
    {"compression.dense.clip_norm", 0, kNoMax},
    {"compression.dense.rank", 1, 64},
    {"compression.guard.bound", 0, 1},
    {"compression.guard.probe_every", 1, 1e9},
    {"compression.guard.probe_samples", 1, kSamplesPerCallMax},
    {"compression.guard.window_probes", 1, 1e6},
    {"cluster.servers", 1, kServersMax},
    {"cluster.workers", 1, kWorkersMax},
    {"cluster.shards", 1, kShardsMax},
    {"cluster.call_timeout_seconds", 0, kSecondsMax, Ends::kLowOut},
    {"cluster.stall_timeout_seconds", 0, kSecondsMax, Ends::kLowOut},
    {"checkpoint.keep", 1, 1e6},
    {"output.metrics_every_seconds", 0, kSecondsMax, Ends::kLowOut},
};

constexpr Range kOptimizerRanges[] = {
    {"learning_rate", 0, kNoMax},    {"epsilon", 0, kNoMax, Ends::kLowOut}, {"initial_accumulator", 0, kNoMax},
    {"beta1", 0, 1, Ends::kHighOut}, {"beta2", 0, 1, Ends::kHighOut},
};

absl::Status CheckRange(const JobSource& source, const google::protobuf::Message& root, const Range& range, absl::string_view prefix) {
  const JobField found = FindField(root, range.path);
  if (!found.IsSet()) return absl::OkStatus();
  const double value = found.Number();
  const bool low_ok = range.ends == Ends::kLowOut ? value > range.low : value >= range.low;
  const bool high_ok = range.ends == Ends::kHighOut ? value < range.high : value <= range.high;
  if (low_ok && high_ok) return absl::OkStatus();
  std::string bounds = absl::StrCat(range.ends == Ends::kLowOut ? "above " : "at least ", NumberText(range.low));
  if (range.high < kNoMax) absl::StrAppend(&bounds, " and ", range.ends == Ends::kHighOut ? "below " : "at most ", NumberText(range.high));
  return source.Error(absl::StrCat(prefix, range.path), absl::StrCat("must be ", bounds, ", not ", NumberText(value)));
}

absl::Status CheckOptimizer(const JobSource& source, const Optimizer& optimizer, const std::string& path) {
  for (const Range& range : kOptimizerRanges) WEIR_RETURN_IF_ERROR(CheckRange(source, optimizer, range, absl::StrCat(path, ".")));
  return absl::OkStatus();
}

absl::Status CheckInitializer(const JobSource& source, const Initializer& initializer, const std::string& path) {
  if (initializer.type() != Initializer::TYPE_UNIFORM || initializer.scale() >= 0) return absl::OkStatus();
  return source.Error(absl::StrCat(path, ".scale"), absl::StrCat("must be at least 0, not ", NumberText(initializer.scale())));
}

// It becomes a folder's name.
absl::Status CheckName(const JobSource& source, const std::string& name) {
  const bool letters =
      std::all_of(name.begin(), name.end(), [](char c) { return absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.'; });
  if (!name.empty() && letters && name[0] != '.' && name.size() <= kNameBytesMax) return absl::OkStatus();
  return source.Error(
      "name", absl::StrCat("names the run's folder: up to ", kNameBytesMax, " letters, digits, '-', '_' and '.', not starting with '.'; '",
                           name.substr(0, kNameBytesMax), "' is not"));
}

absl::Status CheckFiles(const JobSource& source, const google::protobuf::RepeatedPtrField<std::string>& files, const std::string& path) {
  for (int i = 0; i < files.size(); ++i) {
    if (files.Get(i).empty()) return source.Error(absl::StrCat(path, "[", i, "]"), "is an empty file name");
  }
  return absl::OkStatus();
}

absl::Status CheckCheckpoint(const JobSource& source, const Job& job) {
  if (!job.checkpoint().has_every()) return absl::OkStatus();
  const absl::Status status = ParseCheckpointSchedule(job.checkpoint().every()).status();
  return status.ok() ? absl::OkStatus() : source.Error("checkpoint.every", status.message());
}

absl::Status CheckWidths(const JobSource& source, const google::protobuf::RepeatedField<uint32_t>& widths, const std::string& path) {
  if (widths.size() > kLayersMax) return source.Error(path, absl::StrCat("has ", widths.size(), " layers; at most ", kLayersMax));
  for (int i = 0; i < widths.size(); ++i) {
    if (widths.Get(i) >= 1 && widths.Get(i) <= kWidthMax) continue;
    return source.Error(absl::StrCat(path, "[", i, "]"),
                        absl::StrCat("must be at least 1 and at most ", kWidthMax, ", not ", widths.Get(i)));
  }
  return absl::OkStatus();
}

// Activations cross after a ReLU, so behind every layer but the last, which puts out the logit.
absl::Status CheckCuts(const JobSource& source, const Model& model) {
  std::vector<std::string> known;
  for (int i = 0; i < model.bottom_size(); ++i) known.push_back(absl::StrCat("bottom.", i));
  for (int i = 0; i + 1 < model.top_size(); ++i) known.push_back(absl::StrCat("top.", i));
  std::set<std::string> seen;
  for (int i = 0; i < model.cuts_size(); ++i) {
    const Cut& cut = model.cuts(i);
    const std::string path = absl::StrCat("model.cuts[", i, "]");
    if (std::find(known.begin(), known.end(), cut.after()) == known.end()) {
      return source.Error(absl::StrCat(path, ".after"),
                          absl::StrCat("no layer '", cut.after(), "' that a cut can follow", SuggestName(cut.after(), known),
                                       "; there are ", known.front(), " to ", known.back()));
    }
    if (!seen.insert(cut.after()).second)
      return source.Error(absl::StrCat(path, ".after"), absl::StrCat("'", cut.after(), "' is cut twice"));
    if (!(cut.sparsity() >= 0 && cut.sparsity() < 1)) {
      return source.Error(absl::StrCat(path, ".sparsity"),
                          absl::StrCat("must be at least 0 and below 1, not ", NumberText(cut.sparsity())));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckModel(const JobSource& source, const Job& job) {
  const Model& model = job.model();
  WEIR_RETURN_IF_ERROR(CheckWidths(source, model.bottom(), "model.bottom"));
  WEIR_RETURN_IF_ERROR(CheckWidths(source, model.top(), "model.top"));
  const uint32_t last = model.bottom(model.bottom_size() - 1);
  if (last != job.embeddings().dim()) {
    return source.Error(source.Said("model.bottom") ? "model.bottom" : "embeddings.dim",
                        absl::StrCat("the bottom MLP ends in ", last, " numbers and a row has ", job.embeddings().dim(),
                                     ": the dot interaction needs them equal"));
  }
  if (model.top(model.top_size() - 1) != 1) {
    return source.Error("model.top", absl::StrCat("must end in 1, the logit, not in ", model.top(model.top_size() - 1)));
  }
  if (model.optimizer().type() == Optimizer::TYPE_ROWWISE_ADAGRAD) {
    return source.Error("model.optimizer.type", "rowwise_adagrad is for embeddings: dense layers have no rows; use adagrad");
  }
  WEIR_RETURN_IF_ERROR(CheckCuts(source, model));
  return CheckOptimizer(source, model.optimizer(), "model.optimizer");
}

absl::Status CheckEmbeddings(const JobSource& source, const Job& job) {
  const Embeddings& embeddings = job.embeddings();
  WEIR_RETURN_IF_ERROR(CheckOptimizer(source, embeddings.optimizer(), "embeddings.optimizer"));
  WEIR_RETURN_IF_ERROR(CheckInitializer(source, embeddings.initializer(), "embeddings.initializer"));
  const std::vector<std::string> known = SchemaOf(job).sparse_features;
  std::set<std::string> seen;
  for (int i = 0; i < embeddings.tables_size(); ++i) {
    const TableOverride& table = embeddings.tables(i);
    const std::string path = absl::StrCat("embeddings.tables[", i, "]");
    const std::string name_path = absl::StrCat(path, ".name");
    if (std::find(known.begin(), known.end(), table.name()) == known.end()) {
      return source.Error(name_path, absl::StrCat("unknown table '", table.name(), "'", SuggestName(table.name(), known)));
    }
    if (!seen.insert(table.name()).second) return source.Error(name_path, absl::StrCat("table '", table.name(), "' is said twice"));
    if (table.has_optimizer()) WEIR_RETURN_IF_ERROR(CheckOptimizer(source, table.optimizer(), absl::StrCat(path, ".optimizer")));
    if (table.has_initializer()) WEIR_RETURN_IF_ERROR(CheckInitializer(source, table.initializer(), absl::StrCat(path, ".initializer")));
  }
  return absl::OkStatus();
}

absl::Status CheckTraining(const JobSource& source, const Job& job) {
  const Training& training = job.training();
  const uint32_t workers = job.cluster().workers();
  if (training.batch_size() % workers != 0) {
    return source.Error(source.Said("training.batch_size") ? "training.batch_size" : "cluster.workers",
                        absl::StrCat("a batch of ", training.batch_size(), " does not divide among ", workers, " workers"));
  }
  if (training.batch_size() / workers > kSamplesPerCallMax) {
    return source.Error("training.batch_size", absl::StrCat("is more than ", kSamplesPerCallMax, " samples for each worker"));
  }
  if (training.deterministic() && training.staleness() != 0) {
    return source.Error("training.deterministic", absl::StrCat("needs training.staleness 0, not ", training.staleness(),
                                                               ": with staleness, rows depend on who is faster"));
  }
  if (job.cluster().shards() < job.cluster().servers()) {
    return source.Error(source.Said("cluster.shards") ? "cluster.shards" : "cluster.servers",
                        absl::StrCat(job.cluster().shards(), " shards leave some of ", job.cluster().servers(), " servers without work"));
  }
  return absl::OkStatus();
}

// What an edge can send.
bool LookupHas(Compression::Method method) {
  switch (method) {
    case Compression::METHOD_PLAIN:
    case Compression::METHOD_NONE:
    case Compression::METHOD_FP16:
    case Compression::METHOD_BF16:
    case Compression::METHOD_INT8_ROWWISE:
    case Compression::METHOD_ERROR_BOUNDED:
    case Compression::METHOD_DCT:
      return true;
    default:
      return false;
  }
}

// What it loses is forgotten: no matter for rows, which are read again.
bool IsOfRows(Compression::Method method) {
  return method == Compression::METHOD_INT8_ROWWISE || method == Compression::METHOD_ERROR_BOUNDED;
}

bool PushHas(Compression::Method method) { return LookupHas(method) && !IsOfRows(method); }

std::string MethodText(Compression::Method method) { return EnumText(Compression::Method_descriptor()->FindValueByNumber(method)); }

absl::Status CheckEmbeddingMethods(const JobSource& source, const Compression& compression) {
  const Compression::Method lookup = compression.lookup().method(), push = compression.push().method();
  if (!LookupHas(lookup)) {
    return source.Error("compression.lookup.method", absl::StrCat(MethodText(lookup), " is for gradients, and a lookup brings rows; ",
                                                                  "use plain, none, fp16, bf16, int8_rowwise, error_bounded or dct"));
  }
  if (compression.has_push() && IsOfRows(push)) {
    return source.Error("compression.push.method", absl::StrCat(MethodText(push), " has no residual for what a gradient's rounding loses; ",
                                                                "use dct with values: int8"));
  }
  if (compression.has_push() && !PushHas(push)) {
    return source.Error("compression.push.method",
                        absl::StrCat(MethodText(push), " is for dense layers; use plain, none, fp16, bf16 or dct"));
  }
  return absl::OkStatus();
}

// Names, sparsities and steps of layers or tables with a codec of their own.
template <typename Overrides>
absl::Status CheckOverrides(const JobSource& source, const Overrides& overrides, const std::string& list,
                            const std::vector<std::string>& known) {
  std::set<std::string> seen;
  for (int i = 0; i < overrides.size(); ++i) {
    const std::string path = absl::StrCat(list, "[", i, "]");
    const auto& own = overrides.Get(i);
    if (std::find(known.begin(), known.end(), own.name()) == known.end()) {
      return source.Error(absl::StrCat(path, ".name"), absl::StrCat("unknown name '", own.name(), "'", SuggestName(own.name(), known)));
    }
    if (!seen.insert(own.name()).second) return source.Error(absl::StrCat(path, ".name"), absl::StrCat("'", own.name(), "' is said twice"));
    WEIR_RETURN_IF_ERROR(CheckRange(source, own, {"sparsity", 0, 1, Ends::kHighOut}, absl::StrCat(path, ".")));
    if (own.GetDescriptor()->FindFieldByName("refresh_every") != nullptr) {
      WEIR_RETURN_IF_ERROR(CheckRange(source, own, {"refresh_every", 1, 1e9}, absl::StrCat(path, ".")));
    } else {
      WEIR_RETURN_IF_ERROR(CheckRange(source, own, {"error_bound", 0, 1, Ends::kLowOut}, absl::StrCat(path, ".")));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckLayers(const JobSource& source, const Job& job) {
  const Compression::Dense& dense = job.compression().dense();
  std::vector<std::string> known;
  for (int i = 0; i < job.model().bottom_size(); ++i) known.push_back(absl::StrCat("bottom.", i));
  for (int i = 0; i < job.model().top_size(); ++i) known.push_back(absl::StrCat("top.", i));
  WEIR_RETURN_IF_ERROR(CheckOverrides(source, dense.layers(), "compression.dense.layers", known));
  for (int i = 0; i < dense.layers_size(); ++i) {
    const Compression::Method method = dense.layers(i).method();
    const std::string path = absl::StrCat("compression.dense.layers[", i, "].method");
    if (method == Compression::METHOD_DGC && dense.method() != Compression::METHOD_DGC) {
      return source.Error(path, "dgc keeps the momentum of the whole model in the codec; set it on the edge");
    }
    if (method == Compression::METHOD_FP16 || method == Compression::METHOD_BF16 || method == Compression::METHOD_DCT ||
        method == Compression::METHOD_TOPK || method == dense.method()) {
      continue;
    }
    return source.Error(path, absl::StrCat(MethodText(method),
                                           " is not for a single layer; use fp16, bf16, dct or topk (dct with sparsity 0 "
                                           "sends all of it in fp32)"));
  }
  return absl::OkStatus();
}

absl::Status CheckPushTables(const JobSource& source, const Job& job) {
  const Compression::Push& push = job.compression().push();
  WEIR_RETURN_IF_ERROR(CheckOverrides(source, push.tables(), "compression.push.tables", SchemaOf(job).sparse_features));
  for (int i = 0; i < push.tables_size(); ++i) {
    const Compression::Method method = push.tables(i).method();
    if (method != Compression::METHOD_PLAIN && PushHas(method)) continue;
    return source.Error(absl::StrCat("compression.push.tables[", i, "].method"),
                        absl::StrCat(MethodText(method), " is not for a single table's pushes; use none, fp16, bf16 or dct"));
  }
  return absl::OkStatus();
}

absl::Status CheckLookupTables(const JobSource& source, const Job& job) {
  const Compression::Lookup& lookup = job.compression().lookup();
  WEIR_RETURN_IF_ERROR(CheckOverrides(source, lookup.tables(), "compression.lookup.tables", SchemaOf(job).sparse_features));
  for (int i = 0; i < lookup.tables_size(); ++i) {
    const Compression::Method method = lookup.tables(i).method();
    const std::string path = absl::StrCat("compression.lookup.tables[", i, "].method");
    if (method == Compression::METHOD_DCT && lookup.scope() != Compression::SCOPE_CHANGE) {
      return source.Error(path,
                          "dct by table means changes, for which the edge must keep rows: set compression.lookup: {method: dct, "
                          "scope: change} and give the other tables a method of their own");
    }
    if (method != Compression::METHOD_PLAIN && LookupHas(method)) continue;
    return source.Error(path, absl::StrCat(MethodText(method), " is not for a single table's lookups; use none, fp16, bf16, ",
                                           "int8_rowwise, error_bounded, or dct in scope change"));
  }
  return absl::OkStatus();
}

absl::Status CheckDense(const JobSource& source, const Job& job) {
  const Compression::Method method = job.compression().dense().method();
  switch (method) {
    case Compression::METHOD_NONE:
    case Compression::METHOD_FP16:
    case Compression::METHOD_BF16:
    case Compression::METHOD_DCT:
    case Compression::METHOD_TOPK:
    case Compression::METHOD_POWERSGD:
      return absl::OkStatus();
    case Compression::METHOD_DGC:
      break;
    case Compression::METHOD_PLAIN:
      return source.Error("compression.dense.method", "plain is about keys, and dense layers have none; use none");
    case Compression::METHOD_INT8_ROWWISE:
      return source.Error("compression.dense.method", "int8_rowwise is about rows, and dense layers have none; use dct with values: int8");
    default:
      return source.Error("compression.dense.method", absl::StrCat(MethodText(method), " is not for dense layers in this version; ",
                                                                   "use none, fp16, bf16, dct, topk, dgc or powersgd"));
  }
  if (job.model().optimizer().type() == Optimizer::TYPE_SGD) return absl::OkStatus();
  return source.Error(source.Said("model.optimizer.type") ? "model.optimizer.type" : "compression.dense.method",
                      "dgc needs sgd: workers keep the momentum, and an optimizer that remembers gradients would use each twice; "
                      "use sgd, or compression.dense.method: topk");
}

absl::Status CheckCompression(const JobSource& source, const Job& job) {
  const Compression& compression = job.compression();
  WEIR_RETURN_IF_ERROR(CheckEmbeddingMethods(source, compression));
  WEIR_RETURN_IF_ERROR(CheckLookupTables(source, job));
  WEIR_RETURN_IF_ERROR(CheckPushTables(source, job));
  const bool lookup_plain = compression.lookup().method() == Compression::METHOD_PLAIN;
  const bool push_plain = compression.push().method() == Compression::METHOD_PLAIN;
  if (lookup_plain != push_plain) {
    return source.Error(lookup_plain ? "compression.push.method" : "compression.lookup.method",
                        "plain sends every key of every sample: it must stand on lookup and push together");
  }
  const bool lookup_dct = compression.lookup().method() == Compression::METHOD_DCT;
  const Compression::Scope scope = compression.lookup().scope();
  if (lookup_dct && scope == Compression::SCOPE_ROW) {
    return source.Error("compression.lookup.scope",
                        "row does not go with dct: entries dropped from a row would be lost; use change, where the server remembers what "
                        "it sent, or sample");
  }
  if (!lookup_dct && scope != Compression::SCOPE_ROW) {
    return source.Error("compression.lookup.scope", "sample and change go with method dct only: the other methods send rows");
  }
  if (scope == Compression::SCOPE_CHANGE && job.training().staleness() != 0) {
    return source.Error("compression.lookup.scope", absl::StrCat("change needs training.staleness 0, not ", job.training().staleness(),
                                                                 ": changes must be answered in the order of steps"));
  }
  WEIR_RETURN_IF_ERROR(CheckLayers(source, job));
  return CheckDense(source, job);
}

}  // namespace

absl::Status ValidateJob(const JobSource& source, const Job& job) {
  WEIR_RETURN_IF_ERROR(CheckName(source, job.name()));
  if (job.data().train_size() == 0) return source.Error("data.train", "no training files: say data: {train: [FILE, ...]}");
  WEIR_RETURN_IF_ERROR(CheckFiles(source, job.data().train(), "data.train"));
  WEIR_RETURN_IF_ERROR(CheckFiles(source, job.data().test(), "data.test"));
  if (job.output().dir().empty()) return source.Error("output.dir", "is empty; '.' is the current folder");
  for (const Range& range : kRanges) WEIR_RETURN_IF_ERROR(CheckRange(source, job, range, ""));
  WEIR_RETURN_IF_ERROR(CheckCheckpoint(source, job));
  WEIR_RETURN_IF_ERROR(CheckModel(source, job));
  WEIR_RETURN_IF_ERROR(CheckEmbeddings(source, job));
  WEIR_RETURN_IF_ERROR(CheckTraining(source, job));
  return CheckCompression(source, job);
}

}  // namespace weir
