#include "tools/compare/statistics.h"

#include <cmath>
#include <limits>
#include <vector>

namespace weir::tools {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// The continued fraction of the incomplete beta function (DLMF 8.17.22) by Lentz's method, which never divides by zero. It converges in
// O(sqrt(max(a, b))) terms for x < (a + 1) / (a + b + 2).
double BetaFraction(double a, double b, double x) {
  constexpr int kTermsMax = 10000;
  constexpr double kTiny = 1e-300;
  const auto away_from_zero = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1;
  double d = 1 / away_from_zero(1 - (a + b) * x / (a + 1));
  double fraction = d;
  for (int m = 1; m <= kTermsMax; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away_from_zero(1 + even * d);
    c = away_from_zero(1 + even / c);
    fraction *= c * d;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away_from_zero(1 + odd * d);
    c = away_from_zero(1 + odd / c);
    fraction *= c * d;
    if (std::abs(c * d - 1) < 1e-15) break;
  }
  return fraction;
}

// Regularised I_x(a, b); `rest` is 1 - x, which the caller knows without cancellation.
double IncompleteBeta(double a, double b, double x, double rest) {
  if (x <= 0) return 0;
  if (rest <= 0) return 1;
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log(rest));
  if (x < (a + 1) / (a + b + 2)) return front * BetaFraction(a, b, x) / a;
  return 1 - front * BetaFraction(b, a, rest) / b;
}

// A t statistic whose denominator is 0 where nothing spreads.
double PValue(double difference, double error, double degrees) {
  if (error > 0) return StudentTwoSided(difference / error, degrees);
  return difference == 0 ? 1 : 0;
}

}  // namespace

MeanSpread MeanAndSpread(absl::Span<const double> values) {
  MeanSpread result = {values.size(), kNan, kNan};
  if (values.empty()) return result;
  double sum = 0;
  for (const double value : values) sum += value;
  result.mean = sum / static_cast<double>(values.size());
  if (values.size() < 2) return result;
  double squares = 0;
  for (const double value : values) squares += (value - result.mean) * (value - result.mean);
  result.spread = std::sqrt(squares / static_cast<double>(values.size() - 1));
  return result;
}

double StudentTwoSided(double t, double degrees) {
  if (std::isnan(t) || std::isnan(degrees)) return kNan;
  if (std::isinf(t)) return 0;
  const double whole = degrees + t * t;
  return IncompleteBeta(degrees / 2, 0.5, degrees / whole, t * t / whole);
}

std::optional<double> PairedTTest(absl::Span<const double> a, absl::Span<const double> b) {
  if (a.size() < 2) return std::nullopt;
  std::vector<double> differences;
  for (size_t i = 0; i < a.size(); ++i) differences.push_back(a[i] - b[i]);
  const MeanSpread of = MeanAndSpread(differences);
  const double count = static_cast<double>(of.count);
  return PValue(of.mean, of.spread / std::sqrt(count), count - 1);
}

std::optional<double> WelchTTest(absl::Span<const double> a, absl::Span<const double> b) {
  if (a.size() < 2 || b.size() < 2) return std::nullopt;
  const MeanSpread of_a = MeanAndSpread(a);
  const MeanSpread of_b = MeanAndSpread(b);
  const double part_a = of_a.spread * of_a.spread / static_cast<double>(a.size());
  const double part_b = of_b.spread * of_b.spread / static_cast<double>(b.size());
  const double square = part_a + part_b;
  // Welch and Satterthwaite's degrees of freedom.
  const double degrees =
      square * square / (part_a * part_a / static_cast<double>(a.size() - 1) + part_b * part_b / static_cast<double>(b.size() - 1));
  return PValue(of_a.mean - of_b.mean, std::sqrt(square), degrees);
}

}  // namespace weir::tools
