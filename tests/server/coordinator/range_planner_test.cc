#include "server/coordinator/range_planner.h"

#include <algorithm>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/input_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/data_file.h"

namespace weir::server {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using testing::WriteDataFile;

constexpr NextRangeRequest::Set kTrain = NextRangeRequest::SET_TRAIN;
constexpr NextRangeRequest::Set kTest = NextRangeRequest::SET_TEST;

// Rows are numbers, so that a row says which one it is.
std::vector<int> Numbers(int begin, int end) {
  std::vector<int> numbers;
  for (int i = begin; i < end; ++i) numbers.push_back(i);
  return numbers;
}

// 100 rows in four files: plain, empty, packed with an empty last line, and one without a last line end.
Job HundredRows(uint32_t workers, uint32_t batch_size) {
  const auto rows = [](int begin, int end, const char* line_end) {
    std::string content;
    for (int i = begin; i < end; ++i) absl::StrAppend(&content, i, line_end);
    return content;
  };
  Job job;
  job.mutable_data()->add_train(WriteDataFile("a", rows(0, 37, "\n")));
  job.mutable_data()->add_train(WriteDataFile("b", ""));
  job.mutable_data()->add_train(WriteDataFile("c.gz", rows(37, 60, "\r\n") + "\r\n"));
  job.mutable_data()->add_train(WriteDataFile("d.xz", rows(60, 99, "\n") + "99"));
  job.mutable_cluster()->set_workers(workers);
  job.mutable_training()->set_batch_size(batch_size);
  job.mutable_training()->set_epochs(1);
  return job;
}

std::unique_ptr<RangePlanner> Plan(const Job& job) { return RangePlanner::Open(job).value(); }

// A worker: asks, and reads what it is told to read.
class Reader {
 public:
  Reader(RangePlanner* planner, uint32_t rank, NextRangeRequest::Set set) : planner_(planner) {
    request_.set_worker_rank(rank);
    request_.set_set(set);
  }

  absl::StatusOr<NextRangeReply> Ask() {
    const absl::StatusOr<NextRangeReply> reply = planner_->Next(request_);
    if (reply.ok()) request_.set_request(request_.request() + 1);
    return reply;
  }

  // Appends the rows of the next range; false at the end.
  bool Read(std::vector<int>* rows) {
    const NextRangeReply range = Ask().value();
    if (range.done()) return false;
    auto reader = LineReader::Open(range.file()).value();
    EXPECT_EQ(reader->Seek(range.byte_offset(), range.first_line()), absl::OkStatus());
    for (uint64_t i = 0; i < range.rows(); ++i) {
      absl::string_view line;
      EXPECT_TRUE(reader->Next(&line).value());
      rows->push_back(std::stoi(std::string(line)));
    }
    EXPECT_GT(range.rows(), 0);
    return true;
  }

