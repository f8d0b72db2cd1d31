#include "proto/job_defaults.h"

#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "proto/codec_overrides.h"

namespace weir {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// Why a setting has no effect in this job; null: it has one. Reads only settings that stand earlier in the table.
using NoEffect = const char* (*)(const Job& job);

const char* WithoutTestFiles(const Job& job) { return job.data().test_size() > 0 ? "data.test names the held-out rows already" : nullptr; }

const char* WithBuckets(const Job& job) { return job.data().keys() == Data::KEYS_BUCKETS ? nullptr : "only data.keys: buckets reads it"; }

const char* WithDecay(const Job& job) {
  return job.training().schedule().decay_steps() > 0 ? nullptr : "only training.schedule.decay_steps above 0 reads it";
}

const char* WithLookupDct(const Job& job) {
  return job.compression().lookup().method() == Compression::METHOD_DCT ? nullptr : "only compression.lookup.method: dct reads it";
}

const char* WithOwnPushMask(const Job& job) {
  return job.compression().lookup().method() == Compression::METHOD_DCT && job.compression().lookup().scope() != Compression::SCOPE_CHANGE
             ? "with compression.lookup.method: dct in sample scope a push sends what the lookup kept"
             : nullptr;
}

const char* WithSamples(const Job& job) {
  return job.compression().lookup().scope() == Compression::SCOPE_SAMPLE ? nullptr : "only compression.lookup.scope: sample reads it";
}

const char* WithChanges(const Job& job) {
  return job.compression().lookup().scope() == Compression::SCOPE_CHANGE ? nullptr : "only compression.lookup.scope: change reads it";
}

const char* WithPushDct(const Job& job) {
  if (const char* reason = WithOwnPushMask(job)) return reason;
  return job.compression().push().method() == Compression::METHOD_DCT ? nullptr : "only compression.push.method: dct reads it";
}

const char* WithDenseDct(const Job& job) {
  return job.compression().dense().method() == Compression::METHOD_DCT ? nullptr : "only compression.dense.method: dct reads it";
}

const char* WithDenseSelection(const Job& job) {
  const Compression::Method method = job.compression().dense().method();
  const bool selects = method == Compression::METHOD_DCT || method == Compression::METHOD_TOPK || method == Compression::METHOD_DGC;
  return selects ? nullptr : "only the compression.dense.methods dct, topk and dgc read it";
}

const char* WithDenseResidual(const Job& job) {
  if (WithDenseSelection(job) == nullptr || job.compression().dense().method() == Compression::METHOD_POWERSGD) return nullptr;
  return "only the compression.dense.methods dct, topk, dgc and powersgd read it";
}

const char* WithDenseDgc(const Job& job) {
  return job.compression().dense().method() == Compression::METHOD_DGC ? nullptr : "only compression.dense.method: dgc reads it";
}

const char* WithDensePowersgd(const Job& job) {
  return job.compression().dense().method() == Compression::METHOD_POWERSGD ? nullptr : "only compression.dense.method: powersgd reads it";
}

const char* WithoutSelection(const Job& job) {
  if (WithChanges(job) == nullptr || WithPushDct(job) == nullptr || WithDenseSelection(job) == nullptr) return nullptr;
  return "no edge selects by sparsity: it guards compression.lookup.scope change, push.method dct, and dense.methods dct, topk and dgc";
}

const char* WithoutGuard(const Job& job) {
  return job.compression().guard().bound() > 0 ? nullptr : "only compression.guard.bound above 0 reads it";
}

// The edge, or a table of its own.
const char* WithErrorBound(const Job& job) {
  const Compression::Lookup& lookup = job.compression().lookup();
  const auto bounded = [](const auto& settings) { return settings.method() == Compression::METHOD_ERROR_BOUNDED; };
  return bounded(lookup) || absl::c_any_of(lookup.tables(), bounded) ? nullptr : "only compression.lookup.method: error_bounded reads it";
}

const char* WithEdgeErrorBound(const Job& job) {
  return job.compression().lookup().method() == Compression::METHOD_ERROR_BOUNDED
             ? nullptr
             : "only compression.lookup.method: error_bounded reads it";
}

const char* WithoutPlain(const Job& job) {
  return job.compression().lookup().method() == Compression::METHOD_PLAIN ? "method plain sends all as it is" : nullptr;
}

const char* WithPushFrames(const Job& job) {
  if (const char* reason = WithoutPlain(job)) return reason;
  return WithOwnPushMask(job);
}

const char* WithPackedLookups(const Job& job) {
  if (WithEdgeErrorBound(job) == nullptr) return "error_bounded chooses each table's encoding itself";
  return WithoutPlain(job);
}

const char* WithDenseFrames(const Job& job) {
  const Compression::Method method = job.compression().dense().method();
  if (method != Compression::METHOD_NONE && method != Compression::METHOD_POWERSGD) return nullptr;
  return "compression.dense.methods none and powersgd sum over Gloo, which sends no frames";
}

// Lookup and push send every key of every sample, or neither does.
const char* DefaultPushMethod(const Job& job) { return job.compression().lookup().method() == Compression::METHOD_PLAIN ? "plain" : "dct"; }

const char* DefaultScope(const Job& job) { return job.compression().lookup().method() == Compression::METHOD_DCT ? "sample" : "row"; }

const char* WithCheckpoints(const Job& job) { return job.checkpoint().has_every() ? nullptr : "only checkpoint.every has any saved"; }

// A server that comes back knows rows and pushes, not what workers hold or which entries it sent them.
const char* WithLoggedPushes(const Job& job) {
  if (const char* reason = WithCheckpoints(job)) return reason;
  return job.compression().lookup().scope() == Compression::SCOPE_ROW
             ? nullptr
             : "with compression.lookup.method: dct all processes start again when a server is killed, and read no log";
}

struct Setting {
  const char* path;
  const char* value;  // as in YAML; null: `value_of` tells
  NoEffect no_effect = nullptr;
  const char* (*value_of)(const Job& job) = nullptr;
};

// Every default but those of optimizers, initializers, and the widths of the bottom MLP, which end in embeddings.dim.
constexpr Setting kSettings[] = {
    {"seed", "1"},
    {"data.format", "criteo_tsv"},
    {"data.test_last_rows", "0", WithoutTestFiles},
    {"data.on_bad_row", "error"},
    {"data.keys", "hash64"},
    {"data.buckets", "1000000", WithBuckets},
    {"data.train_rows_max", "0"},
    {"model.type", "dlrm"},
    {"model.top", "[512, 256, 1]"},
    {"model.optimizer.type", "sgd"},
    {"embeddings.dim", "16"},
    {"embeddings.optimizer.type", "rowwise_adagrad"},
    {"embeddings.initializer.type", "uniform"},
    {"training.batch_size", "2048"},
    {"training.epochs", "1"},
    {"training.steps_max", "0"},
    {"training.staleness", "0"},
    {"training.prefetch", "1"},
    {"training.deterministic", "false"},
    {"training.gradient_scale", "mean"},
    {"training.threads", "1"},
    {"training.precision", "fp32"},
    {"training.schedule.warmup_steps", "0"},
    {"training.schedule.decay_steps", "0"},
    {"training.schedule.decay_start", "0", WithDecay},
    {"training.schedule.final_share", "0", WithDecay},
    {"compression.lookup.method", "fp16"},
    {"compression.lookup.scope", nullptr, nullptr, DefaultScope},
    {"compression.lookup.sparsity", "0.9", WithLookupDct},
    {"compression.lookup.values", "fp16", WithChanges},
    {"compression.lookup.cache_rows", "10000000", WithChanges},
    {"compression.lookup.threshold", "exact", WithSamples},
    {"compression.lookup.error_bound", "0.03", WithEdgeErrorBound},
    {"compression.lookup.error_bound_start", "2", WithErrorBound},
    {"compression.lookup.error_bound_steps", "65536", WithErrorBound},
    {"compression.lookup.classes", "none", WithEdgeErrorBound},
    {"compression.lookup.link_gbits", "1", WithErrorBound},
    {"compression.lookup.entropy", "none", WithPackedLookups},
    {"compression.lookup.warmup_steps", "0", WithChanges},
    {"compression.push.method", nullptr, WithOwnPushMask, DefaultPushMethod},
    {"compression.push.sparsity", "0.9", WithPushDct},
    {"compression.push.refresh_every", "1", WithPushDct},
    {"compression.push.values", "fp32", WithPushDct},
    {"compression.push.entropy", "none", WithPushFrames},
    {"compression.dense.method", "dct"},
    {"compression.dense.sparsity", "0.99", WithDenseSelection},
    {"compression.dense.refresh_every", "1000", WithDenseDct},
    {"compression.dense.values", "fp32", WithDenseSelection},
    {"compression.dense.min_elements", "256", WithDenseResidual},
    {"compression.dense.momentum", "0.9", WithDenseDgc},
    {"compression.dense.clip_norm", "0", WithDenseDgc},
    {"compression.dense.warmup_steps", "0", WithDenseDgc},
    {"compression.dense.rank", "4", WithDensePowersgd},
    {"compression.dense.entropy", "none", WithDenseFrames},
    {"compression.guard.bound", "0", WithoutSelection},
    {"compression.guard.probe_every", "50", WithoutGuard},
    {"compression.guard.probe_samples", "64", WithoutGuard},
    {"compression.guard.window_probes", "6", WithoutGuard},
    {"cluster.servers", "2"},
    {"cluster.workers", "2"},
    {"cluster.shards", "256"},
    {"cluster.call_timeout_seconds", "60"},
    {"cluster.stall_timeout_seconds", "60"},
    {"checkpoint.keep", "3", WithCheckpoints},
    {"checkpoint.dir", "''", WithCheckpoints},
    {"checkpoint.restarts", "10", WithCheckpoints},
    {"checkpoint.push_log", "true", WithLoggedPushes},
    {"output.dir", "runs"},
    {"output.metrics_every_seconds", "1"},
};

// What each type reads, and its defaults: those of PyTorch, and of FBGEMM for rowwise_adagrad.
struct TypedDefault {
  int type;
  const char* field;
  double value;
};

constexpr TypedDefault kOptimizerDefaults[] = {
    {Optimizer::TYPE_SGD, "learning_rate", 0.1},
    {Optimizer::TYPE_ADAGRAD, "learning_rate", 0.05},
    {Optimizer::TYPE_ADAGRAD, "epsilon", 1e-10},
    {Optimizer::TYPE_ADAGRAD, "initial_accumulator", 0},
    {Optimizer::TYPE_ROWWISE_ADAGRAD, "learning_rate", 0.05},
    {Optimizer::TYPE_ROWWISE_ADAGRAD, "epsilon", 1e-8},
    {Optimizer::TYPE_ROWWISE_ADAGRAD, "initial_accumulator", 0},
    {Optimizer::TYPE_ADAM, "learning_rate", 0.001},
    {Optimizer::TYPE_ADAM, "epsilon", 1e-8},
    {Optimizer::TYPE_ADAM, "beta1", 0.9},
    {Optimizer::TYPE_ADAM, "beta2", 0.999},
};

constexpr TypedDefault kInitializerDefaults[] = {
    {Initializer::TYPE_UNIFORM, "scale", 0.05},
    {Initializer::TYPE_CONSTANT, "scale", 0},
};

struct Sayings {
  const JobSource& source;
  const FileSettings file_settings;

