#include "evener/runtime/task.h"

#include "evener/core/error.h"

namespace evener {

WorkTraits traits_of(Work work) {
  switch (work) {
    case Work::local:
      return {"step", false, true};
    case Work::in_place:
      return {"steps in place", true, false};
    case Work::copied:
      return {"step on a copy", true, false};
    case Work::gradient:
      return {"gradient", false, true};
    case Work::pushed:
      return {"pull, steps, push", true, true};
  }
  throw Error("a task has an unknown kind of work");
}

}  // namespace evener