 private:
  RangePlanner* const planner_;
  NextRangeRequest request_;
};

// All rows of a set, workers asking in turn until each is done.
std::vector<int> ReadInTurn(RangePlanner* planner, uint32_t workers, NextRangeRequest::Set set) {
  std::vector<Reader> readers;
  for (uint32_t rank = 0; rank < workers; ++rank) readers.emplace_back(planner, rank, set);
  std::vector<int> rows;
  std::vector<bool> done(workers, false);
  while (std::count(done.begin(), done.end(), false) > 0) {
    for (uint32_t rank = 0; rank < workers; ++rank) {
      if (!done[rank]) done[rank] = !readers[rank].Read(&rows);
    }
  }
  return rows;
}

// Which rows each step of a deterministic job reads, as sets.
std::vector<std::set<int>> StepsOf(const Job& job) {
  const auto planner = Plan(job);
  const uint32_t workers = job.cluster().workers();
  const size_t batch = job.training().batch_size() / workers;
  std::vector<std::set<int>> steps;
  for (uint32_t rank = 0; rank < workers; ++rank) {
    Reader reader(planner.get(), rank, kTrain);
    std::vector<int> rows;
    while (reader.Read(&rows)) {
    }
    for (size_t i = 0; i < rows.size(); ++i) {
      steps.resize(std::max(steps.size(), i / batch + 1));
      // Rows of another epoch are other members.
      if (!steps[i / batch].insert(rows[i]).second) steps[i / batch].insert(rows[i] + 1000);
    }
  }
  return steps;
}

class CoverageTest : public ::testing::TestWithParam<std::tuple<uint32_t, bool>> {
 protected:
  Job MakeJob() const {
    Job job = HundredRows(workers(), 6);
    job.mutable_training()->set_deterministic(std::get<1>(GetParam()));
    return job;
  }
  uint32_t workers() const { return std::get<0>(GetParam()); }
};

TEST_P(CoverageTest, EveryRowOnceInEachEpoch) {
  Job job = MakeJob();
  job.mutable_training()->set_epochs(3);
  std::vector<int> rows = ReadInTurn(Plan(job).get(), workers(), kTrain);
  std::sort(rows.begin(), rows.end());
  std::vector<int> expected;
  for (const int number : Numbers(0, 100)) expected.insert(expected.end(), 3, number);
  EXPECT_THAT(rows, ElementsAreArray(expected));
}

TEST_P(CoverageTest, HeldOutRowsAreTheLastOnes) {
  for (const int held_out : {1, 40, 60, 99}) {
    for (const bool counted : {false, true}) {
      Job job = MakeJob();
      job.mutable_data()->set_test_last_rows(held_out);
      const auto planner = Plan(job);
      while (counted && !planner->CountMore().value()) {
      }
      std::vector<int> train = ReadInTurn(planner.get(), workers(), kTrain);
      std::sort(train.begin(), train.end());
      EXPECT_THAT(train, ElementsAreArray(Numbers(0, 100 - held_out)));
      std::vector<int> test = ReadInTurn(planner.get(), workers(), kTest);
      std::sort(test.begin(), test.end());
      EXPECT_THAT(test, ElementsAreArray(Numbers(100 - held_out, 100)));
    }
  }
}

TEST_P(CoverageTest, RowLimitHoldsInEachEpoch) {
  Job job = MakeJob();
  job.mutable_data()->set_train_rows_max(50);
  job.mutable_training()->set_epochs(2);
  std::vector<int> rows = ReadInTurn(Plan(job).get(), workers(), kTrain);
  EXPECT_EQ(rows.size(), 100);
  EXPECT_EQ(*std::max_element(rows.begin(), rows.end()), 49);
}

// Workers ask for a while, train less than they were given, and the job goes on with other workers: nothing twice, nothing left out.
TEST_P(CoverageTest, AfterAPositionTheRestComesOnce) {
  Job job = MakeJob();
  job.mutable_checkpoint()->set_every("1");
  job.mutable_training()->set_epochs(2);
  for (const uint32_t workers_then : {1, 2, 3}) {
    for (const int asked : {0, 1, 5, 1000}) {
      const auto planner = Plan(job);
      std::vector<int> trained;
      std::vector<WorkerPosition> positions(workers());
      for (uint32_t rank = 0; rank < workers(); ++rank) {
        Reader reader(planner.get(), rank, kTrain);
        std::vector<size_t> ends = {0};
        std::vector<int> rows;
        for (int i = 0; i < asked && reader.Read(&rows); ++i) ends.push_back(rows.size());
        // All ranges but the last, and of that all rows but one; each worker a range less than the one before.
        const size_t ranges = ends.size() > 2 + rank ? ends.size() - 2 - rank : 0;
        const size_t more = ranges + 1 < ends.size() ? ends[ranges + 1] - ends[ranges] - 1 : 0;
        positions[rank].set_ranges(ranges);
        positions[rank].set_rows(more);
        trained.insert(trained.end(), rows.begin(), rows.begin() + static_cast<ptrdiff_t>(ends[ranges] + more));
      }
      const absl::StatusOr<DataPosition> position = planner->Position(positions);
      ASSERT_TRUE(position.ok()) << position.status();
      Job then = job;
      then.mutable_cluster()->set_workers(workers_then);
      const auto restored = RangePlanner::Open(then, &*position);
      ASSERT_TRUE(restored.ok()) << restored.status();
      const std::vector<int> rest = ReadInTurn(restored->get(), workers_then, kTrain);
      trained.insert(trained.end(), rest.begin(), rest.end());
      std::sort(trained.begin(), trained.end());
      std::vector<int> expected;
      for (const int number : Numbers(0, 100)) expected.insert(expected.end(), 2, number);
      EXPECT_THAT(trained, ElementsAreArray(expected)) << asked << " ranges asked, then " << workers_then << " workers";
    }
  }
}

TEST_P(CoverageTest, APositionBehindWhatWasGivenIsRefused) {
  Job job = MakeJob();
  job.mutable_checkpoint()->set_every("1");
  const auto planner = Plan(job);
  std::vector<WorkerPosition> positions(workers());
  positions[0].set_ranges(1);
  EXPECT_TRUE(absl::IsInvalidArgument(planner->Position(positions).status()));
  positions.pop_back();
  EXPECT_TRUE(absl::IsInvalidArgument(planner->Position(positions).status()));
}

INSTANTIATE_TEST_SUITE_P(Workers, CoverageTest, ::testing::Combine(::testing::Values(1, 2, 3), ::testing::Bool()), [](const auto& info) {
  return absl::StrCat(std::get<0>(info.param), std::get<1>(info.param) ? "Deterministic" : "Dynamic");
});

TEST(DeterministicTest, WorkersTogetherReadTheStepsOfOne) {
  for (const uint32_t batch_size : {6, 12, 60, 600}) {
    Job job = HundredRows(1, batch_size);
    job.mutable_training()->set_deterministic(true);
    job.mutable_training()->set_epochs(2);
    const std::vector<std::set<int>> alone = StepsOf(job);
    EXPECT_EQ(alone.size(), (200 + batch_size - 1) / batch_size);
    for (const uint32_t workers : {2, 3, 6}) {
      job.mutable_cluster()->set_workers(workers);
      EXPECT_EQ(StepsOf(job), alone) << workers << " workers, batches of " << batch_size;
    }
  }
}

TEST(DeterministicTest, OrderOfAskingDoesNotMatter) {
  Job job = HundredRows(2, 10);
  job.mutable_training()->set_deterministic(true);
  const auto planner = Plan(job);
  std::vector<int> second;
  Reader reader(planner.get(), 1, kTrain);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(reader.Read(&second));
  EXPECT_THAT(second, ElementsAreArray({5, 6, 7, 8, 9, 15, 16, 17, 18, 19, 25, 26, 27, 28, 29, 35, 36}));
  ASSERT_TRUE(reader.Read(&second)) << "the rest of the batch, in the next file";
  EXPECT_THAT(std::vector<int>(second.end() - 3, second.end()), ElementsAreArray({37, 38, 39}));
}

TEST(DeterministicTest, WorkerFarAheadIsHeldBackUntilTheOthersFollow) {
  Job job;
  std::string content;
  for (uint32_t i = 0; i < 2 * RangePlanner::kRangesAheadMax + 10; ++i) content += "7\n";
  job.mutable_data()->add_train(WriteDataFile("many", content));
  job.mutable_cluster()->set_workers(2);
  job.mutable_training()->set_batch_size(2);
  job.mutable_training()->set_epochs(1);
  job.mutable_training()->set_deterministic(true);
  const auto planner = Plan(job);
  Reader fast(planner.get(), 1, kTrain), slow(planner.get(), 0, kTrain);
  for (uint32_t i = 0; i < RangePlanner::kRangesAheadMax; ++i) ASSERT_TRUE(fast.Ask().ok());
  EXPECT_EQ(fast.Ask().status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(slow.Ask().value().first_line(), 1);
  EXPECT_EQ(fast.Ask().value().first_line(), 2 * RangePlanner::kRangesAheadMax + 2) << "nothing was lost";
}

TEST(RangePlannerTest, RetriedRequestGetsTheSameRange) {
  Job job = HundredRows(2, 2);
  const auto planner = Plan(job);
  NextRangeRequest request;
  request.set_set(kTrain);
  const NextRangeReply first = planner->Next(request).value();
  EXPECT_EQ(first.rows(), 16);
  EXPECT_EQ(planner->Next(request).value().SerializeAsString(), first.SerializeAsString());
  request.set_worker_rank(1);
  EXPECT_EQ(planner->Next(request).value().first_line(), 17);
  request.set_worker_rank(0);
  EXPECT_EQ(planner->Next(request).value().SerializeAsString(), first.SerializeAsString());
  request.set_request(1);
  EXPECT_EQ(planner->Next(request).value().first_line(), 33);
  request.set_request(0);
  EXPECT_EQ(planner->Next(request).status().code(), absl::StatusCode::kInvalidArgument) << "the range before the last is forgotten";
  request.set_request(3);
  EXPECT_EQ(planner->Next(request).status().code(), absl::StatusCode::kInvalidArgument);
  request.set_worker_rank(2);
  EXPECT_EQ(planner->Next(request).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(planner->Next(NextRangeRequest()).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(RangePlannerTest, EndIsAnsweredAgainAndAgain) {
  const auto planner = Plan(HundredRows(1, 1000));
  Reader reader(planner.get(), 0, kTrain);
  std::vector<int> rows;
  while (reader.Read(&rows)) {
  }
  EXPECT_TRUE(reader.Ask().value().done());
  EXPECT_TRUE(reader.Ask().value().done());
  EXPECT_TRUE(Reader(planner.get(), 0, kTest).Ask().value().done()) << "nothing is held out";
}

TEST(RangePlannerTest, TotalsAreKnownOnceCounted) {
  Job job = HundredRows(1, 10);
  job.mutable_training()->set_epochs(3);
  job.mutable_data()->set_test_last_rows(20);
  const auto planner = Plan(job);
  EXPECT_EQ(planner->total_rows(kTrain), 0);
  while (!planner->CountMore().value()) {
  }
  EXPECT_EQ(planner->total_rows(kTrain), 240);
  EXPECT_EQ(planner->total_rows(kTest), 20);
  EXPECT_EQ(Reader(planner.get(), 0, kTrain).Ask().value().total_rows(), 240);
}

TEST(RangePlannerTest, RangesShrinkTowardsAKnownEnd) {
  const auto planner = Plan(HundredRows(2, 4));
  while (!planner->CountMore().value()) {
  }
  Reader reader(planner.get(), 0, kTrain);
  EXPECT_EQ(reader.Ask().value().rows(), 32 - 8) << "a quarter of the rows";
  uint64_t last = 0;
  for (NextRangeReply reply = reader.Ask().value(); !reply.done(); reply = reader.Ask().value()) last = reply.rows();
  EXPECT_LE(last, 2);
}

TEST(RangePlannerTest, MissingFileIsNamedBeforeAnythingIsRead) {
  Job job = HundredRows(1, 10);
  job.mutable_data()->add_test("/no/such/test.gz");
  const absl::Status status = RangePlanner::Open(job).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("/no/such/test.gz"));
}

TEST(RangePlannerTest, DamagedFileEndsTheJobWithFileAndLine) {
  Job job = HundredRows(1, 1);
  std::string content;
  for (int i = 0; i < 100; ++i) absl::StrAppend(&content, i * 31337 % 1009, "\n");
  const std::string packed = testing::PackGzip(content);
  const std::string damaged = testing::WriteFile("damaged.gz", packed.substr(0, packed.size() - 20));
  job.mutable_data()->add_train(damaged);
  const auto planner = Plan(job);
  Reader reader(planner.get(), 0, kTrain);
  absl::StatusOr<NextRangeReply> reply = reader.Ask();
  while (reply.ok()) reply = reader.Ask();
  EXPECT_EQ(reply.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(reply.status().message()), HasSubstr(damaged + ", line "));
  EXPECT_EQ(reader.Ask().status(), reply.status());
}

TEST(RangePlannerTest, HoldingOutEverythingIsRefused) {
  Job job = HundredRows(1, 10);
  job.mutable_data()->set_test_last_rows(100);
  const auto planner = Plan(job);
  EXPECT_EQ(Reader(planner.get(), 0, kTrain).Ask().status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Reader(planner.get(), 0, kTest).Ask().status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(RangePlannerTest, WorkersAskAtOnceWhileRowsAreCounted) {
  Job job = HundredRows(4, 4);
  job.mutable_data()->set_test_last_rows(10);
  const auto planner = Plan(job);
  std::thread counter([&planner] {
    while (!planner->CountMore().value()) {
    }
  });
  std::vector<std::vector<int>> rows(4);
  std::vector<std::thread> workers;
  for (uint32_t rank = 0; rank < 4; ++rank) {
    workers.emplace_back([&planner, &rows, rank] {
      Reader reader(planner.get(), rank, kTrain);
      while (reader.Read(&rows[rank])) {
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  counter.join();
  std::vector<int> all;
  for (const std::vector<int>& part : rows) all.insert(all.end(), part.begin(), part.end());
  std::sort(all.begin(), all.end());
  EXPECT_THAT(all, ElementsAreArray(Numbers(0, 90)));
}

}  // namespace
}  // namespace weir::server
