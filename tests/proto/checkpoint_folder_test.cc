#include "proto/checkpoint_folder.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/data_file.h"

namespace weir {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CheckpointFolderTest : public ::testing::Test {
 protected:
  CheckpointFolderTest() : dir_(::testing::TempDir() + "/" + ::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::remove_all(dir_);
  }

  static CheckpointManifest ManifestOf(int64_t step) {
    CheckpointManifest manifest;
    manifest.set_format_version(kCheckpointFormatVersion);
    manifest.mutable_job()->set_name("job");
    manifest.mutable_job()->mutable_embeddings()->set_dim(16);
    manifest.set_step(step);
    SavedFile* const server = manifest.add_servers()->mutable_file();
    server->set_name(ServerFileName(0));
    server->set_bytes(3);
    SavedFile* const worker = manifest.add_workers();
    worker->set_name(WorkerFileName(0));
    worker->set_bytes(4);
    return manifest;
  }

  void Save(int64_t step, uint32_t keep = 3) {
    ASSERT_EQ(BeginCheckpoint(dir_, step), absl::OkStatus());
    const std::string folder = UnfinishedCheckpoint(dir_, step);
    std::ofstream(folder + "/server-0.state") << "abc";
    std::ofstream(folder + "/worker-0.state") << "abcd";
    ASSERT_EQ(FinishCheckpoint(dir_, ManifestOf(step), keep), absl::OkStatus());
  }