  // OK: the setting goes.
  absl::Status Ineffective(const std::string& path, absl::string_view reason) const {
    if (file_settings == FileSettings::kDrop && !source.SaidBySet(path)) return absl::OkStatus();
    return source.Error(path, absl::StrCat("has no effect: ", reason));
  }
};

absl::Status FillSettings(const Sayings& sayings, Job* job) {
  for (const Setting& setting : kSettings) {
    const bool set = FindField(*job, setting.path).IsSet();
    const char* const reason = setting.no_effect == nullptr ? nullptr : setting.no_effect(*job);
    if (reason == nullptr) {
      if (!set) SetFromYaml(setting.path, setting.value != nullptr ? setting.value : setting.value_of(*job), job);
    } else if (set) {
      WEIR_RETURN_IF_ERROR(sayings.Ineffective(setting.path, reason));
      ClearPath(setting.path, job);
    }
  }
  return absl::OkStatus();
}

// An Optimizer or Initializer in the job.
template <typename T>
struct Typed {
  std::string path;
  T* message;
  const T* inherited;  // of the same kind, complete: what is not said comes from it when the type is the same; null: none
};

// Completes a message of which `type` is set.
template <typename T, size_t n>
absl::Status FillTyped(const Sayings& sayings, const TypedDefault (&defaults)[n], const Typed<T>& typed) {
  const google::protobuf::Descriptor* const descriptor = T::descriptor();
  const Reflection* const reflection = typed.message->GetReflection();
  std::vector<std::string> read = {"type"};
  for (const TypedDefault& entry : defaults) {
    if (entry.type != typed.message->type()) continue;
    read.push_back(entry.field);
    const FieldDescriptor* const field = descriptor->FindFieldByName(entry.field);
    if (reflection->HasField(*typed.message, field)) continue;
    const bool inherits = typed.inherited != nullptr && typed.inherited->type() == typed.message->type();
    reflection->SetDouble(typed.message, field, inherits ? reflection->GetDouble(*typed.inherited, field) : entry.value);
  }
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const FieldDescriptor* const field = descriptor->field(i);
    if (!reflection->HasField(*typed.message, field) || absl::c_linear_search(read, field->name())) continue;
    const std::string type = EnumText(T::Type_descriptor()->FindValueByNumber(typed.message->type()));
    WEIR_RETURN_IF_ERROR(sayings.Ineffective(absl::StrCat(typed.path, ".", field->name()),
                                             absl::StrCat("type ", type, " reads only ", absl::StrJoin(read, ", "))));
    reflection->ClearField(typed.message, field);
  }
  return absl::OkStatus();
}

