#!/usr/bin/env python3
"""Writes tests/golden/events.tfevents with TensorBoard's own record writer and protocol buffers.

Run: python scripts/make_event_golden.py [FILE...]   (PyPI's tensorboard; no part of building or using Zhuyi)
With files it reads them instead, as TensorBoard does, and prints what they hold.
"""

import pathlib
import sys

from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
from tensorboard.compat.proto import event_pb2, summary_pb2, tensor_pb2, tensor_shape_pb2, types_pb2
from tensorboard.summary.writer.record_writer import RecordWriter


def read(path):
    for event in EventFileLoader(path).Load():
        kind = event.WhichOneof("what")
        if kind != "summary":
            print(path, event.step, kind, getattr(event, kind))
            continue
        for value in event.summary.value:  # the loader turns simple values into tensors
            tensor = value.tensor
            number = tensor.float_val[0] if tensor.float_val else tensor.string_val[0].decode()
            print(path, event.step, value.tag, value.metadata.plugin_data.plugin_name, number)


def main():
    if len(sys.argv) > 1:
        for path in sys.argv[1:]:
            read(path)
        return
    Value = summary_pb2.Summary.Value
    note = Value(tag="sample", metadata=summary_pb2.SummaryMetadata(
        plugin_data=summary_pb2.SummaryMetadata.PluginData(plugin_name="text")))
    note.tensor.CopyFrom(tensor_pb2.TensorProto(
        dtype=types_pb2.DT_STRING, string_val=["你好".encode()],
        tensor_shape=tensor_shape_pb2.TensorShapeProto(dim=[tensor_shape_pb2.TensorShapeProto.Dim(size=1)])))
    start = event_pb2.SessionLog(status=event_pb2.SessionLog.START)
    events = [
        event_pb2.Event(wall_time=1700000000.5, file_version="brain.Event:2"),
        event_pb2.Event(wall_time=1700000000.5, step=301, session_log=start),
        event_pb2.Event(wall_time=2.5, step=300,
                        summary=summary_pb2.Summary(value=[Value(tag="train/loss", simple_value=1.25), note])),
    ]
    target = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden" / "events.tfevents"
    with open(target, "wb") as file:
        writer = RecordWriter(file)
        for event in events:
            writer.write(event.SerializeToString())
        writer.flush()


if __name__ == "__main__":
    main()
