#include "worker/peer_reducer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/grpc_endpoint.h"
#include "base/status_macros.h"
#include "compression/dct_layer.h"
#include "compression/frame.h"
#include "compression/layer_codec.h"
#include "compression/layer_codec_registry.h"
#include "proto/codec_overrides.h"

namespace weir::worker {
namespace {

using compression::LayerCodec;

// A layer's part in one slice, as a range of the flat gradient.
struct Part {
  size_t layer;
  uint32_t begin;
  uint32_t end;
};

struct Slice {
  std::vector<Part> parts;
};

std::vector<Slice> CutSlices(const std::vector<ParameterSlice>& layers, uint32_t workers) {
  const uint64_t total = layers.back().offset + layers.back().size;
  std::vector<Slice> slices(workers);
  for (uint32_t w = 0; w < workers; ++w) {
    const uint32_t begin = total * w / workers;
    const uint32_t end = total * (w + 1) / workers;
    for (size_t layer = 0; layer < layers.size(); ++layer) {
      const Part part = {layer, std::max(begin, layers[layer].offset), std::min(end, layers[layer].offset + layers[layer].size)};
      if (part.begin < part.end) slices[w].parts.push_back(part);
    }
  }
  return slices;
}

// One call to the owner of a slice.
struct PeerCall {
  grpc::ClientContext context;
  ReduceRequest request;
  ReduceReply reply;
  grpc::Status status;
};

class PeerReducer final : public DenseReducer {
 public:
  using Codecs = std::vector<std::unique_ptr<LayerCodec>>;

  PeerReducer(const std::vector<ParameterSlice>& layers, Codecs codecs, PeerExchange* exchange, PeerReducerOptions options)
      : layers_(layers),
        slices_(CutSlices(layers, options.peers.size())),
        exchange_(exchange),
        options_(std::move(options)),
        pack_(options_.codec.entropy() == Compression::ENTROPY_HUFFMAN),
        codecs_(std::move(codecs)) {
    for (const ParameterSlice& layer : layers_) stats_.push_back({"dense", layer.name});
    ExchangeOptions exchange_options;
    exchange_options.job_hash = options_.job_hash;
    exchange_options.rank = options_.rank;
    exchange_options.workers = slices_.size();
    exchange_options.pack = pack_;
    for (const Part& part : slices_[options_.rank].parts) {
      const Compression::Dense codec = DenseOfLayer(options_.codec, layers_[part.layer].name);
      const bool whole = compression::SendsWhole(codec, layers_[part.layer].size);
      exchange_options.parts.push_back({part.end - part.begin, compression::ValuesOf(codec), whole ? 1 : 1 - codec.sparsity()});
    }
    exchange_->Configure(std::move(exchange_options));
    for (const std::string& peer : options_.peers) stubs_.push_back(PeerService::NewStub(OpenChannel(peer, Edge::kDense)));
  }

  absl::StatusOr<uint64_t> Reduce(int64_t step, uint32_t samples, absl::Span<float> gradients) override {
    const absl::Time deadline = absl::Now() + options_.timeout;
    std::vector<std::unique_ptr<PeerCall>> calls;
    WEIR_RETURN_IF_ERROR(EncodeSlices(step, samples, gradients, &calls));
    const absl::StatusOr<uint64_t> total = Exchange(step, deadline, &calls, gradients);
    for (size_t i = 0; i < codecs_.size(); ++i) {
      total.ok() ? codecs_[i]->Commit() : codecs_[i]->Rollback();
      client::CodecStats last;
      last.stats = codecs_[i]->stats();
      stats_[i].Add(last);
    }
    return total;
  }

  void SetDensityFactor(double factor) override {
    for (const auto& codec : codecs_) codec->SetDensityFactor(factor);
    exchange_->SetDensityFactor(factor);
  }

  absl::Span<const float> HeldBack() override {
    held_back_.assign(layers_.back().offset + layers_.back().size, 0.0f);
    for (size_t i = 0; i < layers_.size(); ++i) {
      const absl::Span<const float> residual = codecs_[i]->residual();
      std::copy(residual.begin(), residual.end(), held_back_.begin() + layers_[i].offset);
    }
    return held_back_;
  }

  void VisitState(StateVisitor* state) override {
    for (size_t i = 0; i < layers_.size(); ++i) {
      const StateVisitor::Scope scope(state, layers_[i].name);
      codecs_[i]->VisitState(state);
    }
    std::vector<uint32_t> offsets;
    for (const Part& part : slices_[options_.rank].parts) offsets.push_back(part.begin);
    exchange_->VisitState(state, offsets, layers_.back().offset + layers_.back().size);
  }

  std::vector<client::CodecStats> TakeStats() override {
    std::vector<client::CodecStats> taken = stats_;
    for (client::CodecStats& stats : stats_) stats = {stats.edge, stats.name};
    return taken;
  }

