#include "worker/dlrm.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/key.h"
#include "base/limits.h"
#include "base/status_macros.h"

namespace weir::worker {
namespace {

// Enough rows for the matrix library's full speed, few enough for a block's activations and a layer's weights to share 2 MiB of cache.
constexpr size_t kBlockRows = 256;

// Names the dense layers' stream of random numbers; tables have small numbers instead.
constexpr uint64_t kDenseStream = 0x64656e7365000000;  // "dense"

size_t ParameterCount(const std::vector<Linear::Shape>& layers) {
  return std::accumulate(layers.begin(), layers.end(), size_t{0},
                         [](size_t sum, const Linear::Shape& layer) { return sum + layer.parameter_count(); });
}

// values[i] = element i of a stream of normal numbers (Box and Muller, 1958), times `deviation`.
void FillNormal(uint64_t stream, double deviation, absl::Span<float> values) {
  constexpr double kTwoPi = 6.283185307179586;
  for (size_t i = 0; i < values.size(); i += 2) {
    const double radius = deviation * std::sqrt(-2.0 * std::log(1.0 - KeyedUniform(stream, i)));
    const double angle = kTwoPi * KeyedUniform(stream, i + 1);
    values[i] = static_cast<float>(radius * std::cos(angle));
    if (i + 1 < values.size()) values[i + 1] = static_cast<float>(radius * std::sin(angle));
  }
}

absl::Status CheckParameterCount(const std::vector<Linear::Shape>& layers) {
  size_t left = kFrameEntriesMax;
  for (const Linear::Shape& layer : layers) {
    if (layer.inputs + 1 > left / layer.outputs) {
      return absl::InvalidArgumentError(absl::StrCat("model: the dense layers have more than ", kFrameEntriesMax,
                                                     " parameters, the limit; make model.bottom or model.top narrower"));
    }
    left -= layer.parameter_count();
  }
  return absl::OkStatus();
}

absl::Status CheckWidths(const Model& model, uint32_t dim) {
  if (dim == 0 || dim > kDimMax) {
    return absl::InvalidArgumentError(absl::StrCat("embeddings.dim: ", dim, " is not between 1 and ", kDimMax));
  }
  if (model.bottom().empty() || model.bottom(model.bottom_size() - 1) != dim) {
    return absl::InvalidArgumentError(absl::StrCat("model.bottom: the last width must be embeddings.dim, ", dim, ", but the widths are [",
                                                   absl::StrJoin(model.bottom(), ", "), "]"));
  }
  if (model.top().empty() || model.top(model.top_size() - 1) != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("model.top: the last width must be 1, the logit, but the widths are [", absl::StrJoin(model.top(), ", "), "]"));
  }
  const auto is_zero = [](uint32_t width) { return width == 0; };
  if (std::any_of(model.bottom().begin(), model.bottom().end(), is_zero) || std::any_of(model.top().begin(), model.top().end(), is_zero)) {
    return absl::InvalidArgumentError("model.bottom, model.top: a layer of width 0; every width must be at least 1");
  }
  return absl::OkStatus();
}

}  // namespace

size_t Dlrm::Shape::bottom_parameter_count() const { return ParameterCount(bottom); }
size_t Dlrm::Shape::parameter_count() const { return bottom_parameter_count() + ParameterCount(top); }

absl::StatusOr<std::unique_ptr<Dlrm>> Dlrm::Create(const Model& model, const DataSchema& schema, uint32_t dim, uint64_t seed) {
  WEIR_RETURN_IF_ERROR(CheckWidths(model, dim));
  if (schema.sparse_features.size() > kTablesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("model: ", schema.sparse_features.size(), " sparse features, more than the limit of ", kTablesMax));
  }
  Shape shape;
  shape.dense_features = schema.dense_features;
  shape.interaction = {schema.sparse_features.size() + 1, dim};
  shape.bottom = Mlp::Shapes(shape.dense_features, model.bottom(), Activation::kRelu);
  shape.top = Mlp::Shapes(shape.interaction.output_columns(), model.top(), Activation::kNone);
  std::vector<Linear::Shape> layers = shape.bottom;
  layers.insert(layers.end(), shape.top.begin(), shape.top.end());
  WEIR_RETURN_IF_ERROR(CheckParameterCount(layers));

  auto dlrm = absl::WrapUnique(new Dlrm(shape));
  WEIR_RETURN_IF_ERROR(dlrm->AddCuts(model, seed));
  dlrm->SetInitialParameters(seed);
  return dlrm;
}

