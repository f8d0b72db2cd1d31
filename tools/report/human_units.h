// Numbers as people read them: three significant digits and a unit. Pure functions, also for extreme and non-finite values.
#ifndef WEIR_TOOLS_REPORT_HUMAN_UNITS_H_
#define WEIR_TOOLS_REPORT_HUMAN_UNITS_H_

#include <string>

#include "absl/strings/string_view.h"

namespace weir::tools {

// "0 B", "118 B", "1.21 kB", "3.40 GB": powers of 1000.
std::string HumanBytes(double bytes);

// "0", "7", "950", "41.2k", "5.00M", "1.30G": whole below a thousand.
std::string HumanCount(double count);

// "0.40 s", "12.3 s", "2 min 05 s", "1 h 02 min".
std::string HumanSeconds(double seconds);

// The words of HumanRatio for a value below and above the other.
struct RatioWords {
  absl::string_view smaller;  // "fewer"
  absl::string_view larger;   // "more"
};

// How `value` compares with `other`, both non-negative: "63x fewer", "2.4x more", "12 % more" below a factor of two, "same" within half a
// percent, "-" where one of them is zero.
std::string HumanRatio(double value, double other, RatioWords words);

// Difference relative to `other`: "+0.04 %", "-1.20 %"; "-" where other is zero.
std::string HumanPercentDifference(double value, double other);

}  // namespace weir::tools

#endif  // WEIR_TOOLS_REPORT_HUMAN_UNITS_H_
