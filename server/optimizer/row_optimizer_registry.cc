#include "server/optimizer/row_optimizer_registry.h"

#include "absl/strings/str_cat.h"
#include "server/optimizer/adagrad.h"
#include "server/optimizer/adam.h"
#include "server/optimizer/rowwise_adagrad.h"
#include "server/optimizer/sgd.h"

namespace weir::server {
namespace {

AdagradOptions ToAdagradOptions(const Optimizer& settings) {
  AdagradOptions options;
  options.learning_rate = static_cast<float>(settings.learning_rate());
  options.epsilon = static_cast<float>(settings.epsilon());
  options.initial_accumulator = static_cast<float>(settings.initial_accumulator());
  return options;
}

AdamOptions ToAdamOptions(const Optimizer& settings) {
  AdamOptions options;
  options.learning_rate = settings.learning_rate();
  options.beta1 = settings.beta1();
  options.beta2 = settings.beta2();
  options.epsilon = settings.epsilon();
  return options;
}

}  // namespace

absl::StatusOr<std::unique_ptr<RowOptimizer>> MakeRowOptimizer(const Optimizer& settings, uint32_t dim) {
  switch (settings.type()) {
    case Optimizer::TYPE_SGD:
      return std::make_unique<Sgd>(dim, static_cast<float>(settings.learning_rate()));
    case Optimizer::TYPE_ADAGRAD:
      return std::make_unique<Adagrad>(dim, ToAdagradOptions(settings));
    case Optimizer::TYPE_ROWWISE_ADAGRAD:
      return std::make_unique<RowwiseAdagrad>(dim, ToAdagradOptions(settings));
    case Optimizer::TYPE_ADAM:
      return std::make_unique<Adam>(dim, ToAdamOptions(settings));
    default:
      return absl::InvalidArgumentError(absl::StrCat("no row optimizer of type ", Optimizer::Type_Name(settings.type())));
  }
}

}  // namespace weir::server