Dlrm::Dlrm(const Shape& shape)
    : shape_(shape),
      parameter_count_(shape.parameter_count()),
      parameters_(hwy::AllocateAligned<float>(parameter_count_)),
      gradients_(hwy::AllocateAligned<float>(parameter_count_)),
      bottom_(shape.bottom, parameters(), gradients()),
      interaction_(shape.interaction),
      top_(shape.top, parameters().subspan(shape.bottom_parameter_count()), gradients().subspan(shape.bottom_parameter_count())),
      interacted_(shape.interaction.output_columns()),
      interacted_gradient_(shape.interaction.output_columns()),
      bottom_gradient_(shape.interaction.dim),
      logit_gradient_(kBlockRows) {
  std::fill_n(gradients_.get(), parameter_count_, 0.0f);
  AddSlices("bottom.", shape_.bottom);
  AddSlices("top.", shape_.top);
}

void Dlrm::AddSlices(absl::string_view prefix, absl::Span<const Linear::Shape> layers) {
  uint32_t offset = slices_.empty() ? 0 : slices_.back().offset + slices_.back().size;
  for (size_t i = 0; i < layers.size(); ++i) {
    slices_.push_back({absl::StrCat(prefix, i), offset, static_cast<uint32_t>(layers[i].parameter_count()),
                       static_cast<uint32_t>(layers[i].outputs), static_cast<uint32_t>(layers[i].inputs)});
    offset += slices_.back().size;
  }
}

absl::Status Dlrm::AddCuts(const Model& model, uint64_t seed) {
  for (const Cut& cut : model.cuts()) {
    const auto slice =
        std::find_if(slices_.begin(), slices_.end(), [&cut](const ParameterSlice& layer) { return layer.name == cut.after(); });
    if (slice == slices_.end() || slice + 1 == slices_.end()) {
      return absl::InvalidArgumentError(absl::StrCat("model.cuts: no layer '", cut.after(), "' with activations that could cross a cut"));
    }
    const size_t index = slice - slices_.begin();
    auto made = std::make_unique<ThresholdCut>(cut, slice->rows, Mix64(seed, index));
    if (index < shape_.bottom.size()) {
      bottom_.CutAfter(index, made.get());
    } else {
      top_.CutAfter(index - shape_.bottom.size(), made.get());
    }
    cuts_.push_back({cut.after(), cut.sparsity(), std::move(made)});
  }
  return absl::OkStatus();
}

void Dlrm::SetTraining(bool training) {
  for (NamedCut& cut : cuts_) cut.cut->SetTraining(training);
}

void Dlrm::VisitState(StateVisitor* state) {
  for (const ParameterSlice& layer : slices_) state->Values(layer.name, parameters().subspan(layer.offset, layer.size));
  for (NamedCut& cut : cuts_) {
    const StateVisitor::Scope scope(state, absl::StrCat("cut ", cut.after));
    cut.cut->VisitState(state);
  }
}

std::vector<client::CodecStats> Dlrm::TakeStats() {
  std::vector<client::CodecStats> taken;
  for (NamedCut& cut : cuts_) {
    const ThresholdCut::Count count = cut.cut->TakeCount();
    client::CodecStats& stats = taken.emplace_back();
    stats.edge = "cut";
    stats.name = cut.after;
    stats.stats.entries = count.entries;
    stats.stats.kept = count.kept;
    stats.stats.density_asked = 1 - cut.sparsity;
  }
  return taken;
}

