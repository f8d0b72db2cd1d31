#include "tools/checkpoint/export_checkpoint.h"

#include <cstring>
#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/testing/data_file.h"
#include "tests/tools/checkpoint/small_checkpoint.h"

namespace weir::tools {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::ReadWholeFile;

class ExportCheckpointTest : public ::testing::Test {
 protected:
  ExportCheckpointTest() : dir_(::testing::TempDir() + "/" + ::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::remove_all(dir_);
    request_.checkpoint = testing::Save(dir_, {10, {9, 2, 5}});
    request_.to = dir_ + "/out";
  }
  std::string Read(const std::string& name) const { return ReadWholeFile(request_.to + "/" + name); }

  const std::string dir_;
  ExportRequest request_;
};

template <typename T>
std::vector<T> ValuesOf(absl::string_view bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

TEST_F(ExportCheckpointTest, NpyFilesAreArraysOfTheirShape) {
  request_.slots = true;
  ASSERT_EQ(Export(request_), absl::OkStatus());
  const std::string keys = Read("C1.keys.npy");
  EXPECT_EQ(keys.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
  EXPECT_THAT(keys, HasSubstr("{'descr': '<u8', 'fortran_order': False, 'shape': (3,), }"));
  ASSERT_EQ(keys.size() % 64, 3 * 8) << "the data is aligned";
  EXPECT_THAT(ValuesOf<uint64_t>(keys.substr(keys.size() - 24)), ElementsAre(2, 5, 9));
  const std::string weights = Read("C1.weights.npy");
  EXPECT_THAT(weights, HasSubstr("'shape': (3, 2), }"));
  EXPECT_THAT(ValuesOf<float>(weights.substr(weights.size() - 24)), ElementsAre(2, 2.5, 5, 5.5, 9, 9.5));
  const std::string slots = Read("C1.slots.npy");
  EXPECT_THAT(ValuesOf<float>(slots.substr(slots.size() - 12)), ElementsAre(9, 9, 9));
  const std::string layer = Read("top.0.weights.npy");
  EXPECT_THAT(layer, HasSubstr("'shape': (1, 2), }"));
  EXPECT_THAT(ValuesOf<float>(layer.substr(layer.size() - 8)), ElementsAre(1, 2));
  const std::string bias = Read("top.0.bias.npy");
  EXPECT_THAT(ValuesOf<float>(bias.substr(bias.size() - 4)), ElementsAre(3));
  const json schema = json::parse(Read("schema.json"));
  EXPECT_EQ(schema["step"], 10);
  EXPECT_EQ(schema["tables"][0], json::parse(R"({"name": "C1", "rows": 3, "dim": 2, "slots": 1})"));
  EXPECT_EQ(schema["layers"][0], json::parse(R"({"name": "top.0", "outputs": 1, "inputs": 2})"));
}

TEST_F(ExportCheckpointTest, SafetensorsNamesTypesShapesAndPlaces) {
  request_.format = ExportFormat::kSafetensors;
  ASSERT_EQ(Export(request_), absl::OkStatus());
  const std::string file = Read("model.safetensors");
  const uint64_t head_bytes = ValuesOf<uint64_t>(file.substr(0, 8))[0];
  const json head = json::parse(file.substr(8, head_bytes));
  const std::string data = file.substr(8 + head_bytes);
  EXPECT_EQ(head["C1.keys"]["dtype"], "U64");
  EXPECT_EQ(head["C1.weights"]["dtype"], "F32");
  EXPECT_EQ(head["C1.weights"]["shape"], json::parse("[3, 2]"));
  const uint64_t begin = head["C1.weights"]["data_offsets"][0], end = head["C1.weights"]["data_offsets"][1];
  EXPECT_THAT(ValuesOf<float>(data.substr(begin, end - begin)), ElementsAre(2, 2.5, 5, 5.5, 9, 9.5));
  EXPECT_EQ(head["top.0.bias"]["data_offsets"][1], data.size());
  EXPECT_FALSE(head.contains("C1.slots"));
}

TEST_F(ExportCheckpointTest, TsvHasALineForEachRow) {
  request_.format = ExportFormat::kTsv;
  request_.slots = true;
  ASSERT_EQ(Export(request_), absl::OkStatus());
  EXPECT_EQ(Read("C1.tsv"), "2\t2\t2.5\t9\n5\t5\t5.5\t9\n9\t9\t9.5\t9\n");
  EXPECT_EQ(Read("top.0.tsv"), "1\t2\t3\n");
}

TEST_F(ExportCheckpointTest, OnlyTablesThatAreThereCanBeWanted) {
  request_.tables = {"C2"};
  EXPECT_THAT(std::string(Export(request_).message()), HasSubstr("table C2 is not in"));
}

}  // namespace
}  // namespace weir::tools
