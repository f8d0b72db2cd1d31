#include "worker/gloo_reducer.h"

#include <algorithm>
#include <exception>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/socket_bytes.h"
#include "gloo/allreduce.h"
#include "gloo/math.h"
#include "gloo/rendezvous/context.h"
#include "gloo/rendezvous/store.h"
#include "gloo/transport/tcp/device.h"

namespace weir::worker {
namespace {

// Gloo's rendezvous in the coordinator's store. Gloo reports errors by exceptions; they end in Guarded.
class ControlStore final : public gloo::rendezvous::Store {
 public:
  ControlStore(ControlClient* control, absl::Duration timeout) : control_(control), timeout_(timeout) {}

  void set(const std::string& key, const std::vector<char>& data) override {
    Check(control_->PutValue(Name(key), absl::string_view(data.data(), data.size())));
  }
  std::vector<char> get(const std::string& key) override {
    const auto values = control_->GetValues({Name(key)}, timeout_);
    Check(values.status());
    return std::vector<char>(values->front().begin(), values->front().end());
  }
  void wait(const std::vector<std::string>& keys) override { WaitFor(keys, timeout_); }
  void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& timeout) override {
    WaitFor(keys, absl::FromChrono(timeout));
  }

 private:
  static std::string Name(const std::string& key) { return absl::StrCat("gloo/", key); }
  static void Check(const absl::Status& status) {
    if (!status.ok()) GLOO_THROW_IO_EXCEPTION(status.ToString());
  }
  void WaitFor(const std::vector<std::string>& keys, absl::Duration timeout) {
    std::vector<std::string> names;
    for (const std::string& key : keys) names.push_back(Name(key));
    Check(control_->GetValues(names, timeout).status());
  }

  ControlClient* const control_;
  const absl::Duration timeout_;
};

// The border where Gloo's exceptions become a Status.
template <typename Work>
absl::Status Guarded(absl::string_view what, Work work) {
  try {
    work();
    return absl::OkStatus();
  } catch (const std::exception& e) {
    return absl::UnavailableError(absl::StrCat(what, ": a worker is gone or too slow: ", e.what()));
  }
}

class GlooReducer final : public DenseReducer {
 public:
  GlooReducer(std::shared_ptr<gloo::rendezvous::Context> context, std::shared_ptr<gloo::transport::Device> device)
      : device_(std::move(device)), context_(std::move(context)) {}

  absl::StatusOr<uint64_t> Reduce(int64_t step, uint32_t samples, absl::Span<float> gradients) override {
    // The count of samples travels in the same message: it is exact in a float up to 2^24.
    buffer_.resize(gradients.size() + 1);
    std::copy(gradients.begin(), gradients.end(), buffer_.begin());
    buffer_.back() = static_cast<float>(samples);
    const absl::Status status = Guarded(absl::StrCat("dense all-reduce of step ", step), [this] {
      gloo::AllreduceOptions options(context_);
      options.setOutput(buffer_.data(), buffer_.size());
      options.setReduceFunction([](void* c, const void* a, const void* b, size_t n) { gloo::sum<float>(c, a, b, n); });
      gloo::allreduce(options);
    });
    if (!status.ok()) return status;
    std::copy(buffer_.begin(), buffer_.end() - 1, gradients.begin());
    return static_cast<uint64_t>(buffer_.back());
  }

  std::vector<client::CodecStats> TakeStats() override { return {}; }

 private:
  const std::shared_ptr<gloo::transport::Device> device_;
  const std::shared_ptr<gloo::rendezvous::Context> context_;
  std::vector<float> buffer_;
};

// One worker has nobody to add.
class LoneReducer final : public DenseReducer {
 public:
  absl::StatusOr<uint64_t> Reduce(int64_t, uint32_t samples, absl::Span<float>) override { return samples; }
  bool waits() override { return false; }
  std::vector<client::CodecStats> TakeStats() override { return {}; }
};

}  // namespace

absl::StatusOr<std::unique_ptr<DenseReducer>> CreateGlooReducer(ControlClient* control, const GlooOptions& options) {
  if (options.workers == 1) return std::make_unique<LoneReducer>();
  std::unique_ptr<DenseReducer> reducer;
  const absl::Status status = Guarded(absl::StrCat("connecting ", options.workers, " workers for the dense all-reduce"), [&] {
    gloo::transport::tcp::attr attributes;
    attributes.hostname = options.host;
    std::shared_ptr<gloo::transport::Device> device = gloo::transport::tcp::CreateDevice(attributes);
    auto context = std::make_shared<gloo::rendezvous::Context>(control->index(), options.workers);
    context->setTimeout(absl::ToChronoMilliseconds(options.timeout));
    ControlStore store(control, options.timeout);
    // Gloo connects on this thread, one side of each pair: every connection is counted once.
    CountConnectsInScope counted(Edge::kDense);
    context->connectFullMesh(store, device);
    reducer = std::make_unique<GlooReducer>(std::move(context), std::move(device));
  });
  if (!status.ok()) return status;
  return reducer;
}

}  // namespace weir::worker
