"""The loopback's bandwidth on one TCP connection, which is a hand-off's best case."""
import socket
import statistics
import threading
import time

BYTES, PIECE_BYTES, RUNS = 256 << 20, 1 << 20, 5


def receive(listener, buffer):
    connection, _ = listener.accept()
    with connection:
        left = BYTES
        while left:
            left -= connection.recv_into(buffer, min(left, len(buffer)))
        connection.sendall(b".")


def run():
    """Bytes a second, from the first byte sent to the word that the last one came."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        receiver = threading.Thread(target=receive, args=(listener, bytearray(PIECE_BYTES)),
                                    daemon=True)
        receiver.start()
        with socket.create_connection(listener.getsockname()) as connection:
            piece, start_s = bytes(PIECE_BYTES), time.perf_counter()
            for _ in range(BYTES // PIECE_BYTES):
                connection.sendall(piece)
            connection.recv(1)
            seconds = time.perf_counter() - start_s
        receiver.join()
    return BYTES / seconds


def bytes_per_s():
    return statistics.median(run() for _ in range(RUNS))
