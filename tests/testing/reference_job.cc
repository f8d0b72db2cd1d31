#include "tests/testing/reference_job.h"

#include <cmath>

namespace weir::testing {

ReferenceJob::ReferenceJob(ReferenceShape shape, std::vector<double> parameters)
    : shape_(std::move(shape)), parameters_(std::move(parameters)) {
  uint32_t offset = 0;
  for (size_t i = 1; i < shape_.bottom.size(); ++i) {
    bottom_.push_back({shape_.bottom[i - 1], shape_.bottom[i], offset, true});
    offset += (bottom_.back().in + 1) * bottom_.back().out;
  }
  const uint32_t vectors = shape_.features + 1;
  uint32_t in = shape_.dim + vectors * (vectors - 1) / 2;
  for (size_t i = 0; i < shape_.top.size(); ++i) {
    top_.push_back({in, shape_.top[i], offset, i + 1 < shape_.top.size()});
    offset += (in + 1) * shape_.top[i];
    in = shape_.top[i];
  }
}

std::vector<double> ReferenceJob::Apply(const Layer& layer, const std::vector<double>& x) const {
  std::vector<double> y(layer.out);
  for (uint32_t o = 0; o < layer.out; ++o) {
    double sum = parameters_[layer.offset + layer.in * layer.out + o];
    for (uint32_t i = 0; i < layer.in; ++i) sum += parameters_[layer.offset + o * layer.in + i] * x[i];
    y[o] = layer.relu && sum < 0 ? 0 : sum;
  }
  return y;
}

std::vector<double> ReferenceJob::Backward(const Layer& layer, const std::vector<double>& x, const std::vector<double>& y,
                                           std::vector<double> dy, std::vector<double>* gradient) const {
  std::vector<double> dx(layer.in);
  for (uint32_t o = 0; o < layer.out; ++o) {
    if (layer.relu && y[o] <= 0) continue;
    (*gradient)[layer.offset + layer.in * layer.out + o] += dy[o];
    for (uint32_t i = 0; i < layer.in; ++i) {
      (*gradient)[layer.offset + o * layer.in + i] += dy[o] * x[i];
      dx[i] += dy[o] * parameters_[layer.offset + o * layer.in + i];
    }
  }
  return dx;
}

double ReferenceJob::Step(const std::vector<const worker::Batch*>& batches, double learning_rate) {
  std::vector<double> gradient(parameters_.size());
  std::map<std::pair<uint32_t, Key>, std::vector<double>> row_gradients;
  double loss = 0, samples = 0;
  for (const worker::Batch* batch : batches) {
    for (uint32_t s = 0; s < batch->samples; ++s, ++samples) {
      // Forward, keeping the output of every layer.
      std::vector<std::vector<double>> bottom_out = {
          {batch->dense.begin() + s * shape_.bottom[0], batch->dense.begin() + (s + 1) * shape_.bottom[0]}};
      for (const Layer& layer : bottom_) bottom_out.push_back(Apply(layer, bottom_out.back()));
      std::vector<std::vector<double>> vectors = {bottom_out.back()};
      for (const client::FeatureKeys& feature : batch->features) vectors.push_back(rows_.at({feature.table, feature.keys[s]}));
      std::vector<std::vector<double>> top_out = {bottom_out.back()};
      for (size_t i = 1; i < vectors.size(); ++i) {
        for (size_t j = 0; j < i; ++j) {
          double dot = 0;
          for (uint32_t d = 0; d < shape_.dim; ++d) dot += vectors[i][d] * vectors[j][d];
          top_out[0].push_back(dot);
        }
      }
      for (const Layer& layer : top_) top_out.push_back(Apply(layer, top_out.back()));
      const double logit = top_out.back()[0];
      const double label = batch->labels[s];
      loss += std::log1p(std::exp(-std::abs(logit))) + (logit > 0 ? logit * (1 - label) : -logit * label);

      // Backward.
      std::vector<double> d = {1 / (1 + std::exp(-logit)) - label};
      for (size_t l = top_.size(); l-- > 0;) d = Backward(top_[l], top_out[l], top_out[l + 1], d, &gradient);
      std::vector<std::vector<double>> d_vectors(vectors.size(), std::vector<double>(shape_.dim));
      for (uint32_t k = 0; k < shape_.dim; ++k) d_vectors[0][k] = d[k];
      size_t pair = shape_.dim;
      for (size_t i = 1; i < vectors.size(); ++i) {
        for (size_t j = 0; j < i; ++j, ++pair) {
          for (uint32_t k = 0; k < shape_.dim; ++k) {
            d_vectors[i][k] += d[pair] * vectors[j][k];
            d_vectors[j][k] += d[pair] * vectors[i][k];
          }
        }
      }
      for (size_t f = 0; f < batch->features.size(); ++f) {
        auto& sum = row_gradients[{batch->features[f].table, batch->features[f].keys[s]}];
        sum.resize(shape_.dim);
        for (uint32_t k = 0; k < shape_.dim; ++k) sum[k] += d_vectors[f + 1][k];
      }
      d = d_vectors[0];
      for (size_t l = bottom_.size(); l-- > 0;) d = Backward(bottom_[l], bottom_out[l], bottom_out[l + 1], d, &gradient);
    }
  }
  for (size_t i = 0; i < gradient.size(); ++i) parameters_[i] -= learning_rate * gradient[i] / samples;
  for (const auto& [name, sum] : row_gradients) {
    for (uint32_t k = 0; k < shape_.dim; ++k) rows_[name][k] -= learning_rate * sum[k] / samples;
  }
  return loss / samples;
}

}  // namespace weir::testing
