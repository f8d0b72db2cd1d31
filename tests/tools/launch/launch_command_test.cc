#include "tools/launch/launch_command.h"

#include <fstream>
#include <string>

#include "gtest/gtest.h"
#include "tools/launch/stop_signals.h"

namespace weir::tools {
namespace {

// What is wrong before any process starts; whole jobs are in tests/integration.
TEST(LaunchCommandTest, SaysWhatKeepsAJobFromStarting) {
  const auto signals = StopSignals::Create();
  ASSERT_TRUE(signals.ok()) << signals.status();
  const absl::Status no_file = Launch({"nowhere.yaml", {}, ""}, signals->get());
  EXPECT_FALSE(no_file.ok());
  EXPECT_NE(no_file.message().find("nowhere.yaml"), std::string::npos) << no_file;

  const std::string job = testing::TempDir() + "/job.yaml";
  std::ofstream(job) << "name: job\ndata: {train: [rows.tsv]}\n";
  const absl::Status bad_set = Launch({job, {"training.batchsize=3"}, ""}, signals->get());
  EXPECT_NE(bad_set.message().find("batch_size"), std::string::npos) << bad_set;

  const std::string runs = "output.dir=" + testing::TempDir() + "/runs";
  const absl::Status no_data = Launch({job, {runs}, ""}, signals->get());
  EXPECT_NE(no_data.message().find("rows.tsv"), std::string::npos) << no_data;

  std::ofstream(testing::TempDir() + "/rows.tsv") << "";
  const absl::Status no_binaries = Launch({job, {runs}, testing::TempDir()}, signals->get());
  EXPECT_NE(no_binaries.message().find("weir-"), std::string::npos) << no_binaries;
}

}  // namespace
}  // namespace weir::tools
