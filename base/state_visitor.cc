#include "base/state_visitor.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace weir {
namespace {

template <typename T>
absl::string_view AsBytes(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

template <typename T>
void VisitVector(StateVisitor* state, absl::string_view name, std::vector<T>* values) {
  std::string bytes(AsBytes(*values));
  state->Text(name, &bytes);
  if (!state->restoring() || !state->status().ok()) return;
  if (bytes.size() % sizeof(T) != 0) return state->Fail(name, absl::StrCat(bytes.size(), " bytes are no whole number of values"));
  values->resize(bytes.size() / sizeof(T));
  if (!bytes.empty()) std::memcpy(values->data(), bytes.data(), bytes.size());
}

}  // namespace

StateVisitor::Scope::Scope(StateVisitor* state, absl::string_view name) : state_(state), outer_bytes_(state->scope_.size()) {
  absl::StrAppend(&state->scope_, name, "/");
}

StateVisitor::Scope::~Scope() { state_->scope_.resize(outer_bytes_); }

void StateVisitor::Flag(absl::string_view name, bool* value) {
  uint64_t number = *value ? 1 : 0;
  Number(name, &number);
  *value = number != 0;
}

void StateVisitor::Vector(absl::string_view name, std::vector<float>* values) { VisitVector(this, name, values); }
void StateVisitor::Vector(absl::string_view name, std::vector<double>* values) { VisitVector(this, name, values); }

void StateVisitor::Fail(absl::string_view name, absl::string_view why) {
  status_.Update(absl::DataLossError(absl::StrCat(Path(name), ": ", why)));
}

void StateSaver::Add(absl::string_view name, absl::string_view payload) {
  if (status_.ok()) status_ = file_->Add(Path(name), payload);
}

void StateSaver::Bytes(absl::string_view name, void* value, size_t bytes) { Add(name, {static_cast<const char*>(value), bytes}); }
void StateSaver::Text(absl::string_view name, std::string* bytes) { Add(name, *bytes); }
void StateSaver::Residual(absl::string_view name, absl::Span<float> values) { Values(name, values); }

void StateSaver::ResidualRows(absl::string_view name, uint32_t, KeyedRows* rows) {
  Add(absl::StrCat(name, ".keys"), AsBytes(rows->keys));
  Add(absl::StrCat(name, ".values"), AsBytes(rows->values));
}

absl::StatusOr<std::unique_ptr<StateRestorer>> StateRestorer::Open(const std::vector<std::string>& paths, uint32_t rank, uint32_t workers) {
  if (paths.empty()) return absl::InvalidArgumentError("a checkpoint without any worker");
  auto restorer = absl::WrapUnique(new StateRestorer);
  for (const std::string& path : paths) {
    File& file = *restorer->files_.emplace_back(std::make_unique<File>());
    file.path = path;
    WEIR_ASSIGN_OR_RETURN(const std::unique_ptr<StateFileReader> reader, StateFileReader::Open(path));
    StateFileReader::Record record;
    while (true) {
      WEIR_ASSIGN_OR_RETURN(const bool more, reader->Next(&record));
      if (!more) break;
      if (!file.values.emplace(record.name, std::move(record.payload)).second) {
        return absl::DataLossError(absl::StrCat(path, ": ", record.name, " stands there twice"));
      }
    }
  }
  for (uint32_t saved = 0; saved < paths.size(); ++saved) {
    restorer->of_all_.push_back(restorer->files_[saved].get());
    if (saved % workers == rank) restorer->of_this_.push_back(restorer->files_[saved].get());
  }
  restorer->own_ = restorer->files_[rank < paths.size() ? rank : 0].get();
  return restorer;
}

const std::string* StateRestorer::Find(const File& file, absl::string_view name) {
  if (!status_.ok()) return nullptr;
  const auto found = file.values.find(Path(name));
  if (found != file.values.end()) return &found->second;
  status_ = absl::FailedPreconditionError(absl::StrCat(file.path, " has no ", Path(name), ": it was saved by a job with other settings"));
  return nullptr;
}

void StateRestorer::WrongSize(const File& file, absl::string_view name, size_t is, size_t should) {
  status_ = absl::FailedPreconditionError(
      absl::StrCat(file.path, ": ", Path(name), " has ", is, " bytes, not ", should, ": it was saved by a job with other settings"));
}

void StateRestorer::Bytes(absl::string_view name, void* value, size_t bytes) {
  const std::string* const saved = Find(*own_, name);
  if (saved == nullptr) return;
  if (saved->size() != bytes) return WrongSize(*own_, name, saved->size(), bytes);
  if (bytes > 0) std::memcpy(value, saved->data(), bytes);
}

void StateRestorer::Text(absl::string_view name, std::string* bytes) {
  if (const std::string* const saved = Find(*own_, name); saved != nullptr) *bytes = *saved;
}

void StateRestorer::Count(absl::string_view name, uint64_t* value) {
  uint64_t sum = 0;
  for (const File* file : of_this_) {
    const std::string* const found = Find(*file, name);
    if (found == nullptr) return;
    uint64_t saved = 0;
    if (found->size() != sizeof(saved)) return WrongSize(*file, name, found->size(), sizeof(saved));
    std::memcpy(&saved, found->data(), sizeof(saved));
    sum += saved;
  }
  *value = sum;
}

void StateRestorer::AddUp(absl::string_view name, const Files& files, absl::Span<float> values) {
  const size_t bytes = values.size() * sizeof(float);
  std::vector<float> saved(values.size());
  bool first = true;
  for (const File* file : files) {
    const std::string* const found = Find(*file, name);
    if (found == nullptr) return;
    if (found->size() != bytes) return WrongSize(*file, name, found->size(), bytes);
    if (bytes > 0) std::memcpy(saved.data(), found->data(), bytes);
    // The first is copied, not added to zero: a negative zero stays one.
    for (size_t i = 0; i < values.size(); ++i) values[i] = first ? saved[i] : values[i] + saved[i];
    first = false;
  }
  if (first) std::fill(values.begin(), values.end(), 0.0f);
}

void StateRestorer::ResidualRows(absl::string_view name, uint32_t width, KeyedRows* rows) {
  rows->keys.clear();
  rows->values.clear();
  absl::flat_hash_map<Key, size_t> row_of;
  for (const File* file : of_this_) {
    const std::string* const keys = Find(*file, absl::StrCat(name, ".keys"));
    const std::string* const values = Find(*file, absl::StrCat(name, ".values"));
    if (keys == nullptr || values == nullptr) return;
    const size_t count = keys->size() / sizeof(Key);
    const size_t row_bytes = width * sizeof(float);
    if (keys->size() % sizeof(Key) != 0 || values->size() != count * row_bytes) {
      return WrongSize(*file, absl::StrCat(name, ".values"), values->size(), count * row_bytes);
    }
    for (size_t i = 0; i < count; ++i) {
      Key key;
      std::memcpy(&key, keys->data() + i * sizeof(Key), sizeof(Key));
      const auto [found, added] = row_of.emplace(key, rows->keys.size());
      if (added) {
        rows->keys.push_back(key);
        rows->values.resize(rows->values.size() + width);
      }
      float* const row = rows->values.data() + found->second * width;
      std::vector<float> saved(width);
      std::memcpy(saved.data(), values->data() + i * row_bytes, row_bytes);
      for (uint32_t d = 0; d < width; ++d) row[d] = added ? saved[d] : row[d] + saved[d];
    }
  }
}

}  // namespace weir
