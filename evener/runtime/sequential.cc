#include "evener/runtime/sequential.h"

#include <cmath>
#include <vector>

namespace evener {

DivergedError::DivergedError(const std::string& what)
    : Error(what +
            ": the training diverged; try a lower --learning-rate, --warmup-epochs 1 or --clip 1") {
}

bool run_epoch(Replica& replica, const EpochPlan& plan, Position& position,
               const std::function<bool(const StepReport&)>& after_step) {
  const std::size_t rows = plan.row_count();
  if (position.next_row >= rows) return true;
  std::vector<std::uint32_t> order = shuffled_rows(rows, plan.seed, position.epoch);
  if (!plan.rows.empty()) {
    for (auto& row : order) row = plan.rows[row];
  }
  while (position.next_row < rows) {
    const std::size_t count =
        next_batch(*plan.data, order, position.next_row, plan.batch_size, plan.balance);
    const double epoch = static_cast<double>(position.epoch) +
                         static_cast<double>(position.next_row) / static_cast<double>(rows);
    const Step step{position.step + 1, learning_rate_at(plan.schedule, epoch)};
    const Batch batch{plan.data, std::span(order).subspan(position.next_row, count)};
    const double loss = replica.step(batch, step);
    if (!std::isfinite(loss)) {
      throw DivergedError("the loss of step " + std::to_string(step.number) + " is not finite");
    }
    position.step = step.number;
    position.next_row += count;
    position.loss_sum += loss * static_cast<double>(count);
    if (!after_step({count, loss, step.learning_rate})) return position.next_row >= rows;
  }
  return true;
}

}  // namespace evener
