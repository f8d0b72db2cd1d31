// Reads TensorBoard event files, independently of the writer.
#ifndef WEIR_TESTS_SERVER_COORDINATOR_EVENT_FILE_H_
#define WEIR_TESTS_SERVER_COORDINATOR_EVENT_FILE_H_

#include <string>
#include <vector>

#include "server/coordinator/tensorboard_event.pb.h"

namespace weir::testing {

// All events of the one event file in `dir`. Reports a test failure, and returns what came before, where lengths or checksums are wrong.
std::vector<tensorboard::Event> ReadEvents(const std::string& dir);

}  // namespace weir::testing

#endif  // WEIR_TESTS_SERVER_COORDINATOR_EVENT_FILE_H_
