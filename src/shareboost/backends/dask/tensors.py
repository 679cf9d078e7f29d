"""Tensors of a GPU that go from one worker to another."""

from __future__ import annotations

from typing import Any

from distributed import Client, WorkerPlugin


class TensorsTravel(WorkerPlugin):
    """Has a worker send tensors of its devices; Dask itself sends those of the host alone.

    A worker may send a block before it has computed anything of a fit: so it is told beforehand.
    """

    name = "shareboost-tensors"
    idempotent = True

    def setup(self, worker: Any) -> None:
        """Pickle tensors of a device, which copies them to the host and back."""
        import torch
        from distributed.protocol import dask_serialize

        own = dask_serialize.dispatch(torch.Tensor)

        @dask_serialize.register(torch.Tensor)
        def serialised(tensor: Any) -> Any:
            if tensor.device.type != "cpu":
                raise NotImplementedError  # the next way, pickle, is taken
            return own(tensor)


def let_tensors_travel(client: Client) -> None:
    """Have all workers, those to come too, send tensors of their devices."""
    client.register_plugin(TensorsTravel())
