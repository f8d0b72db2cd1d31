// weir-worker: reads data, trains the dense model, looks rows up and pushes their gradients.
//
// It listens (for the dense reduction of its peers), joins the coordinator, which gives it its rank and the job, waits for the servers and
// the other workers, trains, evaluates, leaves. Any error ends the whole job, with the reason at the coordinator.
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/grpc_endpoint.h"
#include "base/log.h"
#include "base/socket_bytes.h"
#include "base/state_visitor.h"
#include "base/status_macros.h"
#include "base/trace.h"
#include "client/embedding_bags.h"
#include "client/embedding_client.h"
#include "proto/checkpoint_folder.h"
#include "proto/control_client.h"
#include "proto/job_file.h"
#include "proto/job_tables.h"
#include "worker/batch_prefetcher.h"
#include "worker/checkpoint_saver.h"
#include "worker/criteo_reader.h"
#include "worker/dense_model.h"
#include "worker/evaluator.h"
#include "worker/gloo_reducer.h"
#include "worker/matrix.h"
#include "worker/overlapped_reducer.h"
#include "worker/peer_exchange.h"
#include "worker/peer_reducer.h"
#include "worker/power_sgd_reducer.h"
#include "worker/progress.h"
#include "worker/quality_guard.h"
#include "worker/step_pauses.h"
#include "worker/trainer.h"
#include "xxhash.h"

namespace weir::worker {
namespace {

// 256 KiB: below it an all-reduce takes its round trips, not its bytes.
constexpr uint32_t kReducedFloatsMin = 64 << 10;
constexpr absl::Duration kHeartbeatPeriod = absl::Milliseconds(250);

struct Flags {
  std::string coordinator;
  std::string listen = "127.0.0.1:0";
  std::string log_level = "info";
  std::string trace;  // file; empty: none
};

// Ranges of one set, as the coordinator hands them out.
class HandedOutRanges final : public RangeSource {
 public:
  HandedOutRanges(ControlClient* control, NextRangeRequest::Set set) : control_(control), set_(set) {}
  absl::StatusOr<NextRangeReply> Next() override { return control_->NextRange(set_); }