absl::Status FillTables(const Sayings& sayings, Embeddings* embeddings) {
  for (int i = 0; i < embeddings->tables_size(); ++i) {
    TableOverride* const table = embeddings->mutable_tables(i);
    const std::string path = absl::StrCat("embeddings.tables[", i, "]");
    if (!table->has_optimizer() && !table->has_initializer()) {
      return sayings.source.Error(path, "has no effect: it says neither optimizer nor initializer");
    }
    if (table->has_optimizer()) {
      if (!table->optimizer().has_type()) table->mutable_optimizer()->set_type(embeddings->optimizer().type());
      WEIR_RETURN_IF_ERROR(FillTyped<Optimizer>(sayings, kOptimizerDefaults,
                                                {absl::StrCat(path, ".optimizer"), table->mutable_optimizer(), &embeddings->optimizer()}));
    }
    if (table->has_initializer()) {
      if (!table->initializer().has_type()) table->mutable_initializer()->set_type(embeddings->initializer().type());
      WEIR_RETURN_IF_ERROR(FillTyped<Initializer>(
          sayings, kInitializerDefaults, {absl::StrCat(path, ".initializer"), table->mutable_initializer(), &embeddings->initializer()}));
    }
  }
  return absl::OkStatus();
}

bool SelectsBySparsity(Compression::Method method) {
  return method == Compression::METHOD_DCT || method == Compression::METHOD_TOPK || method == Compression::METHOD_DGC;
}

