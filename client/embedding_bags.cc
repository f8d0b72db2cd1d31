#include "client/embedding_bags.h"

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "client/row_bags.h"
#include "client/sample_bags.h"

namespace weir::client {

absl::StatusOr<std::unique_ptr<EmbeddingBags>> EmbeddingBags::Create(Client* client, BagsOptions options) {
  if (options.dim == 0 || options.dim > kDimMax) {
    return absl::InvalidArgumentError(absl::StrCat("embedding bags of ", options.dim, " columns, not 1 to ", kDimMax));
  }
  switch (options.compression.lookup().method()) {
    case Compression::METHOD_PLAIN:
    case Compression::METHOD_NONE:
    case Compression::METHOD_FP16:
    case Compression::METHOD_BF16:
    case Compression::METHOD_INT8_ROWWISE:
    case Compression::METHOD_ERROR_BOUNDED:
      return CreateRowBags(&client->servers(), options);
    case Compression::METHOD_DCT:
      if (options.compression.lookup().scope() == Compression::SCOPE_CHANGE) return CreateRowBags(&client->servers(), options);
      return CreateSampleBags(&client->servers(), options);
    default:
      return absl::InvalidArgumentError(absl::StrCat("compression.lookup.method ",
                                                     Compression::Method_Name(options.compression.lookup().method()),
                                                     " is not one that a client can do"));
  }
}

}  // namespace weir::client
