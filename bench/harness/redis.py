"""A redis-server as workload: recorded or not, started, loaded by redis-benchmark, shut down."""
import socket
import subprocess
import time

# Bounded requests, pipelined so that the server and not the network stack is what is measured.
CLIENT = ["-t", "set,get,incr,lpush,lpop,sadd,hset,zadd", "-r", "100000", "-d", "100", "-P", "16", "-c", "20", "-q"]
START_TIMEOUT_S = 30
CLIENT_TIMEOUT_S = 300


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until_up(port, process):
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
                connection.sendall(b"PING\r\n")
                if connection.recv(16).startswith(b"+PONG"):
                    return True
        except OSError:
            time.sleep(0.02)
    return False


def run(meter, tool, workload, timeout_s):
    """A Measurement whose wall time is that of the client's run."""
    port = free_port()
    server = [workload.command[0], "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
              "--daemonize", "no", "--dir", meter.result.parent]
    process = meter.start(tool.command([str(part) for part in server]), timeout_s=timeout_s, address_space=tool.address_space)
    wall = 0.0
    failure = "the server did not answer"
    if wait_until_up(port, process):
        began = time.perf_counter()
        client = subprocess.run(["redis-benchmark", "-h", "127.0.0.1", "-p", str(port), "-n",
                                 workload.environment["REQUESTS"], *CLIENT],
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=CLIENT_TIMEOUT_S)
        wall = time.perf_counter() - began
        failure = "" if client.returncode == 0 else "redis-benchmark failed"
    subprocess.run(["redis-cli", "-h", "127.0.0.1", "-p", str(port), "shutdown", "nosave"],
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    measured = meter.finish(process, workload.executable)
    measured.wall = measured.program_wall = wall
    measured.failure = measured.failure or failure
    return measured