// What a codec of one table or layer can say beside its method, and its value where neither it nor its edge says one.
struct OverrideField {
  const char* name;
  bool (*read_by)(Compression::Method method);
  const char* of_dense;
  const char* of_others;
};

constexpr OverrideField kOverrideFields[] = {
    {"sparsity", SelectsBySparsity, "0.99", "0.9"},
    {"values", SelectsBySparsity, "fp32", "fp32"},
    {"refresh_every", [](Compression::Method method) { return method == Compression::METHOD_DCT; }, "1000", "1"},
    {"error_bound", [](Compression::Method method) { return method == Compression::METHOD_ERROR_BOUNDED; }, "0.03", "0.03"},
};

// A list of codecs of single tables or layers.
struct OverrideList {
  const char* edge;   // "compression.dense"
  const char* field;  // "layers"
  const char* (*no_effect)(const Job& job);
  bool (*always_differs)(const Job& job);  // a codec of its own has an effect even with the edge's settings
};

const char* WithFramesOfLayers(const Job& job) {
  return WithDenseFrames(job) == nullptr ? nullptr
                                         : "compression.dense.methods none and powersgd sum all layers over Gloo: a layer of its own "
                                           "needs an edge that sends frames; use fp16, bf16, dct, topk or dgc there";
}

const char* WithLookupsOfTables(const Job& job) {
  if (const char* reason = WithoutPlain(job)) return reason;
  return WithSamples(job) == nullptr ? "scope sample thresholds all tables of a sample together" : nullptr;
}

