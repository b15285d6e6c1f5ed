"""The Ray cluster that an engine works on: joined at RAY_ADDRESS, or one of one node, started here for the run alone.

Nodes are named as a user knows them. What runs on them is in ray.py.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import ray
from ray.exceptions import RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from tonnage.errors import UsageError, WorkFailed

ANSWER_SECONDS = 10.0  # Ray itself waits minutes for an address at which nothing listens
NODE_SECONDS = 300.0
OBJECT_STORE_BYTES = 512 << 20  # results are small; what is larger goes to disk
LEAVE_UNSET = "check RAY_ADDRESS, or leave it unset to start Ray on this machine"


@dataclass(frozen=True)
class Node:
    id: str
    name: str


@contextlib.contextmanager
def joined(workers: int | None) -> Iterator[None]:
    """A connection of this process to a cluster, and the cluster itself when it is started here; none of both ends
    with the block when the process was connected before.

    Raises UsageError when there is no cluster at RAY_ADDRESS.
    """
    if ray.is_initialized():
        yield
        return
    # Ray leaves settings of this cluster, such as its way of authentication, to whatever this process starts later.
    before = dict(os.environ)
    try:
        _connect(os.environ.get("RAY_ADDRESS") or "local", workers)
        yield
    finally:
        ray.shutdown()
        for name in set(os.environ) - set(before):
            del os.environ[name]
        os.environ.update(before)


def _connect(address: str, workers: int | None) -> None:
    if address == "local":
        ray.init(
            address=address,
            num_cpus=workers or os.cpu_count() or 1,
            object_store_memory=OBJECT_STORE_BYTES,
            include_dashboard=False,
            log_to_driver=False,
            logging_level=logging.CRITICAL,
        )
        return
    _check_answers(address)
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.CRITICAL)
    except (ConnectionError, RuntimeError, ValueError) as fault:
        reason = str(fault).strip().partition("\n")[0]
        raise UsageError(f"the Ray cluster at {address} cannot be joined ({reason}); {LEAVE_UNSET}") from fault


def _check_answers(address: str) -> None:
    if "://" in address:
        raise UsageError(
            f"RAY_ADDRESS is {address}, but a run is no client from outside; start it on a node of the cluster and "
            f"give the address as HOST:PORT"
        )
    host, _, port = address.rpartition(":")
    if address == "auto":
        return
    if not host or not port.isdigit():
        raise UsageError(f"RAY_ADDRESS is {address}, which is no HOST:PORT; {LEAVE_UNSET}")
    try:
        socket.create_connection((host.strip("[]"), int(port)), ANSWER_SECONDS).close()
    except (OSError, OverflowError) as fault:
        raise UsageError(f"no Ray cluster answers at {address} ({fault}); {LEAVE_UNSET}") from fault


def cpus() -> int:
    """CPUs of all nodes."""
    return int(ray.cluster_resources().get("CPU", 0))


def working_nodes() -> dict[str, Node]:
    """The alive nodes that have CPUs, by id."""
    return {
        node["NodeID"]: Node(node["NodeID"], f"{node['NodeManagerHostname']} ({node['NodeManagerAddress']})")
        for node in ray.nodes()
        if node["Alive"] and node["Resources"].get("CPU", 0) >= 1
    }


def ask_nodes(
    nodes: Sequence[Node], function: Callable[[bytes], bytes], packed: bytes, environment: dict[str, str]
) -> Iterator[tuple[Node, bytes]]:
    """What `function` returns on each of the nodes, as they answer; those that are gone meanwhile say nothing.

    Raises UsageError for a node on which it cannot be loaded, WorkFailed for one that does not answer.
    """
    remote: Any = ray.remote(function)
    running = {}
    for node in nodes:
        pinned = NodeAffinitySchedulingStrategy(node.id, soft=False)
        options = {"num_cpus": 0, "max_retries": 0, "scheduling_strategy": pinned}
        running[remote.options(**options, runtime_env={"env_vars": environment}).remote(packed)] = node
    while running:
        ready, _ = ray.wait(list(running), num_returns=1, timeout=NODE_SECONDS)
        if not ready:
            names = ", ".join(node.name for node in running.values())
            raise WorkFailed(f"no answer from node {names} in {NODE_SECONDS:.0f} s; mend or remove it from the cluster")
        node = running.pop(ready[0])
        try:
            answer = ray.get(ready[0])
        except RayTaskError as fault:
            reason = str(fault).strip().rpartition("\n")[2]
            raise UsageError(f"node {node.name} cannot load tonnage ({reason}); install the same there") from fault
        except RayError as fault:
            if node.id not in working_nodes():
                continue
            reason = str(fault).strip().partition("\n")[0]
            raise WorkFailed(
                f"node {node.name} takes no work ({reason}); mend or remove it from the cluster"
            ) from fault
        yield node, answer
