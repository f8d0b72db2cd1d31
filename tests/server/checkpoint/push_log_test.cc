#include "server/checkpoint/push_log.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/small_job.h"
#include "tests/testing/data_file.h"

namespace weir::server {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

PushPart Example(int64_t step) {
  PushPart part;
  part.id = {1, 0x1122334455667788, step, 0};
  part.parts = 2;
  part.samples = 64;
  part.tables.push_back({0, true, {5, ~uint64_t{0}}, {1.5f, 0, -0.0f, -2}});
  part.tables.push_back({25, false, {7, 7}, {0, 3, 4, 0}});
  return part;
}

void ExpectSame(const PushPart& a, const PushPart& b) {
  EXPECT_EQ(ToString(a.id), ToString(b.id));
  EXPECT_EQ(a.id.incarnation, b.id.incarnation);
  EXPECT_EQ(a.parts, b.parts);
  EXPECT_EQ(a.samples, b.samples);
  ASSERT_EQ(a.tables.size(), b.tables.size());
  for (size_t i = 0; i < a.tables.size(); ++i) {
    EXPECT_EQ(a.tables[i].table, b.tables[i].table);
    EXPECT_EQ(a.tables[i].distinct, b.tables[i].distinct);
    EXPECT_EQ(a.tables[i].keys, b.tables[i].keys);
    EXPECT_EQ(a.tables[i].gradients, b.tables[i].gradients);
  }
}

class PushLogTest : public ::testing::Test {
 protected:
  PushLogTest()
      : folder_(::testing::TempDir() + "/" + ::testing::UnitTest::GetInstance()->current_test_info()->name()),
        tables_(TableRegistry::Create(SmallJob().Make(), 0, 1).value()) {
    fs::remove_all(folder_);
    log_ = PushLog::Open(folder_, 0).value();
  }

  void Record(int64_t step) { ASSERT_EQ(log_->Record(log_->Prepare(Example(step))), absl::OkStatus()); }
  // Steps of what a new life of the server is given.
  absl::StatusOr<std::vector<int64_t>> Replay(int64_t step) {
    std::vector<int64_t> steps;
    log_ = PushLog::Open(folder_, 0).value();
    const absl::Status status = log_->Replay(step, *tables_, [&steps](PushPart part) {
      ExpectSame(part, Example(part.id.step));
      steps.push_back(part.id.step);
      return absl::OkStatus();
    });
    if (!status.ok()) return status;
    return steps;
  }
  std::string File(int64_t step) const { return absl::StrCat(folder_, "/server-0-", step, ".log"); }

