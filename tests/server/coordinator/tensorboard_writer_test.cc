#include "server/coordinator/tensorboard_writer.h"

#include <fstream>
#include <limits>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/coordinator/event_file.h"

namespace weir::server {
namespace {

std::string NewFolder(const std::string& name) { return ::testing::TempDir() + "/" + name; }

TEST(TensorBoardWriterTest, EventsReadBack) {
  const std::string dir = NewFolder("events");
  const auto writer = TensorBoardWriter::Create(dir, absl::FromUnixSeconds(1000));
  ASSERT_TRUE(writer.ok()) << writer.status();
  ASSERT_TRUE((*writer)->Write(7, absl::FromUnixMillis(1000500), {{"train/logloss", 0.5}, {"train/auc", 0.75}}).ok());
  ASSERT_TRUE((*writer)->Write(8, absl::FromUnixSeconds(1002), {{"train/logloss", std::numeric_limits<double>::quiet_NaN()}}).ok());

  const std::vector<tensorboard::Event> events = testing::ReadEvents(dir);
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].file_version(), "brain.Event:2");
  EXPECT_DOUBLE_EQ(events[0].wall_time(), 1000);
  EXPECT_EQ(events[1].step(), 7);
  EXPECT_DOUBLE_EQ(events[1].wall_time(), 1000.5);
  ASSERT_EQ(events[1].summary().value_size(), 2);
  EXPECT_EQ(events[1].summary().value(0).tag(), "train/logloss");
  EXPECT_FLOAT_EQ(events[1].summary().value(0).simple_value(), 0.5f);
  EXPECT_EQ(events[1].summary().value(1).tag(), "train/auc");
  EXPECT_FLOAT_EQ(events[1].summary().value(1).simple_value(), 0.75f);
}

// The numbers on the wire are TensorBoard's: Event.step = 2, Event.summary = 5, Summary.value = 1, Value.tag = 1, Value.simple_value = 2.
TEST(TensorBoardWriterTest, FieldNumbersAreTensorBoards) {
  tensorboard::Event event;
  event.set_step(3);
  tensorboard::Summary::Value* value = event.mutable_summary()->add_value();
  value->set_tag("t");
  value->set_simple_value(1);
  EXPECT_EQ(event.SerializeAsString(), std::string("\x10\x03\x2a\x0a\x0a\x08\x0a\x01t\x15\x00\x00\x80\x3f", 14));
  event.Clear();
  event.set_wall_time(0.5);
  event.set_file_version("v");
  EXPECT_EQ(event.SerializeAsString(), std::string("\x09\x00\x00\x00\x00\x00\x00\xe0\x3f\x1a\x01v", 12));
}

TEST(TensorBoardWriterTest, AnEarlierRunIsRemoved) {
  const std::string dir = NewFolder("again");
  ASSERT_TRUE(TensorBoardWriter::Create(dir, absl::FromUnixSeconds(1000)).ok());
  ASSERT_TRUE(TensorBoardWriter::Create(dir, absl::FromUnixSeconds(2000)).ok());
  const std::vector<tensorboard::Event> events = testing::ReadEvents(dir);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_DOUBLE_EQ(events[0].wall_time(), 2000);
}

TEST(TensorBoardWriterTest, AFileInTheWayIsNamed) {
  const std::string path = NewFolder("file");
  std::ofstream(path) << "x";
  const absl::Status status = TensorBoardWriter::Create(path, absl::FromUnixSeconds(1000)).status();
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr(path));
}

}  // namespace
}  // namespace weir::server