 private:
  ControlClient* const control_;
  const NextRangeRequest::Set set_;
};

absl::StatusOr<std::unique_ptr<client::Client>> ConnectToServers(ControlClient* control) {
  const Job& job = control->job();
  const absl::Duration timeout = absl::Seconds(job.cluster().call_timeout_seconds());
  std::vector<std::string> keys;
  for (uint32_t i = 0; i < job.cluster().servers(); ++i) keys.push_back(ServerAddressKey(i));
  client::ClientOptions options;
  WEIR_ASSIGN_OR_RETURN(options.servers, control->GetValues(keys, timeout));
  options.job_hash = control->job_hash();
  options.worker_rank = control->index();
  options.incarnation = control->incarnation();
  options.call_timeout = timeout;
  return client::Client::Connect(std::move(options));
}

absl::StatusOr<std::unique_ptr<DenseReducer>> CreateReducer(ControlClient* control, const std::vector<ParameterSlice>& layers,
                                                            const std::string& address, PeerExchange* exchange) {
  const Job& job = control->job();
  const absl::Duration timeout = absl::Seconds(job.cluster().call_timeout_seconds());
  const Compression::Method method = job.compression().dense().method();
  if (method == Compression::METHOD_NONE || method == Compression::METHOD_POWERSGD) {
    WEIR_ASSIGN_OR_RETURN(auto sums, CreateGlooReducer(control, {job.cluster().workers(), address.substr(0, address.rfind(':')), timeout}));
    if (method == Compression::METHOD_NONE) {
      return job.cluster().workers() == 1 ? std::move(sums)
                                          : CreateOverlappedReducer(ReducedParts(layers, kReducedFloatsMin), std::move(sums));
    }
    return CreatePowerSgdReducer(layers, {job.compression().dense(), job.seed()}, std::move(sums));
  }
  PeerReducerOptions options;
  options.codec = job.compression().dense();
  options.job_hash = control->job_hash();
  options.rank = control->index();
  options.timeout = timeout;
  WEIR_RETURN_IF_ERROR(control->PutValue(PeerAddressKey(options.rank), address));
  std::vector<std::string> keys;
  for (uint32_t rank = 0; rank < job.cluster().workers(); ++rank) keys.push_back(PeerAddressKey(rank));
  WEIR_ASSIGN_OR_RETURN(options.peers, control->GetValues(keys, timeout));
  return CreatePeerReducer(layers, exchange, std::move(options));
}

EdgeBytes Difference(const EdgeBytes& all, const EdgeBytes& before) {
  EdgeBytes rest;
  rest.lookup_request = all.lookup_request - before.lookup_request;
  rest.lookup_reply = all.lookup_reply - before.lookup_reply;
  rest.push = all.push - before.push;
  rest.dense = all.dense - before.dense;
  rest.control = all.control - before.control;
  return rest;
}

absl::Status Restore(const ControlClient& control, Trainer* trainer) {
  WEIR_ASSIGN_OR_RETURN(const CheckpointManifest manifest, ReadManifest(control.resume_dir()));
  std::vector<std::string> files;
  for (const SavedFile& file : manifest.workers()) files.push_back(absl::StrCat(control.resume_dir(), "/", file.name()));
  WEIR_ASSIGN_OR_RETURN(const auto restorer, StateRestorer::Open(files, control.index(), control.job().cluster().workers()));
  trainer->VisitState(restorer.get());
  return restorer->status();
}

// One worker's part of the job, from joined to ready to leave. `reducer` is made here and left open.
absl::Status Train(ControlClient* control, const std::string& address, PeerExchange* exchange, Progress* progress,
                   std::unique_ptr<DenseReducer>* reducer) {
  const Job& job = control->job();
  const DataSchema schema = SchemaOf(job);
  const uint32_t dim = job.embeddings().dim();
  SetMatrixThreads(job.training().threads());
  WEIR_RETURN_IF_ERROR(SetMatrixPrecision(job.training().precision() == Training::PRECISION_BF16 ? Precision::kBf16 : Precision::kFp32));

  WEIR_ASSIGN_OR_RETURN(const auto client, ConnectToServers(control));
  WEIR_ASSIGN_OR_RETURN(const auto bags, client::EmbeddingBags::Create(client.get(), {dim, job.compression()}));
  WEIR_ASSIGN_OR_RETURN(const auto model, CreateDenseModel(job.model(), schema, dim, job.seed()));
  WEIR_ASSIGN_OR_RETURN(const auto optimizer, CreateDenseOptimizer(job.model().optimizer(), model->parameters().size()));
  WEIR_ASSIGN_OR_RETURN(*reducer, CreateReducer(control, model->layers(), address, exchange));

  HandedOutRanges train_ranges(control, NextRangeRequest::SET_TRAIN);
  BatchPrefetcher source(std::make_unique<CriteoReader>(job.data(), schema, &train_ranges),
                         {job.training().batch_size() / job.cluster().workers(), job.training().prefetch() + 1});
  const auto checkpoints = CheckpointSaver::Create(control, progress);
  WEIR_ASSIGN_OR_RETURN(const auto pauses, StepPauses::Create(control, client.get(), bags.get()));
  // Nobody's clock starts before everybody is connected.
  WEIR_RETURN_IF_ERROR(control->Barrier("connected", absl::Seconds(job.cluster().call_timeout_seconds())));
  const absl::Time start = absl::Now();
  progress->SetPhase(WorkerProgress::PHASE_TRAINING);
  const std::unique_ptr<QualityGuard> guard =
      QualityGuard::Create(job, control->index(), {bags.get(), model.get(), optimizer.get(), reducer->get(), progress});
  Trainer trainer(
      {&source, bags.get(), model.get(), optimizer.get(), reducer->get(), progress, guard.get(), checkpoints.get(), pauses.get()},
      {control->index(), job.cluster().workers(), dim, job.training()});
  if (!control->resume_dir().empty()) WEIR_RETURN_IF_ERROR(Restore(*control, &trainer));
  WEIR_RETURN_IF_ERROR(trainer.Run());
  const absl::Duration trained = absl::Now() - start;
  const EdgeBytes training_bytes = CountedBytes();
  // Every push of every worker is acknowledged, so what is evaluated is the model after the last step.
  WEIR_RETURN_IF_ERROR(control->Barrier("trained", absl::Seconds(job.cluster().call_timeout_seconds())));

  progress->SetPhase(WorkerProgress::PHASE_EVALUATING);
  model->SetTraining(false);
  HandedOutRanges test_ranges(control, NextRangeRequest::SET_TEST);
  CriteoReader test_source(job.data(), schema, &test_ranges);
  WEIR_RETURN_IF_ERROR(Evaluate(
      {&test_source, bags.get(), model.get(),
       [control](absl::Span<const float> scores, absl::Span<const uint8_t> labels) { return control->ReportEvaluation(scores, labels); }},
      dim, job.training().batch_size() / job.cluster().workers()));
  progress->SetPhase(WorkerProgress::PHASE_DONE);

  LeaveRequest leave;
  *leave.mutable_wire_bytes() = progress->wire_bytes();
  *leave.mutable_wire_bytes_evaluation() = ToWireBytes(Difference(CountedBytes(), training_bytes));
  leave.set_samples(progress->samples());
  leave.set_train_seconds(absl::ToDoubleSeconds(trained));
  leave.set_fingerprint(XXH3_64bits(model->parameters().data(), model->parameters().size() * sizeof(float)));
  leave.set_bad_rows(progress->bad_rows() + test_source.bad_rows());
  leave.set_wait_seconds(progress->wait_seconds());
  *leave.mutable_step_seconds() = progress->step_seconds();
  *leave.mutable_step_waits() = progress->step_waits();
  for (CodecReport& report : progress->codec_totals()) *leave.add_codecs() = std::move(report);
  *leave.mutable_decisions() = progress->Take().decisions();
  return control->Leave(std::move(leave));
}

absl::Status Run(const Flags& flags) {
  PeerExchange exchange;
  WEIR_ASSIGN_OR_RETURN(const auto endpoint, GrpcEndpoint::Listen(flags.listen, {&exchange}));
  // Peers that still wait for us are answered before the endpoint waits for their calls to end.
  const absl::Cleanup abandon = [&exchange] { exchange.Abandon(absl::UnavailableError("this worker is leaving")); };
  Progress progress;  // read by the heartbeats of `control`, which end with it
  ControlClient::Options options;
  options.coordinator = flags.coordinator;
  options.role = ROLE_WORKER;
  options.address = endpoint->address();
  WEIR_ASSIGN_OR_RETURN(const auto control, ControlClient::Join(options));
  const std::string name = absl::StrCat("worker ", control->index());
  NameProcess(name);
  spdlog::info("joined {} as {} with job {:016x}", flags.coordinator, name, control->job_hash());
  spdlog::debug("effective job:\n{}", JobToYaml(control->job()));

  control->StartHeartbeats(
      kHeartbeatPeriod, [&progress] { return progress.Take(); },
      [](HeartbeatReply::Instruction instruction, const std::string& reason) {
        // Training may be deep in a wait on a process that is gone: nothing is worth saving here, so leave at once.
        if (instruction != HeartbeatReply::INSTRUCTION_ABORT) return;
        spdlog::error("the job has ended: {}", reason);
        std::_Exit(EXIT_FAILURE);
      });
  // Its connections close after the coordinator knows why: peers fail when they do, and the first reason that is told stands.
  std::unique_ptr<DenseReducer> reducer;
  if (!flags.trace.empty()) StartTrace();
  absl::Status status = Train(control.get(), endpoint->address(), &exchange, &progress, &reducer);
  // Also of a run that failed.
  if (!flags.trace.empty()) status.Update(WriteTrace(flags.trace, name));
  if (!status.ok()) {
    status = absl::Status(status.code(), absl::StrCat(name, ": ", status.message()));
    if (const absl::Status stopped = control->Stop(status.message()); !stopped.ok()) {
      spdlog::warn("the coordinator could not be told: {}", stopped.ToString());
    }
  }
  return status;
}

}  // namespace
}  // namespace weir::worker

int main(int argc, char** argv) {
  weir::StartProcess("worker");
  weir::worker::Flags flags;
  CLI::App app("One training worker of a Weir job. Started by `weir launch`, or by hand with the address of a running weir-coordinator.");
  app.add_option("--coordinator", flags.coordinator, "HOST:PORT of the job's weir-coordinator")->required();
  app.add_option("--listen", flags.listen, "HOST:PORT for the other workers; port 0 takes a free one")->capture_default_str();
  app.add_option("--trace", flags.trace, "FILE: what this worker did when, for ui.perfetto.dev or chrome://tracing (JSON)");
  app.add_option("--log-level", flags.log_level, "trace, debug, info, warn or error")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  spdlog::set_level(spdlog::level::from_str(flags.log_level));
  const absl::Status status = weir::worker::Run(flags);
  if (!status.ok()) {
    spdlog::error("{}", status.ToString());
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
