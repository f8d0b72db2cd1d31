#include "server/coordinator/crc32c.h"

#include <string>

#include "gtest/gtest.h"

namespace weir::server {
namespace {

// RFC 3720, B.4.
TEST(Crc32cTest, KnownValues) {
  EXPECT_EQ(Crc32c(""), 0u);
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(Crc32c(std::string(32, '\xff')), 0x62a8ab43u);
}

TEST(Crc32cTest, MaskRotatesAndAdds) {
  EXPECT_EQ(MaskedCrc32c(""), 0xa282ead8u);
  const uint32_t crc = 0xe3069283u;
  EXPECT_EQ(MaskedCrc32c("123456789"), ((crc >> 15) | (crc << 17)) + 0xa282ead8u);
}

}  // namespace
}  // namespace weir::server