constexpr OverrideList kOverrideLists[] = {
    {"compression.lookup", "tables", WithLookupsOfTables,
     [](const Job& job) { return job.compression().lookup().classes() == Compression::CLASSES_MEASURED; }},
    {"compression.push", "tables", WithPushFrames, [](const Job&) { return false; }},
    {"compression.dense", "layers", WithFramesOfLayers, [](const Job&) { return true; }},  // whatever its size
};

// Completes one codec of its own: what it does not say is the edge's where the edge has it. What its method does not read is an error, as
// for the edge. Tells in `differs` whether it says anything else than the edge.
absl::Status FillOverride(const Sayings& sayings, const std::string& path, const Message& edge, bool dense, Message* own, bool* differs) {
  const Reflection* const reflection = own->GetReflection();
  const FieldDescriptor* const method_field = own->GetDescriptor()->FindFieldByName("method");
  const FieldDescriptor* const edge_method = edge.GetDescriptor()->FindFieldByName("method");
  std::vector<const FieldDescriptor*> said;
  reflection->ListFields(*own, &said);
  if (absl::c_all_of(said, [](const FieldDescriptor* field) { return field->name() == "name"; })) {
    return sayings.source.Error(path, "has no effect: it says only its name");
  }
  if (!reflection->HasField(*own, method_field)) CopySetting(edge, edge_method, own, method_field);
  const auto method = static_cast<Compression::Method>(reflection->GetEnumValue(*own, method_field));
  *differs = method != edge.GetReflection()->GetEnumValue(edge, edge_method);
  for (const OverrideField& entry : kOverrideFields) {
    const FieldDescriptor* const field = own->GetDescriptor()->FindFieldByName(entry.name);
    if (field == nullptr) continue;
    const FieldDescriptor* const of_edge = edge.GetDescriptor()->FindFieldByName(entry.name);
    const bool edge_says = of_edge != nullptr && edge.GetReflection()->HasField(edge, of_edge);
    if (!entry.read_by(method)) {
      if (!reflection->HasField(*own, field)) continue;
      WEIR_RETURN_IF_ERROR(sayings.Ineffective(absl::StrCat(path, ".", entry.name), "the method of this one does not read it"));
      reflection->ClearField(own, field);
      continue;
    }
    if (reflection->HasField(*own, field)) {
      *differs = *differs || !edge_says || JobField{own, field}.Number() != JobField{&edge, of_edge}.Number();
    } else if (edge_says) {
      CopySetting(edge, of_edge, own, field);
    } else {
      SetFromYaml(entry.name, dense ? entry.of_dense : entry.of_others, own);
    }
  }
  return absl::OkStatus();
}

