// The conformance suite of dense codecs: what compression/layer_codec.h promises, for each of them. A new codec adds its lines to kCodecs.
#include "compression/layer_codec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "base/state_file.h"
#include "base/state_visitor.h"
#include "compression/half.h"
#include "compression/layer_codec_registry.h"
#include "tests/compression/sample_values.h"

namespace weir::compression {
namespace {

using Frames = std::vector<std::string>;

constexpr uint32_t kSize = 1000;

struct Codec {
  const char* name;
  Compression::Method method;
  Compression::Values values = Compression::VALUES_FP32;
  bool has_residual = true;
};

constexpr Codec kCodecs[] = {
    {"fp16", Compression::METHOD_FP16, Compression::VALUES_UNSPECIFIED, false},
    {"bf16", Compression::METHOD_BF16, Compression::VALUES_UNSPECIFIED, false},
    {"dct", Compression::METHOD_DCT},
    {"dct_fp16", Compression::METHOD_DCT, Compression::VALUES_FP16},
    {"dct_int8", Compression::METHOD_DCT, Compression::VALUES_INT8},
    {"topk", Compression::METHOD_TOPK},
    {"topk_fp16", Compression::METHOD_TOPK, Compression::VALUES_FP16},
    {"topk_int8", Compression::METHOD_TOPK, Compression::VALUES_INT8},
    {"dgc", Compression::METHOD_DGC},
    {"dgc_fp16", Compression::METHOD_DGC, Compression::VALUES_FP16},
    {"dgc_int8", Compression::METHOD_DGC, Compression::VALUES_INT8},
};

std::vector<float> Decoded(const Frames& frames, const std::vector<uint32_t>& slice_ends) {
  std::vector<float> out(slice_ends.back());
  EXPECT_EQ(frames.size(), slice_ends.size());
  uint32_t begin = 0;
  for (size_t i = 0; i < frames.size(); ++i) {
    const absl::Status status = DecodeInto(frames[i], absl::MakeSpan(out).subspan(begin, slice_ends[i] - begin));
    EXPECT_TRUE(status.ok()) << status;
    begin = slice_ends[i];
  }
  return out;
}

std::vector<float> Copy(absl::Span<const float> values) { return {values.begin(), values.end()}; }

class LayerCodecTest : public testing::TestWithParam<Codec> {
 protected:
  static std::unique_ptr<LayerCodec> Make(double sparsity, uint32_t min_elements = 0) {
    Compression::Dense settings;
    settings.set_method(GetParam().method);
    settings.set_sparsity(sparsity);
    settings.set_refresh_every(3);
    settings.set_values(GetParam().values);
    settings.set_min_elements(min_elements);
    settings.set_momentum(0);  // of dgc: so that the residual is of gradients; with momentum in dgc_layer_test.cc
    auto codec = MakeLayerCodec(settings, {kSize, 2});
    EXPECT_TRUE(codec.ok()) << codec.status();
    return *std::move(codec);
  }

