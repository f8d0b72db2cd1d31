#include "tools/checkpoint/inspect_checkpoint.h"

#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/testing/data_file.h"
#include "tests/tools/checkpoint/small_checkpoint.h"

namespace weir::tools {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

std::string NewDir() {
  std::string dir = ::testing::TempDir() + "/" + ::testing::UnitTest::GetInstance()->current_test_info()->name();
  std::filesystem::remove_all(dir);
  return dir;
}

TEST(InspectCheckpointTest, SaysWhatIsThere) {
  const std::string folder = testing::Save(NewDir(), {10, {0, 3, 4}});
  const auto text = DescribeCheckpoint(folder, false);
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(*text, HasSubstr("job small before step 10"));
  EXPECT_THAT(*text, HasSubstr("whole"));
  const json all = json::parse(DescribeCheckpoint(folder, true).value());
  EXPECT_EQ(all["tables"][0]["rows"], 3);
  EXPECT_EQ(all["tables"][0]["weights"], 2);
  EXPECT_EQ(all["tables"][0]["bytes"], 3 * (8 + 12));
  EXPECT_NEAR(all["tables"][0]["norm"].get<double>(), std::sqrt(0.25 + 9 + 12.25 + 16 + 20.25), 1e-9);
  EXPECT_EQ(all["layers"][0]["name"], "top.0");
  EXPECT_EQ(all["held_back"][0]["name"], "embeddings/push/C1");
  EXPECT_EQ(all["held_back"][0]["rows"], 1);
  EXPECT_EQ(all["held_back"][0]["norm"], 5);
}

TEST(InspectCheckpointTest, SaysWhatHasChanged) {
  const std::string dir = NewDir();
  const std::string first = testing::Save(dir, {10, {1, 2, 3}});
  const std::string second = testing::Save(dir, {20, {2, 3, 8, 9}, 5, 7});
  const json change = json::parse(CompareCheckpoints(first, second, true).value());
  EXPECT_EQ(change["tables"][0]["new"], 2);
  EXPECT_EQ(change["tables"][0]["gone"], 1);
  EXPECT_EQ(change["tables"][0]["changed"], 2) << "their slots";
  EXPECT_EQ(change["tables"][0]["moved_by"], 0);
  EXPECT_EQ(change["layers"][0]["moved_by"], 4);
  const json same = json::parse(CompareCheckpoints(first, first, true).value());
  EXPECT_EQ(same["tables"][0]["same"], 3);
  EXPECT_THAT(CompareCheckpoints(first, second, false).value(), HasSubstr("before step 20"));
}

TEST(InspectCheckpointTest, DamageIsNamed) {
  const std::string folder = testing::Save(NewDir(), {10, {1}});
  for (const char* file : {"/server-0.state", "/worker-0.state"}) {
    const std::string bytes = testing::ReadWholeFile(folder + file);
    std::string flipped = bytes;
    flipped[40] = static_cast<char>(flipped[40] ^ 1);
    std::ofstream(folder + file, std::ios::binary) << flipped;
    const absl::Status status = DescribeCheckpoint(folder, false).status();
    EXPECT_TRUE(absl::IsDataLoss(status));
    EXPECT_THAT(std::string(status.message()), HasSubstr(folder + file));
    std::ofstream(folder + file, std::ios::binary) << bytes;
  }
}

}  // namespace
}  // namespace weir::tools
