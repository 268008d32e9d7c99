#include "evener/runtime/epoch_ledger.h"

#include "evener/core/error.h"

namespace evener {

void EpochLedger::open(const EpochPlan& plan, Position& position) {
  rows_.emplace(plan, position.epoch, position.next_row);
  position_ = &position;
}

void EpochLedger::close() {
  mark_all_merged();
  closed_ = *position_;
  position_ = &closed_;
}

EpochRows& EpochLedger::rows() {
  if (!rows_) throw Error("the policy asks for rows before the first epoch has begun");
  return *rows_;
}

void EpochLedger::add_trained(const Task& task, double loss_sum, bool unmerged) {
  position_->loss_sum += loss_sum;
  position_->next_row = rows_->next_row();
  if (!unmerged) return;
  WorkerLedger& ledger = of(task.worker);
  for (const auto& part : task.parts) ledger.unmerged.push_back(part.slice);
  ledger.unmerged_loss += loss_sum;
}

void EpochLedger::clear(WorkerLedger& ledger) {
  ledger.unmerged.clear();
  ledger.unmerged_loss = 0;
}

void EpochLedger::mark_merged(int worker) {
  clear(of(worker));
}

void EpochLedger::mark_all_merged() {
  for (auto& ledger : workers_) clear(ledger);
}

void EpochLedger::return_rejected(int worker) {
  WorkerLedger& ledger = of(worker);
  for (const auto& slice : ledger.unmerged) rows().put_back(slice);
  position_->loss_sum -= ledger.unmerged_loss;
  clear(ledger);
}

void EpochLedger::return_invalid(std::span<const Part> parts) {
  for (const auto& part : parts) rows().put_back(part.slice);
}

std::size_t EpochLedger::return_lost(int worker, std::span<const Part> parts,
                                     std::optional<int> most_losses) {
  std::size_t nominal = 0;
  const auto give_back = [&](const Slice& slice) {
    if (most_losses) {
      rows().give_back(slice, *most_losses);
    } else {
      rows().put_back(slice);
    }
    nominal += slice.nominal;
  };
  WorkerLedger& ledger = of(worker);
  if (rows_) rows_->release(worker);
  for (const auto& part : parts) give_back(part.slice);
  for (const auto& slice : ledger.unmerged) give_back(slice);
  position_->loss_sum -= ledger.unmerged_loss;
  clear(ledger);
  return nominal;
}

}  // namespace evener