  // Encodes one gradient in one slice.
  static Frames Encode(LayerCodec* codec, const std::vector<float>& gradient) {
    Frames frames = {"replaced"};
    const absl::Status status = codec->Encode(gradient, 8, {kSize}, &frames);
    EXPECT_TRUE(status.ok()) << status;
    return frames;
  }
};

TEST_P(LayerCodecTest, WhatWasSentPlusTheResidualIsTheSumOfTheGradients) {
  std::mt19937 random(7);
  const auto codec = Make(0.9);
  ASSERT_EQ(codec->residual().size(), GetParam().has_residual ? kSize : 0);
  if (!GetParam().has_residual) return;
  std::vector<double> gradients(kSize), sent(kSize);
  for (uint32_t step = 0; step < 100; ++step) {
    const std::vector<float> gradient = NormalValues(kSize, step);
    const std::vector<float> before = Copy(codec->residual());
    const std::vector<float> decoded = Decoded(Encode(codec.get(), gradient), {kSize});
    ASSERT_EQ(Copy(codec->residual()), before) << "only settling changes it";
    const bool acknowledged = random() % 3 != 0;
    acknowledged ? codec->Commit() : codec->Rollback();
    for (size_t i = 0; i < kSize; ++i) {
      gradients[i] += gradient[i];
      if (acknowledged) sent[i] += decoded[i];
      // Each step adds at most two roundings of a number below 100.
      ASSERT_NEAR(sent[i] + codec->residual()[i], gradients[i], 1e-5 * (step + 1)) << step;
    }
  }
}

// A scatter of zeros, so that frames choose other layouts than for the selection alone.
TEST_P(LayerCodecTest, WhatTheReceiverReadsLeavesTheResidualAtEveryDensity) {
  for (const double sparsity : {0.0, 0.02, 0.1, 0.5, 0.95, 0.9999}) {
    for (const double zeros : {0.0, 0.01, 0.05, 0.6}) {
      const auto codec = Make(sparsity);
      std::vector<float> gradient = NormalValues(kSize, 5);
      for (size_t i = 0; i < kSize; ++i) gradient[i] *= i % 7 == 0 ? 1e-3f : 30;
      for (const uint32_t position : RandomPositions(kSize, zeros, 3)) gradient[position] = 0;
      const std::vector<float> decoded = Decoded(Encode(codec.get(), gradient), {kSize});
      EXPECT_EQ(codec->stats().entries, kSize);
      if (!GetParam().has_residual) continue;
      codec->Commit();
      for (size_t i = 0; i < kSize; ++i) {
        ASSERT_EQ(codec->residual()[i], gradient[i] - decoded[i]) << "entry " << i << " at " << sparsity << ", " << zeros;
      }
    }
  }
}

TEST_P(LayerCodecTest, RolledBackIsAsNeverSent) {
  const auto codec = Make(0.9), fresh = Make(0.9);
  const std::vector<float> gradient = NormalValues(kSize, 1);
  Encode(codec.get(), gradient);
  codec->Rollback();
  if (GetParam().has_residual) {
    EXPECT_EQ(Copy(codec->residual()), gradient) << "every bit is kept";
  } else {
    EXPECT_EQ(Encode(codec.get(), gradient), Encode(fresh.get(), gradient));
  }
}

// Of codecs that round each value by itself: blocks of int8 begin anew in each slice.
class SingleValueCodecTest : public LayerCodecTest {};

TEST_P(SingleValueCodecTest, SlicesSayTheSameAsOneFrame) {
  for (const std::vector<uint32_t>& ends : std::vector<std::vector<uint32_t>>{{500, kSize}, {0, 1, 1, 333, 999, kSize, kSize}}) {
    const auto whole = Make(0.9), sliced = Make(0.9);
    for (uint32_t step = 0; step < 5; ++step) {
      const std::vector<float> gradient = NormalValues(kSize, step);
      Frames many;
      ASSERT_TRUE(sliced->Encode(gradient, 8, ends, &many).ok());
      EXPECT_EQ(Decoded(many, ends), Decoded(Encode(whole.get(), gradient), {kSize}));
      whole->Commit();
      sliced->Commit();
    }
  }
}

TEST_P(LayerCodecTest, NotFiniteIsRefusedByPositionAndChangesNothing) {
  const auto codec = Make(0.9), untouched = Make(0.9);
  for (uint32_t step = 0; step < 5; ++step) {
    const std::vector<float> gradient = NormalValues(kSize, step);
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
      std::vector<float> poisoned = gradient;
      poisoned[637] = bad;
      Frames frames;
      const absl::Status status = codec->Encode(poisoned, 8, {500, kSize}, &frames);
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
      EXPECT_NE(status.message().find("gradient 637 of 1000"), std::string::npos) << status;
    }
    EXPECT_EQ(Encode(codec.get(), gradient), Encode(untouched.get(), gradient));
    codec->Commit();
    untouched->Commit();
    EXPECT_EQ(Copy(codec->residual()), Copy(untouched->residual()));
  }
}

TEST_P(LayerCodecTest, BadSlicesAndUnsettledEncodingsAreRefused) {
  const auto codec = Make(0.9);
  const std::vector<float> gradient(kSize, 1.0f);
  Frames frames;
  EXPECT_FALSE(codec->Encode(gradient, 8, {kSize - 1}, &frames).ok());
  EXPECT_FALSE(codec->Encode(gradient, 8, {kSize + 1}, &frames).ok());
  EXPECT_FALSE(codec->Encode(gradient, 8, {600, 500, kSize}, &frames).ok());
  EXPECT_FALSE(codec->Encode(gradient, 8, {}, &frames).ok());
  EXPECT_FALSE(codec->Encode(std::vector<float>(9, 1.0f), 8, {9}, &frames).ok());
  ASSERT_TRUE(codec->Encode(gradient, 8, {kSize}, &frames).ok());
  EXPECT_EQ(codec->Encode(gradient, 8, {kSize}, &frames).code(), absl::StatusCode::kFailedPrecondition);
  codec->Rollback();
  EXPECT_TRUE(codec->Encode(gradient, 8, {kSize}, &frames).ok());
}

// Of codecs that round nothing.
class ExactCodecTest : public LayerCodecTest {};

TEST_P(ExactCodecTest, SparsityZeroSendsTheGradientBitForBit) {
  const auto codec = Make(0);
  for (uint32_t step = 0; step < 5; ++step) {
    std::vector<float> gradient = NormalValues(kSize, step);
    gradient[5] = std::numeric_limits<float>::denorm_min();
    gradient[6] = std::numeric_limits<float>::lowest();
    gradient[7] = 0;
    const std::vector<float> decoded = Decoded(Encode(codec.get(), gradient), {kSize});
    codec->Commit();
    for (size_t i = 0; i < kSize; ++i) ASSERT_EQ(BitsOfFloat(decoded[i]), BitsOfFloat(gradient[i]));
    EXPECT_EQ(codec->stats().residual_norm, 0);
  }
}

TEST_P(LayerCodecTest, ASmallLayerTravelsWhole) {
  const auto whole = Make(0.99, kSize + 1), thinned = Make(0.99, kSize);
  Encode(whole.get(), NormalValues(kSize, 1));
  Encode(thinned.get(), NormalValues(kSize, 1));
  EXPECT_EQ(whole->stats().kept, kSize);
  EXPECT_LE(thinned->stats().kept, GetParam().has_residual ? kSize / 50 : kSize);
}

TEST_P(LayerCodecTest, SameGradientsSameBytes) {
  const auto first = Make(0.9), second = Make(0.9);
  std::vector<float> gradient(kSize, 1.0f);  // nothing but ties
  for (uint32_t step = 0; step < 5; ++step) {
    EXPECT_EQ(Encode(first.get(), gradient), Encode(second.get(), gradient));
    step % 2 == 0 ? first->Commit() : first->Rollback();
    step % 2 == 0 ? second->Commit() : second->Rollback();
    gradient = NormalValues(kSize, step);
  }
}

TEST_P(LayerCodecTest, RestoredGoesOnAsIfNothingHadBeen) {
  const std::string path = testing::TempDir() + "/codec_state";
  const auto undisturbed = Make(0.9), restored = Make(0.9);
  for (uint32_t step = 0; step < 10; ++step) {
    if (step == 5) {
      const auto file = StateFileWriter::Create(path);
      StateSaver saver(file->get());
      undisturbed->VisitState(&saver);
      ASSERT_TRUE(saver.status().ok() && (*file)->Finish().ok());
      const auto restorer = StateRestorer::Open({path}, 0, 1);
      restored->VisitState(restorer->get());
      ASSERT_TRUE((*restorer)->status().ok()) << (*restorer)->status();
    }
    if (step == 2) undisturbed->SetDensityFactor(2);
    const std::vector<float> gradient = NormalValues(kSize, step);
    const Frames frames = Encode(undisturbed.get(), gradient);
    undisturbed->Commit();
    if (step < 5) continue;
    EXPECT_EQ(Encode(restored.get(), gradient), frames) << step;
    restored->Commit();
  }
}

TEST_P(LayerCodecTest, StatsSayWhatTheFramesCarry) {
  const auto codec = Make(0.9);
  std::vector<float> gradient = NormalValues(kSize, 1);
  const std::vector<float> decoded = Decoded(Encode(codec.get(), gradient), {kSize});
  EXPECT_EQ(codec->stats().kept, std::count_if(decoded.begin(), decoded.end(), [](float value) { return value != 0; }));
  double squares = 0;
  for (const float value : gradient) squares += double{value} * value;
  EXPECT_NEAR(codec->stats().gradient_norm, std::sqrt(squares), 1e-9 * std::sqrt(squares));
}

std::vector<Codec> CodecsThat(bool (*holds)(const Codec& codec)) {
  std::vector<Codec> codecs;
  std::copy_if(std::begin(kCodecs), std::end(kCodecs), std::back_inserter(codecs), holds);
  return codecs;
}

std::string NameOf(const testing::TestParamInfo<Codec>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(All, LayerCodecTest, testing::ValuesIn(kCodecs), NameOf);
INSTANTIATE_TEST_SUITE_P(All, SingleValueCodecTest,
                         testing::ValuesIn(CodecsThat([](const Codec& codec) { return codec.values != Compression::VALUES_INT8; })),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(All, ExactCodecTest,
                         testing::ValuesIn(CodecsThat([](const Codec& codec) { return codec.values == Compression::VALUES_FP32; })),
                         NameOf);

TEST(MakeLayerCodecTest, MethodsWithoutFramesOfLayersAreRefused) {
  for (const auto method : {Compression::METHOD_NONE, Compression::METHOD_PLAIN, Compression::METHOD_INT8_ROWWISE}) {
    Compression::Dense settings;
    settings.set_method(method);
    EXPECT_EQ(MakeLayerCodec(settings, {kSize, 1}).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace weir::compression
