// Rows with a bounded error (Feng et al., "Accelerating communication in deep learning recommendation model training with dual-level
// adaptive lossy compression", SC'24): entries become multiples of a step so that none is off by more than a share of the range of all,
// and the multiples travel as small codes. How these are written is a choice apart: it changes bytes and time, never a value.
#ifndef WEIR_COMPRESSION_BOUNDED_ROWS_H_
#define WEIR_COMPRESSION_BOUNDED_ROWS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "base/mutex.h"

namespace weir::compression {

enum class CodeEncoding {
  kCodes,          // a byte or two each
  kPacked,         // by an entropy code (packed_bytes.h), the paper's Huffman encoder
  kRepeats,        // rows that are equal to one of the 32 before them do not travel, the paper's vector-LZ
  kRepeatsPacked,  // both
};
inline constexpr int kCodeEncodings = 4;

// Single-threaded; buffers are reused.
class BoundedRows {
 public:
  // Takes rows of `width` entries, whole ones, at most base/limits.h kFrameEntriesMax entries in all. No entry will be off by more than
  // bound * (largest - smallest of `values`). INVALID_ARGUMENT, naming the position: a value that is not finite. REQUIRES: bound in (0, 1].
  absl::Status Round(absl::Span<const float> values, uint32_t width, double bound);

  // Appends a frame of the rounded rows. Where a bound is so tight that codes of two bytes do not reach, it is an fp32 frame of the rows
  // as they were.
  absl::Status Encode(CodeEncoding encoding, std::string* frame) const;

  // False: the rows travel as they were.
  bool rounded() const { return step_ > 0; }
  size_t entries() const { return values_.size(); }
  // How many of the rows are different from each other, before rounding and after.
  uint32_t DistinctBefore() const;
  uint32_t DistinctAfter() const;

 private:
  void AppendRepeats(std::string* mask, std::vector<uint8_t>* codes) const;

  std::vector<float> values_;
  uint32_t width_ = 1;
  float step_ = 0;
  int32_t lowest_ = 0;
  uint32_t code_bytes_ = 1;
  std::vector<int32_t> multiples_;
  std::vector<uint8_t> codes_;
};

// The paper's class of a table, by what rounding at the bound makes of its rows: the homogenisation index is the share of different rows
// that become equal to another one. Its cut-offs are ours.
inline constexpr double kTightenAbove = 0.1;   // rows collapse: their differences are what the model reads
inline constexpr double kLoosenBelow = 0.001;  // hardly any: there is room
// As a factor of the base bound: 0.01, 0.03 and 0.05 in the paper.
double BoundFactor(double homogenisation_index);

// By what the bound is multiplied at an iteration: falls from `start` to 1 in ten equal steps (the paper's step-wise decay).
double BoundDecay(double start, uint64_t steps, uint64_t step);

// Chooses the encoding of one table's rows by the paper's model of the speed-up, 1 / (1/ratio + link * (1/encode + 1/decode)), with ratio
// and rates that are measured on this machine: all encodings are tried at first and then every hundredth time. Thread-safe.
class EncodingChooser {
 public:
  // link: bytes per second between sender and reader, above 0.
  explicit EncodingChooser(double link) : link_(link) {}

  absl::Status Encode(const BoundedRows& rows, std::string* frame);
  CodeEncoding choice() const;

 private:
  absl::Status TryAll(const BoundedRows& rows, std::string* frame);

  const double link_;
  mutable Mutex mu_;
  uint64_t calls_ ABSL_GUARDED_BY(mu_) = 0;
  CodeEncoding choice_ ABSL_GUARDED_BY(mu_) = CodeEncoding::kCodes;
};

// The model above: how many times faster than without. Rates in bytes of fp32 per second.
double ModelledSpeedup(double ratio, double link, double encode_rate, double decode_rate);

}  // namespace weir::compression

#endif  // WEIR_COMPRESSION_BOUNDED_ROWS_H_
