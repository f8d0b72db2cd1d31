// What a component must remember from one step to the next, said once: the same function saves it into a checkpoint and takes it back.
//
//   void DctLayer::VisitState(StateVisitor* state) {
//     state->Number("step", &step_);
//     state->Residual("residual", absl::MakeSpan(residual_));
//   }
//
// A restored job may have another number of workers than the one that was saved. What is said of each value decides what becomes of it:
// most is the same on all workers, or one worker's own business; residuals are what the workers together still owe, and add up.
#ifndef WEIR_BASE_STATE_VISITOR_H_
#define WEIR_BASE_STATE_VISITOR_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/key.h"
#include "base/state_file.h"

namespace weir {

// Rows by key: values has keys.size() x width entries.
struct KeyedRows {
  std::vector<Key> keys;
  std::vector<float> values;
};

// Single-threaded. Errors are kept: the first stands, and later visits do nothing. Names are unique inside their Scope.
class StateVisitor {
 public:
  virtual ~StateVisitor() = default;
  StateVisitor(const StateVisitor&) = delete;
  StateVisitor& operator=(const StateVisitor&) = delete;

  // Puts "<name>/" before the names that are visited while it lives.
  class Scope {
   public:
    Scope(StateVisitor* state, absl::string_view name);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    StateVisitor* const state_;
    const size_t outer_bytes_;
  };

  virtual bool restoring() const = 0;

  void Number(absl::string_view name, uint64_t* value) { Bytes(name, value, sizeof(*value)); }
  void Number(absl::string_view name, int64_t* value) { Bytes(name, value, sizeof(*value)); }
  void Real(absl::string_view name, double* value) { Bytes(name, value, sizeof(*value)); }
  void Real(absl::string_view name, float* value) { Bytes(name, value, sizeof(*value)); }
  void Flag(absl::string_view name, bool* value);
  // As many as there are.
  void Values(absl::string_view name, absl::Span<float> values) { Bytes(name, values.data(), values.size() * sizeof(float)); }
  // However many there are.
  void Vector(absl::string_view name, std::vector<float>* values);
  void Vector(absl::string_view name, std::vector<double>* values);
  virtual void Text(absl::string_view name, std::string* bytes) = 0;

  // Of events so far: the workers' add up, as residuals do.
  virtual void Count(absl::string_view name, uint64_t* value) = 0;
  // What was not sent yet. Each saved worker's goes to one of the restored ones, which adds up what it gets.
  virtual void Residual(absl::string_view name, absl::Span<float> values) = 0;
  // Likewise by key; REQUIRES: distinct keys, `width` values each.
  virtual void ResidualRows(absl::string_view name, uint32_t width, KeyedRows* rows) = 0;
  // Likewise, but every restored worker gets the sum over all saved ones: for what is cut anew over the workers.
  virtual void ResidualOfAll(absl::string_view name, absl::Span<float> values) = 0;

  // The first error; OK: everything was visited.
  const absl::Status& status() const { return status_; }
  // For a component that finds what it restored to be wrong.
  void Fail(absl::string_view name, absl::string_view why);

 protected:
  StateVisitor() = default;
  virtual void Bytes(absl::string_view name, void* value, size_t bytes) = 0;
  std::string Path(absl::string_view name) const { return scope_ + std::string(name); }

  absl::Status status_;

 private:
  std::string scope_;  // "" or "a/b/"
};

// Writes what it visits into a file, which stays open.
class StateSaver final : public StateVisitor {
 public:
  explicit StateSaver(StateFileWriter* file) : file_(file) {}

  bool restoring() const override { return false; }
  void Text(absl::string_view name, std::string* bytes) override;
  void Count(absl::string_view name, uint64_t* value) override { Number(name, value); }
  void Residual(absl::string_view name, absl::Span<float> values) override;
  void ResidualRows(absl::string_view name, uint32_t width, KeyedRows* rows) override;
  void ResidualOfAll(absl::string_view name, absl::Span<float> values) override { Residual(name, values); }

 protected:
  void Bytes(absl::string_view name, void* value, size_t bytes) override;

 private:
  void Add(absl::string_view name, absl::string_view payload);

  StateFileWriter* const file_;
};

// Restores from the files of the workers that were saved, which it holds in memory. Errors name file and value.
class StateRestorer final : public StateVisitor {
 public:
  // paths: of every saved worker, by rank. Worker `rank` of `workers` takes over the residuals of each saved worker whose rank is its own
  // modulo `workers`, and everything else from the one of its own rank; from the first one when there is none.
  static absl::StatusOr<std::unique_ptr<StateRestorer>> Open(const std::vector<std::string>& paths, uint32_t rank, uint32_t workers);

  bool restoring() const override { return true; }
  void Text(absl::string_view name, std::string* bytes) override;
  void Count(absl::string_view name, uint64_t* value) override;
  void Residual(absl::string_view name, absl::Span<float> values) override { AddUp(name, of_this_, values); }
  void ResidualRows(absl::string_view name, uint32_t width, KeyedRows* rows) override;
  void ResidualOfAll(absl::string_view name, absl::Span<float> values) override { AddUp(name, of_all_, values); }

 protected:
  void Bytes(absl::string_view name, void* value, size_t bytes) override;

 private:
  struct File {
    std::string path;
    std::map<std::string, std::string> values;  // by path of the value
  };
  using Files = std::vector<const File*>;

  StateRestorer() = default;
  // Null, and an error, where it is missing.
  const std::string* Find(const File& file, absl::string_view name);
  void AddUp(absl::string_view name, const Files& files, absl::Span<float> values);
  void WrongSize(const File& file, absl::string_view name, size_t is, size_t should);

  std::vector<std::unique_ptr<File>> files_;  // by rank
  const File* own_ = nullptr;
  Files of_this_, of_all_;
};

}  // namespace weir

#endif  // WEIR_BASE_STATE_VISITOR_H_