  const std::string folder_;
  const std::unique_ptr<TableRegistry> tables_;
  std::unique_ptr<PushLog> log_;
};

TEST_F(PushLogTest, APushComesBackToTheBit) {
  const auto parsed = ParsePush(SerializePush(Example(9)), *tables_);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  ExpectSame(*parsed, Example(9));
  EXPECT_TRUE(std::signbit(parsed->tables[0].gradients[2]));
}

// Logs of this version stay readable: these bytes never change.
TEST_F(PushLogTest, BytesAreGolden) {
  EXPECT_EQ(absl::BytesToHexString(SerializePush(Example(9))),
            "010000008877665544332211090000000000000000000000"  // worker, incarnation, step, part
            "020000004000000002000000"                          // parts, samples, tables
            "000000000102000000"                                // table, distinct, keys
            "0500000000000000ffffffffffffffff"                  // keys
            "0d0000c03f00000080000000c0"                        // mask, values
            "190000000002000000"                                // the second table
            "07000000000000000700000000000000"
            "060000404000008040");
}

TEST_F(PushLogTest, EveryCutOfAPushIsRefused) {
  const std::string payload = SerializePush(Example(9));
  for (size_t size = 0; size < payload.size(); ++size) {
    EXPECT_TRUE(absl::IsDataLoss(ParsePush(payload.substr(0, size), *tables_).status())) << size;
  }
  EXPECT_TRUE(absl::IsDataLoss(ParsePush(payload + "x", *tables_).status()));
}

TEST_F(PushLogTest, TablesAndKeysThatAreNotHereAreRefused) {
  PushPart part = Example(9);
  part.tables[1].table = 26;
  EXPECT_TRUE(absl::IsDataLoss(ParsePush(SerializePush(part), *tables_).status()));
  const auto other = TableRegistry::Create(SmallJob().Make(), 1, 8).value();
  EXPECT_TRUE(absl::IsDataLoss(ParsePush(SerializePush(Example(9)), *other).status()));
}

TEST_F(PushLogTest, RecordsComeBackInOrderAcrossLivesAndFiles) {
  ASSERT_EQ(log_->Begin(0), absl::OkStatus());
  Record(0);
  Record(1);
  EXPECT_THAT(Replay(0).value(), ElementsAre(0, 1));
  Record(2);
  ASSERT_EQ(log_->Rotate(3, 0), absl::OkStatus());
  Record(3);
  EXPECT_THAT(Replay(0).value(), ElementsAre(0, 1, 2, 3)) << "the checkpoint before step 3 did not become whole";
  EXPECT_THAT(Replay(3).value(), ElementsAre(3));
  Record(4);
  ASSERT_EQ(log_->Rotate(5, 3), absl::OkStatus());
  EXPECT_FALSE(fs::exists(File(0)));
  EXPECT_THAT(Replay(3).value(), ElementsAre(3, 4));
}

TEST_F(PushLogTest, ANewLifeOfTheJobForgetsTheOldOne) {
  ASSERT_EQ(log_->Begin(0), absl::OkStatus());
  Record(0);
  ASSERT_EQ(PushLog::Open(folder_, 1).value()->Begin(0), absl::OkStatus());
  ASSERT_EQ(log_->Begin(7), absl::OkStatus());
  EXPECT_FALSE(fs::exists(File(0)));
  EXPECT_TRUE(fs::exists(folder_ + "/server-1-0.log")) << "another server's";
  EXPECT_TRUE(Replay(7).value().empty());
}

TEST_F(PushLogTest, ACheckpointThatIsSavedAgainLosesNoPush) {
  ASSERT_EQ(log_->Begin(0), absl::OkStatus());
  Record(0);
  ASSERT_EQ(log_->Rotate(1, 0), absl::OkStatus());
  Record(1);
  ASSERT_EQ(log_->Rotate(1, 0), absl::OkStatus());
  EXPECT_THAT(Replay(0).value(), ElementsAre(0, 1));
}

TEST_F(PushLogTest, ACutOffEndIsLeftOutAndWritingGoesOn) {
  ASSERT_EQ(log_->Begin(0), absl::OkStatus());
  Record(0);
  const uint64_t first = fs::file_size(File(0));
  Record(1);
  for (uint64_t size = fs::file_size(File(0)) - 1; size > first; --size) {
    fs::resize_file(File(0), size);
    EXPECT_THAT(Replay(0).value(), ElementsAre(0)) << size;
    EXPECT_EQ(fs::file_size(File(0)), first);
    Record(1);
    EXPECT_THAT(Replay(0).value(), ElementsAre(0, 1));
    Record(2);
    fs::resize_file(File(0), fs::file_size(File(0)) - 1);
    EXPECT_THAT(Replay(0).value(), ElementsAre(0, 1));
  }
}

TEST_F(PushLogTest, ACutInAnEarlierFileIsLoss) {
  ASSERT_EQ(log_->Begin(0), absl::OkStatus());
  Record(0);
  ASSERT_EQ(log_->Rotate(1, 0), absl::OkStatus());
  Record(1);
  fs::resize_file(File(0), fs::file_size(File(0)) - 1);
  const absl::Status status = Replay(0).status();
  EXPECT_TRUE(absl::IsDataLoss(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr(File(0) + " is damaged at byte 0"));
}

TEST_F(PushLogTest, AFlippedBitIsNamed) {
  ASSERT_EQ(log_->Begin(0), absl::OkStatus());
  Record(0);
  Record(1);
  std::string bytes = testing::ReadWholeFile(File(0));
  bytes[20] = static_cast<char>(bytes[20] ^ 1);
  std::ofstream(File(0), std::ios::binary) << bytes;
  const absl::Status status = Replay(0).status();
  EXPECT_TRUE(absl::IsDataLoss(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr(File(0) + " is damaged at byte 0: the record's checksum is wrong"));
}

TEST_F(PushLogTest, AMissingLogIsLoss) { EXPECT_TRUE(absl::IsDataLoss(Replay(0).status())); }

}  // namespace
}  // namespace weir::server
