#include "evener/runtime/hang_detector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "evener/runtime/step_counter.h"

namespace evener {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class HangDetectorTest : public testing::Test {
 protected:
  /// Looks at the worker for this long; returns the first reason.
  std::string look_for(Seconds seconds, bool interrupted = false) {
    constexpr Seconds kEvery = 0.1;
    for (Seconds passed = 0; passed < seconds - kEvery / 2; passed += kEvery) {
      now_ += kEvery;
      detector_.advance(now_, interrupted);
      if (std::string why = detector_.look(0, steps_.value()); !why.empty()) return why;
    }
    return "";
  }
  /// A step of this length.
  void make_step(Seconds seconds) {
    look_for(0.1);
    steps_.begin();
    look_for(seconds);
    steps_.end();
    look_for(0.1);
  }

  StepCounter steps_;
  HangDetector detector_{{}, 1};
  Seconds now_ = 5;
};

TEST_F(HangDetectorTest, AnIdleWorkerDoesNotHang) {
  EXPECT_THAT(look_for(2000), IsEmpty());
  EXPECT_THAT(look_for(20, true), IsEmpty());
}

TEST_F(HangDetectorTest, TheFirstStepMayTakeLong) {
  steps_.begin();
  EXPECT_THAT(look_for(599), IsEmpty());
  EXPECT_THAT(look_for(2), HasSubstr("it hangs: no progress for 600 s (--stall-timeout)"));
}

TEST_F(HangDetectorTest, TheLimitIsAtLeastAMinute) {
  make_step(1);
  steps_.begin();
  EXPECT_THAT(look_for(59), IsEmpty());
  EXPECT_THAT(look_for(2), HasSubstr("no progress for 60 s"));
}

TEST_F(HangDetectorTest, TheLimitFollowsTheWorkersOwnPace) {
  make_step(20);
  steps_.begin();
  EXPECT_THAT(look_for(199), IsEmpty());
  EXPECT_THAT(look_for(4), HasSubstr("it hangs"));
}

TEST_F(HangDetectorTest, ProgressInsideAStepCounts) {
  make_step(1);
  steps_.begin();
  for (int i = 0; i < 5; ++i) {
    EXPECT_THAT(look_for(50), IsEmpty());
    steps_.advance();
  }
}

TEST_F(HangDetectorTest, ATimeWithoutLooksDoesNotCount) {
  make_step(1);
  steps_.begin();
  look_for(1);
  now_ += 5000;  // the whole process was stopped
  EXPECT_THAT(look_for(50), IsEmpty());
  EXPECT_THAT(look_for(20), HasSubstr("it hangs"));
}

TEST_F(HangDetectorTest, AfterAnInterruptionAStepHasHalfASecond) {
  make_step(0.1);
  steps_.begin();
  EXPECT_THAT(look_for(10), IsEmpty());
  EXPECT_THAT(look_for(0.5, true), IsEmpty());
  EXPECT_TRUE(detector_.interrupted());
  EXPECT_THAT(look_for(0.3, true), HasSubstr("after the interruption"));
}

TEST_F(HangDetectorTest, AStepThatBeginsAfterTheInterruptionHasTheSameTime) {
  look_for(10, true);
  steps_.begin();
  EXPECT_THAT(look_for(0.4, true), IsEmpty());
  EXPECT_THAT(look_for(0.3, true), HasSubstr("after the interruption"));
}

TEST_F(HangDetectorTest, SlowStepsAreWaitedForAfterAnInterruption) {
  make_step(3);
  steps_.begin();
  EXPECT_THAT(look_for(5.5, true), IsEmpty());
  EXPECT_THAT(look_for(2, true), HasSubstr("after the interruption"));
}

TEST_F(HangDetectorTest, AFixedLimitHoldsForTheFirstStepToo) {
  HangLimits limits;
  limits.stall.fixed = 3;
  detector_ = HangDetector(limits, 1);
  steps_.begin();
  EXPECT_THAT(look_for(2.8), IsEmpty());
  EXPECT_THAT(look_for(0.5), HasSubstr("no progress for 3 s"));
}

}  // namespace
}  // namespace evener
