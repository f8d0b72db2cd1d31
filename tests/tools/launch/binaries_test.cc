#include "tools/launch/binaries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace weir::tools {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class BinariesTest : public testing::Test {
 protected:
  void SetUp() override { fs::remove_all(root_); }

  std::string Make(const std::string& path) {
    const fs::path file = root_ / path;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << "#!/bin/sh\n";
    fs::permissions(file, fs::perms::owner_all);
    return file.string();
  }

  const fs::path root_ = fs::path(testing::TempDir()) / "binaries";
};

TEST_F(BinariesTest, FoundInBazelsFolders) {
  const std::string coordinator = Make("server/coordinator/weir-coordinator");
  const std::string server = Make("server/weir-server");
  const std::string worker = Make("worker/weir-worker");
  const absl::StatusOr<Binaries> found = FindBinaries("", (root_ / "tools/weir").string());
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->coordinator, coordinator);
  EXPECT_EQ(found->server, server);
  EXPECT_EQ(found->worker, worker);
}

TEST_F(BinariesTest, BesideTheExecutableComesFirst) {
  Make("server/coordinator/weir-coordinator");
  Make("server/weir-server");
  Make("worker/weir-worker");
  const std::string worker = Make("tools/weir-worker");
  const absl::StatusOr<Binaries> found = FindBinaries("", (root_ / "tools/weir").string());
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->worker, worker);
}

TEST_F(BinariesTest, MissingOneIsNamedWithWhereItWasSought) {
  Make("bin/weir-coordinator");
  fs::permissions(Make("bin/weir-server"), fs::perms::owner_read);
  const absl::Status status = FindBinaries((root_ / "bin").string(), "/elsewhere/weir").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("no binary weir-server at " + (root_ / "bin/weir-server").string()));
}

}  // namespace
}  // namespace weir::tools
