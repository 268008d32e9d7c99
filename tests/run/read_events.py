"""Reads an event file with TensorBoard's own loader, which checks every checksum.

Usage: read_events.py WRITE_SAMPLES (the program that writes it)
"""
import math
import os
import subprocess
import sys
import tempfile

import numpy
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader


def check_scalars(folder):
    events = EventAccumulator(folder, size_guidance={"scalars": 0})
    events.Reload()
    tags = sorted(events.Tags()["scalars"])
    assert tags == ["eval/p@1", "eval/worst", "step/loss", "step/rows"], tags

    losses = events.Scalars("step/loss")
    assert [event.step for event in losses] == [1000 * i for i in range(200)]
    assert [event.value for event in losses] == [float(numpy.float32(1 / (i + 1)))
                                                 for i in range(200)]
    assert all(a.wall_time <= b.wall_time for a, b in zip(losses, losses[1:]))
    assert {event.value for event in events.Scalars("step/rows")} == {-5.0}

    (best,) = events.Scalars("eval/p@1")
    assert (best.step, best.value) == (1 << 40, 0.75), best
    assert math.isnan(events.Scalars("eval/worst")[0].value)
    assert events.file_version == 2.0, events.file_version


def check_resumed(folder):
    events = EventAccumulator(folder, size_guidance={"scalars": 0})
    events.Reload()
    losses = [(event.step, event.value) for event in events.Scalars("step/loss")]
    assert losses == [(i, 1.0 if i < 6 else 2.0) for i in range(12)], losses


def main():
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.argv[1], folder], check=True)
        check_resumed(folder + "/resumed")
        folder += "/tensorboard"
        (name,) = os.listdir(folder)
        # One event names the version, one goes with each record; none is lost to a bad checksum.
        raw = list(RawEventFileLoader(os.path.join(folder, name)).Load())
        assert len(raw) == 202, len(raw)
        check_scalars(folder)


main()
