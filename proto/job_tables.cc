#include "proto/job_tables.h"

#include "absl/strings/str_cat.h"

namespace weir {

DataSchema SchemaOf(const Job& job) {
  constexpr uint32_t kCriteoIntegers = 13;
  constexpr uint32_t kCriteoCategories = 26;
  DataSchema schema;
  switch (job.data().format()) {
    case Data::FORMAT_CRITEO_TSV:
      schema.dense_features = kCriteoIntegers;
      for (uint32_t i = 1; i <= kCriteoCategories; ++i) schema.sparse_features.push_back(absl::StrCat("C", i));
      break;
    default:
      break;
  }
  return schema;
}

std::vector<TableSpec> TablesOf(const Job& job) {
  std::vector<TableSpec> tables;
  for (const std::string& name : SchemaOf(job).sparse_features) {
    TableSpec table{name, job.embeddings().dim(), job.embeddings().optimizer(), job.embeddings().initializer()};
    for (const TableOverride& said : job.embeddings().tables()) {
      if (said.name() != name) continue;
      if (said.has_optimizer()) table.optimizer = said.optimizer();
      if (said.has_initializer()) table.initializer = said.initializer();
    }
    tables.push_back(std::move(table));
  }
  return tables;
}

}  // namespace weir