 private:
  absl::Status EncodeSlices(int64_t step, uint32_t samples, absl::Span<const float> gradients,
                            std::vector<std::unique_ptr<PeerCall>>* calls) {
    for (size_t i = 0; i < slices_.size(); ++i) {
      ReduceRequest& request = calls->emplace_back(std::make_unique<PeerCall>())->request;
      request.set_job_hash(options_.job_hash);
      request.set_worker_rank(options_.rank);
      request.set_step(step);
      request.set_samples(samples);
    }
    std::vector<uint32_t> ends;
    std::vector<size_t> owners;
    std::vector<std::string> frames;
    for (size_t layer = 0; layer < layers_.size(); ++layer) {
      ends.clear();
      owners.clear();
      for (size_t owner = 0; owner < slices_.size(); ++owner) {
        for (const Part& part : slices_[owner].parts) {
          if (part.layer != layer) continue;
          ends.push_back(part.end - layers_[layer].offset);
          owners.push_back(owner);
        }
      }
      const absl::Time begin = absl::Now();
      const absl::Status status =
          codecs_[layer]->Encode(gradients.subspan(layers_[layer].offset, layers_[layer].size), samples, ends, &frames);
      if (!status.ok()) {
        for (size_t encoded = 0; encoded < layer; ++encoded) codecs_[encoded]->Rollback();
        return absl::Status(status.code(),
                            absl::StrCat("gradient of layer ", layers_[layer].name, " at step ", step, ": ", status.message()));
      }
      for (size_t i = 0; i < owners.size(); ++i) {
        // What a worker owns itself does not travel.
        if (owners[i] != options_.rank) {
          if (pack_) compression::PackFrame(&frames[i]);
          stats_[layer].bytes += compression::FrameBytesOf(frames[i]);
        }
        *(*calls)[owners[i]]->request.add_frames() = std::move(frames[i]);
      }
      stats_[layer].seconds += absl::ToDoubleSeconds(absl::Now() - begin);
    }
    return absl::OkStatus();
  }

  // Sends each slice to its owner, and replaces `gradients` by the sums that come back.
  absl::StatusOr<uint64_t> Exchange(int64_t step, absl::Time deadline, std::vector<std::unique_ptr<PeerCall>>* calls,
                                    absl::Span<float> gradients) {
    Mutex mu;
    CondVar answered;
    size_t waiting = 0;
    for (size_t owner = 0; owner < calls->size(); ++owner) {
      if (owner == options_.rank) continue;
      PeerCall* call = (*calls)[owner].get();
      SetDeadline(&call->context, deadline);
      {
        MutexLock lock(&mu);
        ++waiting;
      }
      stubs_[owner]->async()->Reduce(&call->context, &call->request, &call->reply, [call, &mu, &answered, &waiting](grpc::Status status) {
        MutexLock lock(&mu);
        call->status = std::move(status);
        --waiting;
        answered.NotifyAll();
      });
    }
    PeerCall& own = *(*calls)[options_.rank];
    absl::Status own_status;
    exchange_->Contribute(own.request, [](const absl::Status&, const ReduceReply&) {});
    own_status = exchange_->WaitForSum(step, deadline, &own.reply);
    {
      // gRPC ends every call at its deadline, so this needs none of its own.
      MutexLock lock(&mu);
      answered.WaitUntil(&mu, absl::InfiniteFuture(), [&waiting] { return waiting == 0; });
    }
    WEIR_RETURN_IF_ERROR(own_status);
    for (size_t owner = 0; owner < calls->size(); ++owner) {
      const PeerCall& call = *(*calls)[owner];
      const std::string peer = absl::StrCat("worker ", owner, " at ", options_.peers[owner], ", dense reduction of step ", step);
      WEIR_RETURN_IF_ERROR(FromGrpc(call.status, peer));
      WEIR_RETURN_IF_ERROR(DecodeSums(call.reply, owner, peer, gradients));
    }
    return own.reply.samples();
  }

  absl::Status DecodeSums(const ReduceReply& reply, size_t owner, absl::string_view peer, absl::Span<float> gradients) {
    const Slice& slice = slices_[owner];
    if (reply.frames_size() != static_cast<int>(slice.parts.size())) {
      return absl::DataLossError(absl::StrCat(peer, ": ", reply.frames_size(), " layers answered, ", slice.parts.size(), " asked"));
    }
    for (size_t i = 0; i < slice.parts.size(); ++i) {
      const Part& part = slice.parts[i];
      const absl::Time begin = absl::Now();
      const absl::Status status = compression::DecodeInto(reply.frames(i), gradients.subspan(part.begin, part.end - part.begin));
      if (!status.ok()) return absl::Status(status.code(), absl::StrCat(peer, ": ", status.message()));
      if (owner != options_.rank) stats_[part.layer].bytes += compression::FrameBytesOf(reply.frames(i));
      stats_[part.layer].seconds += absl::ToDoubleSeconds(absl::Now() - begin);
    }
    return absl::OkStatus();
  }

  const std::vector<ParameterSlice> layers_;
  const std::vector<Slice> slices_;
  PeerExchange* const exchange_;
  const PeerReducerOptions options_;
  const bool pack_;  // frames, by the entropy stage
  const Codecs codecs_;
  std::vector<std::unique_ptr<PeerService::Stub>> stubs_;
  std::vector<client::CodecStats> stats_;  // of each layer, since TakeStats
  std::vector<float> held_back_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<DenseReducer>> CreatePeerReducer(const std::vector<ParameterSlice>& layers, PeerExchange* exchange,
                                                                PeerReducerOptions options) {
  PeerReducer::Codecs codecs;
  for (const ParameterSlice& layer : layers) {
    const compression::LayerPlace place = {layer.size, static_cast<uint32_t>(options.peers.size())};
    WEIR_ASSIGN_OR_RETURN(codecs.emplace_back(), compression::MakeLayerCodec(DenseOfLayer(options.codec, layer.name), place));
  }
  return std::make_unique<PeerReducer>(layers, std::move(codecs), exchange, std::move(options));
}

}  // namespace weir::worker
