// Reads Criteo TSV files (plain, .gz, .xz, .zst) range by range into batches.
#ifndef WEIR_WORKER_CRITEO_READER_H_
#define WEIR_WORKER_CRITEO_READER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "base/input_file.h"
#include "proto/job.pb.h"
#include "proto/job_tables.h"
#include "worker/batch.h"
#include "worker/criteo_line.h"
#include "worker/range_source.h"

namespace weir::worker {

// Batches go on over the ends of ranges and files. Memory: one file's buffer. Single-threaded.
//
// Errors of Next; each names the file and, past opening, the line:
// NOT_FOUND         the file of a range.
// INVALID_ARGUMENT  a bad row, with its column: wrong number of columns, a label that is not 0 or 1, a dense value that is not a finite
// number. With
//                   on_bad_row: skip it is left out and counted instead; the batch is filled from the rows behind it.
// DATA_LOSS         a damaged or cut off file; whatever on_bad_row says.
class CriteoReader final : public BatchSource {
 public:
  // `ranges` outlives the reader. REQUIRES: a validated job's data, and the schema of it.
  CriteoReader(const Data& data, const DataSchema& schema, RangeSource* ranges);

  absl::Status Next(uint32_t samples_max, Batch* batch) override;
  uint64_t bad_rows() const override { return bad_rows_; }

 private:
  static constexpr uint64_t kBadRowsLoggedMax = 5;

  // Goes to the next range; false at the end of the data.
  absl::StatusOr<bool> NextRange();
  // Parses the next row of the range; false when it was bad and is left out.
  absl::StatusOr<bool> ReadRow();
  absl::Status Refuse(uint64_t line_number);
  void Store(uint32_t sample, Batch* batch) const;

  const bool skip_bad_rows_;
  const uint64_t buckets_;  // 0: full 64-bit keys
  RangeSource* const source_;
  std::string file_;                    // of the range
  std::unique_ptr<LineReader> reader_;  // of file_
  uint64_t ranges_ = 0;                 // taken
  uint64_t range_rows_ = 0;
  uint64_t rows_left_ = 0;  // of the range
  bool done_ = false;
  uint64_t bad_rows_ = 0;
  CriteoLine row_;
  std::string why_;  // the last bad row is bad
};

}  // namespace weir::worker

#endif  // WEIR_WORKER_CRITEO_READER_H_
