// What follows from a job about its data and tables: the one place where a table gets its index.
#ifndef WEIR_PROTO_JOB_TABLES_H_
#define WEIR_PROTO_JOB_TABLES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "proto/job.pb.h"

namespace weir {

// What a data format looks like.
struct DataSchema {
  uint32_t dense_features = 0;
  std::vector<std::string> sparse_features;  // each has a table of the same name
};

struct TableSpec {
  std::string name;
  uint32_t dim = 0;
  Optimizer optimizer;      // all fields that its type reads are set
  Initializer initializer;  // all fields set
};

// REQUIRES: a validated job with its defaults set.
DataSchema SchemaOf(const Job& job);
// A table's place in the vector is its index in every message.
std::vector<TableSpec> TablesOf(const Job& job);

}  // namespace weir

#endif  // WEIR_PROTO_JOB_TABLES_H_
