#include "tests/tools/checkpoint/small_checkpoint.h"

#include <cstring>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "base/state_file.h"
#include "gtest/gtest.h"
#include "proto/checkpoint_folder.h"

namespace weir::testing {
namespace {

template <typename T>
std::string Bytes(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

SavedFile Finish(StateFileWriter* file, const std::string& name) {
  const StateFileInfo info = file->Finish().value();
  SavedFile saved;
  saved.set_name(name);
  saved.set_bytes(info.bytes);
  saved.set_checksum(info.checksum);
  return saved;
}

}  // namespace

std::string Save(const std::string& dir, const SmallCheckpoint& checkpoint) {
  EXPECT_TRUE(BeginCheckpoint(dir, checkpoint.step).ok());
  const std::string folder = UnfinishedCheckpoint(dir, checkpoint.step);
  CheckpointManifest manifest;
  manifest.set_format_version(kCheckpointFormatVersion);
  manifest.mutable_job()->set_name("small");
  manifest.mutable_job()->mutable_model()->add_top(1);
  manifest.set_step(checkpoint.step);
  manifest.set_samples(1000);

  const auto server = StateFileWriter::Create(absl::StrCat(folder, "/", ServerFileName(0))).value();
  std::vector<float> values;
  for (const Key key : checkpoint.keys) {
    values.insert(values.end(), {static_cast<float>(key), static_cast<float>(key) + 0.5f, checkpoint.slot});
  }
  const std::string head = Bytes(std::vector<uint32_t>{2, 1}) + Bytes(std::vector<uint64_t>{checkpoint.keys.size()});
  EXPECT_TRUE(server->Add("C1", head + Bytes(checkpoint.keys) + Bytes(values)).ok());
  SavedShards* const shards = manifest.add_servers();
  SavedRows* const rows = shards->add_tables();
  rows->set_table("C1");
  rows->set_rows(checkpoint.keys.size());
  *shards->mutable_file() = Finish(server.get(), ServerFileName(0));

  const auto worker = StateFileWriter::Create(absl::StrCat(folder, "/", WorkerFileName(0))).value();
  EXPECT_TRUE(worker->Add("model/top.0", Bytes(std::vector<float>{1, 2, checkpoint.bias})).ok());
  EXPECT_TRUE(worker->Add("embeddings/push/C1/residual.keys", Bytes(std::vector<Key>{7})).ok());
  EXPECT_TRUE(worker->Add("embeddings/push/C1/residual.values", Bytes(std::vector<float>{3, 4})).ok());
  *manifest.add_workers() = Finish(worker.get(), WorkerFileName(0));
  EXPECT_TRUE(FinishCheckpoint(dir, manifest, 10).ok());
  return absl::StrCat(dir, "/step-", checkpoint.step);
}

}  // namespace weir::testing
