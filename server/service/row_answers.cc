#include "server/service/row_answers.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compression/frame.h"
#include "compression/value_type.h"

namespace weir::server {
namespace {

compression::ValueType ValueTypeOf(LookupRequest::Reply reply) {
  switch (reply) {
    case LookupRequest::REPLY_FP16:
      return compression::ValueType::kFp16;
    case LookupRequest::REPLY_BF16:
      return compression::ValueType::kBf16;
    case LookupRequest::REPLY_INT8:
      return compression::ValueType::kInt8;
    default:
      return compression::ValueType::kFp32;
  }
}

// What a call says for all its tables, in the form of a table's own.
TableReply ReplyOf(const LookupRequest& request) {
  TableReply reply;
  reply.set_reply(request.reply());
  reply.set_sparsity(request.sparsity());
  reply.set_values(request.values());
  reply.set_error_bound(request.error_bound());
  return reply;
}

}  // namespace

uint64_t RowAnswer::entry_bytes_max() const {
  switch (reply) {
    case LookupRequest::REPLY_FP16:
    case LookupRequest::REPLY_BF16:
    case LookupRequest::REPLY_INT8:  // a row of one entry takes two bytes with its scale; wider ones less
      return 2;
    default:
      return 4;
  }
}

absl::StatusOr<RowAnswer> RowAnswerOf(const LookupRequest& request, const TableKeys& table) {
  const TableReply reply = table.has_reply() ? table.reply() : ReplyOf(request);
  RowAnswer answer;
  answer.reply = reply.reply();
  answer.pack = request.entropy() == Compression::ENTROPY_HUFFMAN;
  switch (reply.reply()) {
    case LookupRequest::REPLY_FP32:
    case LookupRequest::REPLY_FP16:
    case LookupRequest::REPLY_BF16:
    case LookupRequest::REPLY_INT8:
      return answer;
    case LookupRequest::REPLY_CHANGES:
      if (!(reply.sparsity() >= 0 && reply.sparsity() < 1)) {
        return absl::InvalidArgumentError(absl::StrCat("sparsity: ", reply.sparsity(), ", not in [0, 1)"));
      }
      answer.changes = {reply.sparsity(), compression::ValueTypeOf(reply.values())};
      return answer;
    case LookupRequest::REPLY_ERROR_BOUNDED:
      if (!(reply.error_bound() > 0 && reply.error_bound() <= 1)) {
        return absl::InvalidArgumentError(absl::StrCat("error_bound: ", reply.error_bound(), ", not above 0 and at most 1"));
      }
      answer.error_bound = reply.error_bound();
      answer.count_distinct = reply.count_distinct();
      return answer;
    default:
      return absl::InvalidArgumentError(absl::StrCat("reply ", reply.reply(), " is not one of rows"));
  }
}

RowEncoder::RowEncoder(const TableRegistry& tables, double link) {
  for (size_t i = 0; i < tables.size(); ++i) choosers_.push_back(std::make_unique<compression::EncodingChooser>(link));
}

absl::Status RowEncoder::Encode(const Table& table, const RowAnswer& answer, absl::Span<const float> rows, TableRows* reply) const {
  absl::Status status;
  if (answer.reply == LookupRequest::REPLY_ERROR_BOUNDED) {
    status = EncodeBounded(table, answer, rows, reply);
  } else {
    status = compression::EncodeDense(rows, ValueTypeOf(answer.reply), reply->mutable_frame(), table.dim());
    if (status.ok() && answer.pack) compression::PackFrame(reply->mutable_frame());
  }
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat("rows of table ", table.spec().name, " as ", LookupRequest::Reply_Name(answer.reply),
                                                  ": ", status.message()));
}

absl::Status RowEncoder::EncodeBounded(const Table& table, const RowAnswer& answer, absl::Span<const float> rows, TableRows* reply) const {
  compression::BoundedRows bounded;
  WEIR_RETURN_IF_ERROR(bounded.Round(rows, table.dim(), answer.error_bound));
  if (answer.count_distinct) {
    reply->set_distinct(bounded.DistinctBefore());
    reply->set_distinct_sent(bounded.DistinctAfter());
  }
  return choosers_[table.index()]->Encode(bounded, reply->mutable_frame());
}

}  // namespace weir::server
