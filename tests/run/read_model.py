"""Reads a model and a checkpoint with the safetensors package, as a user would.

Usage: read_model.py WRITE_SAMPLES (the program that writes them)
"""
import json
import subprocess
import sys
import tempfile

import numpy
from safetensors import safe_open
from safetensors.numpy import load_file

# Name, shape: in the order of the network's segments.
SEGMENTS = [("hidden1.weight", (9, 5)), ("hidden1.bias", (5,)),
            ("output.weight", (3, 5)), ("output.bias", (3,))]


def numbered(base, index, shape):
    rows, cols = shape if len(shape) == 2 else (1, shape[0])
    values = base + 1000 * index + numpy.arange(rows)[:, None] + numpy.arange(cols)[None, :] / 64
    return values.reshape(shape).astype(numpy.float32)


def check_segments(tensors, prefix, base):
    for index, (name, shape) in enumerate(SEGMENTS):
        tensor = tensors[prefix + name]
        assert tensor.dtype == numpy.float32, (name, tensor.dtype)
        assert tensor.shape == shape, (name, tensor.shape)
        numpy.testing.assert_array_equal(tensor, numbered(base, index, shape))


def check_model(path):
    tensors = load_file(path)
    check_segments(tensors, "", 0)
    numpy.testing.assert_array_equal(tensors["transform.idf"],
                                     numpy.arange(9, dtype=numpy.float32) / 2)
    numpy.testing.assert_array_equal(tensors["inverse_propensity"], [1.25, 2.5, 5])
    names = tensors["label_names"].tobytes().decode().splitlines()
    assert names == ["tree", "grün", "漢字"], names
    with safe_open(path, "numpy") as file:
        metadata = file.metadata()
    assert metadata["evener.format"] == "1"
    assert json.loads(metadata["evener.network"]) == {
        "features": 9, "hidden": [5], "labels": 3,
        "activation": "relu", "loss": "softmax", "input": "sparse"}
    assert json.loads(metadata["evener.transform"]) == {
        "raw_features": 9, "text_format": "libsvm", "hash_features": 0, "tfidf": True, "normalise": True}


def check_state(path):
    tensors = load_file(path)
    assert len(tensors) == 2 * len(SEGMENTS), sorted(tensors)
    check_segments(tensors, "state0.", 0.5)
    check_segments(tensors, "state1.", 0.25)
    with safe_open(path, "numpy") as file:
        assert json.loads(file.metadata()["evener.progress"])["step"] == 12


def main():
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.argv[1], folder], check=True)
        check_model(folder + "/model.safetensors")
        check_model(folder + "/checkpoints/step-00000012/model.safetensors")
        check_state(folder + "/checkpoints/step-00000012/state.safetensors")


main()