void Dlrm::SetInitialParameters(uint64_t seed) {
  for (size_t i = 0; i < slices_.size(); ++i) {
    const Linear::Shape& layer = i < shape_.bottom.size() ? shape_.bottom[i] : shape_.top[i - shape_.bottom.size()];
    const absl::Span<float> all = parameters().subspan(slices_[i].offset, slices_[i].size);
    const uint64_t stream = Mix64(Mix64(seed, kDenseStream), i);
    FillNormal(Mix64(stream, 0), std::sqrt(2.0 / (layer.inputs + layer.outputs)), all.first(layer.weight_count()));
    FillNormal(Mix64(stream, 1), std::sqrt(1.0 / layer.outputs), all.subspan(layer.weight_count()));
  }
}

void Dlrm::Reserve(size_t samples) {
  const Mlp::Rows rows = {samples, std::min(samples, kBlockRows)};
  bottom_.Reserve(rows);
  top_.Reserve(rows);
  interacted_.Reserve(rows.batch);
  interacted_gradient_.Reserve(rows.block);
  bottom_gradient_.Reserve(rows.batch);
}

void Dlrm::Forward(uint32_t samples, absl::Span<const float> dense, absl::Span<const float> pooled, absl::Span<float> logits) {
  Reserve(samples);
  const size_t pooled_columns = (shape_.interaction.vectors - 1) * shape_.interaction.dim;
  dense_ = {dense.data(), samples, shape_.dense_features, shape_.dense_features};
  pooled_ = {pooled.data(), samples, pooled_columns, pooled_columns};
  const Matrix logit_column = {logits.data(), samples, 1, 1};
  for (size_t first = 0; first < samples; first += kBlockRows) {
    const size_t count = std::min(kBlockRows, samples - first);
    const Matrix interacted = interacted_.Rows(first, count);
    bottom_.Forward(first, dense_.Rows(first, count), BottomPart(interacted));
    interaction_.Forward(pooled_.Rows(first, count), interacted);
    top_.Forward(first, interacted, logit_column.Rows(first, count));
  }
}

template <typename Work>
void Dlrm::ForEachBlockBackward(Work work) {
  // A batch of no samples has one block, so that its layers are done, too.
  size_t first = 0;
  do {
    const size_t count = std::min(kBlockRows, pooled_.rows - first);
    const bool last = first + count == pooled_.rows;
    work(first, count, [this, last](size_t layer) {
      if (last) TellGradientsReady(slices_[layer].offset);
    });
    first += count;
  } while (first < pooled_.rows);
}

void Dlrm::BackwardToPooled(absl::Span<const float> logit_gradient, absl::Span<float> pooled_gradient) {
  std::fill_n(gradients_.get(), parameter_count_, 0.0f);
  const Matrix pooled_gradients = {pooled_gradient.data(), pooled_.rows, pooled_.columns, pooled_.stride};
  ForEachBlockBackward([&](size_t first, size_t count, auto layer_done) {
    const Matrix interacted = interacted_.Rows(first, count);
    const Matrix interacted_gradient = interacted_gradient_.Rows(0, count);
    std::copy_n(logit_gradient.begin() + first, count, logit_gradient_.begin());
    const Matrix logit_gradients = {logit_gradient_.data(), count, 1, 1};

    top_.Backward(first, {interacted, ConstMatrix(), logit_gradients, interacted_gradient},
                  [&](size_t layer) { layer_done(shape_.bottom.size() + layer); });
    interaction_.Backward({pooled_.Rows(first, count), interacted, interacted_gradient, pooled_gradients.Rows(first, count)});
    const Matrix of_bottom = BottomPart(interacted_gradient), kept = bottom_gradient_.Rows(first, count);
    for (size_t row = 0; row < count; ++row) std::copy_n(of_bottom.Row(row), of_bottom.columns, kept.Row(row));
  });
}

void Dlrm::FinishBackward() {
  ForEachBlockBackward([&](size_t first, size_t count, auto layer_done) {
    bottom_.Backward(first,
                     {dense_.Rows(first, count), BottomPart(interacted_.Rows(first, count)), bottom_gradient_.Rows(first, count), Matrix()},
                     layer_done);
  });
}

Matrix Dlrm::BottomPart(Matrix interaction) const {
  return {interaction.data, interaction.rows, shape_.interaction.dim, interaction.stride};
}

}  // namespace weir::worker
