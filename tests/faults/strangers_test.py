"""Connections of programs that are no part of the run: many that are silent, and a process with few descriptors."""
import contextlib
import pathlib
import socket
import subprocess
import tempfile
import threading
import unittest

from cluster import COMMAND, Cluster, LONG, PATIENCE, Process

DESCRIPTORS = 40
STRANGERS = 80
# Also the hard limit: the process cannot raise it.
LIMITED = ["sh", "-c", f'ulimit -n {DESCRIPTORS} && exec "$@"', "sh"]


class Silent(unittest.TestCase):
    """They connect and send nothing."""

    def connect(self, cluster):
        strangers = []
        for _ in range(STRANGERS):
            stranger = socket.create_connection(("127.0.0.1", cluster.port), timeout=PATIENCE)
            self.addCleanup(stranger.close)
            strangers.append(stranger)
        return strangers

    def start(self, epochs):
        cluster = Cluster("asp", workers="2", epochs=epochs, prefix=LIMITED)
        cluster.start_workers(2)
        cluster.wait_for_pushes(1, 3)
        return cluster

    def test_a_run_with_few_descriptors_goes_on_and_writes_its_checkpoints(self):
        with self.start(epochs=12) as cluster:
            self.connect(cluster)
            result = cluster.result()
            self.assertEqual(result["epochs"], 12)
            self.assertNotIn("warning", cluster.coordinator.said())
            steps = [int(path.name[5:]) for path in (cluster.run / "checkpoints").glob("step-*")]
            self.assertEqual(max(steps), result["steps"], steps)
            for worker in cluster.workers:
                self.assertEqual(worker.finish(), 0)

    def test_they_are_disconnected_and_a_new_worker_joins(self):
        with self.start(epochs=LONG) as cluster:
            strangers = self.connect(cluster)
            cluster.workers[1].end()
            cluster.start_worker(1, wait="60")
            cluster.coordinator.wait_for("node 1 has joined")
            for stranger in strangers:
                try:
                    while stranger.recv(4096):
                        pass
                except ConnectionResetError:
                    pass
            cluster.interrupt()


@contextlib.contextmanager
def other_server(text):
    """Listens, and sends this text to each connection. Its address."""
    accepted = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        def serve():
            with contextlib.suppress(OSError):
                while True:
                    accepted.append(server.accept()[0])
                    accepted[-1].sendall(text)
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield "127.0.0.1:%d" % server.getsockname()[1]
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()
    for connection in accepted:
        connection.close()


class OtherServers(unittest.TestCase):
    """Another program listens at the address that the user gives."""

    def ask(self, *arguments):
        asked = subprocess.run([COMMAND, *arguments], capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(asked.returncode, 1, asked.stderr)
        return asked.stderr

    def test_it_is_named_as_such(self):
        for text in (b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"SSH-2.0-other\r\n"):
            with self.subTest(text), other_server(text) as address:
                expected = f"{address}: something listens there, but it does not answer as evener"
                self.assertIn(expected, self.ask("status", address))
                self.assertIn(f"{address}: no coordinator for 0.1 s: something listens there, but it does not answer",
                              self.ask("worker", "--coordinator", address, "--wait-seconds", "0.1"))

    def test_a_server_refers_to_its_coordinator(self):
        with socket.create_server(("127.0.0.1", 0)) as free:
            address = "127.0.0.1:%d" % free.getsockname()[1]
        server = Process(["server", "--coordinator", "127.0.0.1:1", "--listen", address])
        self.addCleanup(server.end)
        server.wait_for("trying again")
        self.assertIn(f"{address}: this is a server: give the address of its coordinator", self.ask("status", address))
        self.assertIn("this is a server", self.ask("worker", "--coordinator", address))

    def test_with_tls(self):
        with tempfile.TemporaryDirectory() as folder:
            certs = str(pathlib.Path(folder) / "certs")
            subprocess.run([COMMAND, "certs", certs], check=True, capture_output=True, timeout=PATIENCE)
            for text in (b"", b"HTTP/1.1 400 Bad Request\r\n\r\n"):
                with self.subTest(text), other_server(text) as address:
                    self.assertIn(f"{address}: something listens there, but it does not answer",
                                  self.ask("status", address, "--tls", certs))


if __name__ == "__main__":
    unittest.main()
