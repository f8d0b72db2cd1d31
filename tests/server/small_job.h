// A job for tests of the server: 26 Criteo tables, narrow rows, SGD at rate 1, so that a step can be followed by hand.
#ifndef WEIR_TESTS_SERVER_SMALL_JOB_H_
#define WEIR_TESTS_SERVER_SMALL_JOB_H_

#include <cstdint>

#include "proto/job.pb.h"

namespace weir::server {

struct SmallJob {
  uint32_t dim = 2;
  uint32_t workers = 1;
  int32_t staleness = 0;
  uint32_t shards = 8;
  Training::GradientScale gradient_scale = Training::GRADIENT_SCALE_SUM;
  Optimizer::Type optimizer = Optimizer::TYPE_SGD;
  double initial_scale = 0.5;  // uniform

  Job Make() const {
    Job job;
    job.set_name("small");
    job.set_seed(7);
    job.mutable_data()->set_format(Data::FORMAT_CRITEO_TSV);
    job.mutable_embeddings()->set_dim(dim);
    Optimizer& settings = *job.mutable_embeddings()->mutable_optimizer();
    settings.set_type(optimizer);
    settings.set_learning_rate(1);
    settings.set_epsilon(1e-6);
    settings.set_initial_accumulator(0);
    settings.set_beta1(0.9);
    settings.set_beta2(0.999);
    job.mutable_embeddings()->mutable_initializer()->set_type(Initializer::TYPE_UNIFORM);
    job.mutable_embeddings()->mutable_initializer()->set_scale(initial_scale);
    job.mutable_training()->set_staleness(staleness);
    job.mutable_training()->set_gradient_scale(gradient_scale);
    job.mutable_cluster()->set_workers(workers);
    job.mutable_cluster()->set_shards(shards);
    job.mutable_cluster()->set_call_timeout_seconds(30);
    job.mutable_cluster()->set_stall_timeout_seconds(30);
    return job;
  }
};

}  // namespace weir::server

#endif  // WEIR_TESTS_SERVER_SMALL_JOB_H_
