#include "proto/row_initializer.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace weir {
namespace {

class UniformInitializer : public RowInitializer {
 public:
  UniformInitializer(double scale, InitializerStream stream) : scale_(scale), table_stream_(Mix64(stream.seed, stream.table)) {}

  void Fill(Key key, absl::Span<float> weights) const override {
    const uint64_t row_stream = Mix64(table_stream_, key);
    for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(scale_ * (2 * KeyedUniform(row_stream, i) - 1));
  }

 private:
  const double scale_;
  const uint64_t table_stream_;
};

class ConstantInitializer : public RowInitializer {
 public:
  explicit ConstantInitializer(float value) : value_(value) {}

  void Fill(Key key, absl::Span<float> weights) const override { std::fill(weights.begin(), weights.end(), value_); }

 private:
  const float value_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<RowInitializer>> MakeRowInitializer(const Initializer& settings, InitializerStream stream) {
  switch (settings.type()) {
    case Initializer::TYPE_UNIFORM:
      return std::make_unique<UniformInitializer>(settings.scale(), stream);
    case Initializer::TYPE_CONSTANT:
      return std::make_unique<ConstantInitializer>(static_cast<float>(settings.scale()));
    default:
      return absl::InvalidArgumentError(absl::StrCat("no initializer of type ", Initializer::Type_Name(settings.type())));
  }
}

}  // namespace weir