  const std::string dir_;
};

TEST_F(CheckpointFolderTest, TheLatestIsFoundAndRead) {
  EXPECT_TRUE(absl::IsNotFound(LatestCheckpoint(dir_).status()));
  Save(10);
  Save(9);  // a job that went on from an earlier one
  EXPECT_EQ(LatestCheckpoint(dir_).value(), dir_ + "/step-9");
  const auto manifest = ReadManifest(dir_ + "/step-9");
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  EXPECT_EQ(manifest->step(), 9);
  EXPECT_EQ(manifest->job().embeddings().dim(), 16);
}

TEST_F(CheckpointFolderTest, WithoutItsNameTheNewestIsTaken) {
  Save(9);
  Save(10);
  fs::remove(dir_ + "/latest");
  EXPECT_EQ(LatestCheckpoint(dir_).value(), dir_ + "/step-10");
  std::ofstream(dir_ + "/latest") << "step-77\n";
  EXPECT_EQ(LatestCheckpoint(dir_).value(), dir_ + "/step-10") << "it names one that is not there";
}

TEST_F(CheckpointFolderTest, OnlyTheNewestAreKept) {
  for (const int64_t step : {10, 20, 30, 100}) Save(step, 2);
  EXPECT_THAT(CheckpointSteps(dir_), ElementsAre(30, 100));
}

TEST_F(CheckpointFolderTest, AJobThatWentBackKeepsWhatItSaves) {
  Save(40, 1);
  Save(60, 2);
  Save(50, 1);
  EXPECT_EQ(LatestCheckpoint(dir_).value(), dir_ + "/step-50");
  EXPECT_THAT(CheckpointSteps(dir_), ElementsAre(50, 60));
}

TEST_F(CheckpointFolderTest, WhatIsUnfinishedIsNoCheckpoint) {
  Save(10);
  ASSERT_EQ(BeginCheckpoint(dir_, 20), absl::OkStatus());
  EXPECT_THAT(CheckpointSteps(dir_), ElementsAre(10));
  EXPECT_EQ(LatestCheckpoint(dir_).value(), dir_ + "/step-10");
  Save(30);
  EXPECT_FALSE(fs::exists(UnfinishedCheckpoint(dir_, 20)));
}

TEST_F(CheckpointFolderTest, WhoBeginsLaterLeavesWhatIsThere) {
  ASSERT_EQ(BeginCheckpoint(dir_, 20), absl::OkStatus());
  std::ofstream(UnfinishedCheckpoint(dir_, 20) + "/server-7.state") << "another's";
  ASSERT_EQ(BeginCheckpoint(dir_, 20), absl::OkStatus());
  EXPECT_FALSE(fs::is_empty(UnfinishedCheckpoint(dir_, 20)));
}

TEST_F(CheckpointFolderTest, WhatAnEarlierLifeLeftUnfinishedGoes) {
  Save(10);
  ASSERT_EQ(BeginCheckpoint(dir_, 20), absl::OkStatus());
  RemoveUnfinishedCheckpoints(dir_);
  EXPECT_FALSE(fs::exists(UnfinishedCheckpoint(dir_, 20)));
  EXPECT_THAT(CheckpointSteps(dir_), ElementsAre(10));
}

TEST_F(CheckpointFolderTest, FilesThatAreCutOrMissingAreNamed) {
  Save(10);
  const std::string folder = dir_ + "/step-10";
  std::ofstream(folder + "/server-0.state") << "ab";
  EXPECT_THAT(std::string(ReadManifest(folder).status().message()), HasSubstr(folder + "/server-0.state has 2 bytes"));
  fs::remove(folder + "/server-0.state");
  EXPECT_THAT(std::string(ReadManifest(folder).status().message()), HasSubstr(folder + "/server-0.state"));
}

TEST_F(CheckpointFolderTest, ManifestsThatAreDamagedOrOfAnotherVersionAreRefused) {
  Save(10);
  const std::string folder = dir_ + "/step-10";
  const std::string json = testing::ReadWholeFile(folder + "/manifest.json");
  std::ofstream(folder + "/manifest.json") << json.substr(0, json.size() / 2);
  EXPECT_TRUE(absl::IsDataLoss(ReadManifest(folder).status()));
  CheckpointManifest later = ManifestOf(10);
  later.set_format_version(kCheckpointFormatVersion + 1);
  ASSERT_EQ(BeginCheckpoint(dir_, 10), absl::OkStatus());
  ASSERT_EQ(FinishCheckpoint(dir_, later, 3), absl::OkStatus());
  EXPECT_THAT(std::string(ReadManifest(folder).status().message()), HasSubstr("format_version is 2"));
}

TEST_F(CheckpointFolderTest, ANameThatLeadsOutOfTheFolderIsRefused) {
  CheckpointManifest manifest = ManifestOf(10);
  manifest.mutable_workers(0)->set_name("../worker-0.state");
  ASSERT_EQ(BeginCheckpoint(dir_, 10), absl::OkStatus());
  std::ofstream(UnfinishedCheckpoint(dir_, 10) + "/server-0.state") << "abc";
  ASSERT_EQ(FinishCheckpoint(dir_, manifest, 3), absl::OkStatus());
  EXPECT_THAT(std::string(ReadManifest(dir_ + "/step-10").status().message()), HasSubstr("'../worker-0.state'"));
}

TEST_F(CheckpointFolderTest, AJobGoesOnElsewhereButNotAsAnotherOne) {
  const CheckpointManifest manifest = ManifestOf(10);
  Job job = manifest.job();
  job.set_name("other");
  job.mutable_cluster()->set_servers(7);
  job.mutable_training()->set_epochs(9);
  job.mutable_checkpoint()->set_every("5m");
  EXPECT_EQ(CheckResumable(manifest, job), absl::OkStatus());
  job.mutable_embeddings()->set_dim(8);
  EXPECT_THAT(std::string(CheckResumable(manifest, job).message()), HasSubstr("embeddings.dim"));
}

TEST_F(CheckpointFolderTest, TheFolderIsTheJobsOrInItsRun) {
  Job job;
  EXPECT_EQ(CheckpointDir(job, "/runs/a"), "/runs/a/checkpoints");
  job.mutable_checkpoint()->set_dir("/elsewhere/x");
  EXPECT_EQ(CheckpointDir(job, "/runs/a"), "/elsewhere/x");
}

}  // namespace
}  // namespace weir