absl::Status FillOverrides(const Sayings& sayings, const OverrideList& list, Job* job) {
  const std::string path = absl::StrCat(list.edge, ".", list.field);
  const JobField field = FindField(*job, path);
  if (!field.IsSet()) return absl::OkStatus();
  if (const char* reason = list.no_effect(*job)) {
    WEIR_RETURN_IF_ERROR(sayings.Ineffective(path, reason));
    ClearPath(path, job);
    return absl::OkStatus();
  }
  // The edge is this job's own: the way to it through FindField is const.
  Message* const edge = const_cast<Message*>(field.message);
  const Reflection* const reflection = edge->GetReflection();
  const bool dense = absl::string_view(list.field) == "layers";
  for (int i = 0; i < reflection->FieldSize(*edge, field.field); ++i) {
    const std::string own_path = absl::StrCat(path, "[", i, "]");
    bool differs = false;
    WEIR_RETURN_IF_ERROR(FillOverride(sayings, own_path, *edge, dense, reflection->MutableRepeatedMessage(edge, field.field, i), &differs));
    if (!differs && !list.always_differs(*job)) WEIR_RETURN_IF_ERROR(sayings.Ineffective(own_path, "it says what its edge says"));
  }
  return absl::OkStatus();
}

void FillCuts(Model* model) {
  for (Cut& cut : *model->mutable_cuts()) {
    if (!cut.has_method()) cut.set_method(Cut::METHOD_EXACT);
    if (!cut.has_sparsity()) cut.set_sparsity(0.9);
  }
}

// A group in which nothing is set is not there: two equal jobs are equal messages.
void DropEmptyGroups(Message* message) {
  std::vector<const FieldDescriptor*> fields;
  const Reflection* const reflection = message->GetReflection();
  reflection->ListFields(*message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->message_type() == nullptr || field->is_repeated()) continue;
    Message* const group = reflection->MutableMessage(message, field);
    DropEmptyGroups(group);
    if (group->ByteSizeLong() == 0) reflection->ClearField(message, field);
  }
}

}  // namespace

absl::Status FillDefaults(const JobSource& source, FileSettings file_settings, Job* job) {
  const Sayings sayings{source, file_settings};
  WEIR_RETURN_IF_ERROR(FillSettings(sayings, job));
  Model* const model = job->mutable_model();
  if (model->bottom_size() == 0) {
    for (const uint32_t width : {uint32_t{512}, uint32_t{256}, uint32_t{64}, job->embeddings().dim()}) model->add_bottom(width);
  }
  FillCuts(model);
  for (const OverrideList& list : kOverrideLists) WEIR_RETURN_IF_ERROR(FillOverrides(sayings, list, job));
  Embeddings* const embeddings = job->mutable_embeddings();
  WEIR_RETURN_IF_ERROR(FillTyped<Optimizer>(sayings, kOptimizerDefaults, {"model.optimizer", model->mutable_optimizer(), nullptr}));
  WEIR_RETURN_IF_ERROR(
      FillTyped<Optimizer>(sayings, kOptimizerDefaults, {"embeddings.optimizer", embeddings->mutable_optimizer(), nullptr}));
  WEIR_RETURN_IF_ERROR(
      FillTyped<Initializer>(sayings, kInitializerDefaults, {"embeddings.initializer", embeddings->mutable_initializer(), nullptr}));
  WEIR_RETURN_IF_ERROR(FillTables(sayings, embeddings));
  DropEmptyGroups(job);
  return absl::OkStatus();
}

}  // namespace weir
