#include "tools/launch/new_run_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "google/protobuf/util/message_differencer.h"
#include "proto/job_file.h"

namespace weir::tools {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class NewRunFolderTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(root_);
    fs::create_directories(root_ / "data");
    const absl::StatusOr<Job> job =
        ParseJob("name: first\n", "job.yaml",
                 {"data.train=[" + (root_ / "data/rows.tsv").string() + "]", "output.dir=" + (root_ / "runs").string()});
    ASSERT_TRUE(job.ok()) << job.status();
    job_ = *job;
  }

  const fs::path root_ = fs::path(testing::TempDir()) / "run_folder";
  Job job_;
};

TEST_F(NewRunFolderTest, HoldsTheEffectiveConfiguration) {
  const absl::StatusOr<std::string> folder = MakeRunFolder(job_);
  ASSERT_TRUE(folder.ok()) << folder.status();
  EXPECT_EQ(*folder, (root_ / "runs/first").string());
  EXPECT_TRUE(fs::is_directory(*folder + "/logs"));
  const absl::StatusOr<Job> read = ReadJobFile(*folder + "/job.yaml", {});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(*read, job_));
}

TEST_F(NewRunFolderTest, ReplacesAnEarlierRun) {
  const std::string folder = MakeRunFolder(job_).value();
  std::ofstream(folder + "/result.json") << "{}";
  ASSERT_TRUE(MakeRunFolder(job_).ok());
  EXPECT_FALSE(fs::exists(folder + "/result.json"));
}

TEST_F(NewRunFolderTest, LeavesAloneWhatNoRunMade) {
  const fs::path folder = root_ / "runs/first";
  fs::create_directories(folder);
  std::ofstream(folder / "thesis.tex") << "precious";
  const absl::Status status = MakeRunFolder(job_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(status.message()), HasSubstr("no job.yaml"));
  EXPECT_TRUE(fs::exists(folder / "thesis.tex"));
}

TEST_F(NewRunFolderTest, UnwritableFolderIsNamed) {
  std::ofstream(root_ / "runs") << "a file";
  EXPECT_THAT(std::string(MakeRunFolder(job_).status().message()), HasSubstr((root_ / "runs/first").string()));
}

TEST_F(NewRunFolderTest, TakesTheTeacherOfGeneratedData) {
  std::ofstream(root_ / "data/rows.tsv.json") << "{\"auc\": 0.8}";
  const std::string folder = MakeRunFolder(job_).value();
  std::ostringstream text;
  text << std::ifstream(folder + "/teacher.json").rdbuf();
  EXPECT_EQ(text.str(), "{\"auc\": 0.8}");
}

}  // namespace
}  // namespace weir::tools
